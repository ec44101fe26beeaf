"""New values for some elements: by places, by a mask, along an axis."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import dtypes, lax
from ..core import aval_of
from ..dtypes.numbers import bounds
from ..engines.reference.replay import replayed
from ..errors import ShapeError
from ..lax.elementwise.convert import convert
from ..util.messages import message
from .arithmetic import remainder
from .at import AtIndex
from .axes import canonical_axis
from .operands import as_array, as_truth
from .selection import where
from .shaping import broadcast_to, ravel, reshape


def _refuse_in_place(name: str, inplace: bool) -> None:
    if inplace:
        raise ValueError(
            message(
                f"jnp.{name}, argument inplace",
                given=f"{inplace}",
                expected="False: arrays are immutable",
                fix="Pass inplace=False, and use the result.",
            )
        )


def put(a: Any, ind: Any, v: Any, mode: str | None = None, *, inplace: bool = True) -> Any:
    """`a` with the values `v` at places of its flattened form.

    Args:
        a: array.
        ind: integers, places in the flattened array; negative ones count from the end.
        v: values, in order, repeated if there are fewer than places; if there are none, nothing is
            put.
        mode: what a place out of bounds stands for: ``"clip"``, which is the default, for the
            nearest place, ``"wrap"`` for the one that is reached by counting on from the other end.
        inplace: must be `False`: the new array is returned.

    Raises:
        NotImplementedError: the mode is ``"raise"``, which would depend on values.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.put(jnp.zeros((2, 2)), jnp.array([0, 3]), 5.0, inplace=False)
        Array([[5., 0.],
               [0., 5.]], dtype=float32)
    """
    _refuse_in_place("put", inplace)
    if mode not in (None, "clip", "wrap"):
        raise (NotImplementedError if mode == "raise" else ValueError)(
            message(
                "jnp.put, argument mode",
                given=f"{mode!r:.80}",
                expected="'clip', 'wrap' or None",
                fix="Check places that may be out of bounds with jax.experimental.checkify.",
            )
        )
    a, places, values = as_array("put", a), ravel(as_array("put", ind)), ravel(as_array("put", v))
    if not dtypes.issubdtype(places.aval.dtype, np.integer):
        raise TypeError(
            message(
                "jnp.put, argument ind",
                given=f"{places.aval}",
                expected="integers",
                fix="Use jnp.place for a mask, astype(int) for numbers.",
            )
        )
    count, size = places.aval.size, a.aval.size
    if not (count and size and values.aval.size):
        return a
    if mode == "wrap":
        places = remainder(_wide(places, size), size)
    flat = AtIndex(ravel(a), places).set(_repeated(values, count), mode="clip")
    return lax.reshape(flat, a.aval.shape)


def _wide(places: Any, size: int) -> Any:
    """Integers of a dtype that holds `size`."""
    _, high = bounds(places.aval.dtype)  # type: ignore[misc]
    return places if size <= high else convert(places, dtypes.canonicalize(np.int64))


def _repeated(values: Any, count: int) -> Any:
    """A vector of `count` values, over and over again the given ones."""
    size = values.aval.shape[0]
    times = -(-count // size)
    tiled = lax.reshape(lax.broadcast(values, (times,)), (times * size,))
    return lax.slice_in_dim(tiled, 0, count)


def place(arr: Any, mask: Any, vals: Any, *, inplace: bool = True) -> Any:
    """`arr` with the values `vals`, in order and over again, where `mask` is true.

    Args:
        arr: array.
        mask: booleans, as many as `arr` has elements.
        vals: values, at least one.
        inplace: must be `False`: the new array is returned.

    Example:
        >>> import morphax.numpy as jnp
        >>> x = jnp.arange(4)
        >>> jnp.place(x, x > 0, jnp.array([7, 8]), inplace=False)
        Array([0, 7, 8, 7], dtype=int32)
    """
    _refuse_in_place("place", inplace)
    arr, truth = as_array("place", arr), as_truth("place", mask)
    values = ravel(as_array("place", vals))
    if truth.aval.size != arr.aval.size or not values.aval.size:
        raise ShapeError(
            message(
                "jnp.place",
                given=f"{arr.aval}, a mask of shape {truth.aval.shape} and {values.aval}",
                expected="one truth value for each element, and at least one value",
                fix="Give a mask of the shape of the array.",
            )
        )
    number = lax.cumsum(lax.convert_element_type(ravel(truth), np.int32), 0)
    before = lax.sub(number, 1)
    chosen = AtIndex(values, remainder(before, values.aval.size)).get()
    chosen = reshape(convert(chosen, arr.aval.dtype), arr.aval.shape)
    return where(reshape(truth, arr.aval.shape), chosen, arr)


@replayed(3)
def put_along_axis(
    arr: Any,
    indices: Any,
    values: Any,
    axis: int | None,
    inplace: bool = True,
    *,
    mode: Any = None,
) -> Any:
    """`arr` with `values` at the places along an axis that `indices` names.

    It writes what ``take_along_axis(arr, indices, axis)`` reads.

    Args:
        arr: array (..., n, ...).
        indices: integers (..., k, ...), whose other axes broadcast with those of `arr`.
        values: that broadcast to the shape of what is read.
        axis: to go along; `None` stands for that of the flattened array.
        inplace: must be `False`: the new array is returned.
        mode: what is done with places out of bounds, as in ``x.at[...]``; by default nothing is
            put there.

    Example:
        >>> import morphax.numpy as jnp
        >>> x = jnp.array([[1, 5], [7, 3]])
        >>> largest = jnp.argmax(x, axis=1, keepdims=True)
        >>> jnp.put_along_axis(x, largest, 0, axis=1, inplace=False)
        Array([[1, 0],
               [0, 3]], dtype=int32)
    """
    where_ = "put_along_axis"
    _refuse_in_place(where_, inplace)
    arr, places = as_array(where_, arr), as_array(where_, indices)
    if axis is None:
        flat = AtIndex(ravel(arr), ravel(places)).set(values, mode=mode)
        return lax.reshape(flat, arr.aval.shape)
    ndim = arr.aval.ndim
    along = canonical_axis(where_, axis, ndim)
    if places.aval.ndim != ndim:
        raise ShapeError(
            message(
                f"jnp.{where_}, argument indices",
                given=f"{places.aval} for {arr.aval}",
                expected="as many axes as the array has",
                fix="Add axes of size 1, or pass axis=None.",
            )
        )
    others = tuple([1 if i == along else n for i, n in enumerate(arr.aval.shape)])
    shape = lax.broadcast_shapes(places.aval.shape, others)
    index = [lax.broadcasted_iota(np.int32, others, i) for i in range(ndim)]
    index[along] = broadcast_to(places, shape)
    if aval_of(values).ndim:
        values = broadcast_to(as_array(where_, values), shape)
    return AtIndex(arr, tuple(index)).set(values, mode=mode)
