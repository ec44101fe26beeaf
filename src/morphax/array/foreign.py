"""Arrays from the memory of NumPy arrays.

An `Array` never changes, so memory that somebody may still write to is copied.  It is shared
without a copy where nobody can: a NumPy array that is read-only down to its owner.  A caller who
asks for ``copy=False`` vouches that the memory stays as it is.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import dtypes
from ..core import aval_of
from ..util import host_memory
from ..util.messages import message
from .array import Array


def array_from_numpy(
    x: np.ndarray[Any, Any], *, copy: bool | None = None, where: str = "array from NumPy"
) -> Array:
    """An array with the numbers of a NumPy array, 64-bit dtypes narrowed.

    Args:
        x: any array of numbers.
        copy: true copies; false shares the memory; `None` shares it if it is aligned and nobody
            can write to it.
        where: the function in whose name an error speaks.

    Raises:
        TypeError: if the elements are no numbers.
        ValueError: if `copy` is false and the memory cannot be shared.
    """
    aval: Any = aval_of(x)
    dtypes.check_numeric(aval.dtype, where)
    fits = x.dtype == aval.dtype and x.flags.c_contiguous
    if copy is False:
        if not fits:
            raise ValueError(
                message(
                    f"{where}, argument copy",
                    given=f"copy=False for {x.dtype}{list(x.shape)} with strides {x.strides}",
                    expected=f"elements of dtype {aval.dtype} in row-major order",
                    fix="Allow the copy, or convert with numpy.ascontiguousarray first.",
                )
            )
        return Array(aval, _read_only(x))
    if copy is None and fits and host_memory.is_aligned(x) and _nobody_writes(x):
        return Array(aval, x)
    return Array.from_host(x)


def _read_only(x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    view = x.view()
    view.flags.writeable = False
    return view


def _nobody_writes(x: Any) -> bool:
    """Whether the memory of `x` is read-only for all NumPy arrays that share it."""
    while isinstance(x, np.ndarray):
        if x.flags.writeable:
            return False
        x = x.base
    # The owner may be anything that exports memory; of these, bytes never change.
    return x is None or isinstance(x, bytes)
