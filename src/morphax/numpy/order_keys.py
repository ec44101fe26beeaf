"""Integers in the order of floating-point numbers: what compares them needs not mind NaN.

The bits of non-negative floats, read as integers, are in order as they stand; those of negative
ones are when all but the sign are inverted.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import lax


def order_keys(x: Any) -> Any:
    """Signed integers in the order of floats, −0 before 0; a NaN is beyond ±∞, as its sign says."""
    return _turned(lax.bitcast_convert_type(x, np.dtype(f"int{8 * x.aval.dtype.itemsize}")))


def from_order_keys(keys: Any, dtype: Any) -> Any:
    """The floats of which `order_keys` made `keys`."""
    return lax.bitcast_convert_type(_turned(keys), dtype)


def _turned(bits: Any) -> Any:
    integer = bits.aval.dtype
    return bits ^ ((bits >> (8 * integer.itemsize - 1)) & np.iinfo(integer).max)
