"""Running sums and their like along rows by native code, which programs for the CPU call.

XLA's loop takes as long for a step as for the element that it computes; see `native/running.cpp`.
Only programs that stay in this process call it, on one device, as for extremes.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from ...runtime.native_calls import RUNNING_TARGET
from ...util.compiled import part
from .custom_calls import custom_call
from .stablehlo import Builder, Value

_OPERATIONS: Final = ("add", "mul", "max", "min")
"""Names of monoids, in the order of their numbers in native code."""

_DTYPES: Final = frozenset(map(np.dtype, (np.float32, np.float64)))
_FEWEST: Final = 256
"""Of fewer elements a call takes as long as the loop."""


def may_call_running(b: Builder, name: str, aval: Any, axis: int) -> bool:
    """Whether native code may run the monoid of this name along an axis, the last with elements."""
    is_possible = b.module.calls_kernels and b.module.num_devices == 1 and name in _OPERATIONS
    is_possible = is_possible and aval.is_static and aval.dtype in _DTYPES
    is_possible = is_possible and aval.size >= _FEWEST and part("running") is not None
    return is_possible and all([n == 1 for n in aval.shape[axis + 1 :]])


def call_running(b: Builder, name: str, x: Value, axis: int, *, reverse: bool) -> Value:
    """Call native code, which is given the length of rows."""
    order = range(x.aval.ndim)[::-1]
    (out,) = custom_call(
        b,
        RUNNING_TARGET,
        [x.aval],
        x,
        layouts=[order, order],
        config=f"{{length = {x.aval.shape[axis]} : i64, operation = {_OPERATIONS.index(name)} : "
        f"i64, reverse = {str(reverse).lower()}}}",
    )
    return out
