"""The normal distribution, with mean μ = `loc` and standard deviation σ = `scale`.

With z = (x − μ) / σ, its density is φ(z) / σ, where φ(z) = exp(−z²/2) / √2π, and its distribution
function is Φ(z), the integral of φ from −∞ to z.  All functions take arrays that broadcast against
each other, and give an array of their shape and promoted floating dtype; NaN where σ
is negative.  Of σ = 0, where programs go to the limit of no deviation, distribution functions are
those of μ itself.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ... import lax
from ... import numpy as jnp
from ...engines.reference.replay import replayed
from ...numpy.half_precision import in_float32
from .. import special
from ._arguments import arguments, shifted
from ._ends import exponential, of_quotient, quotient

_LOG_SQRT_2PI = 0.5 * math.log(2 * math.pi)


@replayed(3)
@in_float32
def logpdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of the density: −z²/2 − log(σ √2π).

    Example:
        >>> from morphax.scipy.stats import norm
        >>> norm.logpdf(0.0)
        Array(-0.9189385, dtype=float32, weak_type=True)
    """
    distance, scale = shifted("norm.logpdf", x, loc, scale)
    z = distance / scale
    return -0.5 * lax.square(z) - (lax.log(scale) + _LOG_SQRT_2PI)


_density = exponential(logpdf, 3)
_log_below = of_quotient(special.log_ndtr, lambda z: jnp.where(z < 0, -np.inf, 0))


@replayed(3)
@in_float32
def pdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The density φ(z) / σ.

    Example:
        >>> from morphax.scipy.stats import norm
        >>> norm.pdf(0.0)
        Array(0.3989423, dtype=float32, weak_type=True)
    """
    return _density(*arguments("norm.pdf", x, loc, scale))


@replayed(3)
@in_float32
def cdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The distribution function Φ(z): the probability of at most `x`.

    Example:
        >>> from morphax.scipy.stats import norm
        >>> norm.cdf(1.96)
        Array(0.9750021, dtype=float32)
    """
    return special.ndtr(quotient(*_placed("norm.cdf", x, loc, scale)))


def _placed(name: str, x: Any, loc: Any, scale: Any) -> tuple[Any, Any]:
    """x − μ and σ, or NaN where σ is negative."""
    distance, scale = shifted(name, x, loc, scale)
    return distance, _deviation(scale)


def _deviation(scale: Any) -> Any:
    return jnp.where(scale < 0, np.nan, scale)


@replayed(3)
@in_float32
def logcdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """log Φ(z), accurate in both tails.

    Example:
        >>> from morphax.scipy.stats import norm
        >>> norm.logcdf(-40.0)
        Array(-804.60846, dtype=float32)
    """
    return _log_below(*_placed("norm.logcdf", x, loc, scale))


@replayed(3)
@in_float32
def sf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The survival function Φ(−z): the probability of more than `x`.

    Example:
        >>> from morphax.scipy.stats import norm
        >>> norm.sf(1.96)
        Array(0.02499789, dtype=float32)
    """
    return special.ndtr(-quotient(*_placed("norm.sf", x, loc, scale)))


@replayed(3)
@in_float32
def logsf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """log Φ(−z), accurate in both tails.

    Example:
        >>> from morphax.scipy.stats import norm
        >>> norm.logsf(40.0)
        Array(-804.60846, dtype=float32)
    """
    distance, scale = _placed("norm.logsf", x, loc, scale)
    return _log_below(-distance, scale)


@replayed(3)
@in_float32
def ppf(q: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The quantile μ + σ Φ⁻¹(q), the inverse of `cdf`: NaN unless 0 ≤ q ≤ 1.

    Example:
        >>> from morphax.scipy.stats import norm
        >>> norm.ppf(0.975)
        Array(1.9599645, dtype=float32)
    """
    q, loc, scale = arguments("norm.ppf", q, loc, scale)
    return loc + _deviation(scale) * special.ndtri(q)


@replayed(3)
@in_float32
def isf(q: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The inverse of `sf`: μ − σ Φ⁻¹(q), NaN unless 0 ≤ q ≤ 1.

    Example:
        >>> from morphax.scipy.stats import norm
        >>> norm.isf(0.025)
        Array(1.9599639, dtype=float32)
    """
    q, loc, scale = arguments("norm.isf", q, loc, scale)
    return loc - _deviation(scale) * special.ndtri(q)
