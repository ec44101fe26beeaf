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
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from ...engines.reference.windows import STARTS, Tables, Windows
from ...util.compiled import part, twin_in
from ...util.memo import memoize
from ...util.records import dataclass
from ..ground.dimension_numbers import (
    Axes,
    GatherDimensionNumbers,
    GatherScatterMode,
    interleaved,
    slice_sizes_of_updates,
    window_shape,
)
from .index_bounds import filler

Integers = NDArray[np.signedinteger[Any]]

_native: Any = part("kernels")
# A plan holds arrays as long as axes of the operand.
_remembered = partial(memoize, maxsize=1024)


@final
@dataclass(frozen=True, slots=True, eq=False)
class IndexPlan:
    """The rows of all windows, for one signature of gather or scatter.

    Args:
        shape: of all windows together: of the result, or of the updates window by window.
        rows: height of the operand seen as a matrix.
        row_size: its width.
        limits: the largest start along each indexed axis of the operand.
        weights: the rows from one start to the next along each indexed axis.
        starts_shape: shape in which starts are broadcast against `terms`.
        terms: offsets in rows, one array per axis of the window and per batch axis.
        along: if windows are the members of the operand along one axis, placed where that axis
            was, that axis: they can be taken without row numbers.
        order: permutation that puts the axes of updates window by window, if they are not so.
    """

    shape: Axes
    rows: int
    row_size: int
    limits: Integers
    weights: Integers
    starts_shape: Axes
    terms: tuple[Integers, ...]
    along: int | None
    order: Axes | None

    @property
    def is_of_rows(self) -> bool:
        """Whether each index is the number of a row, and each window that row."""
        is_whole = not self.terms and self.order is None and self.weights.tolist() == [1]
        return is_whole and self.limits.tolist() == [self.rows - 1]

    def row_numbers(self, indices: Any, *, marks: bool) -> Integers:
        """The rows of all windows, of those that would leave the array moved inside.

        With `marks` numbers are negative where windows would.
        """
        places = indices if indices.dtype == np.int32 else as_integers(indices)
        base = starting_rows(places, self.limits, self.weights, marks)
        base = base.reshape(self.starts_shape)
        for term in self.terms:
            base = base + term
        return base


@twin_in(_native)
def starting_rows(places: Any, limits: Any, weights: Any, marks: bool) -> Any:
    """The rows of an array at which windows start: those nearest to where they are asked to.

    With `marks` the least number there is stands where that is outside: it is negative still when
    the places of other rows of the window are added.
    """
    starts = np.minimum(np.maximum(places, 0), limits)
    rows = np.asarray(starts @ weights)
    if marks:
        rows[(places != starts).any(axis=-1)] = np.iinfo(rows.dtype).min
    return rows


def as_integers(indices: np.ndarray[Any, Any]) -> Integers:
    """Indices in the dtype that NumPy indexes with; what it cannot hold is out of bounds anyway."""
    if indices.dtype == np.uint64:
        indices = np.minimum(indices, np.uint64(np.iinfo(np.intp).max))
    return indices.astype(np.intp, copy=False)


@_remembered
def gather_plan(shape: Axes, indices_shape: Axes, numbers: Any, slice_sizes: Axes) -> IndexPlan:
    """The plan that gives row numbers in the order of the result's axes."""
    batch, window_axes = indices_shape[:-1], numbers[0]
    window = window_shape(numbers, slice_sizes)
    windows = interleaved(window_axes, window, batch)
    batch_axes = tuple([i for i in range(len(windows)) if i not in window_axes])
    along = _axis_of_members(shape, windows, numbers, slice_sizes, batch_axes)
    places = window_axes, batch_axes
    return _plan(shape, windows, batch, numbers, slice_sizes, places, along=along)


