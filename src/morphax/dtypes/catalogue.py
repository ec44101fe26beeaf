"""The scalar types that arrays may hold, as one table.

Each row gives the NumPy (or ml_dtypes) name, the short name used in printed jaxprs, the abstract
NumPy class the type counts as, and its width in bits.  ml_dtypes registers its types with NumPy
outside the abstract hierarchy (``np.issubdtype(bfloat16, np.floating)`` is false), so the class
column is what makes bfloat16 a floating type and int4 an integer here.

Types that the installed ml_dtypes lacks are simply absent from `SCALARS`.  XLA's CPU compiler has
neither 1-bit integers nor 6-bit floats: arrays of them are computed eagerly, and compiled programs
that hold them are refused.  The half-precision complex types of ml_dtypes are left out.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import ml_dtypes
import numpy as np

float0 = np.dtype([("float0", np.void, 0)])
"""The tangent type of integers and booleans: a vector space with the single element zero."""


class Scalar(NamedTuple):
    """One row of the table."""

    name: str
    short: str
    kind: type[np.generic]
    bits: int


_SIGNED, _UNSIGNED = np.signedinteger, np.unsignedinteger
_FLOAT, _COMPLEX = np.floating, np.complexfloating

_ROWS = (
    Scalar("bool", "bool", np.bool_, 8),
    Scalar("int1", "i1", _SIGNED, 1),
    Scalar("int2", "i2", _SIGNED, 2),
    Scalar("int4", "i4", _SIGNED, 4),
    Scalar("int8", "i8", _SIGNED, 8),
    Scalar("int16", "i16", _SIGNED, 16),
    Scalar("int32", "i32", _SIGNED, 32),
    Scalar("int64", "i64", _SIGNED, 64),
    Scalar("uint1", "u1", _UNSIGNED, 1),
    Scalar("uint2", "u2", _UNSIGNED, 2),
    Scalar("uint4", "u4", _UNSIGNED, 4),
    Scalar("uint8", "u8", _UNSIGNED, 8),
    Scalar("uint16", "u16", _UNSIGNED, 16),
    Scalar("uint32", "u32", _UNSIGNED, 32),
    Scalar("uint64", "u64", _UNSIGNED, 64),
    Scalar("float4_e2m1fn", "f4_e2m1fn", _FLOAT, 4),
    Scalar("float6_e2m3fn", "f6_e2m3fn", _FLOAT, 6),
    Scalar("float6_e3m2fn", "f6_e3m2fn", _FLOAT, 6),
    Scalar("float8_e3m4", "f8_e3m4", _FLOAT, 8),
    Scalar("float8_e4m3", "f8_e4m3", _FLOAT, 8),
    Scalar("float8_e4m3b11fnuz", "f8_e4m3b11fnuz", _FLOAT, 8),
    Scalar("float8_e4m3fn", "f8_e4m3fn", _FLOAT, 8),
    Scalar("float8_e4m3fnuz", "f8_e4m3fnuz", _FLOAT, 8),
    Scalar("float8_e5m2", "f8_e5m2", _FLOAT, 8),
    Scalar("float8_e5m2fnuz", "f8_e5m2fnuz", _FLOAT, 8),
    Scalar("float8_e8m0fnu", "f8_e8m0fnu", _FLOAT, 8),
    Scalar("bfloat16", "bf16", _FLOAT, 16),
    Scalar("float16", "f16", _FLOAT, 16),
    Scalar("float32", "f32", _FLOAT, 32),
    Scalar("float64", "f64", _FLOAT, 64),
    Scalar("complex64", "c64", _COMPLEX, 64),
    Scalar("complex128", "c128", _COMPLEX, 128),
)


def _scalar_class(name: str) -> Any:
    return getattr(ml_dtypes, name, None) or getattr(np, name, None)


SCALARS: dict[np.dtype[Any], Scalar] = {
    np.dtype(_scalar_class(row.name)): row for row in _ROWS if _scalar_class(row.name) is not None
}
"""The table, by dtype; its order is the order of the rows above."""

NARROW: dict[np.dtype[Any], np.dtype[Any]] = {
    np.dtype(np.int64): np.dtype(np.int32),
    np.dtype(np.uint64): np.dtype(np.uint32),
    np.dtype(np.float64): np.dtype(np.float32),
    np.dtype(np.complex128): np.dtype(np.complex64),
}
"""What stands in for a 64-bit type while ``jax_enable_x64`` is off."""
