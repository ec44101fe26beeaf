"""The meaning of convolution in NumPy: products of matrices, one per group.

The rows of the left matrix are windows, seen through strides; the columns of the right one are
output features.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..contraction.matrix_products import matrix_product
from .window_geometry import AxisWindow
from .window_slices import padded_array


def convolved(
    x: Any, y: Any, windows: Sequence[AxisWindow], feature_groups: int, batch_groups: int
) -> Any:
    """The convolution of NumPy arrays (N, C, …) and (O, I, …), as (N, O, …)."""
    for w in windows:
        x = padded_array(x, np.zeros((), x.dtype), w)
    counts, sizes = [w.count for w in windows], [w.size for w in windows]
    (batch, features), (outputs, inputs) = x.shape[:2], y.shape[:2]
    groups = feature_groups * batch_groups
    batch //= batch_groups
    shape = (batch_groups, batch, feature_groups, features // feature_groups, *counts, *sizes)
    if 0 in (*shape, outputs):
        return np.zeros((batch, outputs, *counts), x.dtype)
    split = x.reshape(*shape[:4], *x.shape[2:])
    steps = [
        (s * w.stride, s * w.dilation) for s, w in zip(split.strides[4:], windows, strict=True)
    ]
    strides = (*split.strides[:4], *[s for s, _ in steps], *[s for _, s in steps])
    patches = np.lib.stride_tricks.as_strided(split, shape, strides, writeable=False)
    # (batch groups, feature groups, batch, windows, features, places in a window)
    spatial = range(4, 4 + len(counts))
    order = (0, 2, 1, *spatial, 3, *range(4 + len(counts), len(shape)))
    rows = patches.transpose(order).reshape(
        groups, batch * math.prod(counts), inputs * math.prod(sizes)
    )
    columns = y.reshape(groups, outputs // groups, -1).transpose(0, 2, 1)
    product = matrix_product(rows, columns).reshape(groups, batch, *counts, outputs // groups)
    last = product.ndim - 1
    return product.transpose(1, 0, last, *range(2, last)).reshape(batch, outputs, *counts)
