"""The checker of loop programs: types, scopes, bounds, and that buffers are written before read.

It runs on every program in the tests, and after every rewriting of one.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NoReturn, final

from .callees import Callee
from .operations import SCALAR_DTYPES, result_dtype
from .program import (
    BOOL,
    INDEX,
    ORIGIN,
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
    Product,
    Statement,
    Store,
    While,
)


@final
class InvalidLoopProgram(Exception):
    """A loop program breaks a rule: an error of translation, not of its user."""


def check(program: LoopProgram) -> None:
    """Raise `InvalidLoopProgram` unless the program keeps the rules of the language.

    Types and scopes are exact.  Bounds are those that indices have for all values of their names.
    Whether a buffer is written before it is read is checked buffer by buffer: on every path some
    store to it comes before a load.
    """
    declared = (*program.inputs, *program.outputs, *program.constants, *program.temporaries)
    names = [buffer.name for buffer in declared]
    if len(set(names)) < len(names):
        raise InvalidLoopProgram(f"two buffers have one name: {names}")
    for buffer in declared:
        if buffer.dtype not in SCALAR_DTYPES:
            raise InvalidLoopProgram(f"{buffer} has dtype {buffer.dtype}")
    checker = _Checker(declared, program.callees)
    written = checker.block(program.body, {*program.inputs, *program.constants})
    for buffer in program.outputs:
        if buffer.size and buffer not in written:
            raise InvalidLoopProgram(f"the output {buffer} is not written")


@final
class _Checker:
    def __init__(self, declared: Iterable[Buffer], callees: Sequence[Callee]) -> None:
        self.declared, self.callees = set(declared), callees
        self.assigned: set[Name] = set()
        self.known: set[Name] = set()

    def block(self, body: Iterable[Statement], written: set[Buffer]) -> set[Buffer]:
        """Check a block; which buffers are written after it, given those before it."""
        outside, written = set(self.known), set(written)
        for statement in body:
            written = self.statement(statement, written)
        self.known = outside
        return written

    def statement(self, statement: Statement, written: set[Buffer]) -> set[Buffer]:
        match statement:
            case Assign():
                self.assignment(statement)
            case Load(result, buffer, index):
                self.access(statement, buffer, index, written)
                self.same(statement, result.dtype, buffer.dtype)
                self.define(statement, result)
            case Store(buffer, index, value):
                self.access(statement, buffer, index)
                self.same(statement, self.operand(statement, value), buffer.dtype)
                return written | {buffer}
            case Copy(target, source, size, start, source_start):
                self.access(statement, source, source_start, written, size)
                self.access(statement, target, start, size=size)
                self.same(statement, target.dtype, source.dtype)
                if target is source:
                    self.fail(statement, "a buffer is copied to itself")
                return written | {target}
            case Product():
                return self.product(statement, written)
            case Call():
                return self.call(statement, written)
            case _:
                return self.compound(statement, written)
        return written

    def product(self, statement: Product, written: set[Buffer]) -> set[Buffer]:
        target, left, right = statement.target, statement.left, statement.right
        m, n, k = statement.sizes
        self.access(statement, left.buffer, left.start, written, left.span(m, k))
        self.access(statement, right.buffer, right.start, written, right.span(k, n))
        self.access(statement, target.buffer, target.start, size=target.span(m, n))
        for matrix, size in ((target, (m, n)), (left, (m, k)), (right, (k, n))):
            self.same(statement, matrix.buffer.dtype, target.buffer.dtype)
            if not matrix.is_for_library(*size):
                self.fail(statement, f"a matrix of {size} elements with gaps")
        if target.columns != 1 or target.buffer in (left.buffer, right.buffer):
            self.fail(statement, "a product that no library computes")
        return written | {target.buffer}

    def call(self, statement: Call, written: set[Buffer]) -> set[Buffer]:
        both = (*statement.operands, *statement.results)
        declared = [(x.dtype, x.shape) for x in both]
        if isinstance(statement.function, int):
            _, operands, results = self.callees[statement.function]
            declared = [*operands, *results]
        if len(set(both)) < len(both) or any([x.kind is not Kind.TEMPORARY for x in both]):
            self.fail(statement, "memory of a call that is not its own")
        for buffer, (dtype, shape) in zip(both, declared, strict=True):
            self.same(statement, buffer.dtype, dtype)
            if size := math.prod(shape):
                is_read = buffer in statement.operands
                self.access(statement, buffer, ORIGIN, written if is_read else None, size)
        return written | set(statement.results)

    def compound(self, statement: Statement, written: set[Buffer]) -> set[Buffer]:
        match statement:
            case For(counter, extent, body):
                ceiling = None
                if isinstance(extent, Index):
                    self.index(statement, extent)
                    most, ceiling = extent.bounds[1], extent.plus(-1)
                else:
                    most = extent
                bounds = counter.low, counter.high, counter.ceiling
                if most < 1 or bounds != (0, most - 1, ceiling):
                    self.fail(statement, "the counter's bounds are not those of the loop")
                outside = set(self.known)
                self.define(statement, counter)
                after = self.block(body, written)
                self.known = outside
                return written if isinstance(extent, Index) else after
            case While(condition, goes_on, body):
                outside = set(self.known)
                for inner in condition:
                    written = self.statement(inner, written)
                self.same(statement, self.operand(statement, goes_on), BOOL)
                self.block(body, written)
                self.known = outside
            case If(condition, then, otherwise):
                self.same(statement, self.operand(statement, condition), BOOL)
                return self.block(then, written) & self.block(otherwise, written)
        return written

    def assignment(self, statement: Assign) -> None:
        result = statement.result
        bounds: tuple[int, int] | None
        if statement.operation == "index":
            (index,) = statement.operands
            assert isinstance(index, Index), "the operation index is of an index"
            self.index(statement, index)
            self.same(statement, result.dtype, INDEX)
            bounds = index.bounds
        else:
            dtypes = tuple([self.operand(statement, x) for x in statement.operands])
            try:
                expected = result_dtype(statement.operation, dtypes)
            except TypeError as error:
                self.fail(statement, str(error))
            if expected is None and statement.operation == "bitcast":
                self.same(statement, result.dtype.itemsize, dtypes[0].itemsize)
            elif expected is not None:
                self.same(statement, result.dtype, expected)
            bounds = self.bounds(statement)
        if result.low is not None and (bounds is None or (result.low, result.high) != bounds):
            self.fail(statement, f"bounds ({result.low}, {result.high}) that do not follow")
        self.define(statement, result)

    def bounds(self, statement: Assign) -> tuple[int, int] | None:
        """The bounds that follow for the result, if it is an index."""
        if statement.operation == "limit":
            _, low, high = statement.operands
            if type(low) is Const and type(high) is Const:
                return int(low.value), int(high.value)
        return None

    def access(
        self,
        statement: Statement,
        buffer: Buffer,
        index: Index,
        written: set[Buffer] | None = None,
        size: int = 1,
    ) -> None:
        """Check an access; `written` if it reads."""
        if buffer not in self.declared:
            self.fail(statement, f"the buffer {buffer} is not declared")
        if written is None and buffer.kind in (Kind.INPUT, Kind.CONSTANT):
            self.fail(statement, f"the {buffer.kind.value} {buffer} is written")
        if written is not None and buffer not in written:
            self.fail(statement, f"{buffer} is read before it is written")
        self.index(statement, index)
        low, high = index.bounds
        if low < 0 or high + size > buffer.size:
            self.fail(statement, f"elements {low} to {high + size - 1} of {buffer.size}")

    def index(self, statement: Statement, index: Index) -> None:
        for name, _ in index.terms:
            self.same(statement, self.operand(statement, name), INDEX)
            if name.low is None or name.high is None:
                self.fail(statement, f"{name} indexes and has no bounds")

    def operand(self, statement: Statement, x: Operand | Index) -> DType:
        if type(x) is Name and x not in self.known:
            self.fail(statement, f"{x} is not known here")
        assert not isinstance(x, Index), "an index is no operand"
        return x.dtype

    def define(self, statement: Statement, name: Name) -> None:
        if name in self.assigned:
            self.fail(statement, f"{name} is assigned twice")
        if name.dtype not in SCALAR_DTYPES:
            self.fail(statement, f"{name} has dtype {name.dtype}")
        self.assigned.add(name)
        self.known.add(name)

    def same(self, statement: Statement, given: object, expected: object) -> None:
        if given != expected:
            self.fail(statement, f"{given} for {expected}")

    def fail(self, statement: Statement, why: str) -> NoReturn:
        raise InvalidLoopProgram(f"{why}, in {statement!r:.300}")
