"""Loops of independent steps that hold loops and branches, as operations on vectors.

A step of such a loop is a *member*: one of a batch of `while` loops, or a row that is summed.  As
many members as a vector is wide run together: each has its own copy of the temporaries that no
other statement touches, and what a member does not do, because its loop has ended or its branch is
another one, changes nothing of it.  So each element has the bits that a member alone gives it.

Reference: Pharr and Mark, "ispc: A SPMD compiler for high-performance CPU programming" (2012).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from ..loops.cleanup import read_buffers, stored_buffers
from ..loops.memory import touched_by
from ..loops.operations import cost_of
from ..loops.program import (
    Assign,
    Buffer,
    Call,
    Copy,
    For,
    Index,
    Load,
    Name,
    Product,
    Statement,
    Store,
    While,
    blocks_of,
    operands_of,
    walk,
)
from .vector_loops import FEWEST, STRIDES, VectorLoop, width_of

Body = tuple[Statement, ...]
Holders = Mapping[Buffer, frozenset[For]]
"""For each local buffer, the loops that hold all statements that touch it."""

Plans = Callable[[For], VectorLoop | None]

# So much memory the copies of a vector's members take at most.
_MOST_BYTES = 1 << 13
# Fewer members than this, and of less than loops that end at different times, are not worth it.
_FEWEST_MEMBERS = 2
# Inner loops are taken to make so many steps.
_STEPS = 8
# So small a buffer is in registers.
_MOST_IN_REGISTERS = 16
# Copies of so many elements are made element by element.
_LARGEST_COPY = 16


def holders_of(body: Body, local: Iterable[Buffer]) -> Holders:
    """The loops of independent steps that hold all statements that touch one of these buffers."""
    holders: dict[Buffer, frozenset[For]] = {}
    wanted = set(local)

    def visit(block: Body, above: frozenset[For]) -> None:
        for statement in block:
            if type(statement) is Assign:
                continue
            for buffer in touched_by(statement):
                if buffer in wanted:
                    holders[buffer] = holders.get(buffer, above) & above
            inside = above
            if type(statement) is For and statement.is_independent:
                inside = above | {statement}
            for inner in blocks_of(statement):
                visit(inner, inside)

    visit(body, frozenset())
    return holders


def masked_loop(loop: For, holders: Holders, plan_of: Plans) -> VectorLoop | None:
    """The loop with vectors of members; `None` if it cannot be written so, or would not gain.

    Args:
        loop: the loop.
        holders: of local buffers.
        plan_of: how other loops are written.
    """
    extent, body = loop.extent, loop.body
    if isinstance(extent, Index) or extent < _FEWEST_MEMBERS or not loop.is_independent:
        return None
    if not any([blocks_of(statement) for statement in body]):
        return None
    plan = members_apart(loop, extent, _width(extent, body), holders)
    if plan is None:
        return None
    # Members together must take at most half the time of one after the other.
    alone = plan.width * _cost(body, None, plan_of)
    return plan if 2 * _cost(body, plan, plan_of) <= alone else None


def members_apart(loop: For, extent: int, width: int, holders: Holders) -> VectorLoop | None:
    """The members of a loop, so many together, if these touch nothing of each other's."""
    if not width:
        return None
    body = loop.body
    touched = {buffer for statement in walk(body) for buffer in touched_by(statement)}
    private = frozenset([x for x in touched if loop in holders.get(x, ())])
    stored = stored_buffers(body) - private
    plan = VectorLoop(
        loop.counter,
        (),
        extent,
        width,
        body,
        stored.isdisjoint(read_buffers(body)),
        _vectors_of(loop.counter, body, private),
        private,
        has_members=True,
    )
    return plan if _is_sound(plan, stored) else None


def _width(extent: int, body: Body) -> int:
    """How many members run together; 0 if there are too few.

    Steps of a `while` wait for each other: twice as many members fill the time.
    """
    width = width_of(tuple(walk(body)))
    if any([type(statement) is While for statement in walk(body)]):
        return 2 * width if 2 * width <= extent else min(width, extent)
    return min(width, extent) if extent >= FEWEST else 0


