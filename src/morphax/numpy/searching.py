"""Where elements are: nonzero places, extremes, counts by value.

How many places there are depends on values.  With concrete operands the result has the size it
needs; traced ones need a `size`, which the result is cut or filled to.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from .. import dtypes, lax
from ..array import Array
from ..array.placement import beside
from ..core import aval_of
from ..core.dims import Dim
from ..engines.reference.replay import replayed
from ..errors import ShapeError
from ..lax.ground.axes import counted, counted_or_symbolic
from ..lax.ground.monoids import highest, lowest
from ..lax.reduction.cumulative import cumsum
from ..lax.shape.resharding import split_as
from ..util.messages import message
from .at import At
from .axes import canonical_axis
from .indexing import getitem
from .of_numpy import bincount_of_numpy
from .operands import as_array, as_truth, check_no_out, concrete_values, promoted
from .shaping import ravel, reshape, transpose


def index_dtype() -> Any:
    """The dtype of places."""
    return dtypes.python_scalar_dtype(int)


def nonzero(a: Any, *, size: int | None = None, fill_value: Any = None) -> tuple[Any, ...]:
    """The places of elements that are not zero, as one index array per axis, in row-major order.

    Args:
        a: array with at least one axis.
        size: how many places to return, needed if `a` is traced; those beyond are left out.
        fill_value: index (or one per axis) where there are fewer; 0 by default.

    Raises:
        ConcretizationTypeError: `a` is traced and there is no `size`.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.nonzero(jnp.array([0, 7, 0, 3]))
        (Array([1, 3], dtype=int32),)
    """
    return places_of("nonzero", a, size, fill_value)


def places_of(name: str, a: Any, size: int | None, fill_value: Any) -> tuple[Any, ...]:
    """What `nonzero` returns, for a function `name` of NumPy's with the argument `size`."""
    mask = as_truth(name, a)
    shape = aval_of(mask).shape
    if not shape:
        raise ValueError(
            message(
                f"jnp.{name}, argument a",
                given="an array without axes",
                expected="at least one axis",
                fix="Use jnp.atleast_1d first.",
            )
        )
    if size is None:
        fix = "Pass size=, the number of elements to return"
        fix += "." if name.startswith("unique") else "; or use jnp.where(mask, x, y)."
        found = np.nonzero(concrete_values(f"jnp.{name}", mask, fix))
        dtype = index_dtype()
        return tuple([beside(Array.from_host(i.astype(dtype)), mask) for i in found])
    filling = 0 if fill_value is None else fill_value
    fills = filling if isinstance(filling, tuple) else (filling,) * len(shape)
    return _nonzero_of_size(mask, counted_or_symbolic(f"jnp.{name}, argument size", size), fills)


def _nonzero_of_size(mask: Any, size: Dim, fills: tuple[Any, ...]) -> tuple[Any, ...]:
    """The first `size` true places: each is written to the slot that counts the ones before it."""
    shape, dtype = aval_of(mask).shape, index_dtype()
    count = aval_of(mask).size
    if 0 in (count, size):
        return tuple([lax.convert_element_type(lax.full((size,), f), dtype) for f in fills])
    flat = reshape(mask, -1)
    running = cumsum(lax.convert_element_type(flat, dtype))
    slots = lax.select(flat, lax.sub(running, 1), lax.full_like(running, size))
    flat_places = At(lax.full((size,), 0, dtype))[slots].set(lax.iota(dtype, count), mode="drop")
    filled = lax.ge(lax.iota(dtype, size), getitem(running, -1))
    return tuple(
        [
            lax.select(filled, lax.full_like(places, fill), places)
            for places, fill in zip(unraveled(flat_places, shape), fills, strict=True)
        ]
    )


def unraveled(places: Any, shape: tuple[int, ...]) -> list[Any]:
    """One index array per axis from places in the flattened array, which are in bounds."""
    columns: list[Any] = []
    for n in reversed(shape):
        columns.append(lax.rem(places, n))
        places = lax.div(places, n)
    return columns[::-1]


def flatnonzero(a: Any, *, size: int | None = None, fill_value: Any = None) -> Any:
    """The places of elements that are not zero in the flattened array; see `nonzero`.

    Args:
        a: array of any shape.
        size: how many places to return; needed if `a` is traced.
        fill_value: place of those that are too many.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.flatnonzero(jnp.array([[0, 1], [1, 0]]))
        Array([1, 2], dtype=int32)
    """
    return places_of("flatnonzero", ravel(a), size, fill_value)[0]


def argwhere(a: Any, *, size: int | None = None, fill_value: Any = None) -> Any:
    """The places of elements that are not zero, one per row; arguments as those of `nonzero`.

    Args:
        a: array of any shape.
        size: how many places to return; needed if `a` is traced.
        fill_value: place of those that are too many.

    Returns:
        Places (n, number of axes).

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.argwhere(jnp.array([[0, 1], [1, 0]]))
        Array([[0, 1],
               [1, 0]], dtype=int32)
    """
    a = as_array("argwhere", a)
    if a.aval.ndim == 0:
        found = nonzero(reshape(a, 1), size=size, fill_value=fill_value)[0]
        return lax.broadcast_in_dim(lax.slice_in_dim(found, 0, 0), (found.aval.shape[0], 0), (1,))
    return transpose(lax.stack(nonzero(a, size=size, fill_value=fill_value), 0))


