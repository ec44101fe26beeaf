"""Maxima and minima along axes, and their places, by native code that programs for the CPU call.

XLA's own are not right (its kernel library drops NaN and the sign of zero) or slow (its loops over
the elements of an axis); see `native/extremes.cpp` and `native/extreme_places.cpp` for what is
computed.  Only programs that stay in this process call it: portable ones are to run elsewhere, and
on several devices XLA would bring the whole operand to each.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from ... import dtypes
from ...runtime.native_calls import EXTREME_PLACES_TARGET, EXTREMES_TARGET
from ...util.compiled import part
from ...util.host_memory import MANY
from .custom_calls import custom_call
from .stablehlo import Builder, Value

_DTYPES: Final = frozenset(map(np.dtype, (np.float32, np.float64, np.float16, dtypes.bfloat16)))
_WITH_PLACES: Final = _DTYPES | frozenset(map(np.dtype, "?bhilqBHILQ"))

_LONGEST: Final = 2**31 - 1
"""Of an axis: places are numbers of int32."""

_SHORTEST: Final = 5
"""Of rows that lie together: in shorter ones programs compare all elements at once."""


def may_call_extremes(b: Builder, aval: Any) -> bool:
    """Whether native code may compute extremes of an operand."""
    is_possible = b.module.may_call_kernels and aval.dtype in _DTYPES
    return is_possible and aval.is_static and aval.size > 0 and part("extremes") is not None


def call_extremes(b: Builder, out: Any, x: Value, axes: Sequence[int], *, is_min: bool) -> Value:
    """Call native code for the maxima or minima: once for all axes that lie next to each other."""
    for first, last in reversed(_runs(sorted(axes))):
        shape = x.aval.shape
        aval = out.update(shape=(*shape[:first], *shape[last:]))
        x = _call(b, EXTREMES_TARGET, aval, x, first, last, is_min=is_min)
    return x


def may_call_places(b: Builder, aval: Any, axis: int) -> bool:
    """Whether native code is to find the places of extremes of an operand."""
    return b.module.may_call_kernels and is_worth_a_call(aval, axis)


def is_worth_a_call(aval: Any, axis: int) -> bool:
    """Whether native code finds the places of extremes sooner than XLA, where it may be called."""
    if aval.dtype not in _WITH_PLACES or not aval.is_static or part("extreme_places") is None:
        return False
    shortest = _SHORTEST if lies_together(aval, axis) else 1
    return aval.size >= MANY and shortest <= aval.shape[axis] <= _LONGEST


def lies_together(aval: Any, axis: int) -> bool:
    """Whether what stands along an axis are neighbours in memory."""
    return math.prod(aval.shape[axis + 1 :]) == 1


def call_places(b: Builder, out: Any, x: Value, axis: int, *, is_min: bool) -> Value:
    """Call native code for the places of maxima or minima, which are int32."""
    return _call(b, EXTREME_PLACES_TARGET, out, x, axis, axis + 1, is_min=is_min)


def _call(
    b: Builder, target: str, out: Any, x: Value, first: int, last: int, *, is_min: bool
) -> Value:
    """Call what takes the axes from `first` to `last` away."""
    shape = x.aval.shape
    parts = shape[:first], shape[first:last], shape[last:]
    outer, reduced, inner = map(math.prod, parts)
    (found,) = custom_call(
        b,
        target,
        [out],
        x,
        layouts=[range(len(shape))[::-1], range(len(out.shape))[::-1]],
        config=f"{{outer = {outer} : i64, reduced = {reduced} : i64, inner = {inner} : i64, "
        f"is_min = {str(is_min).lower()}}}",
    )
    return found


def _runs(axes: Sequence[int]) -> list[tuple[int, int]]:
    """First axis and end of each run."""
    runs: list[tuple[int, int]] = []
    for axis in axes:
        if runs and runs[-1][1] == axis:
            runs[-1] = runs[-1][0], axis + 1
        else:
            runs.append((axis, axis + 1))
    return runs
