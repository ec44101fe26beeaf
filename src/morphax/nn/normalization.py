"""Softmax and its relatives, one-hot encoding, standardization."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from .. import dtypes, lax
from .. import numpy as jnp
from ..config import current as current_config
from ..control.custom.custom_jvp import custom_jvp
from ..core import current_trace, root_trace
from ..engines.reference.replay import replayed
from ..lax.elementwise.convert import convert
from ..lax.ground.axes import counted_or_symbolic
from ..lax.shape.resharding import laid_out
from ..numpy.axes import canonical_axes, canonical_axis
from ..numpy.half_precision import in_float32
from ..numpy.operands import as_array, inexact_type, promoted_inexact
from ..numpy.reductions import exp_shift
from ..util.messages import message

Axis = Any


def _largest(name: str, x: Any, axis: Axis, where: Any, weights: Any = None) -> tuple[Any, Any]:
    """`x` in floating point and its maximum along axes, as a constant to differentiation.

    An element with weight 0 is not the maximum: next to it, all others could vanish.
    Elements that `where` leaves out become the maximum: their exponentials may be infinite or NaN,
    which times the derivative 0 of leaving them out would be NaN.
    """
    x = as_array(name, *promoted_inexact(name, x))
    canonical_axes(name, axis, x.ndim)
    counted = where
    if weights is not None:
        counted = jnp.not_equal(weights, 0)
        counted = counted if where is None else jnp.logical_and(counted, where)
    largest = lax.stop_gradient(exp_shift(x, axis, counted))
    return (x if where is None else jnp.where(where, x, largest)), largest


def softmax(x: Any, axis: Axis = -1, where: Any = None) -> Any:
    """exp(x) / Σ exp(x) along axes, without overflow in between.

    Args:
        x: array of floating dtype.
        axis: axis or axes that are normalized together, `None` for all.
        where: which elements take part; the others get 0.

    Example:
        >>> import morphax as jax
        >>> import morphax.numpy as jnp
        >>> jax.nn.softmax(jnp.array([0.0, 0.0]))
        Array([0.5, 0.5], dtype=float32)
    """
    # The rule of differentiation says nothing where there is none.
    if current_config().softmax_custom_jvp and current_trace() is not root_trace():
        return _softmax_by_rule(axis, x, where)
    return _eager_softmax(x, axis, where)


def _softmax(axis: Axis, x: Any, where: Any) -> Any:
    x, largest = _largest("nn.softmax", x, axis, where)
    powers = jnp.exp(x - largest)
    result = powers / jnp.sum(powers, axis, keepdims=True, where=where)
    return result if where is None else jnp.where(where, result, 0)


@replayed(1)
def _eager_softmax(x: Any, axis: Axis, where: Any) -> Any:
    return _softmax(axis, x, where)


_softmax_by_rule = custom_jvp(_softmax, nondiff_argnums=(0,))


@_softmax_by_rule.defjvp
def _softmax_jvp(
    axis: Axis, primals: tuple[Any, Any], tangents: tuple[Any, Any]
) -> tuple[Any, Any]:
    """ẏ = y (ẋ − Σ y ẋ): the result alone is kept for the backward pass."""
    y, t = _softmax_by_rule(axis, *primals), tangents[0]
    moved = y * (t if primals[1] is None else jnp.where(primals[1], t, 0))
    return y, moved - y * jnp.sum(moved, axis, keepdims=True)


@replayed(1)
def log_softmax(x: Any, axis: Axis = -1, where: Any = None) -> Any:
    """x − log Σ exp(x) along axes; elements left out by `where` get −∞.

    Example:
        >>> import morphax as jax
        >>> import morphax.numpy as jnp
        >>> jax.nn.log_softmax(jnp.array([0.0, 0.0]))
        Array([-0.6931472, -0.6931472], dtype=float32)
    """
    x, largest = _largest("nn.log_softmax", x, axis, where)
    shifted = x - largest
    result = shifted - jnp.log(jnp.sum(jnp.exp(shifted), axis, keepdims=True, where=where))
    return result if where is None else jnp.where(where, result, -np.inf)


@replayed(1, arrays=("b", "where"))
def logsumexp(
    a: Any,
    axis: Axis = None,
    b: Any = None,
    keepdims: bool = False,
    return_sign: bool = False,
    where: Any = None,
) -> Any:
    """log Σ b exp(a) over axes, without overflow in between.

    Args:
        a: array of floating dtype.
        axis: axis or axes, `None` for all.
        b: weights; a term with weight 0 is left out, even if it is infinite or NaN.
        keepdims: keep reduced axes, with size 1.
        return_sign: return ``(log |Σ|, sign)``; without it a negative sum gives NaN.
        where: which elements take part.

    Example:
        >>> import morphax as jax
        >>> import morphax.numpy as jnp
        >>> jax.nn.logsumexp(jnp.array([1000.0, 1000.0]))
        Array(1000.6932, dtype=float32)
    """
    if b is not None:
        a, b = as_array("nn.logsumexp", a), as_array("nn.logsumexp", b)
        dtype, _ = inexact_type("nn.logsumexp", a, b)
        a, b = jnp.broadcast_arrays(convert(a, dtype), convert(b, dtype))
    a, largest = _largest("nn.logsumexp", a, axis, where, b)
    # Where all terms are 0, or one is infinite, subtracting the maximum would give NaN.
    # The phase of complex terms stays in them, and so in the sign.
    finite = jnp.where(jnp.isfinite(largest), largest, 0).real
    removed = lax.complex(finite, jnp.zeros_like(finite)) if jnp.iscomplexobj(a) else finite
    exponents = a - removed
    if b is None:
        terms = jnp.exp(exponents)
    else:
        # 0 times an infinite term would be NaN.
        limit = float(np.log(dtypes.finfo(exponents.dtype).max)) - 1
        unbounded = jnp.logical_and(jnp.equal(b, 0), jnp.logical_not(exponents.real <= limit))
        terms = b * jnp.exp(jnp.where(unbounded, limit, exponents))
    total = jnp.sum(terms, axis, keepdims=True, where=where)
    sign = jnp.sign(total)
    out = jnp.log(jnp.abs(total)) + finite if return_sign else jnp.log(total) + removed
    if not keepdims:
        axes = canonical_axes("nn.logsumexp", axis, out.ndim)
        out, sign = jnp.squeeze(out, axes), jnp.squeeze(sign, axes)
    return (out, sign) if return_sign else out


@replayed(1)
@in_float32
def logmeanexp(x: Any, axis: Axis = None, where: Any = None, keepdims: bool = False) -> Any:
    """log of the mean of exp(x) over axes.

    Example:
        >>> import morphax as jax
        >>> import morphax.numpy as jnp
        >>> jax.nn.logmeanexp(jnp.array([1000.0, 1000.0]))
        Array(1000., dtype=float32)
    """
    total = logsumexp(x, axis=axis, where=where, keepdims=keepdims)
    ones = jnp.ones_like(as_array("nn.logmeanexp", x), dtype=total.dtype)
    return total - jnp.log(jnp.sum(ones, axis, where=where, keepdims=keepdims))


@replayed(1)
def one_hot(
    x: Any, num_classes: int, *, dtype: Any = None, axis: int = -1, out_sharding: Any = None
) -> Any:
    """Vectors with a one at the place that `x` gives, zeros elsewhere.

    Args:
        x: integers (...); a value outside [0, num_classes) gives zeros only.
        num_classes: length of the vectors.
        dtype: of the result, floating without it.
        axis: where the new axis goes.
        out_sharding: layout of the result over devices.

    Raises:
        TypeError: `num_classes` is no integer that is known while tracing.
        ValueError: it is negative.

    Example:
        >>> import morphax as jax
        >>> import morphax.numpy as jnp
        >>> jax.nn.one_hot(jnp.array([0, 2]), 3)
        Array([[1., 0., 0.],
               [0., 0., 1.]], dtype=float32)
    """
    x = as_array("nn.one_hot", x)
    target = dtypes.requested(float if dtype is None else dtype, "nn.one_hot")
    place = canonical_axis("nn.one_hot", axis, x.ndim + 1)
    num_classes = counted_or_symbolic("nn.one_hot, argument num_classes", num_classes)
    x = _able_to_count(x, num_classes)
    shape = [num_classes if i == place else 1 for i in range(x.ndim + 1)]
    classes = jnp.reshape(jnp.arange(num_classes, dtype=x.dtype), shape)
    vectors = jnp.equal(jnp.expand_dims(x, place), classes).astype(target)
    return laid_out("nn.one_hot", vectors, out_sharding)


def _able_to_count(x: Any, count: Any) -> Any:
    """`x` in a dtype whose numbers below `count` are all different."""
    dtype = x.dtype
    if dtype == np.bool_:
        most = 2
    elif dtypes.issubdtype(dtype, np.integer):
        most = int(dtypes.iinfo(dtype).max) + 1
    else:
        most = int(2 / dtypes.finfo(dtype).eps)
    # A symbolic size is not compared.
    if not isinstance(count, (int, np.integer)) or count <= most:
        return x
    return convert(x, np.float32 if dtypes.issubdtype(dtype, np.inexact) else np.int32)


def _deviation_and_scale(x: Any, axes: tuple[int, ...], epsilon: float) -> tuple[Any, Any]:
    mean = jnp.mean(x, axes, keepdims=True)
    return x - mean, lax.rsqrt(jnp.var(x, axes, keepdims=True) + epsilon)


@partial(custom_jvp, nondiff_argnums=(1, 2))
def _standardized(x: Any, axes: tuple[int, ...], epsilon: float) -> Any:
    deviation, scale = _deviation_and_scale(x, axes, epsilon)
    return deviation * scale


@_standardized.defjvp
def _standardized_jvp(
    axes: tuple[int, ...], epsilon: float, primals: Any, tangents: Any
) -> tuple[Any, Any]:
    """With y = σ (x − μ), dy = σ (dx − mean dx − y mean(y dx)).

    Deviations add up to 0, so that the variance does not depend on how μ changes: of the three sums
    that the derivatives of its parts would take, two are left.
    """
    (x,), (t,) = primals, tangents
    deviation, scale = _deviation_and_scale(x, axes, epsilon)
    y = deviation * scale
    moved, along = [jnp.mean(v, axes, keepdims=True) for v in (t, y * t)]
    return y, scale * (t - moved - y * along)


@replayed(1)
@in_float32
def standardize(
    x: Any,
    axis: Axis = -1,
    mean: Any = None,
    variance: Any = None,
    epsilon: Any = 1e-5,
    where: Any = None,
    *,
    algorithm: str = "fast",
) -> Any:
    """(x − mean) / √(variance + ε) along axes.

    What `where` leaves out of mean and variance is scaled like the rest; it becomes 0 if it is not
    finite.

    Args:
        x: array of floating dtype.
        axis: axis or axes, `None` for all.
        mean: taken instead of the mean along the axes, with which it must broadcast.
        variance: likewise.
        epsilon: ε, not negative.
        where: which elements mean and variance count.
        algorithm: ``"fast"`` leaves the choice of an algorithm for the variance; ``"stable"`` asks
            for the mean of (x − mean)².  Both are the latter, which does not cancel.

    Raises:
        ValueError: `epsilon` is negative, or there is no such algorithm.

    Example:
        >>> import morphax as jax
        >>> import morphax.numpy as jnp
        >>> jax.nn.standardize(jnp.array([1.0, 3.0]), epsilon=0.0)
        Array([-1.,  1.], dtype=float32)
    """
    if algorithm not in ("fast", "stable"):
        raise ValueError(
            message(
                "nn.standardize, argument algorithm",
                given=f"{algorithm!r}",
                expected='"fast" or "stable"',
                fix="Choose one of these.",
            )
        )
    if isinstance(epsilon, (int, float)) and epsilon < 0:
        raise ValueError(
            message(
                "nn.standardize, argument epsilon",
                given=f"{epsilon}",
                expected="a number that is not negative",
                fix="Pass a small positive number.",
            )
        )
    (x,) = promoted_inexact("nn.standardize", as_array("nn.standardize", x))
    is_plain = mean is None and variance is None and where is None
    if is_plain and isinstance(epsilon, (int, float)) and x.aval.dtype.kind != "c":
        return _standardized(x, canonical_axes("nn.standardize", axis, x.aval.ndim), epsilon)
    if mean is None:
        mean = jnp.mean(x, axis, keepdims=True, where=where)
    if variance is None:
        variance = jnp.var(x, axis, keepdims=True, where=where)
    mean, variance = [as_array("nn.standardize", v) for v in (mean, variance)]
    deviation = x - mean
    if where is not None:
        # As a factor of the derivative of the scale it would make all of them NaN.
        kept = jnp.logical_or(where, jnp.isfinite(deviation))
        deviation = jnp.where(kept, deviation, 0)
    return deviation * lax.rsqrt(variance + epsilon)