@replayed(1)
def argmax(a: Any, axis: int | None = None, out: None = None, keepdims: bool | None = None) -> Any:
    """The first place of the largest element along an axis, or in the flattened array.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.argmax(jnp.array([3.0, 7.0, 7.0]))
        Array(1, dtype=int32)
    """
    return _extreme("argmax", lax.argmax, a, axis, out, keepdims)


@replayed(1)
def argmin(a: Any, axis: int | None = None, out: None = None, keepdims: bool | None = None) -> Any:
    """The first place of the smallest element along an axis, or in the flattened array.

    Args:
        a: array of any shape.
        axis: axis along which is searched; the flattened array without it.
        out: must be None.
        keepdims: whether the axis stays, with size 1.

    Raises:
        ValueError: there is no such axis, or no element.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.argmin(jnp.array([5, 2, 7]))
        Array(1, dtype=int32)
    """
    return _extreme("argmin", lax.argmin, a, axis, out, keepdims)


def _extreme(
    name: str, find: Callable[..., Any], a: Any, axis: Any, out: Any, keepdims: bool | None
) -> Any:
    check_no_out(name, out)
    a = as_array(name, a)
    ndim = a.aval.ndim
    flat = a if axis is not None else ravel(a)
    place = 0 if axis is None else canonical_axis(name, axis, ndim)
    if flat.aval.shape[place] == 0:
        raise ValueError(
            message(
                f"jnp.{name}, argument a",
                given=f"{a.aval}: nothing to choose from",
                expected="at least one element along the axis",
                fix="Check the size before.",
            )
        )
    result = find(flat, place, index_dtype())
    if not keepdims:
        return result
    return lax.expand_dims(result, tuple(range(ndim)) if axis is None else (place,))


@replayed(1)
def nanargmax(
    a: Any, axis: int | None = None, out: None = None, keepdims: bool | None = None
) -> Any:
    """Like `argmax`, but NaN does not count; −1 where there is nothing else.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.nanargmax(jnp.array([2.0, jnp.nan, 3.0]))
        Array(2, dtype=int32)
    """
    return _nan_extreme("nanargmax", argmax, lowest, a, axis, out, keepdims)


@replayed(1)
def nanargmin(
    a: Any, axis: int | None = None, out: None = None, keepdims: bool | None = None
) -> Any:
    """Like `argmin`, but NaN does not count; −1 where there is nothing else.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.nanargmin(jnp.array([jnp.nan, 2.0, 3.0]))
        Array(1, dtype=int32)
    """
    return _nan_extreme("nanargmin", argmin, highest, a, axis, out, keepdims)


def _nan_extreme(
    name: str,
    find: Callable[..., Any],
    worst: Callable[[Any], Any],
    a: Any,
    axis: Any,
    out: Any,
    keepdims: Any,
) -> Any:
    check_no_out(name, out)
    a = as_array(name, a)
    if not dtypes.issubdtype(a.aval.dtype, np.inexact):
        return find(a, axis, keepdims=keepdims)
    missing = lax.ne(a, a)
    result = find(
        lax.select(missing, lax.full_like(a, worst(a.aval.dtype)), a), axis, keepdims=keepdims
    )
    axes = tuple(range(a.aval.ndim)) if axis is None else (axis % a.aval.ndim,)
    all_missing = lax.reduce_and(missing, axes)
    all_missing = lax.expand_dims(all_missing, axes) if keepdims and axes else all_missing
    return lax.select(all_missing, lax.full_like(result, -1), result)


def bincount(
    x: Any,
    weights: Any = None,
    minlength: int = 0,
    *,
    length: int | None = None,
    out_sharding: Any = None,
) -> Any:
    """How often each of 0, 1, 2, … occurs in the vector `x`, or the sum of its weights.

    Args:
        x: integers, not negative.
        weights: one per element.
        minlength: least size of the result.
        length: size of the result, needed if `x` is traced; greater elements do not count.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.bincount(jnp.array([1, 1, 3]))
        Array([0, 2, 0, 1], dtype=int32)
    """
    if out_sharding is not None:
        counts = partial(bincount, minlength=minlength, length=length)
        return split_as("jnp.bincount", out_sharding, counts, x, weights)
    x = as_array("bincount", x)
    if x.aval.dtype == np.bool_:
        x = lax.convert_element_type(x, np.int32)
    if x.aval.ndim != 1 or not dtypes.issubdtype(x.aval.dtype, np.integer):
        raise ShapeError(
            message(
                "jnp.bincount, argument x",
                given=f"{x.aval}",
                expected="a vector of integers",
                fix="Convert it with jnp.ravel and astype('int32').",
            )
        )
    if length is None:
        values = concrete_values("jnp.bincount", x, "Pass length=, the size of the result.")
        largest = int(values.max()) if values.size else -1
        length = max(largest + 1, counted("jnp.bincount, argument minlength", minlength))
    length = counted("jnp.bincount, argument length", length)
    if weights is None:
        return _counts(x, length)
    return _sums_at(x, promoted("bincount", weights)[0], length)


@replayed(1, by_numpy=bincount_of_numpy)
def _counts(x: Any, length: Any) -> Any:
    """How often each number below `length` occurs."""
    return _sums_at(x, 1, length)


def _sums_at(x: Any, amount: Any, length: Any) -> Any:
    dtype = index_dtype() if type(amount) is int else aval_of(amount).dtype
    return At(lax.full((length,), 0, dtype))[lax.max(x, 0)].add(amount, mode="drop")
