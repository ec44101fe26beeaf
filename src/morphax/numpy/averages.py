"""Means, variances and weighted averages over axes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .. import dtypes, lax
from ..core import carries_aval, is_value
from ..core.dims import Dim, SymbolicDim
from ..engines.reference.replay import replayed
from ..lax.elementwise.convert import convert, convert_as_asked
from ..lax.shape.filling import size_value
from ..util.messages import described, message
from .axes import canonical_axes
from .complex_numbers import is_complex
from .operands import as_array, check_mask, inexact_type, promoted_inexact
from .reductions import Axis, sum
from .selection import where as where_
from .shaping import broadcast_to

_LARGEST_INT32 = 2**31 - 1


def _count(a: Any, axis: Axis, where: Any) -> Any:
    """How many elements a mean is over: a number, or an array of them."""
    if where is None:
        axes = canonical_axes("mean", axis, a.aval.ndim)
        count = math.prod([a.aval.shape[i] for i in axes])
        if type(count) is SymbolicDim:
            return size_value(count, a.aval.dtype)
        # Beyond the range of int32, Python's integers are no operands.
        return float(count) if type(count) is int and count > _LARGEST_INT32 else count
    return sum(broadcast_to(where, a.aval.shape), axis, a.aval.dtype, keepdims=True)


def _inexact(name: str, a: Any, dtype: Any) -> tuple[Any, Any, Any]:
    """The operand, the dtype it is averaged in, and that of the result."""
    (a,) = promoted_inexact(name, as_array(name, a))
    target = a.aval.dtype if dtype is None else dtypes.requested(dtype, name)
    return a, np.dtype(np.float32) if target.itemsize < 4 else target, target


@replayed(1)
def mean(
    a: Any,
    axis: Axis = None,
    dtype: Any = None,
    out: None = None,
    keepdims: bool = False,
    *,
    where: Any = None,
) -> Any:
    """Arithmetic mean over axes, in floating point.

    Args:
        a: numbers of any shape.
        axis: axis or axes that are averaged over; all without it.
        dtype: of the result; floating for integers without it.
        out: must be None.
        keepdims: whether the axes stay, with size 1.
        where: which elements count; the mean of none is NaN.

    Raises:
        ValueError: there is no such axis.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.mean(jnp.array([[1.0, 2.0], [3.0, 4.0]]), axis=0)
        Array([2., 3.], dtype=float32)
    """
    whole, computed_in, target = _inexact("mean", a, dtype)
    wide = convert_as_asked("jnp.mean", whole, computed_in)
    total = sum(wide, axis, out=out, keepdims=keepdims, where=where)
    count = _count(wide, axis, where)
    if where is not None and not keepdims:
        count = lax.squeeze(count, canonical_axes("mean", axis, wide.aval.ndim))
    result = lax.div(total, count)
    return result if result.aval.dtype == target else convert(result, target)


@replayed(1)
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
    """Variance over axes: the mean of |x − x̄|², with n − `ddof` for n.

    Raises:
        ValueError: complex numbers are to be taken as real ones.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.var(jnp.array([1.0, 3.0]))
        Array(1., dtype=float32)
        >>> jnp.var(jnp.array([1.0, 3.0]), ddof=1)
        Array(2., dtype=float32)
    """
    a = as_array("var", a)
    whole, computed_in, target = _inexact("var", a, dtype)
    if is_complex(a) and not dtypes.issubdtype(target, np.complexfloating):
        raise ValueError(
            message(
                "jnp.var, argument dtype",
                given=f"{target} for {a.aval}",
                expected="a complex dtype: imaginary parts count",
                fix="Leave out dtype: the variance of complex numbers is real.",
            )
        )
    wide = convert(whole, computed_in)
    center = _mean_of(wide, axis, where) if mean is None else as_array("var", mean)
    center = convert(center, wide.aval.dtype)
    deviation = lax.sub(wide, broadcast_to(center, wide.aval.shape))
    if where is not None:
        check_mask("var", where)
        # Squared, what is left out could be infinite or NaN, and so 0 times its derivative.
        deviation = where_(where, deviation, np.zeros((), deviation.aval.dtype)[()])
    if dtypes.issubdtype(target, np.complexfloating):
        squares = lax.real(lax.mul(deviation, lax.conj(deviation)))
        target = squares.aval.dtype if dtype is None else target
    else:
        squares = lax.square(deviation)
    total = sum(squares, axis, out=out, keepdims=keepdims)
    count = _count(squares, axis, where)
    if where is not None and not keepdims:
        count = lax.squeeze(count, canonical_axes("var", axis, wide.aval.ndim))
    less = _subtracted(ddof, correction)
    result = lax.div(total, _degrees_of_freedom(count, less))
    return result if result.aval.dtype == target else convert(result, target)


def _number(count: Dim, beside: Any) -> Any:
    return float(count) if type(count) is int else size_value(count, beside.aval.dtype)


def _subtracted(ddof: Any, correction: Any) -> Any:
    """What to take off the number of elements, which has two names."""
    if correction is not None and not (is_value(ddof) and ddof == 0):
        raise ValueError(
            message(
                "jnp.var, arguments ddof and correction",
                given=f"ddof={ddof!r:.80}, correction={correction!r:.80}",
                expected="one of them: they are names of the same number",
                fix="Leave out ddof.",
            )
        )
    less = ddof if correction is None else correction
    if type(less) in (int, float):
        return less
    if is_value(less) and not np.ndim(less) and np.isrealobj(less):
        # A number of Python, which divides floats of any width.
        return np.asarray(less).item()
    raise TypeError(
        message(
            "jnp.var, argument ddof or correction",
            given=described(less),
            expected="a real number that is known while tracing",
            fix="Pass 1 for the estimate of a sample, 0 for that of all there is.",
        )
    )


def _degrees_of_freedom(count: Any, less: Any) -> Any:
    """count − less, or NaN where nothing is left."""
    if not carries_aval(count):
        return count - less if count > less else math.nan
    rest = lax.sub(count, np.asarray(less, count.aval.dtype)[()])
    positive = lax.gt(rest, 0)
    return lax.select(positive, rest, lax.full_like(rest, math.nan))


def _mean_of(a: Any, axis: Axis, where: Any) -> Any:
    return mean(a, axis, keepdims=True, where=where)


@replayed(1)
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
    """Standard deviation over axes: the square root of `var`.

    Raises:
        ValueError: `dtype` is not inexact: square roots of integers are no integers.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.std(jnp.array([1.0, 3.0]))
        Array(1., dtype=float32)
        >>> jnp.std(jnp.array([1.0, 3.0]), ddof=1)
        Array(1.4142135, dtype=float32)
    """
    if dtype is not None:
        target = dtypes.requested(dtype, "std")
        _check_inexact(target)
    else:
        target, _ = inexact_type("std", as_array("std", a))
    # The variance of narrow numbers may be out of their range, which its root is not.
    narrow = target.itemsize < 4
    within = np.float32 if narrow else dtype
    squares = var(
        a, axis, within, out, ddof, keepdims, where=where, mean=mean, correction=correction
    )
    return convert(lax.sqrt(squares), target) if narrow else lax.sqrt(squares)


def _check_inexact(dtype: Any) -> None:
    if not dtypes.issubdtype(dtype, np.inexact):
        raise ValueError(
            message(
                "jnp.std, argument dtype",
                given=dtype,
                expected="a floating or complex dtype: square roots of integers are no integers",
                fix="Leave out dtype, and round the result with astype.",
            )
        )


@replayed(1, arrays=("weights",))
def average(
    a: Any,
    axis: Axis = None,
    weights: Any = None,
    returned: bool = False,
    keepdims: bool = False,
) -> Any:
    """Weighted mean over axes; with `returned`, the sum of the weights as well.

    Args:
        a: numbers of any shape.
        axis: axis or axes that are averaged over; all without it.
        weights: of the elements, of the shape of `a` or of its axis; equal ones without it.
        returned: whether the sums of the weights are returned, too.
        keepdims: whether the axes stay, with size 1.

    Raises:
        ValueError: there is no such axis, or the shapes of the weights do not fit.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.average(jnp.array([1.0, 5.0]), weights=jnp.array([3.0, 1.0]))
        Array(2., dtype=float32)
    """
    a = as_array("average", a)
    if weights is None:
        result = mean(a, axis, keepdims=keepdims)
        axes = canonical_axes("average", axis, a.aval.ndim)
        # A float: there may be more elements than an int32 counts.
        count = math.prod([a.aval.shape[i] for i in axes])
        total: Any = lax.full_like(result, _number(count, result))
    else:
        a, weights = promoted_inexact("average", a, _along(weights, a, axis))
        a, wide, target = _inexact("average", a, None)
        a, weights = convert(a, wide), convert(weights, wide)
        total = sum(broadcast_to(weights, a.aval.shape), axis, keepdims=keepdims)
        result = lax.div(sum(lax.mul(a, weights), axis, keepdims=keepdims), total)
        if result.aval.dtype != target:
            result, total = convert(result, target), convert(total, target)
    return (result, total) if returned else result


def _along(weights: Any, a: Any, axis: Axis) -> Any:
    """Weights of each element, or of the axes that the average is over, in the shape of `a`."""
    weights, shape = as_array("average", weights), a.aval.shape
    if weights.aval.shape == shape:
        return weights
    axes = () if axis is None else tuple(canonical_axes("average", axis, a.aval.ndim))
    if axis is None or weights.aval.shape != tuple([shape[i] for i in axes]):
        raise ValueError(
            message(
                "jnp.average, argument weights",
                given=f"weights of shape {weights.aval.shape} for {a.aval}, axis={axis}",
                expected="the shape of the array, or that of the axes that the average is over",
                fix="Name the axes of the weights by axis, in their order, or broadcast them.",
            )
        )
    return lax.broadcast_in_dim(weights, shape, axes)
