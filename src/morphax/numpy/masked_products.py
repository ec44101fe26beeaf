"""Products with arrays of truth values: they choose between the other factor and 0.

XLA makes a choice of a product whose one factor is a truth value converted to a number, so that NaN
and infinities that are masked become 0, which a product would not do.  Programs of JAX's users hide
the NaNs of padded elements with it.  So it is said here what is a choice, for all engines.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import lax
from ..core import carries_aval
from ..lax.ground.linear_structure import zeros
from .operands import BOOL, common_dtype

# Numbers of other dtypes XLA multiplies in a wider one.
_CHOSEN = frozenset(
    map(np.dtype, (np.float16, np.float32, np.float64, np.complex64, np.complex128))
)


def masked_product(x: Any, y: Any) -> Any | None:
    """The product if one factor is an array of truth values of the shape of the other one.

    Masks that would have to be broadcast, and factors in bfloat16 or 8 bits, are multiplied.
    """
    if not carries_aval(x) or not carries_aval(y) or x.aval.dtype == y.aval.dtype:
        return None
    for mask, factor in ((x, y), (y, x)):
        if _chooses(mask.aval, factor.aval):
            return lax.select(mask, factor, zeros(factor.aval))
    return None


def _chooses(mask: Any, factor: Any) -> bool:
    if mask.dtype != BOOL or factor.dtype not in _CHOSEN:
        return False
    if mask.shape != factor.shape or mask.split != factor.split:
        return False
    common_dtype("multiply", (mask, factor), inexact=False)  # the promotion may be refused
    return True
