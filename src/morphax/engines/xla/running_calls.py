"""Running sums and their like along rows by native code, which programs for the CPU call.

XLA's loop takes as long for a step as for the element that it computes; see `native/running.cpp`.
Only programs that stay in this process call it, on one device, as for extremes.
"""

from __future__ import annotations

from collections.abc import Callable
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
_FEW_IN_EAGER_MODE: Final = 1024
"""So many numbers small programs add one by one, as NumPy does."""


def may_call_running(b: Builder, name: str, aval: Any, axis: int) -> bool:
    """Whether native code may run the monoid of this name along an axis, the last with elements."""
    is_possible = b.module.may_call_kernels and aval.is_static
    return is_possible and aval.size >= _FEWEST and _is_of_rows(name, aval, axis)


def runs_along_rows(name: str, aval: Any, axis: int) -> bool:
    """Whether native code runs the monoid of this name in eager mode: of many numbers."""
    return aval.size > _FEW_IN_EAGER_MODE and _is_of_rows(name, aval, axis)


def along_rows(name: str, length: int, *, reverse: bool) -> Callable[..., Any]:
    """A function of NumPy arrays of rows of this length."""
    native: Any = part("running")
    run, operation = native.along_rows, _OPERATIONS.index(name)
    return lambda x: run(x, length, operation, reverse)


def _is_of_rows(name: str, aval: Any, axis: int) -> bool:
    """Whether the axis is the last one with elements, of a dtype and monoid of native code."""
    is_possible = name in _OPERATIONS and aval.dtype in _DTYPES and part("running") is not None
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
