"""Maxima and minima of floats along axes by native code, which programs for the CPU call.

XLA's own are not right (its kernel library drops NaN and the sign of zero) or slow (its loops over
the elements of an axis); see `native/extremes.cpp` for what is computed.  Only programs that stay
in this process call it: portable ones are to run elsewhere, and on several devices XLA would bring
the whole operand to each.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from ... import dtypes
from ...runtime.native_calls import EXTREMES_TARGET
from ...util.compiled import part
from .custom_calls import custom_call
from .stablehlo import Builder, Value

_DTYPES: Final = frozenset(map(np.dtype, (np.float32, np.float64, np.float16, dtypes.bfloat16)))


def may_call_extremes(b: Builder, aval: Any) -> bool:
    """Whether native code may compute extremes of an operand."""
    is_possible = b.module.may_call_kernels and aval.dtype in _DTYPES
    return is_possible and aval.is_static and aval.size > 0 and part("extremes") is not None


def call_extremes(b: Builder, out: Any, x: Value, axes: Sequence[int], *, is_min: bool) -> Value:
    """Call native code for the maxima or minima: once for all axes that lie next to each other."""
    for first, last in reversed(_runs(sorted(axes))):
        shape = x.aval.shape
        parts = shape[:first], shape[first:last], shape[last:]
        outer, reduced, inner = map(math.prod, parts)
        aval = out.update(shape=(*parts[0], *parts[2]))
        (x,) = custom_call(
            b,
            EXTREMES_TARGET,
            [aval],
            x,
            layouts=[range(len(shape))[::-1], range(len(aval.shape))[::-1]],
            config=f"{{outer = {outer} : i64, reduced = {reduced} : i64, inner = {inner} : i64, "
            f"is_min = {str(is_min).lower()}}}",
        )
    return x


def _runs(axes: Sequence[int]) -> list[tuple[int, int]]:
    """First axis and end of each run."""
    runs: list[tuple[int, int]] = []
    for axis in axes:
        if runs and runs[-1][1] == axis:
            runs[-1] = runs[-1][0], axis + 1
        else:
            runs.append((axis, axis + 1))
    return runs
