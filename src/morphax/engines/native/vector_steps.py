"""A loop of independent steps as operations on vectors.

What differs from step to step is a vector, the rest stays a scalar.  Neighbours in memory are
loaded and stored together; other elements are gathered one by one.
"""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from ..loops.program import (
    BOOL,
    Assign,
    Buffer,
    Const,
    Index,
    Load,
    Name,
    Operand,
    Statement,
    Store,
    walk,
)
from .divisions import division, is_by_floats
from .functions.kernel import F32
from .llvm_scalars import memory_type, scalar_type, wide
from .vector_loops import STRIDES, WIDTHS, VectorLoop
from .woven_vectors import Shuffle, loaded_together, unwoven, woven

if TYPE_CHECKING:
    from .llvm_statements import StatementPrinter

_CHOOSING = frozenset(("select", "max", "min"))
"""Operations whose last instruction chooses between elements."""


class VectorSteps:
    """Writes the body of a loop for several steps together."""

    divides_by_floats: ClassVar[bool] = True
    """Whether integers are, where that is faster."""

    def __init__(self, printer: StatementPrinter, plan: VectorLoop) -> None:
        self.printer = printer
        self.plan = plan
        self.width = 0
        self.texts: MutableMapping[Any, str] = {}
        self.logarithms: dict[Operand, str] = {}
        # What has been chosen between elements, and the buffers that have been read.
        self.chosen: set[Operand] = set()
        self.read: set[Buffer] = set()
        # What is stored with its neighbours, when all are there.
        self.woven: dict[Buffer, dict[Index, str]] = {}
        self.together = self.neighbours_loaded()

    def neighbours_loaded(self) -> dict[tuple[Buffer, Index], tuple[Index, ...]]:
        """What is loaded with its neighbours, where nothing is stored meanwhile."""
        plan = self.plan
        if plan.has_members or not plan.is_repeatable:
            return {}
        return loaded_together(plan, plan.body)

    def prepare(self) -> None:
        """What is the same in all steps, and takes long: logarithms of bases of powers."""
        p, body = self.printer, list(walk(self.plan.body))
        powers = [x for x in body if isinstance(x, Assign) and x.operation == "pow"]
        if not powers:
            return
        made = {x.result for x in body if isinstance(x, (Assign, Load))}
        for statement in powers:
            match statement.operands:
                case ((Name() | Const()) as base, _) if base.dtype == F32 and base not in made:
                    given = [p.operand(base)]
                    self.logarithms[base] = p.call("log_of_base", F32, given, 0)

    def write(self, width: int) -> None:
        """The steps from the counter on."""
        p = self.printer
        self.width, self.texts = width, {}
        known = len(p.open_indices)
        for statement in self.plan.body:
            self.statement(statement)
        p.forget(known)

    def statement(self, statement: Statement) -> None:
        """An assignment, a load or a store."""
        match statement:
            case Assign():
                self.assign(statement)
            case Load(result, buffer, index):
                if result in self.plan.vectors:
                    self.read.add(buffer)
                    self.texts[result] = self.loaded(buffer, index)
                else:
                    self.printer.load(statement)
            case Store(buffer, index, value):
                text = self.operand(value)
                if value in self.chosen and buffer in self.read and buffer.size > 1:
                    text = self.frozen(text, scalar_type(value.dtype))
                self.put(buffer, index, text)

    def assign(self, statement: Assign) -> None:
        p, result, operation = self.printer, statement.result, statement.operation
        if result not in self.plan.vectors:
            p.assign(statement)
            return
        if operation == "index":
            (index,) = statement.operands
            assert isinstance(index, Index), "the value of an index"
            self.texts[result] = self.indices(index)
            return
        if operation in _CHOOSING:
            self.chosen.add(result)
        scalars = [x for x in statement.operands if type(x) is not Index]
        texts = [self.operand(x) for x in scalars]
        if operation == "pow" and scalars[0] in self.logarithms:
            texts.append(self.repeated(self.logarithms[scalars[0]], "double"))
            self.texts[result] = p.call("power_of_known", F32, texts, self.width)
        else:
            texts = self.taken(operation, texts, scalars)
            if self.divides_by_floats and is_by_floats(operation, scalars):
                self.texts[result] = p.formatted(
                    division(operation, result.dtype, self.width), texts
                )
                return
            self.texts[result] = p.operation(operation, result.dtype, scalars, texts, self.width)

    def taken(self, operation: str, texts: list[str], x: Sequence[Operand]) -> list[str]:
        """The operands of an operation as it takes them."""
        return texts

    def operand(self, x: Any) -> str:
        """A vector, without its type."""
        if x is self.plan.counter:
            return self.indices(Index.of(x))
        known = self.texts.get(x)
        if known is None:
            known = self.texts[x] = self.repeated(self.printer.operand(x), scalar_type(x.dtype), x)
        return known

    def repeated(self, text: str, type_: str, x: Any = None) -> str:
        """A scalar in all places."""
        if type(x) is Const or not text.startswith("%"):
            return f"splat ({type_} {text})"
        return self._repeated_value(text, type_)

    def _repeated_value(self, text: str, type_: str) -> str:
        vector, p = wide(type_, self.width), self.printer
        first = p.new(f"insertelement {vector} poison, {type_} {text}, i64 0")
        zeros = f"<{self.width} x i32> zeroinitializer"
        return p.new(f"shufflevector {vector} {first}, {vector} poison, {zeros}")

    def indices(self, index: Index) -> str:
        """The values of an index in the steps."""
        key = ("index", index)
        known = self.texts.get(key)
        if known is None:
            known = self.texts[key] = self._indices_written(index)
        return known

    def _indices_written(self, index: Index) -> str:
        p, plan, vector = self.printer, self.plan, wide("i64", self.width)
        counters = (plan.counter, *plan.outer)
        varying = [(n, by) for n, by in index.terms if n in plan.vectors and n not in counters]
        same = [(n, by) for n, by in index.terms if (n, by) not in varying]
        text = self.repeated(p.index(Index(tuple(same), index.offset)), "i64")
        factor = dict(same).get(plan.counter, 0)
        if factor:
            steps = ", ".join([f"i64 {i * factor}" for i in range(self.width)])
            text = p.new(f"add nsw {vector} {text}, <{steps}>")
        for name, by in varying:
            term = self.texts[name]
            if by != 1:
                term = p.new(f"mul nsw {vector} {term}, splat (i64 {by})")
            text = p.new(f"add nsw {vector} {text}, {term}")
        return text

    def element(self, buffer: Buffer, index: Index) -> str:
        """A vector of elements, which may be one in all places."""
        if buffer in self.plan.private or self.plan.factor(index) != 0:
            return self.loaded(buffer, index)
        value = self.printer.element(buffer, index)
        return self.repeated(value, scalar_type(buffer.dtype))

    def loaded(self, buffer: Buffer, index: Index) -> str:
        """A vector of elements, which differ."""
        p, type_, width = self.printer, memory_type(buffer.dtype), self.width
        vector, align = wide(type_, width), buffer.dtype.itemsize
        factor = self.plan.factor(index)
        if factor in (1, -1):
            first = index if factor == 1 else index.plus(1 - width)
            value = p.new(f"load {vector}, ptr {p.address(buffer, first)}, align {align}")
            if factor == -1:
                value = self.reversed(value, vector)
        elif factor in STRIDES and width in WIDTHS:
            # Of other widths LLVM ends the process when it selects instructions for such shuffles.
            if (buffer, index) in self.together:
                return self.row(buffer, index)
            value = self.picked(buffer, index, factor)
        elif factor is not None:
            places = [p.address(buffer, index.plus(i * factor)) for i in range(width)]
            value = self.joined(places, type_, align)
        else:
            value = self.gathered(self.addresses(buffer, index), type_, align)
        return self.truth(value, buffer)

    def row(self, buffer: Buffer, index: Index) -> str:
        """Elements that are loaded with their neighbours, of which each is a vector."""
        key = "row", buffer, index
        if key not in self.texts:
            p, width, row = self.printer, self.width, self.together[buffer, index]
            vector, align = wide(memory_type(buffer.dtype), width), buffer.dtype.itemsize
            addresses = [p.address(buffer, row[0].plus(i * width)) for i in range(len(row))]
            loaded = [p.new(f"load {vector}, ptr {x}, align {align}") for x in addresses]
            vectors = unwoven(loaded, width, self.shuffler(vector))
            for at, value in zip(row, vectors, strict=True):
                self.texts["row", buffer, at] = self.truth(value, buffer)
        return self.texts[key]

    def picked(self, buffer: Buffer, index: Index, stride: int) -> str:
        """Elements with few between them, out of vectors of neighbours."""
        p, width = self.printer, self.width
        vector, align = wide(memory_type(buffer.dtype), width), buffer.dtype.itemsize
        # The last vector ends with the last element.
        end = (width - 1) * stride + 1 - width
        starts = [min(start, end) for start in range(0, end + width, width)]
        value = "poison"
        for start in starts:
            address = p.address(buffer, index.plus(start))
            loaded = p.new(f"load {vector}, ptr {address}, align {align}")
            places = [
                width + i * stride - start if 0 <= i * stride - start < width else i
                for i in range(width)
            ]
            mask = ", ".join([f"i32 {place}" for place in places])
            value = p.new(
                f"shufflevector {vector} {value}, {vector} {loaded}, <{width} x i32> <{mask}>"
            )
        return value

    def truth(self, value: str, buffer: Buffer) -> str:
        """Elements as they are computed with, given as they are in memory."""
        if buffer.dtype != BOOL:
            return value
        return self.printer.new(f"icmp ne {wide('i8', self.width)} {value}, zeroinitializer")

    def in_memory(self, value: str, buffer: Buffer) -> str:
        """Elements as they are in memory."""
        if buffer.dtype != BOOL:
            return value
        types = wide("i1", self.width), wide("i8", self.width)
        return self.printer.new(f"zext {types[0]} {value} to {types[1]}")

    def addresses(self, buffer: Buffer, index: Index) -> str:
        """The addresses of elements anywhere."""
        base, at = self.printer.buffers[buffer], self.indices(index)
        type_, vector = memory_type(buffer.dtype), wide("i64", self.width)
        return self.printer.new(f"getelementptr inbounds {type_}, ptr {base}, {vector} {at}")

    def gathered(self, pointers: str, type_: str, align: int) -> str:
        """Elements at addresses that are a vector, one by one."""
        vector = wide("ptr", self.width)
        places = [
            self.printer.new(f"extractelement {vector} {pointers}, i64 {i}")
            for i in range(self.width)
        ]
        return self.joined(places, type_, align)

    def joined(self, places: Sequence[str], type_: str, align: int) -> str:
        """Elements at addresses, one by one."""
        p, vector, value = self.printer, wide(type_, self.width), "poison"
        for i, pointer in enumerate(places):
            element = p.new(f"load {type_}, ptr {pointer}, align {align}")
            value = p.new(f"insertelement {vector} {value}, {type_} {element}, i64 {i}")
        return value

    def put(self, buffer: Buffer, index: Index, value: str) -> None:
        """Store elements side by side, or with those of others between them."""
        p, width = self.printer, self.width
        text, vector = self.in_memory(value, buffer), wide(memory_type(buffer.dtype), width)
        factor = self.plan.factor(index)
        if factor in STRIDES:
            neighbours = self.woven.setdefault(buffer, {})
            neighbours[index] = text
            if len(neighbours) == factor:
                self.weave(buffer, self.woven.pop(buffer))
            return
        if factor == -1:
            index, text = index.plus(1 - width), self.reversed(text, vector)
        address = p.address(buffer, index)
        p.line(f"store {vector} {text}, ptr {address}, align {buffer.dtype.itemsize}")

    def weave(self, buffer: Buffer, neighbours: Mapping[Index, str]) -> None:
        """Store vectors whose elements take turns in memory."""
        p, width = self.printer, self.width
        vector, align = wide(memory_type(buffer.dtype), width), buffer.dtype.itemsize
        indices = sorted(neighbours, key=lambda index: index.offset)
        vectors = woven([neighbours[x] for x in indices], width, self.shuffler(vector))
        for i, value in enumerate(vectors):
            address = p.address(buffer, indices[0].plus(i * width))
            p.line(f"store {vector} {value}, ptr {address}, align {align}")

    def shuffler(self, vector: str) -> Shuffle:
        """What writes vectors of elements of two others."""

        def shuffled(first: str, second: str, places: Sequence[int]) -> str:
            mask = ", ".join([f"i32 {place}" for place in places])
            return self.printer.new(
                f"shufflevector {vector} {first}, {vector} {second}, <{len(places)} x i32> <{mask}>"
            )

        return shuffled

    def frozen(self, text: str, type_: str) -> str:
        """A vector of which LLVM does not see how it was made.

        Of what was chosen between a new element and the one that lies there LLVM makes a store of
        the new ones alone, by a mask.  On Zen such a store takes 20 cycles, and a plain one takes
        one.
        """
        return self.printer.new(f"freeze {wide(type_, self.width)} {text}")

    def reversed(self, text: str, vector: str) -> str:
        """The places of a vector in the other order."""
        order = ", ".join([f"i32 {i}" for i in reversed(range(self.width))])
        mask = f"<{self.width} x i32> <{order}>"
        return self.printer.new(f"shufflevector {vector} {text}, {vector} poison, {mask}")
