"""Scalars of loop programs as LLVM IR: types, numbers, operations.

Floats follow IEEE 754 to the letter: there are no fast-math flags, and products and sums are not
contracted, as in C that is compiled by the standard.  Integers wrap around.  A boolean is an `i1`
in a register and a byte in memory.
"""

from __future__ import annotations

import struct
from functools import cache
from typing import Any

import numpy as np

from ..loops.operations import MATH_OF_ONE, MATH_OF_TWO
from ..loops.program import BOOL, Const, DType

_OF_FLOATS = {
    **{"add": "fadd", "sub": "fsub", "mul": "fmul", "div": "fdiv"},
    **{"eq": "fcmp oeq", "ne": "fcmp une", "lt": "fcmp olt", "le": "fcmp ole"},
    **{"gt": "fcmp ogt", "ge": "fcmp oge"},
}
_OF_INTEGERS = {
    **{"add": "add", "sub": "sub", "mul": "mul", "and": "and", "or": "or", "xor": "xor"},
    **{"shift_left": "shl", "eq": "icmp eq", "ne": "icmp ne"},
}
_OF_SIGNED = {
    **{"quotient": "sdiv", "remainder": "srem", "shift_right": "ashr"},
    **{"lt": "icmp slt", "le": "icmp sle", "gt": "icmp sgt", "ge": "icmp sge"},
}
_OF_UNSIGNED = {
    **{"quotient": "udiv", "remainder": "urem", "shift_right": "lshr"},
    **{"lt": "icmp ult", "le": "icmp ule", "gt": "icmp ugt", "ge": "icmp uge"},
}
_INTRINSICS = {
    **{name: name for name in ("sqrt", "floor", "ceil", "trunc", "rint", "fabs", "copysign")},
}


_OF_LIBRARY = frozenset((*MATH_OF_ONE, *MATH_OF_TWO)).difference(_INTRINSICS)


def scalar_type(dtype: DType) -> str:
    """The type of a scalar."""
    if dtype == BOOL:
        return "i1"
    if dtype.kind == "f":
        return "float" if dtype.itemsize == 4 else "double"
    return f"i{8 * dtype.itemsize}"


def wide(type_: str, width: int) -> str:
    """A type, or the type of vectors of so many of these; 0 is no vector."""
    return f"<{width} x {type_}>" if width else type_


def memory_type(dtype: DType) -> str:
    """The type of an element of a buffer."""
    return "i8" if dtype == BOOL else scalar_type(dtype)


def number(constant: Const) -> str:
    """A constant, without its type."""
    value, dtype = constant.value, constant.dtype
    if dtype == BOOL:
        return "true" if value else "false"
    if dtype.kind == "f":
        return float_text(value)
    return str(int(value))


def float_text(value: Any) -> str:
    """A float of any width: the bits of the equal float64."""
    return f"0x{struct.pack('>d', value).hex().upper()}"


def is_library_function(operation: str) -> bool:
    """Whether an operation is a function of the C library, or one of ours that stands for it."""
    return operation in _OF_LIBRARY


def library_name(operation: str, dtype: DType) -> str:
    """What the C library calls a function of floats of this dtype."""
    return operation if dtype.itemsize == 8 else f"{operation}f"


@cache
def instructions(operation: str, result: DType, taken: DType, width: int = 0) -> str:
    """An operation as text to be formatted: {0} is the result, {1} and on are the operands.

    Args:
        operation: its name.
        result, taken: the dtypes of the result and of the last operand.
        width: of the vectors that it takes and gives; 0 for scalars.
    """
    type_ = wide(scalar_type(taken), width)
    match operation:
        case "select":
            condition = wide("i1", width)
            return f"{{0}} = select {condition} {{1}}, {type_} {{2}}, {type_} {{3}}"
        case "convert":
            return _conversion(taken, result, width)
        case "bitcast":
            return _bitcast(taken, result, width)
        case "limit":
            suffix = _suffix(taken, width)
            low = f"{{0}}.low = call {type_} @llvm.smax.{suffix}({type_} {{1}}, {type_} {{2}})"
            high = f"{{0}} = call {type_} @llvm.smin.{suffix}({type_} {{0}}.low, {type_} {{3}})"
            return f"{low}\n  {high}"
        case "neg" if taken.kind == "f":
            return f"{{0}} = fneg {type_} {{1}}"
        case "neg":
            return f"{{0}} = sub {type_} {'zeroinitializer' if width else '0'}, {{1}}"
        case "max" | "min" if taken.kind == "f":
            return _extreme(operation, taken, width)
        case "max" | "min" if not width:
            # LLVM would put its intrinsics into another order, after the operand that comes last.
            comparison = instructions("gt" if operation == "max" else "lt", BOOL, taken)
            wins = comparison.replace("{0}", "{0}.wins")
            return f"{wins}\n  {{0}} = select i1 {{0}}.wins, {type_} {{1}}, {type_} {{2}}"
        case "not":
            ones = "true" if taken == BOOL else "-1"
            ones = f"splat ({scalar_type(taken)} {ones})" if width else ones
            return f"{{0}} = xor {type_} {{1}}, {ones}"
    return _of_one_dtype(operation, taken, width)


