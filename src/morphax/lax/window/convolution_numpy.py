"""The meaning of convolution in NumPy: products of matrices, one per group.

One matrix has a row for each window, seen through strides, the other one for each output feature.
What windows see is copied, in rows as long as can be: of many features those of a window, where
features come last, and what images with features last give is the result itself; of few features
those of the image.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...util.compiled import part
from ...util.host_memory import in_order
from ..contraction.matrix_products import LARGE, matrix_product, native_product
from ..shape.slicing import pad_p
from .convolution_axes import ConvDimensionNumbers
from .window_geometry import AxisWindow

native: Any = part("convolutions")
# Of more products the tables are large, and BLAS is faster.
_MOST_PRODUCTS, _SIDE_BY_SIDE = 1 << 16, 4
# Of fewer features, of each of several groups, rows of windows are shorter than those of images.
_FEWEST_FEATURES, _FEWEST_OF_GROUPS = 4, 32


def convolved(
    x: Any, y: Any, windows: Sequence[AxisWindow], feature_groups: int, batch_groups: int
) -> Any:
    """The convolution of NumPy arrays (N, C, …) and (O, I, …), as (N, O, …)."""
    groups = feature_groups * batch_groups
    batch, outputs, counts = x.shape[0] // batch_groups, y.shape[0], [w.count for w in windows]
    if 0 in (x.size, y.size, *counts):
        return np.zeros((batch, outputs, *counts), x.dtype)
    fewest = _FEWEST_FEATURES if groups == 1 else _FEWEST_OF_GROUPS
    are_many = x.shape[1] >= fewest * feature_groups
    patches = _patches(x, np.zeros((), x.dtype), windows, feature_groups, batch_groups, are_many)
    if are_many:
        product = _product(_rows(patches), _kernels(y, groups).transpose(0, 2, 1))
    else:
        spatial, places = _axes_of_patches(len(counts))
        columns = patches.transpose(0, 2, *places, 3, 1, *spatial)
        columns = columns.reshape(groups, -1, batch * math.prod(counts))
        product = _product(_kernels(y, groups), columns).transpose(0, 2, 1)
    return _in_place(product, batch, counts)


def _product(rows: Any, columns: Any) -> Any:
    is_native = rows.dtype.char in "fd" and native_product is not None
    if is_native and math.prod(rows.shape) * columns.shape[-1] > LARGE:
        return native_product(rows, columns)
    return matrix_product(rows, columns)


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
    batch = x_shape[x_order[0]] // batch_groups
    size, weights = math.prod(x_shape), math.prod(y_shape)
    rows, outputs = batch * math.prod(counts), y_shape[y_order[0]] // groups
    seen = rows * (weights // outputs if outputs else 0)
    # A dilated operand has gaps, of which the tables know nothing.
    dilated = math.prod([w.base_dilation for w in windows])
    if not 0 < seen * -(-outputs // _SIDE_BY_SIDE) <= _MOST_PRODUCTS * dilated or not size:
        return None
    x, y = (
        np.arange(count, dtype=np.int32).reshape(shape).transpose(order)
        for count, shape, order in ((size, x_shape, x_order), (weights, y_shape, y_order))
    )
    none = np.array(-1, np.int32)
    left = _rows(_patches(x, none, windows, feature_groups, batch_groups, features_last=True))
    right = _kernels(y, groups)
    number = np.arange(groups * left.shape[1] * right.shape[1], dtype=np.int32)
    number = number.reshape(groups, left.shape[1], right.shape[1])
    number = _in_place(number, batch, counts).transpose(np.argsort(numbers.out_spec))
    places = np.empty(number.size, np.int32)
    places[number.ravel()] = np.arange(number.size, dtype=np.int32)
    tables = [np.ascontiguousarray(t, np.int32) for t in (left, right, places)]
    kernel: Callable[..., Any] = native.make(
        *tables, groups, left.shape[2], size, weights, tuple(number.shape)
    )
    return kernel


def _patches(
    x: Any,
    zero: Any,
    windows: Sequence[AxisWindow],
    feature_groups: int,
    batch_groups: int,
    features_last: bool,
) -> Any:
    """What windows see, read from memory where features lie last or first.

    The axes are batch groups, batch, feature groups, features, windows, places in a window.
    """
    x = _padded(x, zero, windows, features_last)
    counts, sizes = [w.count for w in windows], [w.size for w in windows]
    batch, features = x.shape[0] // batch_groups, x.shape[1] // feature_groups
    shape = (batch_groups, batch, feature_groups, features, *counts, *sizes)
    split = x.reshape(*shape[:4], *x.shape[2:])
    steps = [
        (s * w.stride, s * w.dilation) for s, w in zip(split.strides[4:], windows, strict=True)
    ]
    strides = (*split.strides[:4], *[s for s, _ in steps], *[s for _, s in steps])
    return np.lib.stride_tricks.as_strided(split, shape, strides, writeable=False)


def _padded(x: Any, zero: Any, windows: Sequence[AxisWindow], features_last: bool) -> Any:
    """An array (N, C, …) with the gaps of windows filled, whose features lie last or first."""
    order = (0, *range(2, x.ndim), 1) if features_last else tuple(range(x.ndim))
    gaps = [(0, 0, 0)] * x.ndim
    for w in windows:
        gaps[order.index(w.axis)] = w.padding_config(x.ndim)[w.axis]
    padded = in_order(x.transpose(order))
    if any(map(any, gaps)):
        padded = pad_p.evaluate(padded, zero, padding_config=tuple(gaps))
    return padded.transpose(np.argsort(order))


def _axes_of_patches(ndim: int) -> tuple[range, range]:
    """Of patches the axes of windows and of places in a window."""
    return range(4, 4 + ndim), range(4 + ndim, 4 + 2 * ndim)


def _rows(patches: Any) -> Any:
    """What windows see: (groups, batch and windows, places in a window and features)."""
    batch_groups, batch, feature_groups, features, *rest = patches.shape
    windows, places = _axes_of_patches(len(rest) // 2)
    counts, sizes = rest[: len(windows)], rest[len(windows) :]
    return patches.transpose(0, 2, 1, *windows, *places, 3).reshape(
        batch_groups * feature_groups, batch * math.prod(counts), math.prod(sizes) * features
    )


def _kernels(y: Any, groups: int) -> Any:
    """What a kernel (O, I, …) multiplies windows by: (groups, outputs, places and features)."""
    outputs = y.shape[0] // groups
    split = y.reshape(groups, outputs, *y.shape[1:])
    return split.transpose(0, 1, *range(3, split.ndim), 2).reshape(groups, outputs, -1)


def _in_place(product: Any, batch: int, counts: Sequence[int]) -> Any:
    """Products (groups, batch and windows, outputs of a group) as (N, O, …)."""
    groups, _, outputs = product.shape
    last = 2 + len(counts)
    split = product.reshape(groups, batch, *counts, outputs)
    order = (1, 0, last, *range(2, last))
    return split.transpose(order).reshape(batch, groups * outputs, *counts)
