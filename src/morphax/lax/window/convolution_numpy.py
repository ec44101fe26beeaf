"""The meaning of convolution in NumPy: products of matrices, one per group.

The columns of the right matrix are windows, seen through strides, so that what is copied lies in
rows as long as those of the operand; the rows of the left one are output features.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...util.compiled import part
from ..contraction.matrix_products import matrix_product
from .convolution_axes import ConvDimensionNumbers
from .window_geometry import AxisWindow
from .window_slices import padded_array

native: Any = part("convolutions")
# Of more products the tables are large, and BLAS is faster.
_MOST_PRODUCTS = 1 << 14


def convolved(
    x: Any, y: Any, windows: Sequence[AxisWindow], feature_groups: int, batch_groups: int
) -> Any:
    """The convolution of NumPy arrays (N, C, …) and (O, I, …), as (N, O, …)."""
    groups = feature_groups * batch_groups
    batch, outputs, counts = x.shape[0] // batch_groups, y.shape[0], [w.count for w in windows]
    if 0 in (x.size, y.size, *counts):
        return np.zeros((batch, outputs, *counts), x.dtype)
    patches = _patches(x, np.zeros((), x.dtype), windows, feature_groups, batch_groups)
    spatial, places = _axes_of_patches(len(counts))
    columns = patches.transpose(0, 2, 3, *places, 1, *spatial)
    columns = columns.reshape(groups, -1, batch * math.prod(counts))
    product = matrix_product(y.reshape(groups, outputs // groups, -1), columns)
    split = product.reshape(groups, outputs // groups, batch, *counts)
    return split.transpose(2, 0, 1, *range(3, split.ndim)).reshape(batch, outputs, *counts)


def kernel_of_few(
    x_shape: tuple[int, ...],
    y_shape: tuple[int, ...],
    numbers: ConvDimensionNumbers,
    windows: Sequence[AxisWindow],
    feature_groups: int,
    batch_groups: int,
) -> Callable[..., Any] | None:
    """A convolution of few float32 or float64 of two shapes; None if they are many."""
    x_order, y_order = numbers.lhs_spec, numbers.rhs_spec
    groups, counts = feature_groups * batch_groups, [w.count for w in windows]
    batch, outputs = x_shape[x_order[0]] // batch_groups, y_shape[y_order[0]]
    size, weights = math.prod(x_shape), math.prod(y_shape)
    if not 0 < batch * math.prod(counts) * weights <= _MOST_PRODUCTS or not size:
        return None
    x, y = (
        np.arange(count, dtype=np.int32).reshape(shape).transpose(order)
        for count, shape, order in ((size, x_shape, x_order), (weights, y_shape, y_order))
    )
    left = _rows(_patches(x, np.array(-1, np.int32), windows, feature_groups, batch_groups))
    right = y.reshape(groups, outputs // groups, -1)
    number = np.arange(groups * left.shape[1] * right.shape[1], dtype=np.int32)
    number = number.reshape(groups, left.shape[1], right.shape[1])
    number = _in_place(number, batch, counts).transpose(np.argsort(numbers.out_spec))
    group, row, column = np.unravel_index(number, (groups, *left.shape[1:2], right.shape[1]))
    of_left, of_right = group * left.shape[1] + row, group * right.shape[1] + column
    tables = [np.ascontiguousarray(t, np.int32) for t in (left, right, of_left, of_right)]
    kernel: Callable[..., Any] = native.make(
        *tables, left.shape[2], size, weights, tuple(number.shape)
    )
    return kernel


def _patches(
    x: Any,
    zero: Any,
    windows: Sequence[AxisWindow],
    feature_groups: int,
    batch_groups: int,
) -> Any:
    """What windows see.

    The axes are batch groups, batch, feature groups, features, windows, places in a window.
    """
    for w in windows:
        x = padded_array(x, zero, w)
    counts, sizes = [w.count for w in windows], [w.size for w in windows]
    batch, features = x.shape[0] // batch_groups, x.shape[1] // feature_groups
    shape = (batch_groups, batch, feature_groups, features, *counts, *sizes)
    split = x.reshape(*shape[:4], *x.shape[2:])
    steps = [
        (s * w.stride, s * w.dilation) for s, w in zip(split.strides[4:], windows, strict=True)
    ]
    strides = (*split.strides[:4], *[s for s, _ in steps], *[s for _, s in steps])
    return np.lib.stride_tricks.as_strided(split, shape, strides, writeable=False)


def _axes_of_patches(ndim: int) -> tuple[range, range]:
    """Of patches the axes of windows and of places in a window."""
    return range(4, 4 + ndim), range(4 + ndim, 4 + 2 * ndim)


def _rows(patches: Any) -> Any:
    """What windows see: (groups, batch and windows, features and places in a window)."""
    batch_groups, batch, feature_groups, features, *rest = patches.shape
    windows, places = _axes_of_patches(len(rest) // 2)
    counts, sizes = rest[: len(windows)], rest[len(windows) :]
    return patches.transpose(0, 2, 1, *windows, 3, *places).reshape(
        batch_groups * feature_groups, batch * math.prod(counts), features * math.prod(sizes)
    )


def _in_place(product: Any, batch: int, counts: Sequence[int]) -> Any:
    """Products (groups, batch and windows, outputs of a group) as (N, O, …)."""
    groups, _, outputs = product.shape
    last = 2 + len(counts)
    split = product.reshape(groups, batch, *counts, outputs)
    order = (1, 0, last, *range(2, last))
    return split.transpose(order).reshape(batch, groups * outputs, *counts)
