"""The functions that a module calls: those of the C library, one element after another."""

from __future__ import annotations

from collections.abc import Mapping

from ..loops.operations import MATH_OF_TWO
from ..loops.program import DType
from .functions.table import is_ours, types_of, written
from .llvm_scalars import function_name, library_name, scalar_type, wide

# What the C library has instead of a part of a function.
_WHOLE = {"power_of_known": "pow"}
_NAMES = ("%x", "%y", "%z")

Key = tuple[str, DType, int]
"""An operation, the dtype of its operands, and the width of its vectors, 0 for scalars."""


def definitions(functions: Mapping[Key, int]) -> list[str]:
    """Lines that declare and define functions, of which it is known how often they are called.

    One that a single line calls is written into its place by LLVM: the loop around keeps its
    constants in registers, and saves none for the call.
    """
    lines: list[str] = []
    of_library: dict[tuple[str, DType], None] = {}
    for key, calls in functions.items():
        operation, dtype, _ = key
        written, is_complete = _ours(*key) if is_ours(operation, dtype) else (_of_library(*key), 0)
        quality = "alwaysinline " if calls == 1 else ""
        lines += [f"{_head(*key)} {quality}#3 {{", *written]
        if not is_complete:
            of_library[_WHOLE.get(operation, operation), dtype] = None
    for operation, dtype in of_library:
        type_ = scalar_type(dtype)
        taken = ", ".join([type_] * _count(operation))
        lines.append(f"declare {type_} @{library_name(operation, dtype)}({taken}) #2")
    return lines


def _count(operation: str) -> int:
    return 2 if operation in MATH_OF_TWO else 1


def _head(operation: str, dtype: DType, width: int) -> str:
    types, result = types_of(operation, dtype)
    named = zip(types, _NAMES, strict=False)
    taken = ", ".join([f"{wide(scalar_type(x), width)} {name}" for x, name in named])
    type_ = wide(scalar_type(result), width)
    return f"define internal fastcc {type_} {function_name(operation, dtype, width)}({taken})"


def _ours(operation: str, dtype: DType, width: int) -> tuple[list[str], bool]:
    """The lines of a function that is computed here, and whether it is for all operands."""
    kernel, value, outside = written(operation, dtype, width, _NAMES)
    lines = list(kernel.lines)
    result = f"{kernel.type_of(value.dtype)} {value.text}"
    if outside is None:
        return [*lines, f"  ret {result}", "}"], True
    condition, any_ = f"{wide('i1', width)} {outside.text}", outside.text
    if width:
        any_ = "%any"
        lines.append(f"  %any = call i1 @llvm.vector.reduce.or.v{width}i1({condition})")
    lines += [f"  br i1 {any_}, label %far, label %near", "near:", f"  ret {result}", "far:"]
    elements, there = _by_elements(_WHOLE.get(operation, operation), dtype, width)
    lines += [*elements, f"  %chosen = select {condition}, {there}, {result}"]
    return [*lines, f"  ret {kernel.type_of(dtype)} %chosen", "}"], False


def _of_library(operation: str, dtype: DType, width: int) -> list[str]:
    lines, result = _by_elements(operation, dtype, width)
    return [*lines, f"  ret {result}", "}"]


def _by_elements(operation: str, dtype: DType, width: int) -> tuple[list[str], str]:
    """Calls of the C library for each element, and the result with its type."""
    type_ = scalar_type(dtype)
    vector, names = wide(type_, width), _NAMES[: _count(operation)]
    lines, result = [], "poison"
    for i in range(width or 1):
        elements = list(names)
        if width:
            elements = [f"{name}{i}" for name in names]
            for name, element in zip(names, elements, strict=True):
                lines.append(f"  {element} = extractelement {vector} {name}, i64 {i}")
        given = ", ".join([f"{type_} {element}" for element in elements])
        lines.append(f"  %r{i} = call {type_} @{library_name(operation, dtype)}({given})")
        if width:
            lines.append(f"  %v{i} = insertelement {vector} {result}, {type_} %r{i}, i64 {i}")
            result = f"%v{i}"
    return lines, f"{vector} {result if width else '%r0'}"
