"""Reading `x[index]`: slices and gathers by the plan of the index.

Indices out of bounds are clamped; negative ones count from the end.  The derivative is that of
what is read, in both modes and for each form of index: a cotangent goes to the element that stands
at the nearest place inside.  (In JAX, reverse mode drops it for arrays of indices, while forward
mode and integers behave as here.)  With ``x.at[index].get(mode="fill")`` nothing is read out of
bounds, and nothing flows there.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import lax
from ..array import Array
from ..config import current
from ..core import aval_of
from ..core.dims import Dim, SymbolicDim, max_dim, min_dim
from ..engines.reference.known_parts import part_of
from ..engines.reference.replay import replayed
from ..lax.ground.axes import dilated
from ..lax.ground.dimension_numbers import GatherDimensionNumbers, GatherScatterMode
from ..lax.ground.linear_structure import broadcast_in_dim_p
from ..lax.shape.filling import size_value
from ..util.host_memory import MANY, pooled
from ..util.messages import message
from .index_plan import (
    ArrayAxis,
    IndexPlan,
    SliceAxis,
    array_indices,
    known_values,
    plan_index,
    signature_of,
)
from .index_windows import has_windows, without_windows


def getitem(x: Any, index: Any) -> Any:
    """`x[index]` with NumPy's meaning, for arrays and tracers; windows are those of `jax.ds`."""
    found = part_of(x, index)
    if found is not None:
        return found
    if has_windows(index):
        x, index = without_windows(x, index)
    if current().check_static_indices:
        _check_static_indices(x.aval.shape, signature_of(x, index)[0])
    return take_index(x, index, GatherScatterMode.CLIP, None)


def take_index(
    x: Any, index: Any, mode: Any, fill_value: Any, *, wrap: bool = True, **promises: bool
) -> Any:
    """`x[index]` with a choice of what indices out of bounds read."""
    signature, arrays = signature_of(x, index)
    plan = plan_index(x.aval.shape, signature)
    # Static ints out of bounds are left to the gather, whose mode says what they read.
    if is_sliced(plan, signature, wrap):
        return _with_new_axes(_slice(x, plan), plan)
    if not plan.has_arrays:
        signature, arrays = with_arrays(signature)
    if fill_value is None and are_few_in_eager_mode(x, *arrays):
        return _taken(x, arrays, signature, mode.name, wrap, **promises)
    return _taken_at(x, arrays, signature, mode, wrap, fill_value, **promises)


_FEW = 1 << 12


def are_few_in_eager_mode(x: Any, *indices: Any) -> bool:
    """Whether places are looked up again and again, with little to do for each.

    Masks are indices in NumPy here: how many there are is another number each time.
    """
    return all([type(a) is Array and a.aval.size <= _FEW for a in (x, *indices)])


def _taken_at(
    x: Any,
    arrays: Sequence[Any],
    signature: Any,
    mode: Any,
    wrap: bool,
    fill_value: Any = None,
    **promises: bool,
) -> Any:
    """What an index with arrays reads."""
    plan = plan_index(x.aval.shape, signature)
    x = lax.expand_dims(x, plan.added) if plan.added else x
    indices = array_indices(signature, arrays)
    return _with_new_axes(_gather(x, plan, indices, mode, fill_value, wrap, promises), plan)


@replayed(2)
def _taken(
    x: Any,
    arrays: Sequence[Any],
    signature: Any,
    mode: str,
    wrap: bool,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
) -> Any:
    promises = {"indices_are_sorted": indices_are_sorted, "unique_indices": unique_indices}
    return _taken_at(x, arrays, signature, GatherScatterMode[mode], wrap, **promises)


def _with_new_axes(result: Any, plan: IndexPlan) -> Any:
    return lax.expand_dims(result, plan.new_axes) if plan.new_axes else result


def _check_static_indices(shape: tuple[int, ...], signature: Any) -> None:
    """Refuse ints out of bounds, which otherwise mean the nearest element."""
    if plan_index(shape, signature).in_bounds:
        return
    ints = [str(part) for part in signature if type(part) is int]
    raise IndexError(
        message(
            "x[...], index",
            given=f"{', '.join(ints)} as static index of an array of shape {shape}",
            expected="ints from -size to size - 1 of their axes (jax_check_static_indices)",
            fix="Mend the index, or write x.at[index].get(mode='clip') to read the nearest one.",
        )
    )


