"""Which convolutions are too small for XLA's library, which is made for many features.

Measured on two cores, float32.  Where features lie next to each other in memory, loops take 0.1 to
0.9 of its time for up to 144 pairs of features (8 in and 16 out) and 16 taps; 256 pairs a third for
images of 8192 numbers in all, 0.7 to 1.6 for more; of 25 taps some loops fill no vectors.  Where
places do (the order NCHW), loops take as long for each pair, and the library as long for 4 as for
64: 16 pairs take 0.2 to 0.6 of its time, 64 twice, 256 eight times.  The derivative by the kernel
is a convolution with a small result: its taps are those, and 32 pairs, of examples and features,
take a third of the library's time.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .convolution_axes import ConvDimensionNumbers

_MOST_FEATURES, _MOST_TAPS = 16, 16
# Of features: of any images and of small ones; of values and of derivatives, where places lie next
# to each other.
_MOST_PAIRS, _MOST_OF_FEW, _MOST_ON_PLACES, _MOST_OF_DERIVATIVES = 144, 256, 16, 32
_FEW = 1 << 14


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
    x_spec, y_spec, out_spec = dimension_numbers
    features = [y.shape[axis] for axis in y_spec[:2]]
    taps = math.prod([y.shape[axis] for axis in y_spec[2:]])
    places = math.prod([out_shape[axis] for axis in out_spec[2:]])
    is_small = max(x.size, math.prod(out_shape)) <= _FEW
    most = _MOST_OF_FEW if is_small else _MOST_PAIRS
    if len(out_shape) - 1 in (*x_spec[2:], *out_spec[2:]):
        most = _MOST_OF_DERIVATIVES if places < taps else _MOST_ON_PLACES
    return (
        max(features) <= _MOST_FEATURES
        and math.prod(features) <= most
        and min(taps, places) <= _MOST_TAPS
    )
