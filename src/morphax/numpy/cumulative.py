"""Running sums and products."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .. import dtypes, lax
from ..core import aval_of
from ..engines.reference.replay import replayed
from ..lax.elementwise.convert import convert_as_asked
from ..lax.reduction import cumulative as running
from ..util.messages import message
from .axes import canonical_axis
from .operands import as_array, check_no_out
from .shaping import ravel

Accumulate = Callable[[Any, int], Any]


def _accumulated(
    name: str, accumulate: Accumulate, a: Any, axis: int | None, dtype: Any, out: Any
) -> Any:
    check_no_out(name, out)
    a = as_array(name, a)
    if axis is None or a.aval.ndim == 0:
        a, axis = ravel(a), 0 if axis is None else axis
    place = canonical_axis(name, axis, a.aval.ndim)
    target = a.aval.dtype if dtype is None else dtypes.requested(dtype, name)
    if target == np.bool_:
        # Truth values are counted; asked for as a result, they say where the count is not zero.
        counted = lax.convert_element_type(lax.convert_element_type(a, np.bool_), int)
        result = accumulate(counted, place)
        return result if dtype is None else lax.convert_element_type(result, np.bool_)
    return accumulate(convert_as_asked(f"jnp.{name}", a, target), place)


def _without_nan(name: str, a: Any, value: int) -> Any:
    a = as_array(name, a)
    if not dtypes.issubdtype(a.aval.dtype, np.inexact):
        return a
    return lax.select(lax.ne(a, a), lax.full_like(a, value), a)


@replayed(1)
def cumsum(a: Any, axis: int | None = None, dtype: Any = None, out: None = None) -> Any:
    """The sums of the elements up to each along an axis, or in the flattened array.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.cumsum(jnp.array([1, 2, 3]))
        Array([1, 3, 6], dtype=int32)
    """
    return _accumulated("cumsum", running.cumsum, a, axis, dtype, out)


@replayed(1)
def cumprod(a: Any, axis: int | None = None, dtype: Any = None, out: None = None) -> Any:
    """The products of the elements up to each along an axis, or in the flattened array.

    Args:
        a: numbers of any shape.
        axis: axis along which they are multiplied; the array is flattened without it.
        dtype: of the result.
        out: must be None.

    Raises:
        ValueError: there is no such axis.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.cumprod(jnp.array([1, 2, 3]))
        Array([1, 2, 6], dtype=int32)
    """
    return _accumulated("cumprod", running.cumprod, a, axis, dtype, out)


@replayed(1)
def nancumsum(a: Any, axis: int | None = None, dtype: Any = None, out: None = None) -> Any:
    """Like `cumsum`, with NaN as 0.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.nancumsum(jnp.array([2.0, jnp.nan, 3.0]))
        Array([2., 2., 5.], dtype=float32)
    """
    return cumsum(_without_nan("nancumsum", a, 0), axis, dtype, out)


@replayed(1)
def nancumprod(a: Any, axis: int | None = None, dtype: Any = None, out: None = None) -> Any:
    """Like `cumprod`, with NaN as 1.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.nancumprod(jnp.array([2.0, jnp.nan, 3.0]))
        Array([2., 2., 6.], dtype=float32)
    """
    return cumprod(_without_nan("nancumprod", a, 1), axis, dtype, out)


@replayed(1)
def cumulative_sum(
    x: Any, /, *, axis: int | None = None, dtype: Any = None, include_initial: bool = False
) -> Any:
    """Running sums along an axis; small integers are widened.

    Args:
        x: array.
        axis: axis to sum along; may be left out for vectors.
        dtype: of the result.
        include_initial: whether to begin with 0, the sum of no elements.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.cumulative_sum(jnp.array([1, 2, 3]), include_initial=True)
        Array([0, 1, 3, 6], dtype=int32)
    """
    return _standard(
        "cumulative_sum", running.cumsum, x, axis, dtype, 0 if include_initial else None
    )


def cumulative_prod(
    x: Any, /, *, axis: int | None = None, dtype: Any = None, include_initial: bool = False
) -> Any:
    """Running products along an axis, in its dtype; arguments as those of `cumulative_sum`.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.cumulative_prod(jnp.array([1, 2, 3, 4]))
        Array([ 1,  2,  6, 24], dtype=int32)
    """
    return _standard(
        "cumulative_prod", running.cumprod, x, axis, dtype, 1 if include_initial else None
    )


def _standard(
    name: str, accumulate: Accumulate, x: Any, axis: int | None, dtype: Any, initial: int | None
) -> Any:
    x = as_array(name, x)
    ndim, given = x.aval.ndim, x.aval.dtype
    if ndim == 0 or (axis is None and ndim > 1):
        raise ValueError(
            message(
                f"jnp.{name}",
                given=f"axis={axis} for {x.aval}",
                expected="an axis; it may be left out for vectors only",
                fix="Pass axis=.",
            )
        )
    place = canonical_axis(name, 0 if axis is None else axis, ndim)
    if dtype is None and accumulate is running.cumsum and dtypes.issubdtype(given, np.integer):
        unsigned = dtypes.issubdtype(given, np.unsignedinteger)
        default = dtypes.canonicalize(np.uint64 if unsigned else np.int64)
        dtype = default if given.itemsize < default.itemsize else given
    result = _accumulated(name, accumulate, x, place, dtype, None)
    if initial is None:
        return result
    shape = tuple([1 if i == place else n for i, n in enumerate(x.aval.shape)])
    first = lax.full(shape, initial, aval_of(result).dtype)
    return lax.concatenate([first, result], place)
