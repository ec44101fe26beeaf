"""The generalised normal distribution, with density β exp(−|x|ᵝ) / (2 Γ(1/β)).

All functions take arrays that broadcast against each other, and give an array of their shape and
promoted floating dtype; NaN where β ≤ 0.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ... import dtypes, lax
from ... import numpy as jnp
from ...control.custom.custom_jvp import custom_jvp
from ...engines.reference.replay import replayed
from ...numpy.half_precision import in_float32
from ._arguments import arguments


def _power(x: Any, beta: Any) -> Any:
    """|x|ᵝ, with a derivative at 0 too."""
    is_zero = x == 0
    return jnp.where(is_zero, 0.0, lax.pow(jnp.where(is_zero, 1, lax.abs(x)), beta))


@replayed(2)
@in_float32
def logpdf(x: Any, beta: Any) -> Any:
    """The logarithm of the density: log(β/2) − log Γ(1/β) − |x|ᵝ.

    Example:
        >>> from morphax.scipy.stats import gennorm
        >>> gennorm.logpdf(2.0, 1.0)
        Array(-2.6931472, dtype=float32, weak_type=True)
    """
    x, beta = arguments("gennorm.logpdf", x, beta)
    beta = jnp.where(beta > 0, beta, np.nan)
    return lax.log(beta) - math.log(2) - lax.lgamma(1 / beta) - _power(x, beta)


@replayed(2)
@in_float32
def pdf(x: Any, beta: Any) -> Any:
    """The density.

    Example:
        >>> from morphax.scipy.stats import gennorm
        >>> gennorm.pdf(0.0, beta=1.0)
        Array(0.5, dtype=float32, weak_type=True)
    """
    return _density(*arguments("gennorm.pdf", x, beta))


@custom_jvp
def _density(x: Any, beta: Any) -> Any:
    return lax.exp(logpdf(x, beta))


# Far out the slopes of the logarithm are infinite where the density is 0.
_density.defjvps(
    lambda t, out, x, beta: (
        t * jnp.where(out == 0, 0, -out * beta * lax.sign(x) * _power(x, beta - 1))
    ),
    lambda t, out, x, beta: t * jnp.where(out == 0, 0, out * _slope_of_shape(x, beta)),
)


def _slope_of_shape(x: Any, beta: Any) -> Any:
    """The derivative of `logpdf` with respect to β."""
    logarithm = lax.log(jnp.where(x == 0, 1, lax.abs(x)))
    return (1 + lax.digamma(1 / beta) / beta) / beta - _power(x, beta) * logarithm


@replayed(2)
@in_float32
def cdf(x: Any, beta: Any) -> Any:
    """The distribution function: Q(1/β, |x|ᵝ) / 2 below 0, and 1 minus it above.

    Example:
        >>> from morphax.scipy.stats import gennorm
        >>> gennorm.cdf(0.0, 2.0)
        Array(0.5, dtype=float32, weak_type=True)
    """
    x, beta = arguments("gennorm.cdf", x, beta)
    beta = jnp.where(beta > 0, beta, np.nan)
    power = _power(x, beta)
    # Where the power is infinite the tail is 0, and so are its slopes.
    is_far = power == np.inf
    x = jnp.where(is_far, lax.sign(x), x)
    power = _power(x, beta)
    # Near 0 by the series of the incomplete gamma function, in x, of which the power may vanish.
    is_near = power < float(dtypes.finfo(power.dtype).eps)
    factor = jnp.where(is_near, x, 0) * (1 - jnp.where(is_near, power, 0) / (1 + beta))
    near = factor * lax.exp(-lax.lgamma(1 + 1 / beta))
    tail = 0.5 * lax.igammac(1 / beta, jnp.where(is_near, 1, power))
    tail = jnp.where(is_far, 0, tail)
    return jnp.where(is_near, 0.5 + 0.5 * near, jnp.where(x > 0, 1 - tail, tail))
