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
from ..core import aval_of
from ..core.dims import Dim
from ..engines.reference.replay import replayed
from ..errors import ShapeError
from ..lax.ground.axes import counted, counted_or_symbolic
from ..lax.reduction.cumulative import cumsum
from ..lax.shape.resharding import split_as
from ..util.messages import message
from .at import At
from .axes import canonical_axis
from .indexing import getitem
<<<<<<< HEAD
=======
from .logic import greater_equal, less, less_equal
from .of_numpy import digitize_of_numpy, searchsorted_of_numpy
>>>>>>> h10b
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
    mask = as_truth("nonzero", a)
    shape = aval_of(mask).shape
    if not shape:
        raise ValueError(
            message(
                "jnp.nonzero, argument a",
                given="an array without axes",
                expected="at least one axis",
                fix="Use jnp.atleast_1d first.",
            )
        )
    if size is None:
        fix = "Pass size=, the number of places to return; or use jnp.where(mask, x, y)."
        found = np.nonzero(concrete_values("jnp.nonzero", mask, fix))
        return tuple([Array.from_host(places.astype(index_dtype())) for places in found])
    filling = 0 if fill_value is None else fill_value
    fills = filling if isinstance(filling, tuple) else (filling,) * len(shape)
    return _nonzero_of_size(mask, counted_or_symbolic("jnp.nonzero, argument size", size), fills)


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
    """The places of elements that are not zero in the flattened array; see `nonzero`."""
    return nonzero(ravel(a), size=size, fill_value=fill_value)[0]


def argwhere(a: Any, *, size: int | None = None, fill_value: Any = None) -> Any:
    """The places of elements that are not zero, one per row; arguments as those of `nonzero`."""
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
    """The first place of the smallest element along an axis, or in the flattened array."""
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
    """Like `argmax`, but NaN does not count; −1 where there is nothing else."""
    return _nan_extreme("nanargmax", argmax, -np.inf, a, axis, out, keepdims)


@replayed(1)
def nanargmin(
    a: Any, axis: int | None = None, out: None = None, keepdims: bool | None = None
) -> Any:
    """Like `argmin`, but NaN does not count; −1 where there is nothing else."""
    return _nan_extreme("nanargmin", argmin, np.inf, a, axis, out, keepdims)


def _nan_extreme(
    name: str, find: Callable[..., Any], worst: float, a: Any, axis: Any, out: Any, keepdims: Any
) -> Any:
    check_no_out(name, out)
    a = as_array(name, a)
    if not dtypes.issubdtype(a.aval.dtype, np.inexact):
        return find(a, axis, keepdims=keepdims)
    missing = lax.ne(a, a)
    result = find(lax.select(missing, lax.full_like(a, worst), a), axis, keepdims=keepdims)
    axes = tuple(range(a.aval.ndim)) if axis is None else (axis % a.aval.ndim,)
    all_missing = lax.reduce_and(missing, axes)
    all_missing = lax.expand_dims(all_missing, axes) if keepdims and axes else all_missing
    return lax.select(all_missing, lax.full_like(result, -1), result)


<<<<<<< HEAD
=======
_LARGEST_INT32 = 2**31 - 1
_FEW_PAIRS = 4096
"""Up to so many comparisons, doing them all takes less time than a loop."""

_METHODS = ("default", "scan", "scan_unrolled", "sort", "compare_all")


@replayed(2, by_numpy=searchsorted_of_numpy)
def searchsorted(
    a: Any, v: Any, side: str = "left", sorter: Any = None, *, method: str = "scan"
) -> Any:
    """Where to insert `v` into the sorted vector `a` to keep it sorted; NaN sorts last.

    Args:
        a: vector in ascending order.
        v: array of values to insert.
        side: ``"left"`` finds the first such place, ``"right"`` the last.
        sorter: the indices that sort `a`.
        method: ``"scan"`` halves the range in a loop, ``"scan_unrolled"`` without one,
            ``"sort"`` sorts both together, ``"compare_all"`` compares each pair, as all do if there
            are few.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.searchsorted(jnp.array([1, 3, 5]), jnp.array([0, 3, 9]))
        Array([0, 1, 3], dtype=int32)
    """
    _check_search(a, side, method)
    a = as_array("searchsorted", a)
    if sorter is not None:
        a = getitem(a, as_array("searchsorted", sorter))
    common = dtypes.result_type(a, as_array("searchsorted", v))
    a, v = (lax.convert_element_type(x, common) for x in (a, as_array("searchsorted", v)))
    after = _after_left if side == "left" else _after_right
    size = aval_of(a).size
    pairs = size * aval_of(v).size
    # Steps of a bisection are counted now; of a symbolic size, there are steps for none.
    is_known = type(size) is int
    if method == "compare_all" or not is_known or (type(pairs) is int and pairs <= _FEW_PAIRS):
        return _compared_with_all(a, v, after)
    if method == "sort":
        return _sorted_together(a, v, values_first=side == "left")
    return _bisected(a, v, after, unrolled=method == "scan_unrolled")