def is_sliced(plan: IndexPlan, signature: Any, wrap: bool) -> bool:
    """Whether an index is slices, and ints in bounds; if not `wrap`, negative ones are not."""
    is_out = not wrap and any([type(part) is int and part < 0 for part in signature])
    return plan.in_bounds and not (plan.has_arrays or is_out)


def with_arrays(signature: Any) -> tuple[Any, list[Any]]:
    """A static index with its ints as arrays, for those out of bounds that must be noticed."""
    arrays = [np.asarray(p) for p in signature if type(p) is int]
    return tuple([("array", ()) if type(p) is int else p for p in signature]), arrays


def _slice(x: Any, plan: IndexPlan) -> Any:
    """An index without arrays."""
    x = _sliced(x, plan)
    return lax.squeeze(x, plan.dropped) if plan.dropped else x


def _sliced(x: Any, plan: IndexPlan) -> Any:
    """Apply the slices of a plan; other axes stay whole."""
    starts, limits, strides, reversed_axes = [], [], [], []
    for i, (axis, size) in enumerate(zip(plan.axes, plan.shape, strict=True)):
        if type(axis) is ArrayAxis:
            axis = SliceAxis(0, 1, size)
        assert isinstance(axis, SliceAxis), "an axis is sliced or indexed"
        span = dilated(axis.count, abs(axis.step))
        start = axis.start if axis.step > 0 else axis.start + 1 - span
        starts.append(0 if axis.count == 0 else start)
        limits.append(starts[-1] + span if axis.stop is None else axis.stop)
        strides.append(abs(axis.step))
        if axis.step < 0:
            reversed_axes.append(i)
    in_steps = strides.count(1) < len(strides)
    if in_steps or starts.count(0) < len(starts) or tuple(limits) != plan.shape:
        x = lax.slice(x, starts, limits, strides if in_steps else None)
    return lax.rev(x, reversed_axes) if reversed_axes else x


def _gather(
    x: Any,
    plan: IndexPlan,
    arrays: Sequence[Any],
    mode: Any,
    fill_value: Any,
    wrap: bool,
    promises: dict[str, bool],
) -> Any:
    """An index with arrays: slice first, then gather along the indexed axes."""
    x = _sliced(x, plan)
    shape = aval_of(x).shape
    indexed = tuple([i for i, axis in enumerate(plan.axes) if type(axis) is ArrayAxis])
    sizes = [shape[i] for i in indexed]
    indices = index_columns(arrays, sizes, plan.batch_shape, wrap)
    place, width = plan.batch_place, len(plan.batch_shape)
    count = len(shape) - len(indexed)
    numbers = GatherDimensionNumbers(
        offset_dims=tuple([i if i < place else i + width for i in range(count)]),
        collapsed_slice_dims=indexed,
        start_index_map=indexed,
    )
    if 0 in sizes:
        kept = tuple([n for i, n in enumerate(shape) if i not in indexed])
        return nothing_taken("x[...]", x, (*kept[:place], *plan.batch_shape, *kept[place:]))
    windows = tuple([1 if i in indexed else n for i, n in enumerate(shape)])
    return lax.gather(x, indices, numbers, windows, mode=mode, fill_value=fill_value, **promises)


def nothing_taken(where: str, x: Any, shape: tuple[int, ...]) -> Any:
    """What is read along an axis of size 0: an array of `shape`, which must be empty."""
    if math.prod(shape):
        raise IndexError(
            message(
                where,
                given=f"places along an axis of size 0, of an array of shape {aval_of(x).shape}",
                expected="no places: there are no elements",
                fix="Test the size of the axis first.",
            )
        )
    return lax.full_like(x, 0, shape=shape)


