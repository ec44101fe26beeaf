"""The functions that a module calls: those of the C library, one element after another."""

from __future__ import annotations

from collections.abc import Iterable

from ..loops.operations import MATH_OF_TWO
from ..loops.program import DType
from .llvm_scalars import function_name, library_name, scalar_type, wide

Key = tuple[str, DType, int]
"""An operation, the dtype of its operands, and the width of its vectors, 0 for scalars."""


def definitions(functions: Iterable[Key]) -> list[str]:
    """Lines that declare and define functions."""
    lines = []
    declared = dict.fromkeys([(operation, dtype) for operation, dtype, _ in functions])
    for operation, dtype in declared:
        type_ = scalar_type(dtype)
        taken = ", ".join([type_] * _count(operation))
        lines.append(f"declare {type_} @{library_name(operation, dtype)}({taken}) #2")
    for key in functions:
        lines += _by_elements(*key)
    return lines


def _count(operation: str) -> int:
    return 2 if operation in MATH_OF_TWO else 1


def _by_elements(operation: str, dtype: DType, width: int) -> list[str]:
    """A function of vectors that calls the C library for each element."""
    type_ = scalar_type(dtype)
    vector, names = wide(type_, width), ["%x", "%y"][: _count(operation)]
    taken = ", ".join([f"{vector} {name}" for name in names])
    lines = [f"define internal {vector} {function_name(operation, dtype, width)}({taken}) #1 {{"]
    result = "poison"
    for i in range(width or 1):
        elements = names
        if width:
            elements = [f"{name}{i}" for name in names]
            for name, element in zip(names, elements, strict=True):
                lines.append(f"  {element} = extractelement {vector} {name}, i64 {i}")
        given = ", ".join([f"{type_} {element}" for element in elements])
        lines.append(f"  %r{i} = call {type_} @{library_name(operation, dtype)}({given})")
        if width:
            lines.append(f"  %v{i} = insertelement {vector} {result}, {type_} %r{i}, i64 {i}")
            result = f"%v{i}"
    return [*lines, f"  ret {vector} {result if width else '%r0'}", "}"]