def _suffix(dtype: DType, width: int) -> str:
    """How the names of intrinsics end."""
    vector = f"v{width}" if width else ""
    return f"{vector}f{8 * dtype.itemsize}" if dtype.kind == "f" else vector + scalar_type(dtype)


def _of_one_dtype(operation: str, taken: DType, width: int) -> str:
    """Instructions and intrinsics whose operands are all of one dtype."""
    type_ = wide(scalar_type(taken), width)
    if taken.kind == "f":
        plain, sign = _OF_FLOATS.get(operation), ""
    else:
        of_sign, sign = (_OF_SIGNED, "s") if taken.kind == "i" else (_OF_UNSIGNED, "u")
        plain = _OF_INTEGERS.get(operation) or of_sign.get(operation)
    if plain is not None:
        return f"{{0}} = {plain} {type_} {{1}}, {{2}}"
    name = f"llvm.{sign}{_INTRINSICS[operation] if not sign else operation}"
    name = f"{name}.{_suffix(taken, width)}"
    is_of_two = operation == "copysign" or sign
    operands = f"{type_} {{1}}, {type_} {{2}}" if is_of_two else f"{type_} {{1}}"
    return f"{{0}} = call {type_} @{name}({operands})"


def _extreme(operation: str, taken: DType, width: int) -> str:
    """The larger or smaller float: NaN if either is, and −0 < 0.

    Of equal numbers the bits are those of both, but for zeros: their sign is set if both signs are,
    or either is.  LLVM's own form takes twice as long.
    """
    type_ = wide(scalar_type(taken), width)
    bits = wide(f"i{8 * taken.itemsize}", width)
    comparison, joined = ("ogt", "and") if operation == "max" else ("olt", "or")
    lines = [
        f"{{0}}.wins = fcmp {comparison} {type_} {{1}}, {{2}}",
        f"{{0}}.better = select {wide('i1', width)} {{0}}.wins, {type_} {{1}}, {type_} {{2}}",
        f"{{0}}.x = bitcast {type_} {{1}} to {bits}",
        f"{{0}}.y = bitcast {type_} {{2}} to {bits}",
        f"{{0}}.both = {joined} {bits} {{0}}.x, {{0}}.y",
        f"{{0}}.zero = bitcast {bits} {{0}}.both to {type_}",
        f"{{0}}.equal = fcmp oeq {type_} {{1}}, {{2}}",
        f"{{0}}.number = select {wide('i1', width)} {{0}}.equal, {type_} {{0}}.zero, "
        f"{type_} {{0}}.better",
        f"{{0}}.nan = fcmp uno {type_} {{1}}, {{1}}",
        f"{{0}} = select {wide('i1', width)} {{0}}.nan, {type_} {{1}}, {type_} {{0}}.number",
    ]
    return "\n  ".join(lines)


def extreme_of_constant(operation: str, constant: Const, width: int) -> str:
    """The same of a number, {1}, and a constant that is not NaN, {2}: of zeros one may win."""
    type_, condition = wide(scalar_type(constant.dtype), width), wide("i1", width)
    is_wrong_zero = constant.value == 0 and np.signbit(constant.value) == (operation == "min")
    if is_wrong_zero:
        comparison = "ole" if operation == "max" else "oge"
        test = f"{{0}}.loses = fcmp {comparison} {type_} {{1}}, {{2}}"
    else:
        comparison = "ogt" if operation == "max" else "olt"
        test = f"{{0}}.loses = fcmp {comparison} {type_} {{2}}, {{1}}"
    return f"{test}\n  {{0}} = select {condition} {{0}}.loses, {type_} {{2}}, {type_} {{1}}"


def _conversion(old: DType, new: DType, width: int) -> str:
    of, to = wide(scalar_type(old), width), wide(scalar_type(new), width)
    if new == BOOL:
        test = "fcmp une" if old.kind == "f" else "icmp ne"
        zero = "zeroinitializer" if width else "0.0" if old.kind == "f" else "0"
        return f"{{0}} = {test} {of} {{1}}, {zero}"
    is_signed = old.kind == "i"
    match old.kind == "f", new.kind == "f":
        case True, True:
            name = "fpext" if new.itemsize > old.itemsize else "fptrunc"
        case True, False:
            name = "fptosi" if new.kind == "i" else "fptoui"
        case False, True:
            name = "sitofp" if is_signed else "uitofp"
        case _ if old != BOOL and new.itemsize <= old.itemsize:
            name = "trunc" if new.itemsize < old.itemsize else "bitcast"
        case _:
            name = "sext" if is_signed else "zext"
    return f"{{0}} = {name} {of} {{1}} to {to}"


def _bitcast(old: DType, new: DType, width: int) -> str:
    of, to = wide(scalar_type(old), width), wide(scalar_type(new), width)
    if new == BOOL:
        return f"{{0}} = icmp ne {of} {{1}}, {'zeroinitializer' if width else '0'}"
    if old == BOOL:
        return f"{{0}} = zext {of} {{1}} to {to}"
    return f"{{0}} = bitcast {of} {{1}} to {to}"


def function_name(operation: str, dtype: DType, width: int) -> str:
    """What modules call a function of the C library, or one of ours."""
    return f"@{operation}.{'v' + str(width) if width else ''}f{8 * dtype.itemsize}"


def product_name(dtype: DType) -> str:
    """What modules call the function that multiplies matrices."""
    return f"@product.f{8 * dtype.itemsize}"
