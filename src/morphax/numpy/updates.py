"""Updates of the places that an index names: as regions, or scattered."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final

import numpy as np

from .. import dtypes, lax
from ..config import current as current_config
from ..core import aval_of, carries_aval, number_in
from ..dtypes.numbers import checked_int
from ..engines.reference.known_parts import known_update
from ..engines.reference.replay import replayed
from ..errors import ShapeError
from ..lax.elementwise.convert import convert
from ..lax.ground.dimension_numbers import GatherScatterMode, ScatterDimensionNumbers
from ..lax.shape.filling import size_value
from ..lax.shape.resharding import resharded, split_as
from ..util.messages import message, warn_user
from .creation import asarray
from .index_plan import (
    ArrayAxis,
    IndexPlan,
    SliceAxis,
    array_indices,
    plan_index,
    signature_of,
)
from .index_windows import Windows, has_windows
from .indexing import are_few_in_eager_mode, index_columns, is_sliced, with_arrays
from .of_numpy import region_of_numpy
from .operands import as_array

_OF_BOOLEANS = {
    "add": (lax.scatter_max, lax.bitwise_or),
    "multiply": (lax.scatter_min, lax.bitwise_and),
}
"""What adds and multiplies truth values."""

# What does the same to elements that a static index names.
_OF_NUMPY = {"set": None, "add": np.add, "subtract": np.subtract, "multiply": np.multiply}

_warnings_given: dict[Any, Any] = {}


def update(
    at: Any,
    name: str,
    values: Any,
    scatter: Callable[..., Any],
    combine: Callable[[Any, Any], Any] | None,
    *,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    mode: Any = None,
    out_sharding: Any = None,
    wrap_negative_indices: bool = True,
) -> Any:
    """The array of `at` with values written, or combined, at the places of its index."""
    if mode is None and out_sharding is None and (changed := _of_numpy(at, name, values)):
        return changed[0]
    x = at.array
    options = {
        "indices_are_sorted": indices_are_sorted,
        "unique_indices": unique_indices,
        "mode": mode,
        "wrap_negative_indices": wrap_negative_indices,
    }
    if out_sharding is not None:
        index = at.index if isinstance(at.index, tuple) else (at.index,)

        def updated(array: Any, values: Any, *index: Any) -> Any:
            return update(type(at)(array, index), name, values, scatter, combine, **options)

        return split_as(f"x.at[...].{name}", out_sharding, updated, x, values, *index)
    if has_windows(at.index):
        inner = partial(update, name=name, values=values, scatter=scatter, combine=combine)
        return update_windows(at, partial(inner, **options), mode)
    if combine is not None and (wide := _combined_in(x, values)) != x.aval.dtype:
        return _combined_wide(wide, at, name, values, scatter, combine, options)
    if x.aval.dtype == np.bool_ and name in _OF_BOOLEANS:
        scatter, combine = _OF_BOOLEANS[name]
    values = _as_update(name, x, values)
    chosen = GatherScatterMode.FILL_OR_DROP if mode is None else GatherScatterMode.from_any(mode)
    signature, arrays = signature_of(x, at.index)
    plan = plan_index(x.aval.shape, signature)
    if is_sliced(plan, signature, wrap_negative_indices):
        result = _region_update(x, plan, values, combine)
    else:
        if not plan.has_arrays:
            signature, arrays = with_arrays(signature)
        places = x, values, arrays, signature
        promises = indices_are_sorted, unique_indices
        # A function that is applied is another one each time.
        if name != "apply" and are_few_in_eager_mode(x, *arrays):
            by_name = scatter.__name__, wrap_negative_indices, chosen.name
            result = _scattered_few(*places, *by_name, *promises)
        else:
            result = _scattered_at(*places, scatter, wrap_negative_indices, chosen, *promises)
    return convert(result, x.aval.dtype, x.aval.weak_type)


def _of_numpy(at: Any, name: str, values: Any) -> list[Any]:
    """The array with few elements written at once, if there is such a way."""
    if name not in _OF_NUMPY:
        return []
    changed = known_update(at.array, at.index, _OF_NUMPY[name], values)
    return [] if changed is None else [changed]


def _scattered_at(
    x: Any,
    values: Any,
    arrays: Sequence[Any],
    signature: Any,
    scatter: Callable[..., Any],
    wrap: bool,
    mode: Any,
    indices_are_sorted: bool,
    unique_indices: bool,
) -> Any:
    """An update at an index with arrays."""
    plan = plan_index(x.aval.shape, signature)
    result = _scattered(
        lax.expand_dims(x, plan.added) if plan.added else x,
        plan,
        array_indices(signature, arrays),
        values,
        scatter,
        wrap,
        mode=mode,
        indices_are_sorted=indices_are_sorted,
        unique_indices=unique_indices,
    )
    return lax.squeeze(result, plan.added) if plan.added else result


@replayed(3)
def _scattered_few(
    x: Any,
    values: Any,
    arrays: Sequence[Any],
    signature: Any,
    scatter: str,
    wrap: bool,
    mode: str,
    indices_are_sorted: bool,
    unique_indices: bool,
) -> Any:
    """The same by names."""
    by = getattr(lax, scatter), wrap, GatherScatterMode[mode]
    promises = indices_are_sorted, unique_indices
    return _scattered_at(x, values, arrays, signature, *by, *promises)


def update_windows(at: Any, change: Callable[[Any], Any], mode: Any) -> Any:
    """The array of `at`, the index of which has windows, with `change` done to what they take.

    A window that sticks out changes nothing, unless `mode` moves it inside.
    """
    windows = Windows.of(at.array, at.index)
    changed = change(type(at)(windows.taken, windows.rest))
    moved = mode is not None and GatherScatterMode.from_any(mode) is GatherScatterMode.CLIP
    return windows.written(at.array, changed, moved=moved)


def _combined_in(x: Any, values: Any) -> Any:
    """The dtype in which values are combined with elements: that of both, by promotion."""
    dtype = x.aval.dtype
    is_plain = isinstance(dtype, dtypes.ExtendedDType) or type(values) in (list, tuple)
    if is_plain or dtype.kind in _HOLDS.get(type(values), ""):
        return dtype
    return dtypes.result_type(x, values)


def _combined_wide(
    dtype: Any,
    at: Any,
    name: str,
    values: Any,
    scatter: Callable[..., Any],
    combine: Callable[[Any, Any], Any],
    options: dict[str, Any],
) -> Any:
    """An update in another dtype than that of the array, whose other elements stay as they are."""
    x, places = at.array, type(at)
    _warn_of_loss(name, x.aval, aval_of(values))
    wide = places(convert(x, dtype), at.index)
    changed = convert(
        update(wide, name, values, scatter, combine, **options), x.aval.dtype, x.aval.weak_type
    )
    if x.aval.dtype.kind not in "iu" or np.dtype(dtype).kind in "iu":
        return changed
    # Floats do not hold all integers.
    nowhere = places(lax.full_like(x, False, np.dtype(bool)), at.index)
    touched = update(nowhere, "set", True, lax.scatter, None, **options)
    return lax.select(touched, changed, x)


# The kinds of dtypes that hold a Python number of this type up to a size.
_HOLDS: Final = {int: "iuf", float: "f"}
_EVERYWHERE = 100


def _as_update(name: str, x: Any, values: Any) -> Any:
    where = f"ndarray.at[...].{name}"
    if type(values) is int:
        checked_int(f"x.at[...].{name}, argument values", values, x.aval.dtype)
    elif type(values) in (list, tuple):
        values = asarray(values, x.aval.dtype)
    holds = _HOLDS.get(type(values))
    if holds and getattr(x.aval.dtype, "kind", "V") in holds and not x.aval.weak_type:
        if -_EVERYWHERE <= values <= _EVERYWHERE:
            return number_in(values, x.aval.dtype)  # what conversion would come to
    values = as_array(where, values)
    aval, target = aval_of(values), x.aval
    if isinstance(target.dtype, dtypes.ExtendedDType):
        return values
    if aval.dtype != target.dtype or current_config().numpy_dtype_promotion == "strict":
        pair = (target.dtype, target.weak_type), (aval.dtype, aval.weak_type)
        if dtypes.promote(pair)[0] != target.dtype:
            _warn_of_loss(name, target, aval)
    return convert(values, target.dtype, target.weak_type)


def _warn_of_loss(name: str, target: Any, aval: Any) -> None:
    """Warn that the dtype of an array does not hold what is written into it."""
    text = message(
        f"x.at[...].{name}, argument values",
        given=f"{aval} for an array {target}",
        expected="values that the array's dtype holds; what these lose is not kept",
        fix="Convert the array, or the values with astype, so that this is said.",
    )
    warn_user(text, _warnings_given, FutureWarning)


def _region_update(
    x: Any, plan: IndexPlan, values: Any, combine: Callable[[Any, Any], Any] | None
) -> Any:
    """An update at a static index: replace the region that it names, or combine with it."""
    axes = [axis for axis in plan.axes if isinstance(axis, SliceAxis)]
    shape = tuple([axis.count for axis in axes])
    kept = tuple([n for i, n in enumerate(shape) if i not in plan.dropped])
    values = _broadcast(_without_new_axes(values, kept, plan), kept)
    values = lax.reshape(values, shape)
    if 0 in shape:
        return x
    backwards = tuple([i for i, axis in enumerate(axes) if axis.step < 0])
    values = lax.rev(values, backwards) if backwards else values
    lows = [a.start if a.step > 0 else a.start + (a.count - 1) * a.step for a in axes]
    steps = [abs(a.step) if a.count not in (0, 1) else 1 for a in axes]
    if all(s == 1 for s in steps):
        highs = [low + n for low, n in zip(lows, shape, strict=True)]
        whole = shape == plan.shape
        new = values
        if combine is not None:
            new = combine(x if whole else lax.slice(x, lows, highs), values)
        split = x.aval.split
        if whole and (split is None or not any(split.spec)):
            return new
        if whole and not (new.aval.split and any(new.aval.split.spec)):
            return resharded(new, split)  # whatever replaces all of an array, it stays split
        return lax.dynamic_update_slice(x, new, [size_value(i, np.dtype(np.int32)) for i in lows])
    if combine is not None:
        highs = [lo + s * (n - 1) + 1 for lo, s, n in zip(lows, steps, shape, strict=True)]
        values = combine(lax.slice(x, lows, highs, steps), values)
    return _with_region(x, values, tuple(lows), tuple(steps))


@replayed(2, of_many=region_of_numpy)
def _with_region(x: Any, values: Any, lows: tuple[int, ...], steps: tuple[int, ...]) -> Any:
    """`x` with values at every so many places along each axis, from `lows` on."""
    plain, shape, size = x.aval.shape, values.aval.shape, values.aval.size
    # Counted where they are needed: as constants they would be part of each program.
    weights = [math.prod(plain[axis + 1 :]) for axis in range(len(plain))]
    first = sum([low * weight for low, weight in zip(lows, weights, strict=True)])
    places = lax.full(shape, first, np.int32)
    for axis, (step, weight) in enumerate(zip(steps, weights, strict=True)):
        counted = lax.broadcasted_iota(np.int32, shape, axis)
        places = lax.add(places, lax.mul(counted, np.int32(step * weight)))
    numbers = ScatterDimensionNumbers((), (0,), (0,))
    flat, new = lax.reshape(x, (x.aval.size,)), lax.reshape(values, (size,))
    places = lax.reshape(places, (size, 1))
    return lax.reshape(lax.scatter(flat, places, new, numbers, unique_indices=True), plain)


def _without_new_axes(values: Any, kept: tuple[int, ...], plan: IndexPlan) -> Any:
    """`values` without axes for the `None`s of the index."""
    ndim = len(kept) + len(plan.batch_shape) + len(plan.new_axes)
    missing = ndim - aval_of(values).ndim
    present = [n - missing for n in plan.new_axes if n >= missing]
    return lax.squeeze(values, present) if present else values


def _broadcast(values: Any, shape: tuple[int, ...]) -> Any:
    """`values` repeated to `shape`, leading axes of size 1 dropped."""
    aval = aval_of(values)
    extra = aval.ndim - len(shape)
    if extra > 0 and all(n == 1 for n in aval.shape[:extra]):
        values = lax.squeeze(values, range(extra))
        aval = aval_of(values)
    fits = aval.ndim <= len(shape) and all(
        n in (1, m) for n, m in zip(aval.shape[::-1], shape[::-1], strict=False)
    )
    if not fits:
        raise ShapeError(
            message(
                "x.at[...], argument values",
                given=f"{aval} for places of shape {shape}",
                expected="values that broadcast to the shape of x[...]",
                fix="Reshape the values.",
            )
        )
    if aval.shape == shape:
        return values
    return lax.broadcast_in_dim(values, shape, tuple(range(len(shape) - aval.ndim, len(shape))))


def _scattered(
    x: Any,
    plan: IndexPlan,
    arrays: list[Any],
    values: Any,
    scatter: Callable[..., Any],
    wrap: bool,
    **options: Any,
) -> Any:
    """An update at an index with arrays.

    Axes that are sliced in part become indexed axes too, each along a batch axis of its own.
    """
    whole, columns, indexed = [], [], []
    sliced = [(i, a) for i, a in enumerate(plan.axes) if isinstance(a, SliceAxis)]
    before = sliced[: plan.batch_place]
    after = sliced[plan.batch_place :]
    batch_rank = sum(not _is_whole(plan, i, a) for i, a in sliced) + len(plan.batch_shape)
    batch_shape: list[int] = []
    shape: list[int] = []

    def place_slice(i: int, axis: SliceAxis) -> None:
        if _is_whole(plan, i, axis):
            whole.append(len(shape))
        else:
            numbers = axis.start + axis.step * np.arange(axis.count)
            trailing = batch_rank - len(batch_shape) - 1
            columns.append(numbers.reshape(-1, *[1] * trailing))
            indexed.append(i)
            batch_shape.append(axis.count)
        shape.append(axis.count)

    for i, slice_axis in before:
        place_slice(i, slice_axis)
    trailing = batch_rank - len(batch_shape) - len(plan.batch_shape)
    for i, axis in enumerate(plan.axes):
        if isinstance(axis, ArrayAxis):
            columns.append(_with_trailing(arrays[axis.position], trailing))
            indexed.append(i)
    batch_shape.extend(plan.batch_shape)
    shape.extend(plan.batch_shape)
    for i, axis in after:
        place_slice(i, axis)
    sizes = [plan.shape[i] for i in indexed]
    indices = index_columns(columns, sizes, tuple(batch_shape), wrap)
    numbers = ScatterDimensionNumbers(
        update_window_dims=tuple(whole),
        inserted_window_dims=tuple(sorted(indexed)),
        scatter_dims_to_operand_dims=tuple(indexed),
    )
    target = tuple(shape)
    updates = _broadcast(_without_new_axes(values, _sliced_shape(plan), plan), target)
    return scatter(x, indices, updates, numbers, **options)


def _is_whole(plan: IndexPlan, i: int, axis: SliceAxis) -> bool:
    return axis == SliceAxis(0, 1, plan.shape[i])


def _sliced_shape(plan: IndexPlan) -> tuple[int, ...]:
    return tuple([a.count for a in plan.axes if isinstance(a, SliceAxis)])


def _with_trailing(a: Any, count: int) -> Any:
    """An index array with axes of size 1 behind."""
    if not count:
        return a
    shape = (*aval_of(a).shape, *[1] * count)
    return lax.reshape(a, shape) if carries_aval(a) else np.reshape(a, shape)
