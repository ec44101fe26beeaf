"""Types of arrays and their elements as MLIR text, and what holds them.

Finite floats are written in decimal with enough digits to give the same bits; NaN and infinities
are written as their bits, and large arrays as the bytes of their memory.

A random key of two words is one 64-bit integer.  A key of another number of words has no such
integer: in a program it is its key data, a row of 32-bit words, along an axis behind all others; in
host memory it is one opaque element of as many bytes.  The bytes are the same, so neither way
copies.

Reference: docs/design/keys.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from ... import dtypes
from ...core import AbstractToken, ShapedArray
from ...core.dims import SymbolicDim
from ...core.values import conversions
from ...runtime.opaque import is_opaque, words_of
from ...util.memo import memoize
from ...util.messages import message
from ..addressable import check_addressable

_NAMES = {
    "bool": "i1",
    **{f"int{n}": f"i{n}" for n in (2, 4, 8, 16, 32, 64)},
    **{f"uint{n}": f"ui{n}" for n in (2, 4, 8, 16, 32, 64)},
    **{f"float{n}": f"f{n}" for n in (16, 32, 64)},
    "bfloat16": "bf16",
    "complex64": "complex<f32>",
    "complex128": "complex<f64>",
    "float0": "i1",
    "float4_e2m1fn": "f4E2M1FN",
    "float8_e3m4": "f8E3M4",
    "float8_e4m3": "f8E4M3",
    "float8_e4m3b11fnuz": "f8E4M3B11FNUZ",
    "float8_e4m3fn": "f8E4M3FN",
    "float8_e4m3fnuz": "f8E4M3FNUZ",
    "float8_e5m2": "f8E5M2",
    "float8_e5m2fnuz": "f8E5M2FNUZ",
    "float8_e8m0fnu": "f8E8M0FNU",
}


def physical_dtype(dtype: Any) -> np.dtype[Any]:
    """The dtype of the host memory that holds values of `dtype` (differs for keys and float0)."""
    if isinstance(dtype, dtypes.ExtendedDType):
        return np.dtype(dtype.physical_dtype)
    return np.dtype(bool) if dtype == dtypes.float0 else dtype


def held_as_key_data(aval: Any) -> bool:
    """Whether an element is key data in programs, a row of words, and opaque in host memory."""
    return type(aval) is ShapedArray and is_opaque(aval.dtype)


@memoize
def physical_aval(aval: Any) -> ShapedArray:
    """The array of numbers that holds an array of this aval in a program; of a token, none."""
    if isinstance(aval, AbstractToken):
        return ShapedArray((0,), bool)
    if is_opaque(aval.dtype):
        return ShapedArray((*aval.shape, aval.dtype.itemsize // 4), np.uint32)
    return ShapedArray(aval.shape, physical_dtype(aval.dtype))


def held(value: Any, aval: ShapedArray) -> np.ndarray[Any, Any]:
    """A constant as a program holds it."""
    array = np.asarray(value, physical_dtype(aval.dtype))
    return words_of(array) if is_opaque(aval.dtype) else array


def element_type(dtype: Any) -> str:
    """The StableHLO name of a dtype."""
    name = physical_dtype(dtype).name
    if name in _NAMES:
        return _NAMES[name]
    raise TypeError(
        message(
            "compilation",
            given=f"an array of dtype {name}",
            expected="a dtype that XLA has",
            fix="Convert it before, for instance with x.astype('int8'), or compute it eagerly.",
        )
    )


@memoize
def tensor_type(aval: Any) -> str:
    """``tensor<2x?xf32>``, where ? is a symbolic size, or the token type."""
    if isinstance(aval, AbstractToken):
        return "!stablehlo.token"
    held = physical_aval(aval)
    sizes = ["?x" if type(n) is SymbolicDim else f"{n}x" for n in held.shape]
    numbers = [max(n, 1) for n in held.shape if type(n) is not SymbolicDim]
    check_addressable("compilation", aval, math.prod(numbers) * held.dtype.itemsize)
    return f"tensor<{''.join(sizes)}{element_type(held.dtype)}>"


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


def i64_matrix(rows: Sequence[Sequence[int]]) -> str:
    """A rank-2 attribute of 64-bit integers, such as the padding of a window."""
    if not len(rows):
        return "dense<> : tensor<0x2xi64>"
    text = ", ".join(f"[{', '.join(map(str, row))}]" for row in rows)
    return f"dense<[{text}]> : tensor<{len(rows)}x{len(rows[0])}xi64>"


def host_constant(value: Any) -> Any:
    """A constant of a jaxpr as host memory, or as what NumPy makes that from."""
    if hasattr(value, "to_host"):
        return value.to_host()
    convert = conversions.get(type(value))
    return value if convert is None else convert(value)


# The escapes of JSON, whose module takes a millisecond to import.
_ESCAPES: Final = {
    **{number: f"\\u{number:04x}" for number in range(32)},
    **{ord(plain): f"\\{short}" for plain, short in zip('"\\\b\f\n\r\t', '"\\bfnrt', strict=True)},
}


def quoted(text: str) -> str:
    """A string as an MLIR literal."""
    return f'"{text.translate(_ESCAPES)}"'


def string_text(value: str | bytes) -> str:
    """Any bytes, or the UTF-8 of a text, as an MLIR literal, escaped where they are not plain."""
    held = value.encode() if isinstance(value, str) else value
    plain = [chr(c) if 32 <= c < 127 and c not in b'"\\' else f"\\{c:02X}" for c in held]
    return f'"{"".join(plain)}"'
