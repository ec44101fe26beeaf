"""Temporary memory: which of it is local, and which arrays may have the same.

Small buffers are local variables.  Large ones are *slots*; buffers of one dtype that are never
alive together share a slot, whose size is that of the largest.  A buffer is alive from the first
statement that touches it to the last, both in the innermost block that holds all of them: what is
touched in one loop alone is written anew in each step, for `check` sees it written before it is
read.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from heapq import heappop, heappush
from typing import final

from ...util.records import dataclass
from .program import (
    Buffer,
    Call,
    Copy,
    DType,
    For,
    If,
    Load,
    LoopProgram,
    Product,
    Statement,
    Store,
    While,
    blocks_of,
)

LOCAL_BYTES = 256
"""Buffers up to this size are local variables."""

MOST_LOCAL_BYTES = 1 << 14
"""So much memory is local at most, the first buffers first."""

Body = tuple[Statement, ...]


def local_buffers(program: LoopProgram) -> list[Buffer]:
    """The temporaries that are local variables."""
    chosen, total = [], 0
    for buffer in program.temporaries:
        size = buffer.size * buffer.dtype.itemsize
        if size <= LOCAL_BYTES and total + size <= MOST_LOCAL_BYTES:
            chosen.append(buffer)
            total += size
    return chosen


@final
@dataclass(slots=True)
class Life:
    """When a buffer is alive: numbers of statements, both inclusive."""

    buffer: Buffer
    start: int
    end: int


def with_shared_memory(program: LoopProgram) -> LoopProgram:
    """The program with one buffer for all large ones that may have the same memory."""
    local = set(local_buffers(program))
    large = [x for x in program.temporaries if x not in local]
    if not large:
        return program
    shared: dict[Buffer, Buffer] = {}
    for members in slots_of(sorted(_lives(program.body, set(large)), key=lambda life: life.start)):
        if len(members) > 1:
            size = max([member.size for member in members])
            slot = Buffer(members[0].name, members[0].dtype, (size,))
            shared |= dict.fromkeys(members, slot)
    temporaries = dict.fromkeys([shared.get(x, x) for x in program.temporaries])
    return replace(program, temporaries=tuple(temporaries), body=with_buffers(program.body, shared))


def slots_of(lives: Sequence[Life]) -> list[list[Buffer]]:
    """The buffers of each slot, given lives in the order of their starts.

    A buffer gets the free slot of its dtype whose first member is nearest to its size.
    """
    slots: list[list[Buffer]] = []
    ends: list[tuple[int, int]] = []
    # By dtype and size, the numbers of free slots.
    free: defaultdict[DType, dict[int, list[int]]] = defaultdict(dict)
    for life in lives:
        while ends and ends[0][0] < life.start:
            number = heappop(ends)[1]
            first = slots[number][0]
            heappush(free[first.dtype].setdefault(first.size, []), number)
        sizes, own = free[life.buffer.dtype], life.buffer.size
        if sizes:
            _, number, nearest = min([(abs(n - own), few[0], n) for n, few in sizes.items()])
            heappop(sizes[nearest])
            if not sizes[nearest]:
                del sizes[nearest]
            slots[number].append(life.buffer)
        else:
            number = len(slots)
            slots.append([life.buffer])
        heappush(ends, (life.end, number))
    return slots


def _lives(body: Body, buffers: set[Buffer]) -> list[Life]:
    """When each buffer is alive."""
    number = 0
    spans: dict[Statement, list[int]] = {}
    paths: dict[Buffer, list[tuple[Statement, ...]]] = {}

    def visit(block: Body, above: tuple[Statement, ...]) -> None:
        nonlocal number
        for statement in block:
            number += 1
            spans[statement] = [number, number]
            path = (*above, statement)
            for buffer in touched_by(statement):
                if buffer in buffers:
                    paths.setdefault(buffer, []).append(path)
            for inner in blocks_of(statement):
                visit(inner, path)
            spans[statement][1] = number

    visit(body, ())
    lives = []
    for buffer, touching in paths.items():
        depth = _common_depth(touching)
        ends = [spans[path[min(depth, len(path) - 1)]] for path in touching]
        lives.append(Life(buffer, min([start for start, _ in ends]), max([end for _, end in ends])))
    return lives


def _common_depth(paths: Sequence[tuple[Statement, ...]]) -> int:
    """How many statements hold all of the last ones of these paths."""
    depth = 0
    for level in zip(*[path[:-1] for path in paths], strict=False):
        if len(set(level)) > 1:
            break
        depth += 1
    return depth


def touched_by(statement: Statement) -> tuple[Buffer, ...]:
    """The buffers that a statement itself reads or writes."""
    if type(statement) is Load or type(statement) is Store:
        return (statement.buffer,)
    if type(statement) is Copy:
        return statement.target, statement.source
    if type(statement) is Product:
        return statement.target.buffer, statement.left.buffer, statement.right.buffer
    if type(statement) is Call:
        return (*statement.operands, *statement.results)
    return ()


def with_buffers(body: Body, other: dict[Buffer, Buffer]) -> Body:
    """The statements with other buffers in place of some; copies to themselves are left out."""
    changed: list[Statement] = []
    for statement in body:
        match statement:
            case Load() | Store() if statement.buffer in other:
                statement = _of_buffer(statement, other[statement.buffer])
            case Copy(target, source):
                target, source = other.get(target, target), other.get(source, source)
                if target is source:
                    continue
                statement = replace(statement, target=target, source=source)
            case Product(target, left, right, sizes):
                target, left, right = [
                    replace(x, buffer=other.get(x.buffer, x.buffer)) for x in (target, left, right)
                ]
                statement = Product(target, left, right, sizes)
            case Call(function, operands, results):
                operands, results = [
                    tuple([other.get(x, x) for x in group]) for group in (operands, results)
                ]
                statement = Call(function, operands, results)
            case For(_, _, inner):
                statement = replace(statement, body=with_buffers(inner, other))
            case While(condition, _, inner):
                statement = replace(
                    statement,
                    condition=with_buffers(condition, other),
                    body=with_buffers(inner, other),
                )
            case If(_, then, otherwise):
                statement = replace(
                    statement,
                    then=with_buffers(then, other),
                    otherwise=with_buffers(otherwise, other),
                )
        changed.append(statement)
    return tuple(changed)


def _of_buffer(access: Load | Store, buffer: Buffer) -> Load | Store:
    if type(access) is Load:
        return Load(access.result, buffer, access.index)
    return Store(buffer, access.index, access.value)


def bytes_of(buffers: Sequence[Buffer]) -> int:
    """How much memory buffers take."""
    return sum([x.size * x.dtype.itemsize for x in buffers])
