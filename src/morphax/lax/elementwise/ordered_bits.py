"""Floats as integers of the same order, in lowerings.

The bits of non-negative floats, read as integers, are in order as they stand; for negative ones all
but the sign are inverted.  What XLA does with integers is faster than with floats, whose NaN and
signed zeros it must mind, and is not subject to the faults it has there: jaxlib 0.12 loses NaN in a
maximum over many float32 numbers on the CPU.

Floats of 8 bits and less are taken as the float32 of the same value: some have no sign, or one NaN
alone, which is below all numbers or above.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from ... import dtypes
from ...engines.xla.stablehlo import Builder, Value
from ..ground.families import compare

_FLOAT32: Final = np.dtype(np.float32)
_WITHOUT_ZERO: Final = dtypes.dtype("float8_e8m0fnu")


def is_float(dtype: Any) -> bool:
    """Whether a dtype is real floating."""
    return dtypes.issubdtype(dtype, np.floating)


def ordered_bits(b: Builder, x: Value, nan: Any, *, merge_zeros: bool) -> Value:
    """Integers in the order of floats `x`.

    Args:
        b: the builder.
        x: a value of floating dtype.
        nan: what every NaN is taken for: ``np.nan``, above all numbers, or ``-np.nan``, below.
        merge_zeros: whether −0 and 0 become equal, or −0 comes first.
    """
    # Where there is no zero, the least number is next to 0 in float32, and may be taken for it.
    merge_zeros &= x.aval.dtype != _WITHOUT_ZERO
    x = b.convert(x, as_ordered(x.aval.dtype))
    flags = x.aval.update(dtype=np.dtype(bool), weak_type=False)
    unequal = compare(b, flags, "NE", x, x)
    if merge_zeros:
        zero = b.full(0, x.aval)
        is_zero = compare(b, flags, "EQ", x, zero)
        x = b.op("stablehlo.select", x.aval, is_zero, zero, x)
    x = b.op("stablehlo.select", x.aval, unequal, b.full(nan, x.aval), x)
    return bits_in_order(b, x)


def bits_in_order(b: Builder, x: Value) -> Value:
    """Integers in the total order of floats: −NaN, −∞, …, −0, 0, …, ∞, NaN."""
    integers = x.aval.update(dtype=np.dtype(f"i{x.aval.dtype.itemsize}"), weak_type=False)
    return _inverted_if_negative(b, b.op("stablehlo.bitcast_convert", integers, x))


def from_ordered_bits(b: Builder, k: Value, aval: Any) -> Value:
    """The floats, of type `aval`, of which `ordered_bits` made `k`."""
    floats = aval.update(dtype=as_ordered(aval.dtype))
    x = b.op("stablehlo.bitcast_convert", floats, _inverted_if_negative(b, k))
    return b.convert(x, aval.dtype)


def as_ordered(dtype: Any) -> Any:
    """The dtype whose bits put floats of a dtype in order."""
    return dtype if dtype.itemsize > 1 else _FLOAT32


def _inverted_if_negative(b: Builder, k: Value) -> Value:
    bits = 8 * k.aval.dtype.itemsize
    shift = b.full(bits - 1, k.aval)
    sign = b.elementwise("stablehlo.shift_right_arithmetic", k.aval, k, shift)
    mask = b.elementwise("stablehlo.and", k.aval, sign, b.full(2 ** (bits - 1) - 1, k.aval))
    return b.elementwise("stablehlo.xor", k.aval, k, mask)
