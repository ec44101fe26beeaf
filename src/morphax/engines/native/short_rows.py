"""Loops whose last axes are a few neighbours: these are written out, and vectors run over the rows.

Colours of pixels, coordinates of points and columns of few powers are rows too short for a vector,
and where each row has numbers of its own, all elements are not one loop either.  Written out, the
steps of a row are statements that store neighbours, one by one, which `vector_loops` weaves
together.

The statements of a row stay in their order, and a name is another one in each step, so a loop
computes what it did, to the bit.  What follows from the number of a step alone is a constant then,
and what a row stores and loads again is the name that was stored: sums of rows need no memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import final

from ..loops.folding import is_square, known
from ..loops.program import (
    INDEX,
    Assign,
    Buffer,
    Const,
    For,
    Index,
    Load,
    Name,
    Operand,
    Statement,
    Store,
)
from .masked_loops import Holders
from .vector_loops import STRIDES, VectorLoop, vector_loop

# So many rows are worth it, of no more statements than this.
_FEWEST_ROWS, _MOST_STATEMENTS = 16, 160


def loop_of_short_rows(loop: For, holders: Holders) -> VectorLoop | None:
    """The loop with vectors of rows; `None` if it has no short rows, or would not gain.

    Args:
        loop: the loop.
        holders: of local buffers.
    """
    for rows in _written_out(loop, holders):
        plan = vector_loop(rows)
        if plan is not None and plan.extent >= _FEWEST_ROWS:
            return plan
    return None


def _written_out(loop: For, holders: Holders) -> Iterator[For]:
    """The same loop whose rows are statements: those of the last axis, or of the last two, …."""
    if not loop.is_independent or isinstance(loop.extent, Index):
        return
    inner = loop.body[0]
    if len(loop.body) == 1 and type(inner) is For:
        for rows in _written_out(inner, holders):
            yield replace(loop, body=(rows,))
    if any([type(x) is For for x in loop.body]) and all(map(_is_short, loop.body)):
        row = _Row(loop, holders)
        if row.write(loop.body) and row.is_sound():
            yield replace(loop, body=row.whole())


def _is_short(statement: Statement) -> bool:
    """Whether a statement is one of a row, or does few of these."""
    if type(statement) is For:
        return statement.extent in STRIDES and all(map(_is_short, statement.body))
    return isinstance(statement, (Assign, Load, Store))


@final
class _Row:
    """The statements of a step of a loop, in which its short loops are written out.

    Args:
        loop: whose step it is.
        holders: of local buffers.

    Attributes:
        body: the statements so far, without stores.
        names: what stands for the names of the loop.
        stored: what lies where, at the end.
        terms: of the indices at which a buffer is accessed, of which there may be one.
    """

    def __init__(self, loop: For, holders: Holders) -> None:
        self.loop, self.holders = loop, holders
        self.body: list[Assign | Load] = []
        self.names: dict[Name, Operand] = {}
        self.stored: dict[tuple[Buffer, Index], Operand] = {}
        self.terms: dict[Buffer, set[tuple[tuple[Name, int], ...]]] = {}

    def write(self, body: tuple[Statement, ...]) -> bool:
        """Write a block, unless that gets long."""
        for statement in body:
            match statement:
                case Assign():
                    self.assign(statement)
                case Load():
                    self.load(statement)
                case Store(buffer, index, value):
                    self.stored[self.place(buffer, index)] = self.operand(value)
                case For(counter, int() as extent, inner):
                    for step in range(extent):
                        self.names[counter] = Const(INDEX.type(step))
                        if not self.write(inner):
                            return False
        return len(self.body) <= _MOST_STATEMENTS

    def is_sound(self) -> bool:
        """Whether it is known which accesses are of the same element, and each is of this row."""
        changed = {buffer for buffer, _ in self.stored}
        loaded = {x.buffer for x in self.body if type(x) is Load}
        is_told_apart = all([len(self.terms[buffer]) == 1 for buffer in changed])
        return is_told_apart and not any(map(self.is_own, loaded))

    def is_own(self, buffer: Buffer) -> bool:
        """Whether nothing but a step of the loop accesses a buffer."""
        return self.loop in self.holders.get(buffer, ())

    def whole(self) -> tuple[Statement, ...]:
        """All statements: what nobody else reads is not stored."""
        stores = [
            Store(buffer, index, value)
            for (buffer, index), value in self.stored.items()
            if not self.is_own(buffer)
        ]
        return (*self.body, *stores)

    def assign(self, statement: Assign) -> None:
        result, operation = statement.result, statement.operation
        operands = tuple(
            [self.index(x) if type(x) is Index else self.operand(x) for x in statement.operands]
        )
        same = known(operation, operands, result.dtype)
        if same is not None:
            self.names[result] = same
            return
        if is_square(operation, operands):
            operation, operands = "mul", (operands[0], operands[0])
        self.body.append(Assign(self.renamed(result), operation, operands))

    def load(self, statement: Load) -> None:
        place = self.place(statement.buffer, statement.index)
        stored = self.stored.get(place)
        if stored is not None:
            self.names[statement.result] = stored
            return
        self.body.append(Load(self.renamed(statement.result), *place))

    def place(self, buffer: Buffer, index: Index) -> tuple[Buffer, Index]:
        """An element in this step."""
        index = self.index(index)
        self.terms.setdefault(buffer, set()).add(index.terms)
        return buffer, index

    def renamed(self, name: Name) -> Name:
        """A name of this step alone, which is told from others by being another object."""
        new = Name(name.number, name.dtype, name.low, name.high, name.ceiling)
        self.names[name] = new
        return new

    def operand(self, x: Operand) -> Operand:
        return self.names.get(x, x) if type(x) is Name else x

    def index(self, index: Index) -> Index:
        """An index in this step."""
        terms, offset = [], index.offset
        for name, factor in index.terms:
            now = self.operand(name)
            if type(now) is Const:
                offset += factor * int(now.value)
            else:
                assert type(now) is Name, "what is no constant has a name"
                terms.append((now, factor))
        return Index(tuple(terms), offset)
