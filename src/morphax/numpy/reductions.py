"""Reductions: sums, products, extremes, means and variances over axes.

Small floats are summed in float32.  `where` leaves elements out, `initial` takes part in the
result.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import dtypes, lax
from ..core import aval_of
from ..lax.convert import convert
from ..util.messages import message
from .axes import canonical_axes
from .operands import as_array, as_truth, check_no_out, promoted_inexact
from .selection import where as where_
from .shaping import broadcast_to, expand_dims

Axis = Any


def _reduce(
    name: str,
    a: Any,
    axis: Axis,
    keepdims: bool,
    operation: Callable[..., Any],
    *,
    identity: Callable[[Any], Any] | None = None,
    combine: Callable[[Any, Any], Any] | None = None,
    initial: Any = None,
    where: Any = None,
    out: None = None,
) -> Any:
    """Apply `operation(a, axes)`, with what NumPy's reductions have in common around it."""
    check_no_out(name, out)
    axes = canonical_axes(name, axis, a.aval.ndim)
    if where is not None:
        if identity is None and initial is None:
            raise ValueError(_needs_initial(name, "where"))
        neutral = initial if identity is None else identity(a.aval.dtype)
        a = where_(where, a, np.asarray(neutral, a.aval.dtype)[()])
    elif identity is None and initial is None and 0 in [a.aval.shape[i] for i in axes]:
        raise ValueError(_needs_initial(name, "an axis of size 0"))
    result = operation(a, axes)
    if initial is not None and combine is not None:
        result = combine(result, convert(as_array(name, initial), result.aval.dtype))
    return expand_dims(result, axes) if keepdims and axes else result


def _needs_initial(name: str, why: str) -> str:
    return message(
        f"jnp.{name}",
        given=f"{why} without a value to start from",
        expected="the argument initial",
        fix=f"Pass initial, the result of no elements, to jnp.{name}.",
    )


def _total(
    name: str,
    a: Any,
    axis: Axis,
    dtype: Any,
    promote_integers: bool,
    keepdims: bool,
    **options: Any,
) -> Any:
    """A sum or product, in the dtype that is asked for or that has room for it."""
    a = as_array(name, a)
    given = a.aval.dtype
    if dtype is not None:
        return _reduce(name, convert(a, dtypes.requested(dtype, name)), axis, keepdims, **options)
    if dtypes.issubdtype(given, np.floating) and given.itemsize < 4:
        wide = convert(a, np.dtype(np.float32))
        return convert(_reduce(name, wide, axis, keepdims, **options), given)
    if promote_integers:
        a = convert(a, _with_room(given), a.aval.weak_type)
    return _reduce(name, a, axis, keepdims, **options)


def _with_room(dtype: Any) -> Any:
    """The dtype in which booleans and small integers are added up."""
    if dtype == np.bool_:
        return dtypes.python_scalar_dtype(int)
    if dtypes.issubdtype(dtype, np.integer):
        unsigned = dtypes.issubdtype(dtype, np.unsignedinteger)
        default = dtypes.canonicalize(np.uint64 if unsigned else np.int64)
        return default if dtype.itemsize < default.itemsize else dtype
    return dtype


def sum(
    a: Any,
    axis: Axis = None,
    dtype: Any = None,
    out: None = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = None,
    promote_integers: bool = True,
) -> Any:
    """Sum over axes.

    Args:
        a: array.
        axis: axis, tuple of axes, or `None` for all.
        dtype: of the sum; booleans and small integers are summed as integers.
        out: must be `None`.
        keepdims: keep reduced axes, with size 1.
        initial: value to start from.
        where: which elements to count.
        promote_integers: whether small integers are widened.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.sum(jnp.ones((2, 3)), axis=0)
        Array([2., 2., 2.], dtype=float32)
    """
    return _total(
        "sum", a, axis, dtype, promote_integers, keepdims,
        operation=lax.reduce_sum, identity=lambda d: 0, combine=lax.add,
        initial=initial, where=where, out=out,
    )  # fmt: skip


def prod(
    a: Any,
    axis: Axis = None,
    dtype: Any = None,
    out: None = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = None,
    promote_integers: bool = True,
) -> Any:
    """Product over axes; arguments as those of `sum`."""
    return _total(
        "prod", a, axis, dtype, promote_integers, keepdims,
        operation=lax.reduce_prod, identity=lambda d: 1, combine=lax.mul,
        initial=initial, where=where, out=out,
    )  # fmt: skip


def max(
    a: Any,
    axis: Axis = None,
    out: None = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = None,
) -> Any:
    """Largest element over axes; NaN if there is one."""
    return _reduce(
        "max", as_array("max", a), axis, keepdims, lax.reduce_max, combine=lax.max,
        initial=initial, where=where, out=out,
    )  # fmt: skip


def min(
    a: Any,
    axis: Axis = None,
    out: None = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = None,
) -> Any:
    """Smallest element over axes; NaN if there is one."""
    return _reduce(
        "min", as_array("min", a), axis, keepdims, lax.reduce_min, combine=lax.min,
        initial=initial, where=where, out=out,
    )  # fmt: skip


amax, amin = max, min


def ptp(a: Any, axis: Axis = None, out: None = None, keepdims: bool = False) -> Any:
    """Largest minus smallest element over axes."""
    return lax.sub(max(a, axis, out, keepdims), min(a, axis, out, keepdims))


def all(
    a: Any, axis: Axis = None, out: None = None, keepdims: bool = False, *, where: Any = None
) -> Any:
    """Whether all elements over axes are true."""
    return _reduce(
        "all", as_truth("all", a), axis, keepdims, lax.reduce_and, identity=lambda d: True,
        where=where, out=out,
    )  # fmt: skip


