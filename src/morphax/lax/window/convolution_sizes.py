"""Which convolutions are too small for XLA's library, which is made for many features.

Measured on two cores, float32: up to 16 features in and out and 16 taps, loops take 0.1 to 0.9 of
its time; with 32 features it is two to four times as fast as they, and of 25 taps some loops fill
no vectors.  The derivative by the kernel is a convolution with a small result: its taps are those.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .convolution_axes import ConvDimensionNumbers

_MOST_FEATURES, _MOST_TAPS = 16, 16


def is_too_small_for_libraries(
    x: Any,
    y: Any,
    out_shape: tuple[int, ...],
    *,
    dimension_numbers: ConvDimensionNumbers,
    lhs_dilation: tuple[int, ...],
    rhs_dilation: tuple[int, ...],
    window_strides: tuple[int, ...],
    feature_group_count: int,
    batch_group_count: int,
    **_: Any,
) -> bool:
    """Whether loops are expected to be faster; what was not measured is not."""
    steps = {*lhs_dilation, *rhs_dilation, *window_strides}
    if x.dtype != np.float32 or steps - {1} or (feature_group_count, batch_group_count) != (1, 1):
        return False
    window, places = dimension_numbers.rhs_spec[2:], dimension_numbers.out_spec[2:]
    features = [y.shape[axis] for axis in dimension_numbers.rhs_spec[:2]]
    taps = min(
        math.prod([y.shape[axis] for axis in window]),
        math.prod([out_shape[axis] for axis in places]),
    )
    return max(features) <= _MOST_FEATURES and taps <= _MOST_TAPS
