"""The Cauchy distribution, with density 1 / (π `scale` (1 + z²)) for z = (x − `loc`) / `scale`.

All functions take arrays that broadcast against each other, and give an array of their shape and
promoted floating dtype.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ... import lax
from ... import numpy as jnp
from ...control.custom.custom_jvp import custom_jvp
from ...engines.reference.replay import replayed
from ...numpy.half_precision import in_float32
from ._arguments import (
    arguments,
    log_of_one_plus_square,
    placed,
    positive,
    probability,
    standardized,
)
from ._ends import of_quotient


@replayed(3)
@in_float32
def logpdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of the density: −log(π `scale` (1 + z²)).

    Example:
        >>> from morphax.scipy.stats import cauchy
        >>> cauchy.logpdf(0.0)
        Array(-1.1447299, dtype=float32, weak_type=True)
    """
    distance, scale = placed("cauchy.logpdf", x, loc, scale)
    return -(_log_of_scaled(distance, scale) + lax.log(scale) + math.log(math.pi))


_log_of_scaled = of_quotient(log_of_one_plus_square, lambda z: jnp.where(z == 0, 0, 2))


_LARGE = 1e10


@replayed(3)
@in_float32
def pdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The density 1 / (π `scale` (1 + z²)).

    Example:
        >>> from morphax.scipy.stats import cauchy
        >>> cauchy.pdf(0.0)
        Array(0.31830987, dtype=float32, weak_type=True)
    """
    z, scale = standardized("cauchy.pdf", x, loc, scale)
    # Not by its logarithm, of which a rounding is the more digits the farther out z is.  Of large z
    # the square overflows, and its inverse vanishes where a small scale divides it.
    is_large = lax.abs(z) > _LARGE
    near, far = jnp.where(is_large, 0, z), jnp.where(is_large, z, 1)
    inverse = 1 / far
    decay = jnp.where(is_large, inverse, 1 / (1 + near * near))
    return inverse * (decay / (math.pi * scale))


@replayed(3)
@in_float32
def cdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The distribution function 1/2 + arctan(z) / π, accurate far below 0 as well.

    Example:
        >>> from morphax.scipy.stats import cauchy
        >>> cauchy.cdf(1.0)
        Array(0.75, dtype=float32, weak_type=True)
    """
    z, _ = standardized("cauchy.cdf", x, loc, scale)
    return _below(z)


@replayed(3)
@in_float32
def logcdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of the distribution function.

    Example:
        >>> from morphax.scipy.stats import cauchy
        >>> cauchy.logcdf(-1e10)
        Array(-24.17058, dtype=float32, weak_type=True)
    """
    return _log_below(*placed("cauchy.logcdf", x, loc, scale))


@replayed(3)
@in_float32
def sf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The survival function 1/2 − arctan(z) / π.

    Example:
        >>> from morphax.scipy.stats import cauchy
        >>> cauchy.sf(0.0)
        Array(0.5, dtype=float32, weak_type=True)
    """
    z, _ = standardized("cauchy.sf", x, loc, scale)
    return _below(-z)


@replayed(3)
@in_float32
def logsf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of the survival function.

    Example:
        >>> from morphax.scipy.stats import cauchy
        >>> cauchy.logsf(0.0)
        Array(-0.6931472, dtype=float32, weak_type=True)
    """
    distance, scale = placed("cauchy.logsf", x, loc, scale)
    return _log_below(-distance, scale)


@replayed(3)
@in_float32
def ppf(q: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The quantile `loc` − `scale` / tan(π q), the inverse of `cdf`: NaN unless 0 ≤ q ≤ 1.

    Example:
        >>> from morphax.scipy.stats import cauchy
        >>> cauchy.ppf(0.75)
        Array(1., dtype=float32, weak_type=True)
    """
    q, loc, scale = arguments("cauchy.ppf", q, loc, scale)
    scale = positive(scale)
    return loc + scale * _quantile(q)


@replayed(3)
@in_float32
def isf(q: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The inverse of `sf`: `loc` + `scale` / tan(π q), NaN unless 0 ≤ q ≤ 1.

    Example:
        >>> from morphax.scipy.stats import cauchy
        >>> cauchy.isf(0.25)
        Array(1., dtype=float32, weak_type=True)
    """
    q, loc, scale = arguments("cauchy.isf", q, loc, scale)
    scale = positive(scale)
    return loc - scale * _quantile(q)


def _below(z: Any) -> Any:
    """The probability of at most z: the angle of (−z, 1), in half turns."""
    return lax.atan2(lax.full_like(z, 1), -z) * (1 / math.pi)


@custom_jvp
def _log_below_scaled(z: Any) -> Any:
    """Its logarithm, by the smaller of the two probabilities."""
    # Not by |z|, whose derivative at 0 is that of the other side.
    is_above = z > 0
    smaller = _below(jnp.where(is_above, -z, z))
    return jnp.where(is_above, lax.log1p(-smaller), lax.log(smaller))


def _slope_of_log(t: Any, out: Any, z: Any) -> Any:
    # Far below, where the square overflows, the probability is −1 / (π z).
    is_far = z < -_LARGE
    near = jnp.where(is_far, 0, z)
    inside = 1 / ((1 + near * near) * math.pi * _below(near))
    return t * jnp.where(is_far, -1 / jnp.where(is_far, z, 1), inside)


_log_below_scaled.defjvps(_slope_of_log)
_log_below = of_quotient(_log_below_scaled, lambda z: jnp.where(z == -np.inf, -1, 0))


def _quantile(q: Any) -> Any:
    """−1 / tan(π q), which is infinite at both ends."""
    # The reciprocal of −0 would have the other sign.
    smaller = lax.abs(probability(jnp.where(q > 0.5, 1 - q, q)))
    near_end = smaller < 0.25
    in_middle = lax.tan(math.pi * (0.5 - jnp.where(near_end, 0.5, smaller)))
    size = jnp.where(near_end, 1 / lax.tan(math.pi * jnp.where(near_end, smaller, 0.25)), in_middle)
    return jnp.where(q > 0.5, size, -size)
