"""Scalars of loop programs as C: types, numbers, operations.

Integers are computed as unsigned numbers of at least 32 bits and converted back, for the overflow
of signed ones is undefined in C; that the conversion wraps around is what all compilers do.
"""

from __future__ import annotations

from typing import Any, final

import numpy as np

from .operations import MATH_OF_ONE, MATH_OF_TWO
from .program import BOOL, Const, DType, Index, Name

_SIGNS = {
    **{"add": "+", "sub": "-", "mul": "*", "div": "/", "quotient": "/", "remainder": "%"},
    **{"and": "&", "or": "|", "xor": "^", "shift_left": "<<", "shift_right": ">>"},
    **{"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="},
}
_COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge")
_LOGICAL = {"and": "&&", "or": "||", "xor": "!="}


def type_name(dtype: DType) -> str:
    """The C type."""
    if dtype == BOOL:
        return "bool"
    if dtype.kind == "f":
        return "float" if dtype.itemsize == 4 else "double"
    return f"{dtype.name}_t"


def short_name(dtype: DType) -> str:
    """A part of the names of functions and members for a dtype: ``f32``."""
    return "bool" if dtype == BOOL else f"{dtype.kind}{8 * dtype.itemsize}"


def number(value: Any) -> str:
    """A NumPy scalar as a constant of its type."""
    dtype = value.dtype
    if dtype == BOOL:
        return "true" if value else "false"
    if dtype.kind == "f":
        return _float_number(value, "f" if dtype.itemsize == 4 else "")
    return _integer_number(int(value), dtype)


def _float_number(value: Any, suffix: str) -> str:
    if np.isnan(value):
        return "NAN" if suffix else "(double)NAN"
    if np.isinf(value):
        text = "INFINITY" if suffix else "HUGE_VAL"
        return f"-{text}" if value < 0 else text
    digits = np.format_float_scientific(value, unique=True, trim="0")
    plain = np.format_float_positional(value, unique=True, trim="0")
    return (plain if len(plain) <= 12 else digits) + suffix


def _integer_number(value: int, dtype: DType) -> str:
    bits = 8 * dtype.itemsize
    if dtype.kind == "i" and value == -(1 << bits - 1):
        return f"INT{bits}_MIN"
    if bits < 64 and abs(value) < 1 << 15:
        return f"{value}u" if dtype == np.uint32 else str(value)
    if bits < 32:
        return str(value)
    macro = "INT" if dtype.kind == "i" else "UINT"
    return f"{macro}{bits}_C({value})"


@final
class Helpers:
    """Functions that a source file defines before it uses them."""

    def __init__(self, prefix: str) -> None:
        self.prefix = prefix
        self.definitions: dict[str, str] = {}
        self.headers: set[str] = set()

    def call(self, name: str, result: str, parameters: str, body: str, *arguments: str) -> str:
        """A call of a function, which is defined the first time."""
        full = f"{self.prefix}_{name}"
        head = f"static inline {result} {full}({parameters})"
        self.definitions.setdefault(full, f"{head}\n{{\n{body}\n}}")
        return f"{full}({', '.join(map(bare, arguments))})"


def closes_last(text: str) -> bool:
    """Whether the first parenthesis of a text is closed by its last."""
    depth = 0
    for i, character in enumerate(text):
        depth += (character == "(") - (character == ")")
        if depth == 0 and character == ")":
            return i == len(text) - 1
    return False


def bare(text: str) -> str:
    """Without the parentheses around the whole."""
    return text[1:-1] if text.startswith("(") and closes_last(text) else text


def index_text(index: Index, texts: dict[Name, str]) -> str:
    """An index as an expression."""
    parts = []
    for name, factor in index.terms:
        text = texts[name]
        part = text if abs(factor) == 1 else f"{text} * {abs(factor)}"
        parts.append(("- " if factor < 0 else "+ ") + part)
    if index.offset or not parts:
        offset = f"{'- ' if index.offset < 0 else '+ '}{abs(index.offset)}"
        parts.append(offset)
        if parts[0].startswith("- ") and index.offset > 0:
            parts = [parts[-1], *parts[:-1]]
    text = " ".join(parts)
    return text[2:] if text.startswith("+ ") else "-" + text[2:]


