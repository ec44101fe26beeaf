"""Elements of arrays as MLIR text.

Finite floats are written in decimal with enough digits to give the same bits; NaN and infinities
are written as their bits, and large arrays as the bytes of their memory.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...core.values import conversions


def dense_text(array: np.ndarray[Any, Any]) -> str:
    """The MLIR attribute of an array's elements; large ones as the bytes in hexadecimal."""
    if array.size == 0:
        return "dense<>"
    if array.size == 1:
        return f"dense<{_scalar_text(array.reshape(())[()])}>"
    if array.dtype.itemsize == 1 and array.dtype.kind not in "iu":
        return _nested_text(array)
    return f'dense<"0x{np.ascontiguousarray(array).tobytes().hex().upper()}">'


def _nested_text(array: np.ndarray[Any, Any]) -> str:
    def nest(x: np.ndarray[Any, Any]) -> str:
        if x.ndim == 0:
            return _scalar_text(x[()])
        return f"[{', '.join([nest(row) for row in x])}]"

    return f"dense<{nest(array)}>"


def _scalar_text(value: Any) -> str:
    kind = np.asarray(value).dtype
    if kind.kind == "b":
        return "true" if value else "false"
    if kind.kind in "iu" or kind.name.startswith(("int", "uint")):
        return str(int(value))
    if kind.kind == "c":
        return f"({_scalar_text(value.real)}, {_scalar_text(value.imag)})"
    if np.isfinite(value):
        return f"{float(value):.17e}"
    return f"0x{np.asarray(value).tobytes()[::-1].hex().upper()}"


def i64_array(values: Sequence[int]) -> str:
    """A dense attribute of 64-bit integers."""
    return f"array<i64: {', '.join(map(str, values))}>" if len(values) else "array<i64>"


def host_constant(value: Any) -> Any:
    """A constant of a jaxpr as host memory, or as what NumPy makes that from."""
    if hasattr(value, "to_host"):
        return value.to_host()
    convert = conversions.get(type(value))
    return value if convert is None else convert(value)


def quoted(text: str) -> str:
    """A string as an MLIR literal."""
    return json.dumps(text, ensure_ascii=False)
