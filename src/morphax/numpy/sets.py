"""Arrays as sets: different values, membership, and the algebra of sets.

Everything is found in sorted order, where equal elements are neighbours.  The sizes of results
depend on values: traced operands need a `size`, as in `searching`.
"""

from __future__ import annotations

from functools import reduce
from typing import Any, NamedTuple

import numpy as np

from .. import dtypes, lax
from ..core import aval_of
from ..engines.reference.replay import replayed
from ..lax.ground.axes import counted_or_symbolic
from ..lax.ordering.sorting import sort as lax_sort
from ..util.messages import message
from .axes import canonical_axis
from .equal_runs import in_runs, index_dtype, of_runs, sorted_runs, starts_run
from .indexing import getitem
from .joining import concatenate
from .operands import as_array
from .searching import places_of
from .selection import take, where
from .shaping import moveaxis, ravel
from .sorted_vectors import searchsorted

# Up to so many elements, comparing with each is faster than sorting.
_FEW = 32


def unique(
    ar: Any,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: int | None = None,
    *,
    equal_nan: bool = True,
    size: int | None = None,
    fill_value: Any = None,
    sorted: bool = True,
) -> Any:
    """The different elements of `ar`, in sorted order.

    Args:
        ar: array.
        return_index: also return where each comes first.
        return_inverse: also return the place in the result of each element of `ar`.
        return_counts: also return how often each occurs.
        axis: compare slices along this axis instead of elements.
        equal_nan: whether NaN equals NaN.
        size: how many to return, needed if `ar` is traced.
        fill_value: what to return where there are fewer; the first one by default.
        sorted: accepted for compatibility: the result is always sorted.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.unique(jnp.array([3, 1, 3]), return_counts=True)
        (Array([1, 3], dtype=int32), Array([1, 2], dtype=int32))
    """
    ar = as_array("unique", ar)
    size = None if size is None else counted_or_symbolic("jnp.unique, argument size", size)
    if axis is not None:
        axis = canonical_axis("unique", axis, ar.aval.ndim)
    rows = ravel(ar) if axis is None else moveaxis(ar, axis, 0)
    count = aval_of(rows).shape[0]
    if count == 0:
        return _unique_of_nothing(
            rows,
            axis or 0,
            size,
            fill_value,
            (return_index, (size or 0,)),
            (return_inverse, ar.aval.shape if axis is None else (0,)),
            (return_counts, (size or 0,)),
        )
    equal_nan = equal_nan and dtypes.issubdtype(ar.aval.dtype, np.inexact)
    is_complex = dtypes.issubdtype(ar.aval.dtype, np.complexfloating)
    order = None
    if axis is None and not (return_index or return_inverse or is_complex):
        rows, first = sorted_runs(rows, equal_nan)
    else:
        order, first = in_runs(rows, equal_nan)
    # One start more than asked for, so that the last run has an end.
    (starts,) = places_of("unique", first, None if size is None else size + 1, count)
    if size is None:
        fill_value = None
    shape = ar.aval.shape if axis is None else (count,)
    wanted = bool(return_index), bool(return_inverse), bool(return_counts)
    results = of_runs(
        rows, order, first, starts, fill_value, size is None, axis or 0, shape, wanted
    )
    return results[0] if len(results) == 1 else results


def _unique_of_nothing(
    rows: Any, axis: int, size: int | None, fill_value: Any, *wanted: tuple[bool, tuple[int, ...]]
) -> Any:
    """The results of `unique` for no elements of `axis`: filling; others if wanted, of a shape."""
    number = size or 0
    if number and fill_value is None:
        raise ValueError(
            message(
                "jnp.unique, argument fill_value",
                given=f"None, with size={size} and an empty array",
                expected="a value to fill with",
                fix="Pass fill_value.",
            )
        )
    shape = (number, *aval_of(rows).shape[1:])
    filling = lax.full(shape, 0 if fill_value is None else fill_value, aval_of(rows).dtype)
    values = moveaxis(filling, 0, axis)
    extra = [lax.full(shape, 0, index_dtype()) for is_wanted, shape in wanted if is_wanted]
    return (values, *extra) if extra else values


class UniqueAll(NamedTuple):
    """Different values, their first places, the number of each element, and their counts."""

    values: Any
    indices: Any
    inverse_indices: Any
    counts: Any


class UniqueCounts(NamedTuple):
    """Different values, and how often each occurs."""

    values: Any
    counts: Any


class UniqueInverse(NamedTuple):
    """Different values, and the place of each element among them."""

    values: Any
    inverse_indices: Any


