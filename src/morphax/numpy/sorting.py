"""Sorting along an axis; NaN goes to the end."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import dtypes, lax
from ..core import aval_of
from ..engines.reference.replay import replayed
from ..lax.ground.axes import integer, members
from ..lax.ordering.sorting import sort as lax_sort
from ..util.messages import message
from .axes import canonical_axis
from .operands import as_array
from .shaping import ravel


def _operand(name: str, a: Any, axis: int | None, kind: Any, order: Any) -> tuple[Any, int]:
    """The array to sort and its axis counted from the front."""
    if kind is not None or order is not None:
        raise TypeError(
            message(
                f"jnp.{name}",
                given=f"kind={kind!r}, order={order!r}",
                expected="None for both: there is one algorithm, and arrays have no fields",
                fix="Say stable=True or stable=False.",
            )
        )
    a = as_array(name, a)
    if axis is None:
        return ravel(a), 0
    return a, canonical_axis(name, axis, a.aval.ndim)


@replayed(1)
def sort(
    a: Any,
    axis: int | None = -1,
    *,
    kind: None = None,
    order: None = None,
    stable: bool = True,
    descending: bool = False,
) -> Any:
    """`a` sorted along an axis.

    Args:
        a: array; complex numbers are compared by real part, then by imaginary part.
        axis: axis to sort along; the flattened array is sorted if it is `None`.
        kind, order: must be `None`.
        stable: whether equal elements keep their order.
        descending: whether the largest comes first (after NaN).

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.sort(jnp.array([3, 1, 2]), descending=True)
        Array([3, 2, 1], dtype=int32)
    """
    a, place = _operand("sort", a, axis, kind, order)
    result = lax_sort(a, place, is_stable=stable)
    return lax.rev(result, (place,)) if descending else result


@replayed(1)
def sort_complex(a: Any) -> Any:
    """`a` sorted along its last axis, as complex numbers.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.sort_complex(jnp.array([2, 1 + 1j, 1]))
        Array([1.+0.j, 1.+1.j, 2.+0.j], dtype=complex64)
    """
    a = as_array("sort_complex", a)
    dtype = a.aval.dtype
    if a.aval.ndim:
        floating, _ = dtypes.to_inexact(dtype, a.aval.weak_type)
        dtype = dtypes.promote(((floating, False), (np.dtype(np.complex64), False)))[0]
    return lax.convert_element_type(sort(a), dtype)


@replayed(1)
def argsort(
    a: Any,
    axis: int | None = -1,
    *,
    kind: None = None,
    order: None = None,
    stable: bool = True,
    descending: bool = False,
    dtype: Any = None,
) -> Any:
    """The indices that sort `a` along an axis; arguments as those of `sort`.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.argsort(jnp.array([3, 1, 2]))
        Array([1, 2, 0], dtype=int32)
    """
    a, place = _operand("argsort", a, axis, kind, order)
    target = dtypes.requested(int if dtype is None else dtype, "argsort")
    places = lax.broadcasted_iota(target, a.aval.shape, place)
    if descending:
        # Backwards before and after, so that equal elements keep their order.
        a, places = lax.rev(a, (place,)), lax.rev(places, (place,))
    found = lax_sort((a, places), place, is_stable=stable, num_keys=1)[1]
    return lax.rev(found, (place,)) if descending else found


@replayed(1)
def lexsort(keys: Any, axis: int = -1) -> Any:
    """The indices that sort by several keys, the last of which counts most.

    Args:
        keys: sequence of arrays of one shape, or an array of keys.
        axis: axis to sort along.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.lexsort((jnp.array([9, 4, 4]), jnp.array([1, 1, 0])))
        Array([2, 1, 0], dtype=int32)
    """
    arrays = [as_array("lexsort", k) for k in members("jnp.lexsort, argument keys", keys)]
    if not arrays:
        raise TypeError(
            message(
                "jnp.lexsort, argument keys",
                given="no keys",
                expected="at least one",
                fix="Pass a sequence of arrays.",
            )
        )
    if arrays[0].aval.ndim == 0:
        return lax.full((), 0, dtypes.python_scalar_dtype(int))
    place = canonical_axis("lexsort", axis, arrays[0].aval.ndim)
    places = lax.broadcasted_iota(dtypes.python_scalar_dtype(int), aval_of(arrays[0]).shape, place)
    return lax_sort((*arrays[::-1], places), place, num_keys=len(arrays))[-1]


def partition(a: Any, kth: int, axis: int = -1) -> Any:
    """`a` with element `kth` of sorted order in place, between lesser and greater ones.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.partition(jnp.array([5, 1, 4, 2, 3]), 2)[2]
        Array(3, dtype=int32)
    """
    _check_kth("partition", a, kth, axis)
    return sort(a, axis)


@replayed(1)
def argpartition(a: Any, kth: int, axis: int = -1) -> Any:
    """The indices that partition `a`; see `partition`.

    Example:
        >>> import morphax.numpy as jnp
        >>> x = jnp.array([5, 1, 4, 2, 3])
        >>> x[jnp.argpartition(x, 2)[2]]
        Array(3, dtype=int32)
    """
    _check_kth("argpartition", a, kth, axis)
    return argsort(a, axis, dtype=np.int32)


def _check_kth(name: str, a: Any, kth: int, axis: int) -> None:
    shape = as_array(name, a).aval.shape
    size = shape[canonical_axis(name, axis, len(shape))]
    if not -size <= integer(f"jnp.{name}, argument kth", kth) < size:
        raise ValueError(
            message(
                f"jnp.{name}, argument kth",
                given=f"{kth} for {size} elements",
                expected=f"an integer from {-size} to {size - 1}",
                fix="Name a place that the axis has.",
            )
        )


def top_k(
    a: Any, k: int, /, *, axis: int = -1, mode: str = "largest", sorted: bool = True
) -> tuple[Any, Any]:
    """The `k` largest or smallest elements along an axis, and their places.

    NaN is the largest number.  Of equal elements the first comes first.

    Args:
        a: array of real or boolean dtype.
        k: how many, known while tracing.
        axis: the axis.
        mode: ``"largest"`` or ``"smallest"``.
        sorted: has no effect; they always come in order.

    Returns:
        Values, and places of dtype int32; both have size `k` along the axis.

    Raises:
        ValueError: there are fewer elements, no such axis or mode, or the dtype is complex.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.top_k(jnp.array([3, 1, 2]), 2, mode="smallest")
        (Array([1, 2], dtype=int32), Array([1, 2], dtype=int32))
    """
    a = as_array("top_k", a)
    place = canonical_axis("top_k", axis, a.aval.ndim)
    count, size = integer("jnp.top_k, argument k", k), a.aval.shape[place]
    is_complex = dtypes.issubdtype(a.aval.dtype, np.complexfloating)
    if mode not in ("largest", "smallest") or is_complex or not 0 <= count <= size:
        raise ValueError(
            message(
                "jnp.top_k",
                given=f"mode={mode!r}, k={count}, an axis of {size} elements of {a.aval.dtype}",
                expected="mode 'largest' or 'smallest', 0 ≤ k ≤ the size of the axis, real numbers",
                fix="Choose k and the axis anew; take the real part or the magnitude.",
            )
        )
    if mode == "largest":
        values, places = lax.top_k(a, count, axis=place)
        return values, places
    order = argsort(a, place)
    places = lax.slice_in_dim(order, 0, count, axis=place)
    values = lax.slice_in_dim(lax_sort(a, dimension=place), 0, count, axis=place)
    return values, lax.convert_element_type(places, np.int32)
