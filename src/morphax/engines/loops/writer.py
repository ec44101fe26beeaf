"""Writing statements: blocks that are open, and scalars computed once and as far outside as can be.

An operation is written into the outermost block that knows its operands, so nothing that does not
change is computed in a loop; what an open block knows already is not written again.  A block that
may not run, or whose loop may not, is a *barrier*: nothing leaves it.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, final

import numpy as np

from .folding import NEUTRAL, folded, is_square, unchanged
from .operations import NoOperation, result_dtype
from .program import (
    BOOL,
    INDEX,
    ORIGIN,
    Assign,
    Buffer,
    Const,
    DType,
    For,
    If,
    Index,
    Kind,
    Load,
    Name,
    Operand,
    Statement,
    Store,
    While,
)


@final
class Block:
    """A block that is being written."""

    __slots__ = ("barrier", "known", "loads", "statements")

    def __init__(self, barrier: int) -> None:
        self.statements: list[Statement] = []
        # What has been computed, by what it is.
        self.known: dict[Hashable, Operand] = {}
        self.loads: dict[Hashable, Operand] = {}
        # The number of the innermost open block that nothing leaves.
        self.barrier = barrier


@final
class Writer:
    """The statements of a program so far, and the names and buffers in them."""

    def __init__(self) -> None:
        self.blocks = [Block(barrier=0)]
        # The buffers, numbered as they came.
        self.ordinal: dict[Buffer, int] = {}
        self._levels: dict[Name, int] = {}
        self._count = 0
        self._names_of_buffers: dict[str, int] = {}
        # Whether there are names, buffers or constants in operations of complex dtypes.
        self.has_complex = False

    # Scalars

    def op(self, operation: str, *operands: Operand) -> Operand:
        """The result of an operation whose dtype follows from the operands."""
        if type(operands[0]) is Const:
            constant = folded(operation, operands)
            if constant is not None:
                return constant
        dtype = result_dtype(operation, tuple([x.dtype for x in operands]))
        assert dtype is not None, f"{operation} needs a dtype"
        if operation in NEUTRAL and Const in map(type, operands):
            same = unchanged(operation, operands)
            if same is not None:
                return same
            if is_square(operation, operands):
                return self.op("mul", operands[0], operands[0])
        return self._assigned(operation, operands, dtype)

    def convert(self, x: Operand, dtype: DType) -> Operand:
        """`x` by value; a float converted to an integer must be one that the dtype holds."""
        if x.dtype == dtype:
            return x
        if "c" in (x.dtype.kind, dtype.kind):
            raise NoOperation(f"convert of {x.dtype} to {dtype}")
        if type(x) is Const:
            return Const(x.value.astype(dtype))
        return self._assigned("convert", (x,), dtype)

    def bitcast(self, x: Operand, dtype: DType) -> Operand:
        """The bits of `x`."""
        if x.dtype == dtype:
            return x
        if type(x) is Const:
            return Const(x.value.view(dtype))
        return self._assigned("bitcast", (x,), dtype)

    def number(self, value: Any, dtype: Any) -> Const:
        """A constant; integers wrap around."""
        target = np.dtype(dtype)
        if target.kind in "iu":
            return Const(
                np.array(int(value) % (1 << 8 * target.itemsize), np.uint64).astype(target)[()]
            )
        return Const(target.type(value))

    def select(self, condition: Operand, x: Operand, y: Operand) -> Operand:
        """`x` if the condition is true, else `y`."""
        if type(condition) is Const:
            return x if condition.value else y
        return self.op("select", condition, x, y)

    def limit(self, x: Operand, low: int, high: int) -> Index:
        """An integer scalar of any dtype as an index, moved into its bounds."""
        if type(x) is Const:
            return Index((), min(max(int(x.value), low), high))
        if low == high:
            return Index((), low)
        if x.dtype == np.uint64:
            # Beyond the range of an index; the bound is within.
            x = self.op("min", x, self.number(high, np.uint64))
        wide = self.convert(x, INDEX)
        bounds = self.number(low, INDEX), self.number(high, INDEX)
        return Index.of(self._assigned("limit", (wide, *bounds), INDEX, (low, high)))

    def index_value(self, index: Index) -> Operand:
        """The value of an index, as a scalar."""
        if not index.terms:
            return self.number(index.offset, INDEX)
        if len(index.terms) == 1 and not index.offset and index.terms[0][1] == 1:
            return index.terms[0][0]
        return self._assigned("index", (index,), INDEX, index.bounds)

    def _assigned(
        self,
        operation: str,
        operands: tuple[Operand | Index, ...],
        dtype: DType,
        bounds: tuple[int, int] | None = None,
    ) -> Name:
        key = (operation, dtype, *[x.key if type(x) is Const else x for x in operands])
        level, levels = self.blocks[-1].barrier, self._levels
        for x in operands:
            if type(x) is Name:
                if levels[x] > level:
                    level = levels[x]
            elif type(x) is Index:
                level = max(level, self.level_of(x))
            elif x.dtype.kind == "c":
                self.has_complex = True
        for block in self.blocks[level:]:
            known = block.known.get(key)
            if type(known) is Name:
                return known
        result = self._new_name(dtype, level, bounds or (None, None))
        block = self.blocks[level]
        block.statements.append(Assign(result, operation, operands))
        block.known[key] = result
        return result

    def _new_name(
        self,
        dtype: DType,
        level: int,
        bounds: tuple[int | None, int | None] = (None, None),
        ceiling: Index | None = None,
    ) -> Name:
        self._count += 1
        self.has_complex = self.has_complex or dtype.kind == "c"
        name = Name(self._count, dtype, *bounds, ceiling)
        self._levels[name] = level
        return name

    def level_of(self, x: Operand | Index) -> int:
        """The number of the block that knows `x`, from outside."""
        if type(x) is Name:
            return self._levels[x]
        if type(x) is Index:
            return max([self._levels[name] for name, _ in x.terms], default=0)
        return 0

    def barrier_level(self) -> int:
        """The number of the innermost block that nothing leaves."""
        return self.blocks[-1].barrier

    # Memory

    def buffer(
        self,
        name: str,
        shape: Sequence[int],
        dtype: DType,
        kind: Kind = Kind.TEMPORARY,
        data: Any = None,
        seen_as: DType | None = None,
    ) -> Buffer:
        """New memory; the name is changed where another buffer has it."""
        count = self._names_of_buffers[name] = self._names_of_buffers.get(name, 0) + 1
        unique = name
        while count > 1 and unique in self._names_of_buffers:
            unique, count = f"{name}_{count}", count + 1
        self._names_of_buffers.setdefault(unique, 1)
        made = Buffer(unique, dtype, tuple(shape), kind, data, seen_as)
        self.has_complex = self.has_complex or dtype.kind == "c"
        self.ordinal[made] = len(self.ordinal)
        return made

    def load(self, buffer: Buffer, index: Index = ORIGIN) -> Name:
        """The element that the buffer holds now."""
        result = self._new_name(buffer.dtype, len(self.blocks) - 1)
        self.write(Load(result, buffer, index))
        return result

    def load_unchanged(self, buffer: Buffer, index: Index, base: int) -> Operand:
        """The element of a buffer that does not change in the blocks from number `base` on."""
        level = max(base, self.barrier_level(), self.level_of(index))
        key = buffer, index
        for block in self.blocks[base:]:
            known = block.loads.get(key)
            if known is not None:
                return known
        result = self._new_name(buffer.dtype, level)
        self.blocks[level].statements.append(Load(result, buffer, index))
        self.blocks[level].loads[key] = result
        return result

    def store(self, buffer: Buffer, index: Index, value: Operand) -> None:
        self.write(Store(buffer, index, value))

    def store_at(self, level: int, buffer: Buffer, index: Index, value: Operand) -> None:
        """Put a store at the end of an open block."""
        self.blocks[level].statements.append(Store(buffer, index, value))

    def write(self, statement: Statement) -> None:
        """Put a statement at the end of the innermost block."""
        self.blocks[-1].statements.append(statement)

    # Blocks

    @contextmanager
    def block(self, *, is_barrier: bool = False) -> Iterator[Block]:
        """What is written into a block of its own."""
        depth = len(self.blocks)
        block = Block(depth if is_barrier else self.barrier_level())
        self.blocks.append(block)
        try:
            yield block
        finally:
            del self.blocks[depth:]

    def adopt(self, block: Block) -> None:
        """Let the statements of a closed block stand in the one around it, with what they name."""
        level = len(self.blocks) - 1
        for statement in block.statements:
            if isinstance(statement, (Assign, Load)):
                self._levels[statement.result] = level
            self.write(statement)
        self.blocks[-1].known.update(block.known)

    def open_loop(self, extent: int | Index) -> Name:
        """Begin a loop; its counter."""
        if isinstance(extent, Index):
            bounds = (0, extent.bounds[1] - 1)
            counter = self._new_name(INDEX, len(self.blocks), bounds, extent.plus(-1))
        else:
            counter = self._new_name(INDEX, len(self.blocks), (0, extent - 1))
        self.blocks.append(Block(self.barrier_level()))
        return counter

    def close_loop(self, counter: Name, extent: int | Index, *, is_independent: bool) -> None:
        """End the innermost loop."""
        body = tuple(self.blocks.pop().statements)
        self.write(For(counter, extent, body, is_independent))

    def loop(
        self, extent: int, body: Callable[[Index], None], *, is_independent: bool = False
    ) -> None:
        """Write a loop outside of nests."""
        counter = self.open_loop(extent)
        body(Index.of(counter))
        self.close_loop(counter, extent, is_independent=is_independent)

    def branch(
        self,
        condition: Operand,
        then: Callable[[], None],
        otherwise: Callable[[], None] | None = None,
        *,
        is_rare: bool = False,
    ) -> None:
        """Write one or the other; `is_rare` says that few elements need the first."""
        written = []
        for write in (then, otherwise):
            with self.block(is_barrier=True) as block:
                if write is not None:
                    write()
            written.append(tuple(block.statements))
        then_block, other_block = written
        self.write(If(condition, then_block, other_block, is_rare))

    def repeat(
        self,
        condition: Callable[[], Operand],
        body: Callable[[], None],
        most: int | None = None,
    ) -> None:
        """Write a loop that goes on as long as the condition holds, as a hint `most` times."""
        with self.block(is_barrier=True) as tested:
            goes_on = condition()
        with self.block(is_barrier=True) as repeated:
            body()
        self.write(While(tuple(tested.statements), goes_on, tuple(repeated.statements), most))

    def all_of(self, conditions: Sequence[Operand]) -> Operand:
        """Whether all conditions hold."""
        result: Operand = self.number(True, BOOL)
        for condition in conditions:
            if type(result) is Const:
                result = condition if result.value else result
            else:
                result = self.op("and", result, condition)
        return result