def unique_all(x: Any, /, *, size: int | None = None, fill_value: Any = None) -> UniqueAll:
    """All results of `unique`; NaN differs from NaN.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.unique_all(jnp.array([3, 1, 3])).indices
        Array([1, 0], dtype=int32)
    """
    return UniqueAll(
        *unique(x, True, True, True, equal_nan=False, size=size, fill_value=fill_value)
    )


def unique_counts(x: Any, /, *, size: int | None = None, fill_value: Any = None) -> UniqueCounts:
    """The different elements, and how often each occurs; NaN differs from NaN.

    Example:
        >>> import morphax.numpy as jnp
        >>> values, counts = jnp.unique_counts(jnp.array([3, 1, 3]))
        >>> counts
        Array([1, 2], dtype=int32)
    """
    found = unique(x, return_counts=True, equal_nan=False, size=size, fill_value=fill_value)
    return UniqueCounts(*found)


def unique_inverse(x: Any, /, *, size: int | None = None, fill_value: Any = None) -> UniqueInverse:
    """The different elements, and the place of each element among them; NaN differs from NaN.

    Example:
        >>> import morphax.numpy as jnp
        >>> values, places = jnp.unique_inverse(jnp.array([3, 1, 3]))
        >>> places
        Array([1, 0, 1], dtype=int32)
    """
    found = unique(x, return_inverse=True, equal_nan=False, size=size, fill_value=fill_value)
    return UniqueInverse(*found)


def unique_values(x: Any, /, *, size: int | None = None, fill_value: Any = None) -> Any:
    """The different elements; NaN differs from NaN.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.unique_values(jnp.array([3, 1, 3]))
        Array([1, 3], dtype=int32)
    """
    return unique(x, equal_nan=False, size=size, fill_value=fill_value)


_METHODS = ("auto", "compare_all", "binary_search", "sort")


@replayed(2)
def isin(
    element: Any,
    test_elements: Any,
    assume_unique: bool = False,
    invert: bool = False,
    *,
    method: str = "auto",
) -> Any:
    """Where elements of `element` are among `test_elements`; with `invert`, where they are not.

    Args:
        element: array.
        test_elements: array of values to look for.
        assume_unique: accepted for compatibility.
        invert: answer the opposite question.
        method: ``"compare_all"`` compares each pair, ``"binary_search"`` and ``"sort"`` sort first;
            ``"auto"`` chooses.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.isin(jnp.array([1, 2, 3]), jnp.array([3, 1]))
        Array([ True, False,  True], dtype=bool)
    """
    if method not in _METHODS:
        raise ValueError(
            message(
                "jnp.isin, argument method",
                given=f"{method!r}",
                expected=f"one of {_METHODS}",
                fix="Leave out method.",
            )
        )
    element, tested = as_array("isin", element), ravel(as_array("isin", test_elements))
    dtype = dtypes.result_type(element, tested)
    element, tested = (lax.convert_element_type(x, dtype) for x in (element, tested))
    count, shape = tested.aval.shape[0], element.aval.shape
    if count == 0:
        return lax.full(shape, invert)
    if type(count) is int and count <= _FEW and method in ("auto", "compare_all"):
        found = reduce(lax.bitwise_or, [lax.eq(element, one) for one in lax.unstack(tested, 0)])
    elif method == "compare_all" or (method == "auto" and type(count) is not int):
        pairs = (count, *shape)
        one = lax.broadcast_in_dim(element, pairs, tuple(range(1, len(pairs))))
        found = lax.reduce_or(lax.eq(one, lax.broadcast_in_dim(tested, pairs, (0,))), (0,))
    else:
        ordered = lax_sort(tested, 0)
        places = searchsorted(ordered, element)
        found = lax.eq(take(ordered, places, mode="clip"), element)
    return lax.bitwise_not(found) if invert else found


def _vectors(name: str, ar1: Any, ar2: Any) -> tuple[Any, Any]:
    """Two arrays, flattened, of one dtype."""
    flat = ravel(as_array(name, ar1)), ravel(as_array(name, ar2))
    dtype = dtypes.result_type(*flat)
    first, second = (lax.convert_element_type(x, dtype) for x in flat)
    return first, second


def _sorted_once(x: Any) -> tuple[Any, Any, Any]:
    """A vector sorted, where its elements came from, and which are first of their kind."""
    count = x.aval.shape[0]
    places = lax.iota(index_dtype(), count)
    if count == 0:
        return x, places, lax.full((0,), True)
    ordered, order = lax_sort((x, places), 0, num_keys=1)
    is_float = dtypes.issubdtype(x.aval.dtype, np.inexact)
    return ordered, order, starts_run([ordered], equal_nan=is_float)