def expression(
    operation: str,
    dtype: DType,
    operands: tuple[Any, ...],
    texts: tuple[str, ...],
    helpers: Helpers,
) -> str:
    """An operation as a C expression.

    Args:
        operation: its name.
        dtype: of the result.
        operands: names and constants.
        texts: what stands for them, ready to be operands of any operator.
        helpers: of the file.
    """
    taken = operands[0].dtype
    if operation in MATH_OF_ONE or operation in MATH_OF_TWO:
        helpers.headers.add("math.h")
        arguments = ", ".join(map(bare, texts))
        return f"{operation}{'f' if dtype.itemsize == 4 else ''}({arguments})"
    match operation:
        case "select":
            return f"{texts[0]} ? {texts[1]} : {texts[2]}"
        case "convert":
            return f"({type_name(dtype)}){texts[0]}"
        case "bitcast":
            return _bitcast(taken, dtype, texts[0], helpers)
        case "limit":
            type_ = type_name(dtype)
            body = "    return i < low ? low : i > high ? high : i;"
            parameters = f"{type_} i, {type_} low, {type_} high"
            return helpers.call("limit", type_, parameters, body, *texts)
        case "max" | "min":
            return _extreme(operation, operands, texts, helpers)
        case "neg":
            return f"-{texts[0]}" if taken.kind == "f" else _wrapped(dtype, "0 - {}", texts)
        case "not":
            return f"!{texts[0]}" if taken == BOOL else f"({type_name(dtype)})~{texts[0]}"
    return _infix(operation, dtype, taken, texts)


def _infix(operation: str, dtype: DType, taken: DType, texts: tuple[str, ...]) -> str:
    """An operator between two operands."""
    if operation in _COMPARISONS:
        return f"{texts[0]} {_SIGNS[operation]} {texts[1]}"
    if taken == BOOL:
        return f"{texts[0]} {_LOGICAL[operation]} {texts[1]}"
    sign = _SIGNS[operation]
    if taken.kind == "f":
        return f"{texts[0]} {sign} {texts[1]}"
    if operation in ("add", "sub", "mul", "shift_left"):
        return _wrapped(dtype, f"{{}} {sign} {{}}", texts)
    plain = f"{texts[0]} {sign} {texts[1]}"
    return plain if dtype.itemsize >= 4 else f"({type_name(dtype)})({plain})"


def _wrapped(dtype: DType, form: str, texts: tuple[str, ...]) -> str:
    """Arithmetic of integers that wraps around."""
    wide = "uint64_t" if dtype.itemsize == 8 else "uint32_t"
    if type_name(dtype) == wide:
        return form.format(*texts)
    return f"({type_name(dtype)})({form.format(*[f'({wide}){text}' for text in texts])})"


def _bitcast(old: DType, new: DType, text: str, helpers: Helpers) -> str:
    if "f" not in (old.kind, new.kind):
        return f"({type_name(new)}){text}"
    helpers.headers.add("string.h")
    result, given = type_name(new), type_name(old)
    body = f"    {result} y;\n    memcpy(&y, &x, sizeof y);\n    return y;"
    name = f"{short_name(new)}_of_bits_of_{short_name(old)}"
    return helpers.call(name, result, f"{given} x", body, text)


def _extreme(
    operation: str, operands: tuple[Any, ...], texts: tuple[str, ...], helpers: Helpers
) -> str:
    """The larger or smaller: NaN if either is, and −0 is less than 0."""
    dtype, sign = operands[0].dtype, ">" if operation == "max" else "<"
    type_, name = type_name(dtype), f"{operation}_{short_name(dtype)}"
    parameters = f"{type_} x, {type_} y"
    if dtype.kind != "f":
        return helpers.call(name, type_, parameters, f"    return x {sign} y ? x : y;", *texts)
    if type(operands[0]) is Const:
        operands, texts = operands[::-1], texts[::-1]
    other = operands[1]
    plain = f"x {sign} y || x != x ? x : y"
    wrong_zero = np.signbit(other.value) == (operation == "max") if type(other) is Const else True
    if type(other) is Const and not (other.value == 0 and wrong_zero):
        # Which zero wins is no question where one operand is known.
        name = f"{name}_with_constant"
        return helpers.call(name, type_, parameters, f"    return {plain};", *texts)
    zero = "x + y" if operation == "max" else "-(-x - y)"
    body = f"    const {type_} zero = {zero};\n    const {type_} z = {plain};\n"
    body += "    return x == 0 && y == 0 ? zero : z;"
    return helpers.call(name, type_, parameters, body, *texts)
