"""Loops whose steps are independent, as operations on vectors.

LLVM can find such loops too; here it costs a hundredth of the time, for all that it must find out
is known: that steps are independent, that memory does not overlap, how many steps there are.  A
vector of steps gives each element the bits that a step alone gives it.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import final

from ...util.records import dataclass
from ..loops.program import (
    INDEX,
    Assign,
    Buffer,
    For,
    Index,
    Load,
    Name,
    Statement,
    Store,
    operands_of,
)

_BYTES = 32
WIDTHS = (4, 8, 16)
"""How many elements vectors have."""

STRIDES = (2, 3, 4)
"""Elements so far apart are loaded, and stored, with those between them."""

# Loops of fewer steps are written out.
FEWEST = 4


@final
@dataclass(frozen=True, slots=True)
class VectorLoop:
    """How a loop is written with vectors.

    Args:
        counter: of the loop; of loops in one another that run through memory as one, the innermost.
        outer: counters of the others.
        extent: how many steps it has.
        width: of the vectors.
        body: what a step does; without members, assign, load, store.
        is_repeatable: whether a step may be done again.
        vectors: names that are vectors.
        private: temporaries of which each step has its own copy.
        has_members: whether there are loops or branches in the body (`masked_loops`).
    """

    counter: Name
    outer: tuple[Name, ...]
    extent: int
    width: int
    body: tuple[Statement, ...]
    is_repeatable: bool
    vectors: frozenset[Name]
    private: frozenset[Buffer] = frozenset()
    has_members: bool = False

    def factor(self, index: Index) -> int | None:
        """By how much an index grows in a step; `None` if that is not known."""
        factor = 0
        for name, by in index.terms:
            if name is self.counter:
                factor = by
            elif name in self.vectors and name not in self.outer:
                return None
        return factor


def vector_loop(loop: For) -> VectorLoop | None:
    """The loop with vectors; `None` if it cannot be written so, or would not gain."""
    loops, body = _nest(loop)
    if not body:
        return None
    extent = math.prod([n for _, n in loops])
    if extent < FEWEST:
        return None
    counter, _ = loops[-1]
    vectors = _vectors_of([name for name, _ in loops], body)
    plan = VectorLoop(
        counter,
        tuple([name for name, _ in loops[:-1]]),
        extent,
        min(extent, width_of(body)),
        tuple(body),
        _places(body, Store).isdisjoint(_places(body, Load)),
        vectors,
    )
    return plan if _is_sound(plan) and _gains(plan) else None


def _nest(loop: For) -> tuple[list[tuple[Name, int]], list[Assign | Load | Store]]:
    """Counters and extents of loops in one another that are as one, and the body; or nothing."""
    loops: list[tuple[Name, int]] = []
    while not isinstance(loop.extent, Index) and loop.is_independent:
        loops.append((loop.counter, loop.extent))
        if len(loop.body) != 1 or type(loop.body[0]) is not For:
            body = [x for x in loop.body if isinstance(x, (Assign, Load, Store))]
            is_straight = len(body) == len(loop.body)
            return (loops, body) if is_straight and _is_one_loop(loops, body) else ([], [])
        loop = loop.body[0]
    return [], []


def _is_one_loop(loops: Sequence[tuple[Name, int]], body: Iterable[Statement]) -> bool:
    """Whether each index counts the steps of all loops."""
    if len(loops) == 1:
        return True
    for statement in body:
        for x in operands_of(statement):
            if type(x) is Index:
                factors = dict(x.terms)
                for (outer, _), (inner, n) in itertools.pairwise(loops):
                    if factors.get(outer, 0) != n * factors.get(inner, 0):
                        return False
            elif any(x is name for name, _ in loops):
                return False
    return True


def _vectors_of(counters: Iterable[Name], body: Iterable[Statement]) -> frozenset[Name]:
    """The names that differ from step to step."""
    vectors = set(counters)
    for statement in body:
        if type(statement) is Assign:
            uses = statement.operands
            # Most are of names and constants.
            if not vectors.isdisjoint(uses):
                vectors.add(statement.result)
                continue
        elif type(statement) is Load:
            uses = (statement.index,)
        else:
            continue
        for x in uses:
            if type(x) is Index and not vectors.isdisjoint([name for name, _ in x.terms]):
                vectors.add(statement.result)
                break
    return frozenset(vectors)


def width_of(body: Sequence[Statement]) -> int:
    """The fewest steps that keep registers as full as any number does, to a tenth."""
    dtypes = Counter([x.result.dtype for x in body if type(x) is Assign])
    dtypes.pop(INDEX, None)
    dtypes.update([x.buffer.dtype for x in body if type(x) is Load or type(x) is Store])
    sizes: Counter[int] = Counter()
    for dtype, n in dtypes.items():
        sizes[dtype.itemsize] += n

    def cost(width: int) -> float:
        return sum([n * max(size * width / _BYTES, 1) for size, n in sizes.items()]) / width

    return min(WIDTHS, key=lambda width: (cost(width) > 1.1 * cost(WIDTHS[-1]), width))


def _places(body: Iterable[Statement], kind: type[Load | Store]) -> set[tuple[Buffer, Index]]:
    """What a step reads, or stores."""
    return {(x.buffer, x.index) for x in body if isinstance(x, kind)}


def _is_sound(plan: VectorLoop) -> bool:
    """Whether memory is written by neighbours, and read by the step that wrote it, or no step.

    That is more than independence promises, for temporaries of one step may share memory with
    those of another.
    """
    written: dict[Buffer, list[Index]] = {}
    for statement in plan.body:
        if type(statement) is Store:
            written.setdefault(statement.buffer, []).append(statement.index)
    woven = set()
    for buffer, indices in written.items():
        if _are_woven(plan, indices):
            woven.add(buffer)
        elif plan.factor(indices[0]) not in (1, -1) or len(set(indices)) > 1:
            return False
    read = [x for x in plan.body if isinstance(x, Load) and x.buffer in written]
    if any([x.buffer in woven for x in read]):
        return False
    pairs = [(written[x.buffer][0], x.index) for x in read]
    return all(there == here or _are_apart(plan, there, here) for there, here in pairs)


def _are_apart(plan: VectorLoop, written: Index, read: Index) -> bool:
    """Whether what all steps read at one index lies before what all write at another, or behind.

    They may be rows of one array: a loop that stacks its results reads the one before.
    """
    counters = {plan.counter, *plan.outer}
    first = [Index(tuple([x for x in i.terms if x[0] not in counters])) for i in (written, read)]
    factors = plan.factor(written), plan.factor(read)
    if first[0] != first[1] or None in factors:
        return False
    (a, b), (c, d) = [
        sorted((i.offset, i.offset + (plan.extent - 1) * (by or 0)))
        for i, by in zip((written, read), factors, strict=True)
    ]
    return b < c or d < a


def _are_woven(plan: VectorLoop, indices: Sequence[Index]) -> bool:
    """Whether each step stores a few neighbours, one by one, and the next step those behind."""
    stride = len(indices)
    if stride not in STRIDES or any([plan.factor(index) != stride for index in indices]):
        return False
    first = min(indices, key=lambda index: index.offset)
    return {first.plus(i) for i in range(stride)} == {*indices}


def _gains(plan: VectorLoop) -> bool:
    """Whether few elements are gathered one by one."""
    near = (0, 1, -1, *STRIDES)
    gathered = [x for x in plan.body if isinstance(x, Load) and plan.factor(x.index) not in near]
    return 2 * len(gathered) <= len(plan.body) + 1