def _chosen(name: str, x: Any, mask: Any, size: int | None, fill_value: Any) -> tuple[Any, Any]:
    """The elements where `mask` is true, filled up with the first of them, and their places."""
    count = aval_of(x).shape[0]
    (places,) = places_of(name, mask, size, count)
    if size is None:
        return getitem(x, places), places
    if fill_value is None:
        # A place behind the end reads 0: there is no first element.
        fill_value = take(x, getitem(places, 0), mode="fill", fill_value=0) if size and count else 0
    fill = as_array("set operation", fill_value)
    fill = lax.convert_element_type(fill, aval_of(x).dtype)
    if count == 0:
        return lax.broadcast_in_dim(fill, (size,), ()), places
    present = lax.lt(places, lax.full_like(places, count))
    return where(present, take(x, places, mode="clip"), fill), places


def union1d(ar1: Any, ar2: Any, *, size: int | None = None, fill_value: Any = None) -> Any:
    """The different elements of two arrays, in sorted order; see `unique`.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.union1d(jnp.array([3, 1]), jnp.array([1, 2]))
        Array([1, 2, 3], dtype=int32)
    """
    return unique(concatenate(_vectors("union1d", ar1, ar2)), size=size, fill_value=fill_value)


def setdiff1d(
    ar1: Any,
    ar2: Any,
    assume_unique: bool = False,
    *,
    size: int | None = None,
    fill_value: Any = None,
) -> Any:
    """The different elements of `ar1` that are not in `ar2`, in sorted order.

    Args:
        ar1, ar2: arrays.
        assume_unique: take elements of `ar1` as they come.
        size: how many to return, needed if an array is traced.
        fill_value: what to return where there are fewer; 0 by default.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.setdiff1d(jnp.array([3, 1, 2]), jnp.array([2]))
        Array([1, 3], dtype=int32)
    """
    first, second = _vectors("setdiff1d", ar1, ar2)
    dtype = as_array("setdiff1d", ar1).aval.dtype
    if assume_unique:
        mask = isin(first, second, invert=True)
    else:
        first, _, once = _sorted_once(first)
        mask = lax.bitwise_and(once, isin(first, second, invert=True))
    found, _ = _chosen("setdiff1d", first, mask, size, 0 if fill_value is None else fill_value)
    return lax.convert_element_type(found, dtype)


def setxor1d(
    ar1: Any,
    ar2: Any,
    assume_unique: bool = False,
    *,
    size: int | None = None,
    fill_value: Any = None,
) -> Any:
    """The different elements of one array that are not in the other, in sorted order.

    NaN differs from NaN: where both arrays have it, it is returned twice.

    Args:
        ar1, ar2: arrays.
        assume_unique: accepted for compatibility.
        size: how many to return, needed if an array is traced.
        fill_value: what to return where there are fewer; the first one by default.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.setxor1d(jnp.array([1, 2]), jnp.array([2, 3]))
        Array([1, 3], dtype=int32)
    """
    first, second = _vectors("setxor1d", ar1, ar2)
    values, masks = [], []
    for own, other in ((first, second), (second, first)):
        ordered, _, once = _sorted_once(own)
        values.append(ordered)
        masks.append(lax.bitwise_and(once, isin(ordered, other, invert=True)))
    ordered, mask = lax_sort((concatenate(values), concatenate(masks)), 0, num_keys=1)
    return _chosen("setxor1d", ordered, mask, size, fill_value)[0]


def intersect1d(
    ar1: Any,
    ar2: Any,
    assume_unique: bool = False,
    return_indices: bool = False,
    *,
    size: int | None = None,
    fill_value: Any = None,
) -> Any:
    """The different elements that are in both arrays, in sorted order.

    Args:
        ar1, ar2: arrays.
        assume_unique: accepted for compatibility.
        return_indices: also return where each comes first in `ar1` and in `ar2`.
        size: how many to return, needed if an array is traced.
        fill_value: what to return where there are fewer; the first one by default.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.intersect1d(jnp.array([3, 1, 2]), jnp.array([2, 3, 4]))
        Array([2, 3], dtype=int32)
    """
    first, second = _vectors("intersect1d", ar1, ar2)
    ordered, order, once = _sorted_once(first)
    values, places = _chosen(
        "intersect1d", ordered, lax.bitwise_and(once, isin(ordered, second)), size, fill_value
    )
    if not return_indices:
        return values
    other, other_order, _ = _sorted_once(second)
    counts = first.aval.shape[0], second.aval.shape[0]
    present = lax.lt(places, lax.full_like(places, counts[0]))
    found = [
        take(order, places, mode="clip"),
        take(other_order, searchsorted(other, values), mode="clip"),
    ]
    indices = [where(present, i, lax.full_like(i, n)) for i, n in zip(found, counts, strict=True)]
    return values, *indices
