"""Places in an array: one number for all axes, or one for each."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import dtypes, lax
from ..core import aval_of
from ..dtypes.numbers import bounds
from ..engines.reference.replay import replayed
from ..errors import ShapeError
from ..lax.elementwise.convert import convert
from ..lax.ground.axes import members
from ..util.messages import message
from .axes import canonical_size
from .operands import as_array, concrete_values, promoted
from .shaping import broadcast_arrays

_LARGEST_INT32 = 2**31 - 1
_MODES = ("raise", "wrap", "clip", "ignore")


def _check_integers(name: str, dtype: Any) -> None:
    if not dtypes.issubdtype(dtype, np.integer):
        raise TypeError(
            message(
                f"jnp.{name}",
                given=f"numbers of dtype {dtype}",
                expected="integers: they are places along axes",
                fix="Convert them with astype(int).",
            )
        )


def _check_option(name: str, option: str, given: Any, allowed: Sequence[str]) -> None:
    if given not in allowed:
        raise ValueError(
            message(
                f"jnp.{name}, argument {option}",
                given=f"{given!r:.80}",
                expected=f"one of {', '.join(map(repr, allowed))}",
                fix=f"Pass {option}={allowed[0]!r}.",
            )
        )


def _strides(sizes: Sequence[int], order: str) -> list[int]:
    """How far apart neighbours along each axis are."""
    ordered = sizes if order == "C" else sizes[::-1]
    steps = [math.prod(ordered[i + 1 :]) for i in range(len(ordered))]
    return steps if order == "C" else steps[::-1]


@replayed(1)
def ravel_multi_index(
    multi_index: Sequence[Any],
    dims: Sequence[int],
    mode: str = "raise",
    order: str = "C",
    *,
    dtype: Any = None,
) -> Any:
    """Σ iₖ sₖ: the place in the flattened array for places iₖ along the axes.

    Args:
        multi_index: for each axis integers, that broadcast together.
        dims: the sizes of the axes.
        mode: what is done with places out of bounds: ``"raise"`` refuses them and needs known
            values; ``"clip"`` takes the nearest place, ``"wrap"`` counts on from the other end,
            ``"ignore"`` does nothing.
        order: ``"C"`` if the last axis varies fastest, ``"F"`` if the first does.
        dtype: of the result, by default the common one of the indices.

    Raises:
        TypeError: the indices are not integers.
        ValueError: a place is out of bounds; `mode` or `order` is unknown; there is not one index
            for each axis; the dtype cannot hold all places.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.ravel_multi_index((jnp.array([0, 1]), jnp.array([2, 0])), (2, 3))
        Array([2, 3], dtype=int32)
    """
    where = "ravel_multi_index"
    _check_option(where, "mode", mode, _MODES)
    _check_option(where, "order", order, ("C", "F"))
    sizes = canonical_size(where, dims)
    multi_index = members(f"jnp.{where}, argument multi_index", multi_index, "arrays of integers")
    if len(multi_index) != len(sizes):
        raise ShapeError(
            message(
                f"jnp.{where}",
                given=f"{len(multi_index)} indices for {len(sizes)} axes",
                expected="one for each",
                fix="Give dims the sizes of all axes that the indices are for.",
            )
        )
    if not sizes:
        return as_array(where, np.zeros((), dtypes.python_scalar_dtype(int)))
    places = [as_array(where, i) for i in multi_index]
    places = list(broadcast_arrays(*promoted(where, *places)))
    _check_integers(where, places[0].aval.dtype)
    target = places[0].aval.dtype if dtype is None else dtypes.requested(dtype, where)
    _check_integers(where, target)
    _check_room(sizes, target)
    if mode == "raise":
        _check_places(places, sizes)
    wide = dtypes.promote_types(target, places[0].aval.dtype)
    total: Any = None
    for place, size, stride in zip(places, sizes, _strides(sizes, order), strict=True):
        inside = convert(_within(convert(place, wide), size, mode), target)
        term = lax.mul(inside, lax.full_like(inside, stride))
        total = term if total is None else lax.add(total, term)
    return total


def _check_room(sizes: Sequence[int], dtype: Any) -> None:
    _, high = bounds(dtype)  # type: ignore[misc]
    if math.prod(sizes) - 1 > high:
        raise ValueError(
            message(
                "jnp.ravel_multi_index",
                given=f"axes of sizes {tuple(sizes)} for places of dtype {dtype}",
                expected=f"at most {high + 1} places",
                fix="Pass a wider dtype (jax_enable_x64 for int64).",
            )
        )


def _check_places(places: Sequence[Any], sizes: Sequence[int]) -> None:
    for axis, (place, size) in enumerate(zip(places, sizes, strict=True)):
        where = "jnp.ravel_multi_index with mode='raise'"
        known = concrete_values(where, place, "Pass mode='clip', 'wrap' or 'ignore'.")
        if known.size and (known.min() < 0 or known.max() >= size):
            raise ValueError(
                message(
                    where,
                    given=f"{known.min()} to {known.max()} along axis {axis} of size {size}",
                    expected=f"places from 0 to {size - 1}",
                    fix="Pass mode='clip' or 'wrap', or correct the indices.",
                )
            )


def _within(place: Any, size: int, mode: str) -> Any:
    """Places along an axis, brought into bounds."""
    if mode == "clip":
        return lax.clamp(lax.full_like(place, 0), place, lax.full_like(place, max(size - 1, 0)))
    if mode == "wrap":
        modulus = lax.full_like(place, max(size, 1))
        rest = lax.rem(place, modulus)
        return lax.select(lax.lt(rest, 0), lax.add(rest, modulus), rest)
    return place


@replayed(1)
def unravel_index(indices: Any, shape: Any) -> tuple[Any, ...]:
    """The places along the axes for places in the flattened array; the last axis varies fastest.

    Args:
        indices: integers (...); negative ones count from the end, and those out of bounds stand for
            the nearest place.
        shape: an int, or the sizes of the axes.

    Returns:
        For each axis an array (...) of the dtype of `indices`, or of a wider one if that does not
        hold all places.

    Raises:
        TypeError: the indices are not integers.
        ValueError: there are indices, and an axis has no places.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.unravel_index(jnp.array([2, -1]), (2, 3))
        (Array([0, 1], dtype=int32), Array([2, 2], dtype=int32))
    """
    where = "unravel_index"
    place = as_array(where, indices)
    if place.aval.dtype == np.bool_:
        place = lax.convert_element_type(place, int)
    _check_integers(where, place.aval.dtype)
    sizes = canonical_size(where, shape)
    count = math.prod(sizes)
    is_known = type(count) is int
    if is_known and not count and place.aval.size:
        raise ValueError(
            message(
                f"jnp.{where}",
                given=f"{place.aval} for the shape {sizes}",
                expected="a shape with elements",
                fix="Give the shape of the array that the indices are for.",
            )
        )
    weak = place.aval.weak_type
    most = count - 1 if is_known else _LARGEST_INT32
    if most > bounds(place.aval.dtype)[1]:  # type: ignore[index]
        wide = np.int32 if most <= _LARGEST_INT32 else np.int64
        place = convert(place, dtypes.canonicalize(wide))
    if not dtypes.issubdtype(aval_of(place).dtype, np.unsignedinteger):
        from_end = lax.add(place, lax.full_like(place, count))
        place = lax.select(lax.lt(place, 0), from_end, place)
    place = _within(place, count, "clip")
    found = []
    for size, stride in zip(sizes, _strides(sizes, "C"), strict=True):
        whole = lax.div(place, lax.full_like(place, max(stride, 1)))
        rest = lax.rem(whole, lax.full_like(whole, max(size, 1)))
        found.append(convert(rest, rest.aval.dtype, weak))
    return tuple(found)