def any(
    a: Any, axis: Axis = None, out: None = None, keepdims: bool = False, *, where: Any = None
) -> Any:
    """Whether any element over axes is true."""
    return _reduce(
        "any", as_truth("any", a), axis, keepdims, lax.reduce_or, identity=lambda d: False,
        where=where, out=out,
    )  # fmt: skip


def count_nonzero(a: Any, axis: Axis = None, keepdims: bool = False) -> Any:
    """How many elements over axes are not zero."""
    return sum(
        as_truth("count_nonzero", a), axis, dtypes.python_scalar_dtype(int), keepdims=keepdims
    )


def _count(a: Any, axis: Axis, where: Any) -> Any:
    """How many elements a mean is over: a number, or an array of them."""
    if where is None:
        axes = canonical_axes("mean", axis, a.aval.ndim)
        return math.prod([a.aval.shape[i] for i in axes])
    return sum(broadcast_to(where, a.aval.shape), axis, a.aval.dtype, keepdims=True)


def _inexact(name: str, a: Any, dtype: Any) -> tuple[Any, Any]:
    """The operand in the dtype it is averaged in, and the dtype of the result."""
    (a,) = promoted_inexact(name, as_array(name, a))
    target = a.aval.dtype if dtype is None else dtypes.requested(dtype, name)
    narrow = target.itemsize < 4
    return convert(a, np.dtype(np.float32) if narrow else target), target


def mean(
    a: Any,
    axis: Axis = None,
    dtype: Any = None,
    out: None = None,
    keepdims: bool = False,
    *,
    where: Any = None,
) -> Any:
    """Arithmetic mean over axes, in floating point."""
    wide, target = _inexact("mean", a, dtype)
    total = sum(wide, axis, out=out, keepdims=keepdims, where=where)
    count = _count(wide, axis, where)
    if where is not None and not keepdims:
        count = lax.squeeze(count, canonical_axes("mean", axis, wide.aval.ndim))
    result = lax.div(total, count)
    return result if result.aval.dtype == target else convert(result, target)


def var(
    a: Any,
    axis: Axis = None,
    dtype: Any = None,
    out: None = None,
    ddof: int = 0,
    keepdims: bool = False,
    *,
    where: Any = None,
    mean: Any = None,
    correction: int | float | None = None,
) -> Any:
    """Variance over axes: the mean of |x − x̄|², with n − `ddof` for n."""
    wide, target = _inexact("var", a, dtype)
    center = _mean_of(wide, axis, where) if mean is None else mean
    deviation = lax.sub(wide, broadcast_to(center, wide.aval.shape))
    if dtypes.issubdtype(target, np.complexfloating):
        squares = lax.real(lax.mul(deviation, lax.conj(deviation)))
        target = squares.aval.dtype
    else:
        squares = lax.square(deviation)
    total = sum(squares, axis, out=out, keepdims=keepdims, where=where)
    count = _count(squares, axis, where)
    if where is not None and not keepdims:
        count = lax.squeeze(count, canonical_axes("var", axis, wide.aval.ndim))
    less = ddof if correction is None else correction
    result = lax.div(total, _degrees_of_freedom(count, less))
    return result if result.aval.dtype == target else convert(result, target)


def _degrees_of_freedom(count: Any, less: Any) -> Any:
    """count − less, or NaN where nothing is left."""
    if not hasattr(count, "aval"):
        return count - less if count > less else math.nan
    rest = lax.sub(count, np.asarray(less, count.aval.dtype)[()])
    positive = lax.gt(rest, lax.full_like(rest, 0))
    return lax.select(positive, rest, lax.full_like(rest, math.nan))


def _mean_of(a: Any, axis: Axis, where: Any) -> Any:
    return mean(a, axis, keepdims=True, where=where)


def std(
    a: Any,
    axis: Axis = None,
    dtype: Any = None,
    out: None = None,
    ddof: int = 0,
    keepdims: bool = False,
    *,
    where: Any = None,
    mean: Any = None,
    correction: int | float | None = None,
) -> Any:
    """Standard deviation over axes: the square root of `var`."""
    return lax.sqrt(
        var(a, axis, dtype, out, ddof, keepdims, where=where, mean=mean, correction=correction)
    )


def average(
    a: Any,
    axis: Axis = None,
    weights: Any = None,
    returned: bool = False,
    keepdims: bool = False,
) -> Any:
    """Weighted mean over axes; with `returned`, the sum of the weights as well."""
    a = as_array("average", a)
    if weights is None:
        result = mean(a, axis, keepdims=keepdims)
        total: Any = lax.full_like(result, a.aval.size / math.prod(result.aval.shape or (1,)))
    else:
        a, weights = promoted_inexact("average", a, _along(weights, a, axis))
        total = sum(broadcast_to(weights, a.aval.shape), axis, keepdims=keepdims)
        result = lax.div(sum(lax.mul(a, weights), axis, keepdims=keepdims), total)
    return (result, total) if returned else result


def _along(weights: Any, a: Any, axis: Axis) -> Any:
    """Weights of one axis, shaped to broadcast along it."""
    weights = as_array("average", weights)
    if weights.aval.ndim == 1 and a.aval.ndim > 1:
        (place,) = canonical_axes("average", axis, a.aval.ndim)
        shape = [n if i == place else 1 for i, n in enumerate(a.aval.shape)]
        weights = lax.reshape(weights, shape)
    return broadcast_to(weights, a.aval.shape) if aval_of(weights).ndim else weights
