"""Loops whose steps are independent, as operations on vectors.

LLVM can find such loops too; here it costs a hundredth of the time, for all that it must find out
is known: that steps are independent, that memory does not overlap, how many steps there are.  A
vector of steps gives each element the bits that a step alone gives it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import final

from ..loops.program import INDEX, Assign, Buffer, For, Index, Load, Name, Statement, Store

_BYTES = 32
_WIDEST = 16
# Loops of fewer steps are written out.
_FEWEST = 4


@final
@dataclass(frozen=True, slots=True)
class VectorLoop:
    """How a loop is written with vectors.

    Args:
        counter: of the loop.
        extent: how many steps it has.
        width: of the vectors.
        body: what a step does: assign, load, store.
        is_repeatable: whether a step may be done again.
        vectors: names that are vectors.
    """

    counter: Name
    extent: int
    width: int
    body: tuple[Assign | Load | Store, ...]
    is_repeatable: bool
    vectors: frozenset[Name]

    def factor(self, index: Index) -> int | None:
        """By how much an index grows in a step; `None` if that is not known."""
        factor = 0
        for name, by in index.terms:
            if name is self.counter:
                factor = by
            elif name in self.vectors:
                return None
        return factor


def vector_loop(loop: For) -> VectorLoop | None:
    """The loop with vectors; `None` if it cannot be written so, or would not gain."""
    extent = loop.extent
    if isinstance(extent, Index) or extent < _FEWEST or not loop.is_independent:
        return None
    body: list[Assign | Load | Store] = []
    for statement in loop.body:
        if not isinstance(statement, (Assign, Load, Store)):
            return None
        body.append(statement)
    vectors = _vectors_of(loop.counter, body)
    plan = VectorLoop(
        loop.counter,
        extent,
        min(extent if extent <= _WIDEST else _WIDEST, _width(body)),
        tuple(body),
        not _stored(body).intersection([x.buffer for x in body if isinstance(x, Load)]),
        vectors,
    )
    return plan if _is_sound(plan) and _gains(plan) else None


def _vectors_of(counter: Name, body: Iterable[Statement]) -> frozenset[Name]:
    """The names that differ from step to step."""
    vectors = {counter}
    for statement in body:
        if isinstance(statement, Assign):
            uses = {
                name
                for x in statement.operands
                for name in ([n for n, _ in x.terms] if isinstance(x, Index) else [x])
            }
        elif isinstance(statement, Load):
            uses = {name for name, _ in statement.index.terms}
        else:
            continue
        if not vectors.isdisjoint(uses):
            vectors.add(statement.result)
    return frozenset(vectors)


def _width(body: Iterable[Statement]) -> int:
    """How many of the widest elements fill a register; indices do not count."""
    sizes = []
    for statement in body:
        if isinstance(statement, (Load, Store)):
            sizes.append(statement.buffer.dtype.itemsize)
        elif isinstance(statement, Assign) and statement.result.dtype != INDEX:
            sizes.append(statement.result.dtype.itemsize)
    return min(_BYTES // max(sizes, default=8), _WIDEST)


def _stored(body: Iterable[Statement]) -> set[Buffer]:
    return {x.buffer for x in body if isinstance(x, Store)}


def _is_sound(plan: VectorLoop) -> bool:
    """Whether memory is written by neighbours, and read by the step that wrote it alone.

    That is more than independence promises, for temporaries of one step may share memory with
    those of another.
    """
    written: dict[Buffer, Index] = {}
    for statement in plan.body:
        if isinstance(statement, Store):
            if plan.factor(statement.index) not in (1, -1):
                return False
            if written.setdefault(statement.buffer, statement.index) != statement.index:
                return False
    return all(written.get(x.buffer, x.index) == x.index for x in plan.body if isinstance(x, Load))


def _gains(plan: VectorLoop) -> bool:
    """Whether few elements are gathered one by one."""
    gathered = [
        x for x in plan.body if isinstance(x, Load) and plan.factor(x.index) not in (0, 1, -1)
    ]
    return 2 * len(gathered) <= len(plan.body) + 1
