"""The statements of a loop program as lines of LLVM IR.

A name is a value of the same number, for names are assigned once, and known where LLVM wants them
to be.  What changes is in memory, of which LLVM makes registers.

Indices are proved to be inside of their buffers (`check`), so their arithmetic is marked as one
that does not overflow, and addresses as within their objects.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, final

from ..loops.program import (
    BOOL,
    Assign,
    Buffer,
    Const,
    Copy,
    DType,
    For,
    If,
    Index,
    Load,
    Name,
    Operand,
    Statement,
    Store,
    While,
)
from .llvm_scalars import instructions, is_library_function, memory_type, number


@final
class StatementPrinter:
    """Lines for the statements of one function.

    Args:
        buffers: the pointer that stands for each buffer.
    """

    def __init__(self, buffers: Mapping[Buffer, str]) -> None:
        self.buffers = buffers
        self.lines: list[str] = []
        # Functions that are called, with how often they stand in the text.
        self.functions: dict[tuple[str, DType], int] = {}
        self._labels = 0
        # Values of indices that the open blocks know, and the order in which they came.
        self._indices: dict[Index, str] = {}
        self._order: list[Index] = []

    def block(self, body: Iterable[Statement]) -> None:
        """The statements of a block of its own."""
        known = len(self._order)
        self.statements(body)
        self._forget(known)

    def statements(self, body: Iterable[Statement]) -> None:
        write = self.lines.append
        for statement in body:
            match statement:
                case Assign(result, "index", (index,)):
                    assert isinstance(index, Index), "the value of an index"
                    write(f"  %t{result.number} = add i64 {self._index(index)}, 0")
                case Assign(result, operation, operands):
                    self._assign(result, operation, operands)
                case Load(result, buffer, index):
                    self._load(result, buffer, index)
                case Store(buffer, index, value):
                    self._store(buffer, index, value)
                case Copy(target, source, size):
                    to = self._address(target, statement.target_start)
                    of = self._address(source, statement.source_start)
                    count = size * target.dtype.itemsize
                    write(
                        "  call void @llvm.memcpy.p0.p0.i64("
                        f"ptr {to}, ptr {of}, i64 {count}, i1 false)"
                    )
                case For(counter, extent, inner):
                    self._for(counter, extent, inner)
                case While(condition, goes_on, inner):
                    self._while(condition, goes_on, inner)
                case If(condition, then, otherwise):
                    self._if(condition, then, otherwise)

    # Scalars

    def _assign(self, result: Name, operation: str, operands: tuple[Any, ...]) -> None:
        taken = operands[-1].dtype
        if is_library_function(operation):
            key = operation, taken
            self.functions[key] = self.functions.get(key, 0) + 1
        text = instructions(operation, result.dtype, taken)
        self.lines.append("  " + text.format(f"%t{result.number}", *map(_operand, operands)))

    def _load(self, result: Name, buffer: Buffer, index: Index) -> None:
        address = self._address(buffer, index)
        type_, align = memory_type(buffer.dtype), buffer.dtype.itemsize
        name = f"%t{result.number}"
        if buffer.dtype == BOOL:
            self.lines.append(f"  {name}.byte = load i8, ptr {address}, align 1")
            self.lines.append(f"  {name} = icmp ne i8 {name}.byte, 0")
        else:
            self.lines.append(f"  {name} = load {type_}, ptr {address}, align {align}")

    def _store(self, buffer: Buffer, index: Index, value: Operand) -> None:
        address = self._address(buffer, index)
        type_, align = memory_type(buffer.dtype), buffer.dtype.itemsize
        text = _operand(value)
        if buffer.dtype == BOOL:
            byte = f"%byte{self._label()}"
            self.lines.append(f"  {byte} = zext i1 {text} to i8")
            text = byte
        self.lines.append(f"  store {type_} {text}, ptr {address}, align {align}")

    def _address(self, buffer: Buffer, index: Index) -> str:
        """The address of an element."""
        base = self.buffers[buffer]
        if not index.terms and not index.offset:
            return base
        name = f"%at{self._label()}"
        self.lines.append(
            f"  {name} = getelementptr inbounds {memory_type(buffer.dtype)}, "
            f"ptr {base}, i64 {self._index(index)}"
        )
        return name

    def _index(self, index: Index) -> str:
        """The value of an index, which no open block computes twice."""
        if not index.terms:
            return str(index.offset)
        known = self._indices.get(index)
        if known is not None:
            return known
        if index.offset:
            terms = self._index(Index(index.terms))
            text = self._new_index(f"add nsw i64 {terms}, {index.offset}")
        else:
            *before, (name, factor) = index.terms
            text = f"%t{name.number}"
            if factor != 1:
                text = self._new_index(f"mul nsw i64 {text}, {factor}")
            if before:
                rest = self._index(Index(tuple(before)))
                text = self._new_index(f"add nsw i64 {rest}, {text}")
        self._indices[index] = text
        self._order.append(index)
        return text

    def _new_index(self, instruction: str) -> str:
        name = f"%x{self._label()}"
        self.lines.append(f"  {name} = {instruction}")
        return name

    def _forget(self, count: int) -> None:
        """Forget the indices that came after the first ones."""
        for index in self._order[count:]:
            del self._indices[index]
        del self._order[count:]

    def _label(self) -> int:
        self._labels += 1
        return self._labels

    # Blocks

    def _for(self, counter: Name, extent: int | Index, body: tuple[Statement, ...]) -> None:
        i, label = f"%t{counter.number}", f"for{counter.number}"
        end = self._index(extent) if isinstance(extent, Index) else str(extent)
        write = self.lines.append
        if isinstance(extent, Index):
            write(f"  {i}.any = icmp sgt i64 {end}, 0")
            write(f"  br i1 {i}.any, label %{label}.start, label %{label}.end")
        else:
            write(f"  br label %{label}.start")
        write(f"{label}.start:")
        write(f"  br label %{label}")
        write(f"{label}:")
        write(f"  {i} = phi i64 [ 0, %{label}.start ], [ {i}.next, %{label}.step ]")
        self.block(body)
        write(f"  br label %{label}.step")
        write(f"{label}.step:")
        write(f"  {i}.next = add nuw nsw i64 {i}, 1")
        write(f"  {i}.goes_on = icmp slt i64 {i}.next, {end}")
        write(f"  br i1 {i}.goes_on, label %{label}, label %{label}.end")
        write(f"{label}.end:")

    def _while(
        self, condition: tuple[Statement, ...], goes_on: Operand, body: tuple[Statement, ...]
    ) -> None:
        label = f"while{self._label()}"
        write, known = self.lines.append, len(self._order)
        write(f"  br label %{label}")
        write(f"{label}:")
        self.statements(condition)
        write(f"  br i1 {_operand(goes_on)}, label %{label}.body, label %{label}.end")
        write(f"{label}.body:")
        self.statements(body)
        self._forget(known)
        write(f"  br label %{label}")
        write(f"{label}.end:")

    def _if(
        self, condition: Operand, then: tuple[Statement, ...], otherwise: tuple[Statement, ...]
    ) -> None:
        label, write = f"if{self._label()}", self.lines.append
        write(f"  br i1 {_operand(condition)}, label %{label}.then, label %{label}.else")
        for name, block in (("then", then), ("else", otherwise)):
            write(f"{label}.{name}:")
            self.block(block)
            write(f"  br label %{label}.end")
        write(f"{label}.end:")


def _operand(x: Operand) -> str:
    return number(x) if type(x) is Const else f"%t{x.number}"
