"""A loop of independent steps as operations on vectors.

What differs from step to step is a vector, the rest stays a scalar.  Neighbours in memory are
loaded and stored together; other elements are gathered one by one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, final

from ..loops.program import BOOL, Assign, Buffer, Const, Index, Load, Operand, Store
from .llvm_scalars import memory_type, scalar_type, wide
from .vector_loops import VectorLoop

if TYPE_CHECKING:
    from .llvm_statements import StatementPrinter


@final
class VectorSteps:
    """Writes the body of a loop for several steps together."""

    def __init__(self, printer: StatementPrinter, plan: VectorLoop) -> None:
        self.printer = printer
        self.plan = plan
        self.width = 0
        self.texts: dict[Any, str] = {}

    def write(self, width: int) -> None:
        """The steps from the counter on."""
        p = self.printer
        self.width, self.texts = width, {}
        known = len(p.open_indices)
        for statement in self.plan.body:
            match statement:
                case Assign(result) if result not in self.plan.vectors:
                    p.assign(statement)
                case Assign(result, "index", (index,)):
                    assert isinstance(index, Index), "the value of an index"
                    self.texts[result] = self.indices(index)
                case Assign(result, operation, operands):
                    scalars = [x for x in operands if not isinstance(x, Index)]
                    texts = [self.operand(x) for x in scalars]
                    self.texts[result] = p.operation(operation, result.dtype, scalars, texts, width)
                case Load(result, buffer, index):
                    if result in self.plan.vectors:
                        self.texts[result] = self.loaded(buffer, index)
                    else:
                        p.load(statement)
                case Store(buffer, index, value):
                    self.store(buffer, index, value)
        p.forget(known)

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

    def loaded(self, buffer: Buffer, index: Index) -> str:
        p, type_, width = self.printer, memory_type(buffer.dtype), self.width
        vector, align = wide(type_, width), buffer.dtype.itemsize
        factor = self.plan.factor(index)
        if factor in (1, -1):
            first = index if factor == 1 else index.plus(1 - width)
            value = p.new(f"load {vector}, ptr {p.address(buffer, first)}, align {align}")
            if factor == -1:
                value = self.reversed(value, vector)
        else:
            base, at = p.buffers[buffer], self.indices(index)
            pointers = p.new(
                f"getelementptr inbounds {type_}, ptr {base}, {wide('i64', width)} {at}"
            )
            value = self.gathered(pointers, type_, align)
        if buffer.dtype == BOOL:
            value = p.new(f"icmp ne {vector} {value}, zeroinitializer")
        return value

    def gathered(self, pointers: str, type_: str, align: int) -> str:
        """Elements at addresses, one by one."""
        p, vector = self.printer, wide(type_, self.width)
        value = "poison"
        for i in range(self.width):
            pointer = p.new(f"extractelement {wide('ptr', self.width)} {pointers}, i64 {i}")
            element = p.new(f"load {type_}, ptr {pointer}, align {align}")
            value = p.new(f"insertelement {vector} {value}, {type_} {element}, i64 {i}")
        return value

    def store(self, buffer: Buffer, index: Index, value: Operand) -> None:
        p, width = self.printer, self.width
        text, vector = self.operand(value), wide(memory_type(buffer.dtype), width)
        if buffer.dtype == BOOL:
            text = p.new(f"zext {wide('i1', width)} {text} to {vector}")
        if self.plan.factor(index) == -1:
            index, text = index.plus(1 - width), self.reversed(text, vector)
        address = p.address(buffer, index)
        p.line(f"store {vector} {text}, ptr {address}, align {buffer.dtype.itemsize}")

    def reversed(self, text: str, vector: str) -> str:
        """The places of a vector in the other order."""
        order = ", ".join([f"i32 {i}" for i in reversed(range(self.width))])
        mask = f"<{self.width} x i32> <{order}>"
        return self.printer.new(f"shufflevector {vector} {text}, {vector} poison, {mask}")