@_remembered
def scatter_plan(shape: Axes, indices_shape: Axes, updates_shape: Axes, numbers: Any) -> IndexPlan:
    """The plan that gives row numbers window by window, in the order of the indices."""
    batch = indices_shape[:-1]
    ndim = len(updates_shape)
    slice_sizes = slice_sizes_of_updates(shape, updates_shape, numbers)
    places = tuple(range(len(batch), ndim)), tuple(range(len(batch)))
    order = tuple([i for i in range(ndim) if i not in numbers[0]]) + numbers[0]
    windows = tuple([updates_shape[i] for i in order])
    is_in_order = order == tuple(range(ndim))
    order_or_none = None if is_in_order else order
    return _plan(shape, windows, batch, numbers, slice_sizes, places, order=order_or_none)


def _plan(
    shape: Axes,
    windows: Axes,
    batch: Axes,
    numbers: Any,
    slice_sizes: Axes,
    places: tuple[Axes, Axes],
    *,
    along: int | None = None,
    order: Axes | None = None,
) -> IndexPlan:
    """The plan for windows whose axes, and batch axes, are at the given places of their shape."""
    _, collapsed, index_map, batching, indices_batching = numbers
    window_axes, batch_axes = places
    kept = [i for i in range(len(shape)) if i not in collapsed + batching]
    first = _first_axis_of_row(shape, slice_sizes, index_map + batching)
    ndim = len(windows)
    in_row = [axis for i, axis in zip(kept, window_axes, strict=True) if i >= first]
    if in_row == list(range(ndim - len(in_row), ndim)):
        ndim -= len(in_row)
    else:
        first = len(shape)
    strides = [math.prod(shape[i + 1 : first]) for i in range(first)]

    rows = math.prod(shape[:first])
    # Numbers of rows are narrow where they can be, for vectors have more of these.
    dtype = np.dtype(np.int32 if rows < 2**31 else np.intp)

    def term(size: int, stride: int, axis: int) -> Integers:
        places = (np.arange(size) * stride).astype(dtype)
        return places.reshape([-1 if i == axis else 1 for i in range(ndim)])

    offsets = [
        term(slice_sizes[i], strides[i], axis)
        for i, axis in zip(kept, window_axes, strict=True)
        if i < first and slice_sizes[i] != 1
    ]
    places_in_batch = [
        term(shape[i], strides[i], batch_axes[j])
        for i, j in zip(batching, indices_batching, strict=True)
    ]
    sizes = dict(zip(batch_axes, batch, strict=True))
    return IndexPlan(
        shape=windows,
        rows=rows,
        row_size=math.prod(shape[first:]),
        limits=np.array([shape[i] - slice_sizes[i] for i in index_map], dtype),
        weights=np.array([strides[i] for i in index_map], dtype),
        starts_shape=tuple([sizes.get(i, 1) for i in range(ndim)]),
        terms=tuple(offsets + places_in_batch),
        along=along,
        order=order,
    )


def _first_axis_of_row(shape: Axes, slice_sizes: Axes, moving: Axes) -> int:
    """The first of the trailing axes of the operand that every window takes whole."""
    first = len(shape)
    while first and first - 1 not in moving and slice_sizes[first - 1] == shape[first - 1]:
        first -= 1
    return first


def _axis_of_members(
    shape: Axes, windows: Axes, numbers: Any, slice_sizes: Axes, batch_axes: Axes
) -> int | None:
    """The one axis along which windows are members of the operand, if there is such an axis."""
    _, collapsed, index_map, batching, _ = numbers
    if len(index_map) != 1 or collapsed != index_map or batching:
        return None
    (axis,) = index_map
    members = (*shape[:axis], 1, *shape[axis + 1 :])
    in_place = batch_axes == tuple(range(axis, axis + len(batch_axes)))
    return axis if in_place and slice_sizes == members else None


