"""Elements that all steps of a loop change, in memory of their own while it runs.

A sum of short rows adds each row to elements of an array.  Compilers keep a small buffer in
registers, if nothing but the loop accesses it: so the elements are copied to one before the loop,
and back after it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple, final

from .memory import touched_by
from .program import (
    INDEX,
    Assign,
    Buffer,
    Call,
    Copy,
    DType,
    For,
    If,
    Index,
    Load,
    LoopProgram,
    Name,
    Product,
    Statement,
    Store,
    While,
    walk,
)

Body = tuple[Statement, ...]

# So many elements are in registers at most, for loops of so many steps at least.
_MOST_ELEMENTS, _FEWEST_STEPS = 8, 4


def with_accumulators(program: LoopProgram) -> LoopProgram:
    """The program with memory of its own for what loops change in all their steps."""
    numbers, has_loops = [0], False
    for x in walk(program.body):
        if type(x) is Assign or type(x) is Load:
            numbers.append(x.result.number)
        elif type(x) is For:
            numbers.append(x.counter.number)
            has_loops = True
    if not has_loops:
        return program
    rewriting = _Rewriting(max(numbers))
    body = rewriting.block(program.body)
    temporaries = (*program.temporaries, *rewriting.made)
    return replace(program, body=body, temporaries=temporaries) if rewriting.made else program


@final
class _Elements(NamedTuple):
    """Elements of a buffer: from the first index on, so many."""

    buffer: Buffer
    first: Index
    size: int


@final
class _Rewriting:
    """Args: `last`: the number of the last name of the program."""

    def __init__(self, last: int) -> None:
        self.made: list[Buffer] = []
        self._last = last

    def block(self, body: Body) -> Body:
        """The statements, with copies before and after loops."""
        changed: list[Statement] = []
        for statement in body:
            match statement:
                case For():
                    changed += self._loop(statement)
                case While(condition, _, inner):
                    tested = self.block(condition)
                    changed.append(replace(statement, condition=tested, body=self.block(inner)))
                case If(_, then, otherwise):
                    then, otherwise = self.block(then), self.block(otherwise)
                    changed.append(replace(statement, then=then, otherwise=otherwise))
                case _:
                    changed.append(statement)
        return tuple(changed)

    def _loop(self, loop: For) -> list[Statement]:
        body, before, after = loop.body, [], []
        if not loop.is_independent and isinstance(loop.extent, int):
            if loop.extent >= _FEWEST_STEPS:
                for elements in _changed_in_all_steps(loop):
                    name = f"kept_{len(self.made)}"
                    own = Buffer(name, elements.buffer.dtype, (elements.size,))
                    self.made.append(own)
                    body = _moved(body, elements, own)
                    here, there = (own, Index()), (elements.buffer, elements.first)
                    before.append(self._copy(here, there, elements.size))
                    after.append(self._copy(there, here, elements.size))
        return [*before, replace(loop, body=self.block(body)), *after]

    def _copy(self, target: tuple[Buffer, Index], source: tuple[Buffer, Index], n: int) -> For:
        """A loop, of which compilers see the elements."""
        counter, element = self._name(INDEX, 0, n - 1), self._name(source[0].dtype)
        i = Index.of(counter)
        load = Load(element, source[0], source[1].plus(i))
        store = Store(target[0], target[1].plus(i), element)
        return For(counter, n, (load, store), is_independent=True)

    def _name(self, dtype: DType, low: int | None = None, high: int | None = None) -> Name:
        self._last += 1
        return Name(self._last, dtype, low, high)


def _changed_in_all_steps(loop: For) -> Iterator[_Elements]:
    """The elements of larger buffers that each step loads and stores, where these are few."""
    counters: set[Name] = set()
    inside = {loop.counter}
    accesses: dict[Buffer, list[Statement]] = {}
    loaded, stored = set(), set()
    for statement in walk(loop.body):
        match statement:
            case For(counter, extent):
                (counters if isinstance(extent, int) else inside).add(counter)
            case Assign(result):
                inside.add(result)
            case Load(result, buffer):
                inside.add(result)
                loaded.add(buffer)
            case Store(buffer):
                stored.add(buffer)
        for buffer in touched_by(statement):
            accesses.setdefault(buffer, []).append(statement)
    for buffer, statements in accesses.items():
        if buffer in loaded and buffer in stored and buffer.size > _MOST_ELEMENTS:
            found = _together(buffer, statements, counters, inside)
            if found is not None:
                yield found


def _together(
    buffer: Buffer, statements: list[Statement], counters: set[Name], inside: set[Name]
) -> _Elements | None:
    """The elements that statements access, if these are the same in each step, and few."""
    same, lows, highs = set(), [], []
    for statement in statements:
        if isinstance(statement, (Copy, Product, Call)):
            return None
        assert isinstance(statement, (Load, Store)), "what else touches a buffer"
        index = statement.index
        if any([name in inside for name, _ in index.terms]):
            return None
        own = tuple([term for term in index.terms if term[0] in counters])
        same.add(tuple([term for term in index.terms if term[0] not in counters]))
        low, high = Index(own, index.offset).bounds
        lows.append(low)
        highs.append(high)
    low, count = min(lows), max(highs) - min(lows) + 1
    if len(same) > 1 or count > _MOST_ELEMENTS:
        return None
    return _Elements(buffer, Index(same.pop(), low), count)


def _moved(body: Body, elements: _Elements, own: Buffer) -> Body:
    """The statements with accesses of these elements to a buffer of their own."""
    changed: list[Statement] = []
    for statement in body:
        match statement:
            case Load(result, buffer, index) if buffer is elements.buffer:
                changed.append(Load(result, own, index.plus(elements.first.times(-1))))
            case Store(buffer, index, value) if buffer is elements.buffer:
                changed.append(Store(own, index.plus(elements.first.times(-1)), value))
            case For(_, _, inner):
                changed.append(replace(statement, body=_moved(inner, elements, own)))
            case While(condition, _, inner):
                tested, inner = [_moved(x, elements, own) for x in (condition, inner)]
                changed.append(replace(statement, condition=tested, body=inner))
            case If(_, then, otherwise):
                then, otherwise = [_moved(x, elements, own) for x in (then, otherwise)]
                changed.append(replace(statement, then=then, otherwise=otherwise))
            case _:
                changed.append(statement)
    return tuple(changed)
