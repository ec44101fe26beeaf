"""Loop programs: a small typed imperative language between jaxprs and machine code.

    program   ::= buffer* statement*
    statement ::= name = operation operand*          Assign
                | name = buffer[index]               Load
                | buffer[index] = operand            Store
                | copy buffer to buffer              Copy
                | product of matrices in buffers     Product
                | call of a function with buffers    Call
                | for name below extent: statement*  For
                | while (statement*; operand): statement*
                | if operand: statement* else: statement*
    operand   ::= name | constant
    index     ::= offset + Σ factor · name

A *name* is a scalar that is assigned once, and known in the rest of its block and in the blocks
inside.  What changes is in *buffers*: flat, row-major memory of one dtype, of one element for a
variable; so no printer analyses dataflow, for compilers make registers of such buffers.

An index counts elements of a buffer.  Its names are integers with known bounds: counters of loops,
and what `limit` and `remainder` give.  So that every access is inside its buffer can be seen from
the program, and `check` does.

Operations are those of `operations`.  Their meaning is that of one machine instruction, or of one
function of the C library; what lax defines beyond (division by zero, conversions out of range,
maxima of NaN) translation spells out.

Reference: docs/design/loop-programs.md.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Iterator
from typing import Any, final

import numpy as np

from ...util.records import dataclass
from .callees import Callee, Routine
from .names import BOOL as BOOL
from .names import INDEX as INDEX
from .names import ORIGIN as ORIGIN
from .names import Const as Const
from .names import DType as DType
from .names import Index as Index
from .names import Name as Name
from .names import Operand as Operand


@final
class Kind(enum.Enum):
    """Who owns the memory of a buffer."""

    INPUT = "input"
    OUTPUT = "output"
    CONSTANT = "constant"
    TEMPORARY = "temporary"


@final
@dataclass(frozen=True, slots=True, eq=False)
class Buffer:
    """Memory of one dtype, row-major.

    Args:
        name: for people to read; different in a program.
        dtype: of the elements.
        shape: what is stored in it; accesses count elements from its start.
        kind: who owns the memory.
        data: the elements of a constant, an array of that shape.
        seen_as: the dtype that others see, if the elements are the bits of narrow floats, or the
            parts of complex numbers, along a last axis.
    """

    name: str
    dtype: DType
    shape: tuple[int, ...]
    kind: Kind = Kind.TEMPORARY
    data: np.ndarray[Any, Any] | None = None
    seen_as: DType | None = None

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def declared(self) -> tuple[DType, tuple[int, ...]]:
        """Dtype and shape of the array that others see."""
        if self.seen_as is None:
            return self.dtype, self.shape
        return self.seen_as, self.shape[:-1] if self.seen_as.kind == "c" else self.shape

    def __repr__(self) -> str:
        return self.name


# There are as many of these three as of names; see `names`.
@final
class Assign:
    """``result = operation(operands)``; an index is assigned by the operation ``index``."""

    __match_args__ = ("result", "operation", "operands")
    __slots__ = ("operands", "operation", "result")

    def __init__(self, result: Name, operation: str, operands: tuple[Operand | Index, ...]) -> None:
        self.result = result
        self.operation = operation
        self.operands = operands


@final
class Load:
    """``result = buffer[index]``."""

    __match_args__ = ("result", "buffer", "index")
    __slots__ = ("buffer", "index", "result")

    def __init__(self, result: Name, buffer: Buffer, index: Index) -> None:
        self.result = result
        self.buffer = buffer
        self.index = index


@final
class Store:
    """``buffer[index] = value``."""

    __match_args__ = ("buffer", "index", "value")
    __slots__ = ("buffer", "index", "value")

    def __init__(self, buffer: Buffer, index: Index, value: Operand) -> None:
        self.buffer = buffer
        self.index = index
        self.value = value


@final
@dataclass(frozen=True, slots=True, eq=False)
class Copy:
    """So many elements of one buffer, as they lie, in place of those of another of its dtype.

    Args:
        target_start, source_start: where the first one lies.
    """

    target: Buffer
    source: Buffer
    size: int
    target_start: Index = ORIGIN
    source_start: Index = ORIGIN


@final
@dataclass(frozen=True, slots=True, eq=False)
class Matrix:
    """A matrix in memory: element (i, j) at ``start + i · rows + j · columns``.

    Its rows, or its columns, lie without gaps and do not overlap.

    Args:
        buffer: that holds it.
        start: where its first element lies.
        rows, columns: how far rows, and elements of a row, are from each other.
    """

    buffer: Buffer
    start: Index
    rows: int
    columns: int

    def span(self, m: int, n: int) -> int:
        """How much memory m × n elements lie in."""
        return (m - 1) * self.rows + (n - 1) * self.columns + 1

    def is_for_library(self, m: int, n: int) -> bool:
        """Whether m × n elements lie as libraries take them."""
        if self.columns == 1:
            return self.rows >= n
        return self.rows == 1 and self.columns >= m


@final
@dataclass(frozen=True, slots=True, eq=False)
class Product:
    """``target = left · right``, large enough for a library.

    Args:
        target: of m × n elements, its rows without gaps, in a buffer that holds none of the others.
        left, right: of m × k and k × n elements, of the same floats; sizes: m, n and k.
    """

    target: Matrix
    left: Matrix
    right: Matrix
    sizes: tuple[int, int, int]


@final
@dataclass(frozen=True, slots=True, eq=False)
class Call:
    """A function computes the elements of some buffers from those of others.

    Args:
        function: its number among those of Python's that the program calls, or a routine.
        operands, results: temporaries, whole; all of them are different.
    """

    function: int | Routine
    operands: tuple[Buffer, ...]
    results: tuple[Buffer, ...]


@final
@dataclass(frozen=True, slots=True, eq=False)
class For:
    """The body for each value of the counter, from 0 to `extent` - 1.

    Args:
        counter: an index with these bounds.
        extent: at least 1; or an index, for loops in triangles, of which there may be no step.
        body: the statements.
        is_independent: whether no step reads or writes what another one writes, so that steps may
            run in any order or side by side.
    """

    counter: Name
    extent: int | Index
    body: tuple[Statement, ...]
    is_independent: bool = False


@final
@dataclass(frozen=True, slots=True, eq=False)
class While:
    """The body as long as `goes_on`, which the statements of the condition compute each time.

    That it takes `most` steps at most, if that is said, is but a hint.
    """

    condition: tuple[Statement, ...]
    goes_on: Operand
    body: tuple[Statement, ...]
    most: int | None = None


@final
@dataclass(frozen=True, slots=True, eq=False)
class If:
    """One of two blocks; that few elements need the first is but a hint."""

    condition: Operand
    then: tuple[Statement, ...]
    otherwise: tuple[Statement, ...] = ()
    is_rare: bool = False


Statement = Assign | Load | Store | Copy | Product | Call | For | While | If


@final
@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class LoopProgram:
    """A function that reads its inputs and constants and writes its outputs.

    Args:
        name: of the function.
        inputs, outputs: in the order of its parameters.
        constants: whose data are part of the program.
        temporaries: memory that it needs in between.
        body: what it does.
        callees: functions that it calls.
    """

    name: str
    inputs: tuple[Buffer, ...]
    outputs: tuple[Buffer, ...]
    constants: tuple[Buffer, ...]
    temporaries: tuple[Buffer, ...]
    body: tuple[Statement, ...]
    callees: tuple[Callee, ...] = ()


def blocks_of(statement: Statement) -> tuple[tuple[Statement, ...], ...]:
    """The blocks inside a statement, in the order in which they run."""
    if type(statement) is For:
        return (statement.body,)
    if type(statement) is While:
        return (statement.condition, statement.body)
    if type(statement) is If:
        return (statement.then, statement.otherwise)
    return ()


_WITH_BLOCKS = frozenset((For, While, If))


def walk(body: tuple[Statement, ...]) -> Iterator[Statement]:
    """All statements, those in blocks after the one that holds them."""
    open_blocks = [iter(body)]
    while open_blocks:
        for statement in open_blocks[-1]:
            yield statement
            if type(statement) in _WITH_BLOCKS:
                open_blocks += map(iter, reversed(blocks_of(statement)))
                break
        else:
            open_blocks.pop()


def kinds_of(body: tuple[Statement, ...]) -> set[type[Statement]]:
    """Which kinds of statements there are, in blocks too; most are of a few, told at once."""
    found: set[type[Statement]] = set()
    rest = [body]
    while rest:
        block = rest.pop()
        here = set(map(type, block))
        found |= here
        if not here.isdisjoint(_WITH_BLOCKS):
            rest += [x for statement in block for x in blocks_of(statement)]
    return found


def operands_of(statement: Statement) -> tuple[Operand | Index, ...]:
    """What a statement itself uses; not what its blocks do, or what decides on a `While`."""
    match statement:
        case Assign(_, _, operands):
            return operands
        case Load(_, _, index):
            return (index,)
        case Store(_, index, value):
            return index, value
        case Copy():
            return statement.target_start, statement.source_start
        case Product(target, left, right):
            return target.start, left.start, right.start
        case If(condition):
            return (condition,)
        case For(_, Index() as extent):
            return (extent,)
    return ()