def element_windows(
    x: Any,
    indices_shape: Axes,
    numbers: Any,
    slice_sizes: Axes,
    starts: tuple[int, ...] = (1,),
    updates: int | None = None,
    combine: str | None = None,
    moves: bool = True,
    fill: Any = 0,
) -> Windows:
    """Which elements of an array (an aval) a gather takes, or a scatter replaces."""
    plan = gather_plan(x.shape, indices_shape, numbers, slice_sizes)

    def tables() -> Tables:
        rows = plan.row_numbers(np.zeros(indices_shape, np.intp), marks=False)
        number = np.arange(math.prod(indices_shape[:-1])).reshape(plan.starts_shape)
        number = np.broadcast_to(number, rows.shape).ravel()
        places = rows.reshape(-1, 1) * plan.row_size + np.arange(plan.row_size)
        return places.ravel(), np.repeat(number, plan.row_size)

    strides = [int(weight) * plan.row_size for weight in plan.weights]
    limits = tuple(map(int, plan.limits))
    return Windows(starts, updates, combine, limits, tuple(strides), moves, fill, tables)


def gathered_windows(
    x: Any,
    indices: Any,
    *,
    dimension_numbers: Any,
    slice_sizes: Axes,
    mode: Any,
    fill_value: Any,
    **_: Any,
) -> Windows | None:
    """The elements that a gather takes, if it is one by signed numbers."""
    if indices.dtype not in STARTS:
        return None
    fills = mode is GatherScatterMode.FILL_OR_DROP
    fill = filler(fill_value, x.dtype) if fills else 0
    shape, numbers = indices.shape, dimension_numbers
    return element_windows(x, shape, numbers, slice_sizes, moves=not fills, fill=fill)


def block_windows(
    x: Any, starts: Sequence[Any], sizes: Axes, updates: int | None = None
) -> Windows | None:
    """The one block that starts inside, at signed scalars, the last operands."""
    if not starts or starts[0].dtype not in STARTS:
        return None
    axes = tuple(range(x.ndim))
    numbers = GatherDimensionNumbers(axes, (), axes)
    first = 1 if updates is None else 2
    places = tuple(range(first, first + x.ndim))
    return element_windows(x, (x.ndim,), numbers, sizes, starts=places, updates=updates)


def taking(
    x: Any,
    indices: Any,
    filled: Callable[..., Any],
    *,
    dimension_numbers: Any,
    slice_sizes: Axes,
    mode: Any,
    fill_value: Any,
    **_: Any,
) -> Callable[..., Any] | None:
    """How a gather takes members along one axis, or windows; None where it is not so simple.

    Args:
        x, indices: the avals.
        filled: gathers where some places are out of bounds, if it fills them in.
    """
    plan = gather_plan(x.shape, indices.shape, dimension_numbers, slice_sizes)
    axis, kind = plan.along, indices.dtype.char
    if 0 in plan.shape:
        return None
    fills = mode is GatherScatterMode.FILL_OR_DROP
    if _native is not None and isinstance(x.dtype, np.dtype):
        fill = filler(fill_value, x.dtype).tobytes() if fills else None
        if axis is None:
            return partial(_windows_taken, plan, fill)
        if axis == 0 and kind in "il":
            return lambda v, places: _native.taken(v, places[..., 0], fill)
    if axis is None or kind not in "bhilBHI":
        return None
    if not fills:
        return lambda v, places: v.take(places[..., 0], axis, None, "clip")
    # Read as unsigned numbers, places before the first are beyond what the dtype can hold.
    unsigned = np.dtype(kind.upper())
    end = min(x.shape[axis], int(np.iinfo(indices.dtype).max) + 1)

    def taken(v: Any, places: Any) -> Any:
        at = places[..., 0]
        if np.count_nonzero(at.view(unsigned) >= end):
            return filled(v, places)
        return v.take(at, axis, None, "clip")

    return taken


def _windows_taken(plan: IndexPlan, fill: bytes | None, v: Any, indices: Any) -> Any:
    """The windows of an array; `fill` is the bytes of an element that stands outside."""
    matrix = v.reshape(plan.rows, plan.row_size)
    numbers = plan.row_numbers(indices, marks=fill is not None)
    return _native.taken(matrix, numbers, fill).reshape(plan.shape)
