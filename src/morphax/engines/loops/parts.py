"""Complex numbers as their parts: what is printed has floats alone.

While a program is written, names and buffers may be complex: values are moved, chosen and carried
as any others are.  When it is complete, each complex name becomes two floats.  Temporaries and
constants become two buffers each, so that loops over them are loops of vectors; operands, results,
and what Python is called with stay as others see them, with the parts side by side.

The product is (a + i b) (c + i d) = a c − b d + i (a d + b c), as XLA and NumPy form it: there is
no care for infinities.  Quotients and functions are written with parts from the start
(`complex_scalars`).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from itertools import count
from typing import Final, final

import numpy as np

from .folding import unchanged
from .operations import PART_OF
from .program import (
    BOOL,
    INDEX,
    Assign,
    Buffer,
    Call,
    Const,
    Copy,
    DType,
    For,
    If,
    Index,
    Kind,
    Load,
    LoopProgram,
    Name,
    Operand,
    Statement,
    Store,
    While,
    walk,
)

Pair = tuple[Operand, Operand]
Body = tuple[Statement, ...]


def without_complex(program: LoopProgram) -> LoopProgram:
    """The program with each complex number as its two parts."""
    splitter = _Splitter(program)
    body = splitter.block(program.body)
    inputs, outputs, constants, temporaries = [
        tuple([made for x in buffers for made in splitter.buffers_of(x)])
        for buffers in (
            program.inputs,
            program.outputs,
            program.constants,
            program.temporaries,
        )
    ]
    return LoopProgram(program.name, inputs, outputs, constants, temporaries, body, program.callees)


@final
class _Splitter:
    def __init__(self, program: LoopProgram) -> None:
        known = [x.result.number for x in walk(program.body) if isinstance(x, (Assign, Load))]
        known += [x.counter.number for x in walk(program.body) if type(x) is For]
        self.numbers = count(max(known, default=0) + 1)
        self.called = {
            buffer
            for call in walk(program.body)
            if type(call) is Call
            for buffer in (*call.operands, *call.results)
        }
        self.buffers: dict[Buffer, tuple[Buffer, ...]] = {}
        self.parts: dict[Operand, Pair] = {}
        # What names stand for that were parts of a number.
        self.same: dict[Operand, Operand] = {}
        self.open: list[list[Statement]] = []

    def buffers_of(self, buffer: Buffer) -> tuple[Buffer, ...]:
        """One with both parts of each number side by side, or one for each part."""
        made = self.buffers.get(buffer)
        if made is None:
            made = self.buffers[buffer] = self._split(buffer)
        return made

    def _split(self, buffer: Buffer) -> tuple[Buffer, ...]:
        part = PART_OF.get(buffer.dtype)
        if part is None:
            return (buffer,)
        if buffer.kind in (Kind.INPUT, Kind.OUTPUT) or buffer in self.called:
            shape = (*buffer.shape, 2)
            return (replace(buffer, dtype=part, shape=shape, seen_as=buffer.dtype),)
        data = buffer.data
        return tuple(
            [
                replace(
                    buffer,
                    name=f"{buffer.name}_{name}",
                    dtype=part,
                    data=None if data is None else np.ascontiguousarray(getattr(data, name)),
                )
                for name in ("real", "imag")
            ]
        )

    def places(self, buffer: Buffer, index: Index) -> tuple[tuple[Buffer, Index], ...]:
        """Where the parts of an element of a complex buffer are."""
        made = self.buffers_of(buffer)
        if len(made) == 1:
            first = index.times(2)
            return (made[0], first), (made[0], first.plus(1))
        return (made[0], index), (made[1], index)

    def block(self, body: Iterable[Statement]) -> Body:
        """The statements of a block."""
        self.open.append([])
        for statement in body:
            self.statement(statement)
        return tuple(self.open.pop())

    def write(self, statement: Statement) -> None:
        self.open[-1].append(statement)

    def statement(self, statement: Statement) -> None:
        """Write what a statement becomes."""
        match statement:
            case Assign():
                self.assigned(statement)
            case Load(result, buffer, index) if buffer.dtype in PART_OF:
                there = self.places(buffer, index)
                loaded = [Load(self.name(x.dtype), x, at) for x, at in there]
                for load in loaded:
                    self.write(load)
                self.parts[result] = loaded[0].result, loaded[1].result
            case Store(buffer, index, value) if buffer.dtype in PART_OF:
                there = self.places(buffer, index)
                for (target, at), part in zip(there, self.pair(value), strict=True):
                    self.write(Store(target, at, part))
            case Store(buffer, index, value):
                self.write(Store(buffer, index, self.plain(value)))
            case Copy(buffer) if buffer.dtype in PART_OF:
                self.copied(statement)
            case _:
                self.write(self.compound(statement))

    def compound(self, statement: Statement) -> Statement:
        """Statements that hold others, and those that are not about numbers."""
        match statement:
            case For(_, _, body):
                return replace(statement, body=self.block(body))
            case While(condition, goes_on, body):
                tested = self.block(condition)
                return replace(
                    statement, condition=tested, goes_on=self.plain(goes_on), body=self.block(body)
                )
            case If(condition, then, otherwise):
                return If(
                    self.plain(condition),
                    self.block(then),
                    self.block(otherwise),
                    statement.is_rare,
                )
            case Call(_, operands, results):
                given, made = [
                    tuple([x for buffer in buffers for x in self.buffers_of(buffer)])
                    for buffers in (operands, results)
                ]
                return replace(statement, operands=given, results=made)
        return statement

    def copied(self, statement: Copy) -> None:
        """Copies of memory where both lie alike, else number by number."""
        target, source = statement.target, statement.source
        to, of = self.buffers_of(target), self.buffers_of(source)
        starts = statement.target_start, statement.source_start
        if len(to) == len(of):
            by = 2 if len(to) == 1 else 1
            ends = [start.times(by) for start in starts]
            for there, here in zip(to, of, strict=True):
                self.write(Copy(there, here, by * statement.size, *ends))
            return
        counter = Name(next(self.numbers), INDEX, 0, statement.size - 1)
        at = Index.of(counter)
        number = self.name(source.dtype)
        steps = (
            Load(number, source, starts[1].plus(at)),
            Store(target, starts[0].plus(at), number),
        )
        self.write(For(counter, statement.size, self.block(steps), is_independent=True))

    # Scalars

    def name(self, dtype: DType) -> Name:
        return Name(next(self.numbers), dtype)

    def plain(self, x: Operand) -> Operand:
        """An operand that is no complex number."""
        return self.same.get(x, x)

    def pair(self, x: Operand) -> Pair:
        """The parts of a complex number."""
        if type(x) is Const:
            return Const(x.value.real), Const(x.value.imag)
        return self.parts[x]

    def op(self, operation: str, *operands: Operand, dtype: DType | None = None) -> Operand:
        """An operation on floats."""
        same = unchanged(operation, operands)
        if same is not None:
            return same
        result = self.name(dtype or operands[0].dtype)
        self.write(Assign(result, operation, operands))
        return result

    def assigned(self, statement: Assign) -> None:
        """An operation, on parts if it is one on complex numbers."""
        result, operation = statement.result, statement.operation
        operands = [x for x in statement.operands if type(x) is not Index]
        if result.dtype in PART_OF:
            self.parts[result] = self.made(operation, operands)
        elif any([x.dtype in PART_OF for x in operands]):
            self.same[result] = self.read(operation, operands)
        elif any([x in self.same for x in operands]):
            self.write(Assign(result, operation, tuple(map(self.plain, operands))))
        else:
            self.write(statement)

    def made(self, operation: str, operands: list[Operand]) -> Pair:
        """The parts of a complex result."""
        if operation == "complex":
            x, y = map(self.plain, operands)
            return x, y
        if operation == "select":
            condition, *cases = operands
            flag = self.plain(condition)
            (a, b), (c, d) = map(self.pair, cases)
            return self.chosen(flag, a, c), self.chosen(flag, b, d)
        if operation == "mul":
            (a, b), (c, d) = map(self.pair, operands)
            return (
                self.op("sub", self.op("mul", a, c), self.op("mul", b, d)),
                self.op("add", self.op("mul", a, d), self.op("mul", b, c)),
            )
        assert operation in _PART_BY_PART, f"{operation} of complex numbers"
        pairs = list(map(self.pair, operands))
        return (
            self.op(operation, *[x for x, _ in pairs]),
            self.op(operation, *[y for _, y in pairs]),
        )

    def chosen(self, flag: Operand, x: Operand, y: Operand) -> Operand:
        return self.op("select", flag, x, y, dtype=x.dtype)

    def read(self, operation: str, operands: list[Operand]) -> Operand:
        """A result that is real, or a truth value."""
        if operation in ("real", "imag"):
            return self.pair(operands[0])[operation == "imag"]
        (a, b), (c, d) = map(self.pair, operands)
        both = "and" if operation == "eq" else "or"
        flags = [self.op(operation, x, y, dtype=BOOL) for x, y in ((a, c), (b, d))]
        return self.op(both, *flags)


_PART_BY_PART: Final = frozenset(("add", "sub", "neg"))