def index_columns(
    arrays: Sequence[Any], sizes: Sequence[Dim], batch_shape: tuple[int, ...], wrap: bool
) -> Any:
    """Index arrays, broadcast together, as the columns of one array of indices."""
    # What is beyond the end of an axis of symbolic size, or counted from there, is not known; and
    # how indices are split over a mesh is part of the result's type.
    known = [
        None
        if type(n) is SymbolicDim or (type(a) is Array and a.aval.is_on_mesh)
        else known_values(a)
        for a, n in zip(arrays, sizes, strict=True)
    ]
    if all(k is not None for k in known):
        write = pooled(_known_columns) if math.prod(batch_shape) >= MANY else _known_columns
        return write(known, sizes, batch_shape, wrap)
    dtype = _column_dtype(arrays, known)
    columns = [
        _column(
            _traced_index(a, n, dtype, wrap) if k is None else _known_index(k, n, dtype, wrap)[()],
            batch_shape,
        )
        for a, k, n in zip(arrays, known, sizes, strict=True)
    ]
    return columns[0] if len(columns) == 1 else lax.concatenate(columns, len(batch_shape))


def _column_dtype(arrays: Sequence[Any], known: Sequence[Any]) -> Any:
    """The dtype of index columns: that of the traced ones, if it is one and wide enough."""
    traced = [aval_of(a).dtype for a, k in zip(arrays, known, strict=True) if k is None]
    alike = len(set(traced)) == 1 and (traced[0].kind == "i" or len(traced) == len(known))
    if alike and traced[0].itemsize >= 4:
        return traced[0]
    return np.dtype(np.int64 if any([d.itemsize == 8 for d in traced]) else np.int32)


def _known_columns(
    known: Sequence[Any], sizes: Sequence[int], batch_shape: tuple[int, ...], wrap: bool
) -> np.ndarray[Any, Any]:
    """The columns by NumPy, for indices whose values are known."""
    widest = max([k.dtype.itemsize for k in known])
    dtype = np.int64 if widest == 8 and max(sizes) > np.iinfo(np.int32).max else np.int32
    out = np.empty((*batch_shape, len(known)), dtype)
    for i, (k, n) in enumerate(zip(known, sizes, strict=True)):
        out[..., i] = _known_index(k, n, dtype, wrap)
    return out


def _known_index(
    values: np.ndarray[Any, Any], size: int, dtype: Any, wrap: bool
) -> np.ndarray[Any, Any]:
    """Known indices in a dtype; those that it cannot hold stay out of bounds."""
    if not np.can_cast(values.dtype, dtype):
        values = np.clip(values, np.iinfo(dtype).min, np.iinfo(dtype).max)
    values = values.astype(dtype, copy=False)
    if wrap and values.size and values.min() < 0:
        return np.where(values < 0, values + size, values)
    return values


def _traced_index(a: Any, size: int, dtype: Any, wrap: bool) -> Any:
    """Indices in a dtype, those that count from the end counted from the front."""
    own = aval_of(a).dtype
    if own.kind == "u" and dtype.kind == "i" and own.itemsize >= dtype.itemsize:
        # What the dtype cannot hold stays out of bounds, and does not count from the end.
        a = lax.min(a, np.asarray(np.iinfo(dtype).max, own)[()])
    a = lax.convert_element_type(a, dtype)
    if own.kind == "u" or not wrap:
        return a
    zero, whole = np.zeros((), dtype)[()], _whole(size, dtype)
    return lax.select(lax.lt(a, zero), lax.add(a, whole), a)


def _whole(size: Dim, dtype: Any) -> Any:
    """The size of an axis as an index, reduced to the range of the dtype."""
    if type(size) is SymbolicDim:
        return size_value(size, dtype)
    return np.asarray(size).astype(dtype)[()]


def _column(a: Any, batch_shape: tuple[int, ...]) -> Any:
    width = len(batch_shape)
    first = width - aval_of(a).ndim
    return broadcast_in_dim_p.bind(
        a,
        shape=(*batch_shape, 1),
        broadcast_dimensions=tuple(range(first, width)),
        sharding=None,
    )


def symbolic_diagonal(a: Any, offset: int) -> Any:
    """A diagonal of the matrices along the last two axes, looked up element by element."""
    rows, columns = aval_of(a).shape[-2:]
    first, second = max(-offset, 0), max(offset, 0)
    places = lax.iota(np.int32, max_dim(min_dim(rows - first, columns - second), 0))
    pair = lax.add(places, np.int32(first)), lax.add(places, np.int32(second))
    return getitem(a, (Ellipsis, *pair))