def _check_search(a: Any, side: str, method: str) -> None:
    ndim = aval_of(as_array("searchsorted", a)).ndim
    if side in ("left", "right") and method in _METHODS and ndim == 1:
        return
    raise ValueError(
        message(
            "jnp.searchsorted",
            given=f"a with {ndim} axes, side={side!r}, method={method!r}",
            expected=f"a vector, side 'left' or 'right', and a method of {_METHODS}",
            fix="Map over further axes with vmap.",
        )
    )


def _after_left(element: Any, v: Any) -> Any:
    """Whether `v` goes behind `element`, and before those equal to it."""
    if not dtypes.issubdtype(aval_of(v).dtype, np.inexact):
        return less(element, v)
    return lax.bitwise_or(less(element, v), lax.bitwise_and(lax.ne(v, v), lax.eq(element, element)))


def _after_right(element: Any, v: Any) -> Any:
    """Whether `v` goes behind `element`, and behind those equal to it."""
    below = less_equal(element, v)
    nan_too = dtypes.issubdtype(aval_of(v).dtype, np.inexact)
    return lax.bitwise_or(below, lax.ne(v, v)) if nan_too else below


def _position_dtype(size: int) -> Any:
    """The dtype of places in a vector: int32 as long as it has room for them."""
    return np.dtype(np.int32) if size <= _LARGEST_INT32 else _index_dtype()


def _compared_with_all(a: Any, v: Any, after: Callable[[Any, Any], Any]) -> Any:
    shape = (*aval_of(v).shape, aval_of(a).shape[0])
    values = lax.broadcast_in_dim(v, shape, tuple(range(len(shape) - 1)))
    elements = lax.broadcast_in_dim(a, shape, (len(shape) - 1,))
    behind = lax.convert_element_type(after(elements, values), _position_dtype(shape[-1]))
    return lax.reduce_sum(behind, (len(shape) - 1,))


def _sorted_together(a: Any, v: Any, *, values_first: bool) -> Any:
    """The number of elements before each value when both are sorted; equals stay in their order."""
    count, size = aval_of(v).size, aval_of(a).size
    start = 0 if values_first else size
    values = lax.reshape(v, (count,))
    parts = (values, a) if values_first else (a, values)
    places = lax.iota(_position_dtype(count + size), count + size)
    _, order = lax.sort_key_val(lax.concatenate(parts, 0), places)
    is_element = lax.ge(order, count) if values_first else lax.lt(order, size)
    before = lax.cumsum(lax.convert_element_type(is_element, aval_of(order).dtype))
    # Back to the places from which the values came.
    _, found = lax.sort_key_val(order, before)
    found = lax.reshape(lax.slice(found, (start,), (start + count,)), aval_of(v).shape)
    return lax.convert_element_type(found, _position_dtype(size))


def _bisected(a: Any, v: Any, after: Callable[[Any, Any], Any], *, unrolled: bool) -> Any:
    """The number of elements before each value, found bit by bit from the highest."""
    size, dtype = aval_of(a).shape[0], _position_dtype(aval_of(a).shape[0])
    bits = size.bit_length()

    def with_bit(i: Any, count: Any) -> Any:
        place = lax.sub(np.asarray(bits - 1, dtype)[()], lax.convert_element_type(i, dtype))
        step = lax.shift_left(np.ones((), dtype)[()], place)
        candidate = lax.add(count, lax.convert_element_type(step, dtype))
        element = getitem(a, lax.sub(candidate, 1))
        fits = lax.bitwise_and(lax.le(candidate, size), after(element, v))
        return lax.select(fits, candidate, count)

    count = lax.full(aval_of(v).shape, 0, dtype)
    if not size:
        return count
    if not unrolled:
        return lax.fori_loop(0, bits, with_bit, count)
    for i in range(bits):
        count = with_bit(np.asarray(i, dtype)[()], count)
    return count


@replayed(2, by_numpy=digitize_of_numpy)
def digitize(x: Any, bins: Any, right: bool = False, *, method: str | None = None) -> Any:
    """The bin of each element: how many edges of `bins` it is above.

    Args:
        x: array.
        bins: edges in ascending or descending order.
        right: whether bins contain their right edge instead of the left.
        method: of `searchsorted`.
    """
    bins = as_array("digitize", bins)
    side, how = "left" if right else "right", method or "scan"
    size = aval_of(bins).shape[0] if aval_of(bins).ndim == 1 else 0
    if size < 2:
        return searchsorted(bins, x, side, method=how)
    first, last = getitem(bins, 0), getitem(bins, -1)
    # NaN sorts last.
    ascending = lax.bitwise_or(greater_equal(last, first), lax.ne(last, last))
    up = searchsorted(bins, x, side, method=how)
    down = lax.sub(size, searchsorted(lax.rev(bins, (0,)), x, side, method=how))
    return lax.select(lax.broadcast(ascending, aval_of(up).shape), up, down)


>>>>>>> h10b
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
    amount: Any = 1 if weights is None else promoted("bincount", weights)[0]
    dtype = index_dtype() if weights is None else aval_of(amount).dtype
    places = lax.max(x, 0)
    return At(lax.full((counted("jnp.bincount, argument length", length),), 0, dtype))[places].add(
        amount, mode="drop"
    )
