"""Arrays with elements put in, left out, repeated to a size, or zeros cut off at the ends."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from .. import dtypes, lax
from ..core import aval_of
from ..core.dims import Dim
from ..engines.reference.replay import replayed
from ..lax.elementwise.convert import convert
from ..lax.ground.dimension_numbers import GatherScatterMode
from ..lax.shape.filling import size_value
from ..util.messages import message
from .at import AtIndex
from .axes import canonical_axes, canonical_axis, canonical_size
from .index_plan import known_values
from .indexing import take_index
from .operands import as_array, concrete_values
from .searching import nonzero
from .shaping import broadcast_to, moveaxis, ravel
from .sorting import argsort


def _along(name: str, arr: Any, axis: Any) -> tuple[Any, int]:
    """An array and the axis to go along, which without an axis is that of the flattened array."""
    arr = as_array(name, arr)
    if axis is None:
        return ravel(arr), 0
    return arr, canonical_axis(name, axis, arr.aval.ndim)


_MOST_RUNS: Final = 8
"""Of neighbours, that are put together rather than looked up one by one."""


def _taken(arr: Any, places: Any, axis: int) -> Any:
    return take_index(arr, (slice(None),) * axis + (places,), GatherScatterMode.CLIP, None)


def _known_taken(arr: Any, places: np.ndarray[Any, Any], axis: int) -> Any:
    """Slices at known places, which are put together where they are few runs of neighbours."""
    ends = np.flatnonzero(np.diff(places) != 1) + 1
    if not places.size or len(ends) >= _MOST_RUNS:
        return _taken(arr, places, axis)
    runs = np.split(places, ends)
    return _in_a_row(arr, [(int(run[0]), int(run[-1]) + 1) for run in runs], axis)


def _kept(arr: Any, kept: np.ndarray[Any, Any], axis: int) -> Any:
    """Slices that a mask keeps, which has two ends for each run of neighbours."""
    ends = np.flatnonzero(np.diff(kept, prepend=False, append=False))
    if not ends.size or len(ends) > 2 * _MOST_RUNS:
        return _taken(arr, np.flatnonzero(kept), axis)
    return _in_a_row(arr, ends.reshape(-1, 2).tolist(), axis)


def _in_a_row(arr: Any, runs: Sequence[Sequence[int]], axis: int) -> Any:
    """Runs of neighbours, one after the other."""
    slices = [lax.slice_in_dim(arr, first, end, axis=axis) for first, end in runs]
    return lax.concatenate(slices, axis)


def _places(name: str, obj: Any) -> Any:
    """Integers along an axis."""
    places = as_array(name, obj)
    if not dtypes.issubdtype(places.aval.dtype, np.integer):
        raise ValueError(
            message(
                f"jnp.{name}, argument obj",
                given=f"{places.aval}",
                expected="a slice, or integers",
                fix="Convert it with astype(int), or a mask with jnp.flatnonzero.",
            )
        )
    return places


def _check_bounds(name: str, known: np.ndarray[Any, Any], low: int, high: int) -> None:
    outside = known[(known < low) | (known > high)]
    if outside.size:
        raise IndexError(
            message(
                f"jnp.{name}, argument obj",
                given=f"{outside.flat[0]}",
                expected=f"places from {low} to {high}",
                fix="Correct the places, or clip them with jnp.clip.",
            )
        )


def delete(
    arr: Any, obj: Any, axis: int | None = None, *, assume_unique_indices: bool = False
) -> Any:
    """`arr` without some of its slices along an axis.

    Args:
        arr: array (..., n, ...).
        obj: which to leave out: an int, a slice, integers, or n booleans.
        axis: to go along; by default the array is flattened.
        assume_unique_indices: a promise that no place is named twice; with it, integers need not be
            known while tracing.

    Returns:
        Array (..., m, ...).

    Raises:
        IndexError: a known place is out of bounds.
        ValueError: `obj` is neither integer nor a mask of n booleans.
        ConcretizationTypeError: `obj` is traced and may name a place twice.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.delete(jnp.arange(5), jnp.array([0, -1]))
        Array([1, 2, 3], dtype=int32)
    """
    arr, axis = _along("delete", arr, axis)
    size = arr.aval.shape[axis] if arr.aval.ndim else 0
    if isinstance(obj, slice):
        kept = np.ones(size, bool)
        kept[obj] = False
        return _kept(arr, kept, axis)
    obj = as_array("delete", obj)
    if obj.aval.dtype == np.bool_:
        return _kept(arr, ~_mask(obj, size), axis)
    places = _places("delete", obj)
    known = known_values(places)
    if known is None and assume_unique_indices:
        ones = lax.full((size,), True, np.bool_)
        mask = AtIndex(ones, ravel(places)).set(False)
        (left,) = nonzero(mask, size=size - places.aval.size)
        return _taken(arr, left, axis)
    fix = "Pass assume_unique_indices=True if no place is named twice."
    known = concrete_values("jnp.delete, argument obj", places, fix)
    _check_bounds("delete", known, -size, size - 1)
    kept = np.ones(size, bool)
    kept[known] = False
    return _kept(arr, kept, axis)


def _mask(obj: Any, size: int) -> np.ndarray[Any, Any]:
    """A mask of `size` booleans."""
    known = concrete_values("jnp.delete, argument obj", obj, "Use jnp.where to mark elements.")
    if known.shape == (size,):
        return known
    raise ValueError(
        message(
            "jnp.delete, argument obj",
            given=f"a boolean array of shape {known.shape}",
            expected=f"a boolean array of shape {(size,)}",
            fix="Give one truth value for each slice.",
        )
    )


def insert(arr: Any, obj: Any, values: Any, axis: int | None = None) -> Any:
    """`arr` with values put in before some of its slices along an axis.

    Args:
        arr: array (..., n, ...).
        obj: before which to insert, from −n to n: an int, a slice, or a vector of k integers; of
            several values for one place, those that are given first come first.
        values: for an int, what broadcasts to ``arr[..., obj, ...]``, or to several of these with
            an axis more in front; otherwise what broadcasts to (..., k, ...).  They are converted
            to the dtype of `arr`.
        axis: to go along; by default the array is flattened.

    Returns:
        Array (..., n + k, ...).

    Raises:
        IndexError: a known place is out of bounds; traced ones stand for the nearest place.
        ValueError: `obj` is no integer, slice or vector.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.insert(jnp.arange(3), jnp.array([0, 2]), 9)
        Array([9, 0, 1, 9, 2], dtype=int32)
    """
    arr, axis = _along("insert", arr, axis)
    shape = arr.aval.shape
    size = shape[axis]
    if isinstance(obj, slice):
        obj = np.arange(size)[obj]
    places = _places("insert", obj)
    if places.aval.ndim > 1:
        raise ValueError(
            message(
                "jnp.insert, argument obj",
                given=f"{places.aval}",
                expected="an int, a slice or a vector of integers",
                fix="Flatten it with jnp.ravel.",
            )
        )
    values = convert(as_array("insert", values), arr.aval.dtype)
    values = _with_axes(values, arr.aval.ndim)
    if not places.aval.ndim:
        # All values go to one place: what stands in front counts them.
        values = moveaxis(values, 0, axis)
    single = places.aval.size == 1
    count = values.aval.shape[axis] if single else places.aval.size
    values = broadcast_to(values, (*shape[:axis], count, *shape[axis + 1 :]))
    known = known_values(places)
    both = lax.concatenate([arr, values], axis)
    if known is None or type(size) is not int:
        return _taken(both, _traced_sources(ravel(places), size, count), axis)
    _check_bounds("insert", known, -size, size)
    sources = _known_sources(np.ravel(known).astype(np.int64), size, count)
    return _known_taken(both, sources, axis)


def _with_axes(values: Any, ndim: int) -> Any:
    """`values` with axes of size 1 in front."""
    missing = ndim - values.aval.ndim
    return lax.expand_dims(values, range(missing)) if missing > 0 else values


def _known_sources(places: np.ndarray[Any, Any], size: int, count: int) -> np.ndarray[Any, Any]:
    """Where in the array, followed by the values, each element of the result is found."""
    places = np.broadcast_to(np.where(places < 0, places + size, places), count)
    order = np.argsort(places, kind="stable")
    inserted = np.zeros(size + count, bool)
    inserted[places[order] + np.arange(count)] = True
    sources = np.empty(size + count, np.int64)
    sources[inserted], sources[~inserted] = size + order, np.arange(size)
    return sources


def _traced_sources(places: Any, size: Dim, count: Dim) -> Any:
    """The same for places, or a size, that are not known."""
    places = convert(places, np.int32)
    places = lax.select(
        lax.lt(places, 0),
        lax.add(places, lax.full_like(places, size)),
        places,
    )
    places = lax.clamp(np.int32(0), places, size_value(size, np.dtype(np.int32)))
    places = broadcast_to(places, (count,))
    order = argsort(places, stable=True)
    targets = lax.add(_taken(places, order, 0), lax.iota(np.int32, count))
    sources = lax.full((size + count,), -1, np.int32)
    sources = AtIndex(sources, targets).set(
        lax.add(convert(order, np.int32), lax.full_like(targets, size))
    )
    of_array = lax.lt(sources, 0)
    number = lax.cumsum(lax.convert_element_type(of_array, np.int32), 0)
    return lax.select(of_array, lax.sub(number, 1), sources)


@replayed(1)
def resize(a: Any, new_shape: Any) -> Any:
    """The elements of `a` in order, over and over again, in another shape; of none, zeros.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.resize(jnp.arange(3), (2, 2))
        Array([[0, 1],
               [2, 0]], dtype=int32)
    """
    a = ravel(as_array("resize", a))
    shape = canonical_size("resize", new_shape)
    wanted, size = math.prod(shape), a.aval.size
    if not size:
        return lax.full(shape, 0, a.aval.dtype)
    times = -(-wanted // size)
    tiled = lax.reshape(lax.broadcast(a, (times,)), (times * size,))
    return lax.reshape(lax.slice_in_dim(tiled, 0, wanted), shape)


def trim_zeros(filt: Any, trim: str = "fb", axis: int | Sequence[int] | None = None) -> Any:
    """`filt` without zeros at the ends: the smallest box that has all other numbers.

    Args:
        filt: array whose numbers are known: they decide the shape.
        trim: ``"f"`` to cut at the front, ``"b"`` at the back, ``"fb"`` at both.
        axis: axis or axes to cut along, by default all.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.trim_zeros(jnp.array([0, 0, 1, 0, 2, 0]))
        Array([1, 0, 2], dtype=int32)
    """
    filt = as_array("trim_zeros", filt)
    sides = trim.lower() if isinstance(trim, str) else ""
    if not sides or set(sides) - set("fb"):
        raise ValueError(
            message(
                "jnp.trim_zeros, argument trim",
                given=f"{trim!r:.80}",
                expected="'f', 'b' or 'fb'",
                fix="Pass trim='fb' to cut at both ends.",
            )
        )
    fix = "Cut to a size that is known: lax.dynamic_slice."
    filled = concrete_values("jnp.trim_zeros, argument filt", filt, fix) != 0
    sizes = aval_of(filt).shape
    starts, stops = [0] * len(sizes), list(sizes)
    for i in canonical_axes("trim_zeros", axis, len(sizes)):
        is_kept = filled.any(tuple([k for k in range(len(sizes)) if k != i]))
        if not is_kept.any():
            stops[i] = 0
            continue
        starts[i] = int(is_kept.argmax()) if "f" in sides else 0
        stops[i] = sizes[i] - int(is_kept[::-1].argmax()) if "b" in sides else sizes[i]
    return lax.slice(filt, starts, stops)
