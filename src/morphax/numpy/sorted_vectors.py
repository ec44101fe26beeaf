"""Places in sorted vectors.

NumPy finds them in eager mode.  In programs all pairs are compared if there are few; otherwise a
loop halves the range.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from .. import dtypes, lax
from ..array import Array
from ..core import aval_of, computes_numbers_at_once, current_trace
from ..engines.reference.replay import replayed
from ..util.messages import message
from .indexing import getitem
from .logic import greater_equal, less, less_equal
from .of_numpy import digitize_of_numpy, searchsorted_of_numpy
from .operands import as_array
from .searching import index_dtype

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
    held = lax.stop_gradient((a, v))
    if _are_arrays(held) and not _are_arrays((a, v)):
        # Derivatives of an eager call: places have none, and are found as outside of derivatives.
        return searchsorted(held[0], held[1], side, method=method)
    after = _after_left if side == "left" else _after_right
    size = aval_of(a).size
    pairs = size * aval_of(v).size
    # Steps of a bisection are counted now; of a symbolic size, there are steps for none.
    is_known = type(size) is int
    if method == "compare_all" or not is_known or (type(pairs) is int and pairs <= _FEW_PAIRS):
        return _compared_with_all(a, v, after)
    if method == "sort":
        return _sorted_together(a, v, values_first=side == "left")
    # Eagerly, of batches, the steps take less time than the compiler needs for a loop of them.
    is_unrolled = method == "scan_unrolled" or computes_numbers_at_once(current_trace())
    return _bisected(a, v, after, is_unrolled)


def _are_arrays(values: Iterable[Any]) -> bool:
    return all([type(x) is Array for x in values])


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
    dtype = aval_of(v).dtype
    if not dtypes.issubdtype(dtype, np.inexact):
        return less(element, v)
    if dtypes.issubdtype(dtype, np.complexfloating):
        # Part by part, as they are sorted: NaN is the last of the real parts, and of the others.
        real, imaginary = [(part(element), part(v)) for part in (lax.real, lax.imag)]
        apart = lax.bitwise_or(_after_left(*real), _after_left(*real[::-1]))
        return lax.select(apart, _after_left(*real), _after_left(*imaginary))
    return lax.bitwise_or(less(element, v), lax.bitwise_and(lax.ne(v, v), lax.eq(element, element)))


def _after_right(element: Any, v: Any) -> Any:
    """Whether `v` goes behind `element`, and behind those equal to it."""
    if dtypes.issubdtype(aval_of(v).dtype, np.complexfloating):
        return lax.bitwise_not(_after_left(v, element))
    below = less_equal(element, v)
    nan_too = dtypes.issubdtype(aval_of(v).dtype, np.inexact)
    return lax.bitwise_or(below, lax.ne(v, v)) if nan_too else below


def _position_dtype(size: int) -> Any:
    """The dtype of places in a vector: int32 as long as it has room for them."""
    return np.dtype(np.int32) if size <= _LARGEST_INT32 else index_dtype()


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


def _bisected(a: Any, v: Any, after: Callable[[Any, Any], Any], unrolled: bool) -> Any:
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

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.digitize(jnp.array([0.5, 1.5, 9.0]), jnp.array([1.0, 2.0]))
        Array([0, 1, 2], dtype=int32)
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
