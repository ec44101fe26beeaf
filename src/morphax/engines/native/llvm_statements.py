"""The statements of a loop program as lines of LLVM IR.

A name is a value, for names are assigned once, and known where LLVM wants them to be.  What changes
is in memory, of which LLVM makes registers.  Loops of few steps are written out, so that it can do
so with small arrays too; loops of independent steps are written with vectors (`vector_loops`).

Indices are proved to be inside of their buffers (`check`), so their arithmetic is marked as one
that does not overflow, and addresses as within their objects.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, final

from ..loops.program import (
    BOOL,
    Assign,
    Buffer,
    Call,
    Const,
    Copy,
    DType,
    For,
    If,
    Index,
    Load,
    Name,
    Operand,
    Product,
    Statement,
    Store,
    While,
)
from .call_text import write_call
from .functions.table import types_of
from .llvm_scalars import (
    extreme_of_constant,
    function_name,
    instructions,
    is_library_function,
    memory_type,
    number,
    scalar_type,
    wide,
)
from .loop_plans import LoopPlans
from .masked_steps import fits
from .module_parts import ModuleParts, function_text
from .packs import calls_together, packed
from .products import call_of_product
from .shared_loops import SharedLoop
from .thread_steps import write_divided
from .variables import Variables
from .vector_text import write_vectors

# Loops whose steps are not known are taken to make so many; `while` loops any number of them.
_STEPS, _MANY = 8, 1 << 30
# LLVM looks for the best addresses of loops up to so many lines; the time that takes grows fast.
_MOST_LINES_REDUCED = 100


@final
class StatementPrinter:
    """Lines for the statements of one function.

    Args:
        buffers: the pointer that stands for each buffer.
        plans: which loops become vectors, and which are functions.
        parts: the functions of the module.
    """

    def __init__(self, buffers: Mapping[Buffer, str], plans: LoopPlans, parts: ModuleParts) -> None:
        self.buffers = buffers
        self.plans = plans
        self.parts = parts
        self.lines: list[str] = []
        # How many lines loops run again, and there would be more if functions stood in their place.
        self.repeats = self.elsewhere = 0
        # Variables beside those that buffers are.
        self.variables = Variables()
        # The values of names.
        self.texts: dict[Name, str] = {}
        # Counters of loops that are written out.
        self.numbers: dict[Name, int] = {}
        self._labels = 0
        # Values of indices that the open blocks know, and the order in which they came.
        self._indices: dict[Index, str] = {}
        self.open_indices: list[Index] = []

    def block(self, body: Sequence[Statement]) -> None:
        """The statements of a block of its own."""
        known = len(self.open_indices)
        self.statements(body)
        self.forget(known)

    def statements(self, body: Sequence[Statement]) -> None:
        for statement in packed(body):
            if isinstance(statement, tuple):
                self.texts |= calls_together(self, statement)
            else:
                self._statement(statement)

    def _statement(self, statement: Statement) -> None:
        match statement:
            case Assign():
                self.assign(statement)
            case Load():
                self.load(statement)
            case Store(buffer, index, value):
                self._store(buffer, index, value)
            case Copy(target, source, size):
                to = self.address(target, statement.target_start)
                of = self.address(source, statement.source_start)
                count = size * target.dtype.itemsize
                self.line(
                    f"call void @llvm.memcpy.p0.p0.i64(ptr {to}, ptr {of}, i64 {count}, i1 false)"
                )
            case Product():
                self._product(statement)
            case Call():
                write_call(self, statement)
            case For():
                self._for(statement)
            case While(condition, goes_on, inner):
                self._while(condition, goes_on, inner)
            case If(condition, then, otherwise):
                self._if(condition, then, otherwise)

    @property
    def runs(self) -> int:
        """How many lines are run, as far as they are written."""
        return len(self.lines) + self.elsewhere + self.repeats

    def line(self, text: str) -> None:
        self.lines.append(f"  {text}")

    def new(self, instruction: str) -> str:
        """The value of an instruction."""
        name = f"%x{self.label()}"
        self.lines.append(f"  {name} = {instruction}")
        return name

    def label(self) -> int:
        """A number that names have not had."""
        self._labels += 1
        return self._labels

    # Scalars

    def assign(self, statement: Assign) -> None:
        result, operation, operands = statement.result, statement.operation, statement.operands
        if operation == "index":
            (index,) = operands
            assert isinstance(index, Index), "the value of an index"
            self.texts[result] = self.index(index)
            return
        scalars = [x for x in operands if type(x) is not Index]
        texts = [self.operand(x) for x in scalars]
        self.texts[result] = self.operation(operation, result.dtype, scalars, texts)

    def operation(
        self,
        operation: str,
        result: DType,
        operands: Sequence[Operand],
        texts: Sequence[str],
        width: int = 0,
    ) -> str:
        """The value of an operation on operands, for which there are texts."""
        taken = operands[-1].dtype
        if is_library_function(operation):
            return self.call(operation, taken, texts, width)
        text = instructions(operation, result, taken, width)
        if operation in ("max", "min") and taken.kind == "f":
            for x, order in zip(operands, ((1, 0), (0, 1)), strict=True):
                if type(x) is Const and x.value == x.value:
                    text = extreme_of_constant(operation, x, width)
                    texts = [texts[i] for i in order]
                    break
        return self.formatted(text, texts)

    def formatted(self, text: str, operands: Sequence[str]) -> str:
        """The value of instructions, whose {0} is the result, and {1} and on the operands."""
        name = f"%x{self.label()}"
        self.lines.append("  " + text.format(name, *operands))
        return name

    def call(self, operation: str, dtype: DType, operands: Sequence[str], width: int) -> str:
        """A function of the C library, or one of ours."""
        key, functions = (operation, dtype, width), self.parts.functions
        functions[key] = functions.get(key, 0) + 1
        types, result = types_of(operation, dtype)
        typed = zip(types, operands, strict=True)
        given = ", ".join([f"{wide(scalar_type(x), width)} {text}" for x, text in typed])
        type_ = wide(scalar_type(result), width)
        return self.new(f"call fastcc {type_} {function_name(*key)}({given})")

    def load(self, statement: Load) -> None:
        self.texts[statement.result] = self.element(statement.buffer, statement.index)

    def element(self, buffer: Buffer, index: Index) -> str:
        """What a buffer holds."""
        address = self.address(buffer, index)
        value = self.new(
            f"load {memory_type(buffer.dtype)}, ptr {address}, align {buffer.dtype.itemsize}"
        )
        if buffer.dtype == BOOL:
            value = self.new(f"icmp ne i8 {value}, 0")
        return value

    def _store(self, buffer: Buffer, index: Index, value: Operand) -> None:
        address, text = self.address(buffer, index), self.operand(value)
        if buffer.dtype == BOOL:
            text = self.new(f"zext i1 {text} to i8")
        self.line(
            f"store {memory_type(buffer.dtype)} {text}, ptr {address}, "
            f"align {buffer.dtype.itemsize}"
        )

    def operand(self, x: Any) -> str:
        """A scalar, without its type."""
        if type(x) is Const:
            return number(x)
        known = self.numbers.get(x)
        return self.texts[x] if known is None else str(known)

    # Places in memory

    def address(self, buffer: Buffer, index: Index) -> str:
        """The address of an element."""
        base, at = self.buffers[buffer], self.index(index)
        if at == "0":
            return base
        type_ = memory_type(buffer.dtype)
        return self.new(f"getelementptr inbounds {type_}, ptr {base}, i64 {at}")

    def index(self, index: Index) -> str:
        """The value of an index, which no open block computes twice."""
        numbers = self.numbers
        if numbers and any([name in numbers for name, _ in index.terms]):
            offset = sum([numbers[name] * by for name, by in index.terms if name in numbers])
            unknown = [term for term in index.terms if term[0] not in numbers]
            index = Index(tuple(unknown), index.offset + offset)
        if not index.terms:
            return str(index.offset)
        known = self._indices.get(index)
        if known is not None:
            return known
        if index.offset:
            terms = self.index(Index(index.terms))
            text = self.new(f"add nsw i64 {terms}, {index.offset}")
        else:
            *before, (name, factor) = index.terms
            text = self.texts[name]
            if factor != 1:
                text = self.new(f"mul nsw i64 {text}, {factor}")
            if before:
                text = self.new(f"add nsw i64 {self.index(Index(tuple(before)))}, {text}")
        self._indices[index] = text
        self.open_indices.append(index)
        return text

    def forget(self, count: int) -> None:
        """Forget the indices that came after the first ones."""
        for index in self.open_indices[count:]:
            del self._indices[index]
        del self.open_indices[count:]

    def _product(self, statement: Product) -> None:
        matrices = (statement.target, statement.left, statement.right)
        pointers = [self.address(x.buffer, x.start) for x in matrices]
        self.parts.products[statement.target.buffer.dtype] = None
        self.line(call_of_product(statement, pointers))

    # Loops and branches

    def _for(self, loop: For) -> None:
        if loop in self.plans.divided:
            write_divided(self, loop, self.plans.divided[loop])
            return
        shared = self.plans.shared.of(loop)
        if shared is None:
            self.loop_here(loop)
            return
        name = self.parts.names.get(shared.form)
        if name is None:
            name = self.parts.names[shared.form] = f"@part{len(self.parts.names)}"
            self._part(name, loop, shared)
        lines, repeats = self.parts.sizes[name]
        self.elsewhere += lines
        self.repeats += repeats
        pointers = [f"ptr {self.buffers[x]}" for x in shared.buffers]
        scalars = [f"{scalar_type(x.dtype)} {self.operand(x)}" for x in shared.names]
        self.line(f"call fastcc void {name}({', '.join([*pointers, *scalars])})")

    def _part(self, name: str, loop: For, shared: SharedLoop) -> None:
        """A loop as a function."""
        pointers = {x: f"%b{i}" for i, x in enumerate(shared.buffers)}
        local = [(f"%v{i}", x) for i, x in enumerate(shared.own)]
        known = pointers | {x: pointer for pointer, x in local}
        inner = StatementPrinter(known, self.plans, self.parts)
        inner.texts |= {x: f"%n{i}" for i, x in enumerate(shared.names)}
        inner.loop_here(loop)
        memory = [f"ptr noalias noundef captures(none) {x}" for x in pointers.values()]
        scalars = [f"{scalar_type(x.dtype)} {inner.texts[x]}" for x in shared.names]
        body = [*inner.variables.lines, *inner.lines]
        text = function_text(name, [*memory, *scalars], local, body, convention="fastcc ")
        self.parts.texts.append(text)
        self.parts.sizes[name] = len(text), inner.repeats

    def loop_here(self, loop: For) -> None:
        """A loop, where it stands."""
        plan = self.plans.of(loop)
        if plan is not None and fits(plan, self.variables):
            write_vectors(self, plan)
            return
        extent = loop.extent
        if type(extent) is not Index and self.plans.is_written_out(loop):
            for step in range(extent):
                self._at(loop.counter, step, loop.body)
            return
        end = self.index(extent) if isinstance(extent, Index) else str(extent)
        self.loop(loop.counter, end, 1, lambda: self.block(loop.body), isinstance(extent, Index))

    def _at(self, counter: Name, step: int, body: Sequence[Statement]) -> None:
        """One step of a loop that is written out."""
        self.numbers[counter] = step
        self.block(body)
        del self.numbers[counter]

    def loop(
        self,
        counter: Name,
        end: str,
        by: int,
        body: Any,
        may_be_empty: bool = False,
        first: str = "0",
    ) -> None:
        """A loop over a counter."""
        label = f"for{self.label()}"
        i = self.texts[counter] = f"%{label}.i"
        write = self.lines.append
        if may_be_empty:
            self.fork(self.new(f"icmp sgt i64 {end}, 0"), f"{label}.start", f"{label}.end")
        else:
            self.jump(f"{label}.start")
        write(f"  br label %{label}")
        write(f"{label}:")
        write(f"  {i} = phi i64 [ {first}, %{label}.start ], [ {i}.next, %{label}.step ]")
        before, runs = len(self.lines), self.runs
        body()
        steps = -(-int(end) // by) if end.isdecimal() else _STEPS
        self.repeats += (steps - 1) * (self.runs - runs)
        write(f"  br label %{label}.step")
        write(f"{label}.step:")
        if len(self.lines) - before > _MOST_LINES_REDUCED:
            # LLVM does not reduce the strength of what it cannot see through.
            write(f"  {i}.more = add nuw nsw i64 {i}, {by}")
            write(f'  {i}.next = call i64 asm "", "=r,0"(i64 {i}.more)')
        else:
            write(f"  {i}.next = add nuw nsw i64 {i}, {by}")
        write(f"  {i}.goes_on = icmp slt i64 {i}.next, {end}")
        write(f"  br i1 {i}.goes_on, label %{label}, label %{label}.end")
        write(f"{label}.end:")

    def repeat_any_times(self) -> None:
        """Lines are run again, nobody knows how often."""
        self.repeats += _MANY

    def jump(self, label: str) -> None:
        """Go to a label, which is here."""
        self.lines += [f"  br label %{label}", f"{label}:"]

    def fork(self, condition: str, then: str, otherwise: str) -> None:
        """Go to the first label, which is here, if a condition holds, else to the other one."""
        self.lines += [f"  br i1 {condition}, label %{then}, label %{otherwise}", f"{then}:"]

    def _while(
        self, condition: tuple[Statement, ...], goes_on: Operand, body: tuple[Statement, ...]
    ) -> None:
        label = f"while{self.label()}"
        self.repeat_any_times()
        known = len(self.open_indices)
        self.jump(label)
        self.statements(condition)
        self.fork(self.operand(goes_on), f"{label}.body", f"{label}.end")
        self.statements(body)
        self.forget(known)
        self.lines += [f"  br label %{label}", f"{label}.end:"]

    def _if(self, condition: Operand, then: Sequence[Any], otherwise: Sequence[Any]) -> None:
        label = f"if{self.label()}"
        self.fork(self.operand(condition), f"{label}.then", f"{label}.else")
        self.block(then)
        self.lines += [f"  br label %{label}.end", f"{label}.else:"]
        self.block(otherwise)
        self.jump(f"{label}.end")
