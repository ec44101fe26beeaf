"""Gather and scatter in NumPy: where each element of each window lies in the operand's memory.

The operand is seen as a matrix: as many trailing axes as every window takes whole form one row, so
that the rows of an embedding, say, are moved as blocks of memory.  The row numbers of all windows
are the sum of a few broadcast terms,

    row = Σ start_k · weight_k + Σ offset along an axis of the window + Σ place along a batch axis

All but the starts depend on shapes and dimension numbers alone: this is the *plan* of a signature,
made once.  A window that leaves the array is moved inside, and reported to the caller.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from ..util.memo import memoize
from .dimension_numbers import Axes

Integers = NDArray[np.intp]


@final
@dataclass(frozen=True, slots=True, eq=False)
class IndexPlan:
    """The rows of all windows, for one signature of gather or scatter.

    Args:
        rows, row_size: shape of the operand seen as a matrix.
        limits: the largest start along each indexed axis of the operand.
        weights: the rows from one start to the next along each indexed axis.
        starts_shape: shape in which starts are broadcast against `terms`.
        terms: offsets in rows, one array per axis of the window and per batch axis.
        direct: whether an index is a row number, and clipping it is clipping the row.
    """

    rows: int
    row_size: int
    limits: Integers
    weights: Integers
    starts_shape: Axes
    terms: tuple[Integers, ...]
    direct: bool

    def starts(self, indices: Any) -> tuple[Integers, Integers]:
        """Where windows are asked to start, and the nearest places where they may."""
        asked = _as_integers(indices)
        return asked, np.minimum(np.maximum(asked, 0), self.limits)

    def direct_rows(self, indices: Any) -> Integers:
        """Row numbers that are to be clipped, if the plan is direct."""
        return _as_integers(indices[..., 0])

    def row_numbers(self, starts: Integers) -> Integers:
        """The rows of the windows that start at `starts`, which are inside."""
        if self.limits.size == 1:
            base = starts[..., 0]
            if self.weights[0] != 1:
                base = base * self.weights[0]
        else:
            base = starts @ self.weights
        base = base.reshape(self.starts_shape)
        for term in self.terms:
            base = base + term
        return base


def _as_integers(indices: Any) -> Integers:
    if indices.dtype == np.uint64:
        indices = np.minimum(indices, np.uint64(np.iinfo(np.intp).max))
    return indices.astype(np.intp, copy=False)


@memoize
def gather_plan(shape: Axes, indices_shape: Axes, numbers: Any, slice_sizes: Axes) -> IndexPlan:
    """The plan that gives row numbers in the order of the result's axes."""
    batch = indices_shape[:-1]
    window_axes = numbers[0]
    ndim = len(batch) + len(window_axes)
    batch_axes = tuple([i for i in range(ndim) if i not in window_axes])
    return _plan(shape, batch, numbers, slice_sizes, window_axes, batch_axes)


@memoize
def scatter_plan(shape: Axes, indices_shape: Axes, numbers: Any, slice_sizes: Axes) -> IndexPlan:
    """The plan that gives row numbers window by window, in the order of the indices."""
    batch = indices_shape[:-1]
    ndim = len(batch) + len(numbers[0])
    window_axes = tuple(range(len(batch), ndim))
    return _plan(shape, batch, numbers, slice_sizes, window_axes, tuple(range(len(batch))))


def _plan(
    shape: Axes,
    batch: Axes,
    numbers: Any,
    slice_sizes: Axes,
    window_axes: Axes,
    batch_axes: Axes,
) -> IndexPlan:
    """The plan for positions whose axes `window_axes` and `batch_axes` are in the order given."""
    _, collapsed, index_map, batching, indices_batching = numbers
    ndim = len(window_axes) + len(batch_axes)
    kept = [i for i in range(len(shape)) if i not in collapsed + batching]
    first = _first_axis_of_row(shape, slice_sizes, index_map + batching)
    in_row = [axis for i, axis in zip(kept, window_axes, strict=True) if i >= first]
    if in_row != list(range(ndim - len(in_row), ndim)):
        first, in_row = len(shape), []
    ndim -= len(in_row)
    strides = [math.prod(shape[i + 1 : first]) for i in range(first)]

    def term(size: int, stride: int, axis: int) -> Integers:
        return (np.arange(size) * stride).reshape([-1 if i == axis else 1 for i in range(ndim)])

    terms = [
        term(slice_sizes[i], strides[i], axis)
        for i, axis in zip(kept, window_axes, strict=True)
        if i < first and slice_sizes[i] != 1
    ]
    terms += [
        term(shape[i], strides[i], batch_axes[j])
        for i, j in zip(batching, indices_batching, strict=True)
    ]
    limits = np.array([shape[i] - slice_sizes[i] for i in index_map], np.intp)
    weights = np.array([strides[i] for i in index_map], np.intp)
    sizes = dict(zip(batch_axes, batch, strict=True))
    rows = math.prod(shape[:first])
    return IndexPlan(
        rows=rows,
        row_size=math.prod(shape[first:]),
        limits=limits,
        weights=weights,
        starts_shape=tuple([sizes.get(i, 1) for i in range(ndim)]),
        terms=tuple(terms),
        direct=not terms and weights.tolist() == [1] and limits[0] + 1 == rows,
    )


def _first_axis_of_row(shape: Axes, slice_sizes: Axes, moving: Axes) -> int:
    """The first of the trailing axes of the operand that every window takes whole."""
    first = len(shape)
    while first and first - 1 not in moving and slice_sizes[first - 1] == shape[first - 1]:
        first -= 1
    return first