def _cost(body: Body, plan: VectorLoop | None, plan_of: Plans) -> int:
    """About how long statements take, for the members of a plan together or for one alone."""
    total = 0
    for statement in body:
        match statement:
            case Assign(_, operation):
                total += 0 if operation == "index" else cost_of(operation)
            case Load() | Store() | Copy():
                times = statement.size if type(statement) is Copy else 1
                for buffer, index, _ in _accessed(statement):
                    total += times * _cost_of_access(buffer, index, plan)
            case For(_, extent, inner):
                own = plan_of(statement) if plan is None else None
                if own is None:
                    steps = _STEPS if isinstance(extent, Index) else extent
                    total += steps * _cost(inner, plan, plan_of)
                else:
                    members = own if own.has_members else None
                    total += -(-own.extent // own.width) * _cost(own.body, members, plan_of)
            case _:
                times = _STEPS if type(statement) is While else 1
                total += sum([times * _cost(x, plan, plan_of) for x in blocks_of(statement)])
    return total


def _cost_of_access(buffer: Buffer, index: Index, plan: VectorLoop | None) -> int:
    """About how long it takes: nothing where registers hold the few elements."""
    if plan is None:
        return buffer.size > _MOST_IN_REGISTERS
    factor = plan.factor(index)
    if factor == 0 and buffer in plan.private:
        return buffer.size > _MOST_IN_REGISTERS
    if factor in (0, 1, -1) and buffer not in plan.private:
        return 1
    if factor in STRIDES and buffer not in plan.private:
        return 2 * factor
    return (3 if factor is None else 2) * plan.width


def _vectors_of(counter: Name, body: Body, private: frozenset[Buffer]) -> frozenset[Name]:
    """The names that differ from member to member."""
    vectors = {counter}
    for statement in walk(body):
        if not isinstance(statement, (Assign, Load)):
            continue
        uses = {
            name
            for x in operands_of(statement)
            for name in ([n for n, _ in x.terms] if type(x) is Index else [x])
        }
        if type(statement) is Load and statement.buffer in private:
            vectors.add(statement.result)
        elif not vectors.isdisjoint(uses):
            vectors.add(statement.result)
    return frozenset(vectors)


def _is_sound(plan: VectorLoop, stored: set[Buffer]) -> bool:
    """Whether vectors can do what the statements do, and members touch nothing of each other's."""
    size = sum([x.size * x.dtype.itemsize for x in plan.private])
    if size * plan.width > _MOST_BYTES:
        return False
    inside: set[Name] = set()
    accesses: dict[Buffer, list[Index]] = {}
    for statement in walk(plan.body):
        match statement:
            case Product() | Call():
                return False
            case Copy(_, _, size) if size > _LARGEST_COPY and plan.width > 1:
                return False
            case For(counter, extent):
                inside.add(counter)
                if isinstance(extent, Index) and plan.factor(extent) != 0:
                    return False
            case Assign(result) | Load(result):
                inside.add(result)
        for buffer, first, last in _accessed(statement):
            if buffer in stored:
                accesses.setdefault(buffer, []).extend([first, last])
    return all([_are_apart(plan.counter, each, inside) for each in accesses.values()])


def _accessed(statement: Statement) -> list[tuple[Buffer, Index, Index]]:
    """The buffers that a statement accesses, and between which places."""
    match statement:
        case Load(_, buffer, index) | Store(buffer, index):
            return [(buffer, index, index)]
        case Copy(target, source, size):
            starts = (target, statement.target_start), (source, statement.source_start)
            return [(buffer, first, first.plus(size - 1)) for buffer, first in starts]
    return []


def _are_apart(counter: Name, indices: Sequence[Index], inside: set[Name]) -> bool:
    """Whether what a member accesses at these indices is none of another member's.

    It is not, if all lie in a stretch that moves with the member by at least its length.
    """
    same, lows, highs = set(), [], []
    for index in indices:
        fixed = tuple([term for term in index.terms if term[0] not in inside])
        own = [by for name, by in index.terms if name is counter]
        rest = [term for term in index.terms if term[0] in inside and term[0] is not counter]
        same.add((fixed, *own))
        low, high = Index(tuple(rest), index.offset).bounds
        lows.append(low)
        highs.append(high)
        if not own or len(same) > 1 or max(highs) - min(lows) >= abs(own[0]):
            return False
    return True
