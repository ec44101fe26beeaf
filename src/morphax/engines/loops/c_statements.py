"""The statements of a loop program as lines of C.

A scalar that is used once stands where it is used; the others are local variables.  A load is never
moved past a statement that writes memory.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, final

from .c_text import Helpers, bare, closes_last, expression, index_text, number, type_name
from .program import (
    ORIGIN,
    Assign,
    Buffer,
    Const,
    Copy,
    For,
    If,
    Index,
    Kind,
    Load,
    Name,
    Operand,
    Product,
    Statement,
    Store,
    While,
    blocks_of,
    operands_of,
)

# Longer expressions get a name.
_LONGEST = 60
_INDENT = "    "


@final
class StatementPrinter:
    """Lines of C for the statements of one function."""

    def __init__(self, body: tuple[Statement, ...], helpers: Helpers) -> None:
        self.helpers = helpers
        self.lines: list[str] = []
        self._texts: dict[Name, str] = {}
        # What is not written yet, and whether it reads memory.
        self._pending: dict[Name, tuple[str, bool]] = {}
        self._single: set[Name] = _used_once_in_own_block(body)
        self._depth = 1
        self._loops = 0
        self.block(body)

    def block(self, body: Iterable[Statement]) -> None:
        for statement in body:
            self.statement(statement)
        self._flush()

    def statement(self, statement: Statement) -> None:
        match statement:
            case Assign(result, "index", (index,)):
                assert isinstance(index, Index), "the value of an index"
                self._define(result, f"({index_text(index, self._texts)})", reads=False)
            case Assign(result, operation, operands):
                self._assign(result, operation, operands)
            case Load(result, buffer, index):
                self._define(result, self._element(buffer, index), reads=True)
            case Store(buffer, index, value):
                text, _ = self._take(value)
                self._flush(reading=True)
                self._line(f"{self._element(buffer, index)} = {bare(text)};")
            case Copy(target, source, size):
                self._flush(reading=True)
                self.helpers.headers.add("string.h")
                to, of = [
                    f"{buffer.name} + {index_text(start, self._texts)}"
                    if start != ORIGIN
                    else buffer.name
                    for buffer, start in (
                        (target, statement.target_start),
                        (source, statement.source_start),
                    )
                ]
                self._line(f"memcpy({to}, {of}, {size} * sizeof({type_name(target.dtype)}));")
            case Product():
                self._product(statement)
            case _:
                self._compound(statement)

    def _product(self, statement: Product) -> None:
        """A product as loops, the innermost through rows."""
        self._flush()
        m, n, k = statement.sizes
        i, j, step = [f"i{self._loops + number}" for number in range(3)]
        to, of_left, of_right = [
            f"{x.buffer.name}[{index_text(x.start, self._texts)} + {row} * {x.rows}"
            f" + {column} * {x.columns}]"
            for x, row, column in (
                (statement.target, i, j),
                (statement.left, i, step),
                (statement.right, step, j),
            )
        ]

        def loop(name: str, extent: int) -> str:
            return f"for (int64_t {name} = 0; {name} < {extent}; {name}++)"

        self._line(f"{loop(i, m)} {{")
        self._line(f"{_INDENT}{loop(j, n)} {{")
        self._line(f"{_INDENT * 2}{to} = 0;")
        self._line(f"{_INDENT}}}")
        self._line(f"{_INDENT}{loop(step, k)} {{")
        self._line(f"{_INDENT * 2}{loop(j, n)} {{")
        self._line(f"{_INDENT * 3}{to} += {of_left} * {of_right};")
        for depth in (2, 1, 0):
            self._line(f"{_INDENT * depth}}}")

    def _compound(self, statement: Statement) -> None:
        match statement:
            case For(counter, extent, inner):
                self._flush()
                i = f"i{self._loops}"
                self._texts[counter] = i
                self._loops += 1
                end = index_text(extent, self._texts) if isinstance(extent, Index) else extent
                self._line(f"for (int64_t {i} = 0; {i} < {end}; {i}++) {{")
                self._nested(inner)
                self._loops -= 1
                self._line("}")
            case While(condition, goes_on, inner):
                self._flush()
                self._line("for (;;) {")
                self._depth += 1
                for tested in condition:
                    self.statement(tested)
                text, _ = self._take(goes_on)
                self._flush()
                self._line(f"if (!{text}) {{")
                self._line(f"{_INDENT}break;")
                self._line("}")
                self.block(inner)
                self._depth -= 1
                self._line("}")
            case If(condition, then, otherwise):
                text, _ = self._take(condition)
                self._flush()
                self._line(f"if ({bare(text)}) {{")
                self._nested(then)
                if otherwise:
                    self._line("} else {")
                    self._nested(otherwise)
                self._line("}")

    def _nested(self, body: Iterable[Statement]) -> None:
        self._depth += 1
        self.block(body)
        self._depth -= 1

    def _assign(self, result: Name, operation: str, operands: tuple[Any, ...]) -> None:
        taken = [self._take(x) for x in operands]
        texts = tuple([text for text, _ in taken])
        text = expression(operation, result.dtype, operands, texts, self.helpers)
        is_call = re.match(r"\w+\(", text) is not None and closes_last(text)
        self._define(
            result, text if is_call else f"({text})", reads=any([reads for _, reads in taken])
        )

    def _define(self, result: Name, text: str, *, reads: bool) -> None:
        if result in self._single and len(text) <= _LONGEST:
            self._pending[result] = text, reads
        else:
            self._name(result, text)

    def _name(self, result: Name, text: str) -> None:
        self._texts[result] = f"t{result.number}"
        self._line(f"const {type_name(result.dtype)} t{result.number} = {bare(text)};")

    def _take(self, x: Operand) -> tuple[str, bool]:
        """The text of an operand, and whether it reads memory."""
        if type(x) is Const:
            text = number(x.value)
            return (f"({text})" if text.startswith(("-", "(")) else text), False
        assert type(x) is Name, f"{x} is a scalar"
        if x in self._pending:
            return self._pending.pop(x)
        return self._texts[x], False

    def _flush(self, *, reading: bool = False) -> None:
        """Write what is pending; all of it, or what reads memory."""
        for name, (text, reads) in list(self._pending.items()):
            if reads or not reading:
                del self._pending[name]
                self._name(name, text)

    def _element(self, buffer: Buffer, index: Index) -> str:
        if not buffer.shape:
            return f"*{buffer.name}" if buffer.kind is Kind.OUTPUT else buffer.name
        return f"{buffer.name}[{index_text(index, self._texts)}]"

    def _line(self, text: str) -> None:
        self.lines.append(_INDENT * self._depth + text)


def _used_once_in_own_block(body: tuple[Statement, ...]) -> set[Name]:
    """Names that one statement uses as an operand, in the block that assigns them."""
    uses = _UsesByBlock()
    uses.visit(body, 0)
    return uses.single


@final
class _UsesByBlock:
    def __init__(self) -> None:
        self.single: set[Name] = set()
        self.home: dict[Name, int] = {}
        self.seen: set[Name] = set()
        self.blocks = 0

    def use(self, x: Operand | Index, block: int) -> None:
        if isinstance(x, Index):
            # Indices are written as they are, with names.
            names = [name for name, _ in x.terms]
            self.seen.update(names)
            self.single.difference_update(names)
        elif type(x) is Name:
            if x in self.seen or self.home.get(x) != block:
                self.single.discard(x)
            else:
                self.single.add(x)
            self.seen.add(x)

    def visit(self, statements: tuple[Statement, ...], block: int) -> None:
        for statement in statements:
            for x in operands_of(statement):
                self.use(x, block)
            if isinstance(statement, (Assign, Load)):
                self.home[statement.result] = block
            if type(statement) is While:
                # The condition and the body are one block of C.
                self.blocks += 1
                inner = self.blocks
                self.visit(statement.condition, inner)
                self.use(statement.goes_on, inner)
                self.visit(statement.body, inner)
                continue
            for inside in blocks_of(statement):
                self.blocks += 1
                self.visit(inside, self.blocks)
