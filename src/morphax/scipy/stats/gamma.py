"""The gamma distribution with parameter a > 0, for z = (x − `loc`) / `scale` ≥ 0.

Its density is zᵃ⁻¹ e⁻ᶻ / (Γ(a) `scale`), computed by a deviance (`special/_deviances.py`).  All
functions take arrays that broadcast against each other, and give an array of their shape and
promoted floating dtype; NaN where a ≤ 0.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import lax
from ... import numpy as jnp
from ...control.custom.custom_jvp import custom_jvp
from ...engines.reference.replay import replayed
from ...numpy.half_precision import in_float32
from ..special._deviances import gamma_deviance, log_ratio, one_minus_ratio
from ..special._scaled_factorials import log_scaled_factorial, slope_of_factorial_p
from ._arguments import arguments, from_zero, placed, positive
from ._ends import of_quotient
from ._tails import log_igamma_p, log_igammac_p


def _within(name: str, x: Any, a: Any, loc: Any, scale: Any) -> list[Any]:
    """x − `loc`, or `scale` below 0; `scale` or NaN; a or NaN; and where z < 0 < a."""
    distance, scale, a = placed(name, x, loc, scale, a)
    inner, below = from_zero(distance, scale)
    # All of a distribution lies below ∞, that of a = ∞ too; P(∞, ∞) has no limit.
    shape = jnp.where((inner == np.inf) & (a == np.inf), 1, a)
    return [inner, scale, jnp.where(a > 0, shape, np.nan), below & (a > 0)]


@replayed(4)
@in_float32
def logpdf(x: Any, a: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of the density: (a − 1) log z − z − log Γ(a) − log(`scale`); −∞ below `loc`.

    Example:
        >>> from morphax.scipy.stats import gamma
        >>> gamma.logpdf(2.0, 1.0)
        Array(-2., dtype=float32, weak_type=True)
    """
    x, a, loc, scale = arguments("gamma.logpdf", x, a, loc, scale)
    return _log_density(x - loc, a, scale)


def _log_density(distance: Any, a: Any, scale: Any) -> Any:
    scale = positive(scale)
    a = jnp.where(a > 0, a, np.nan)
    inner, below = from_zero(distance, scale)
    deviance = _deviance(inner, scale, a)
    value = -log_scaled_factorial(a) - deviance - lax.log(scale)
    return jnp.where(below & (a > 0), -np.inf, value)


_deviance = of_quotient(
    lambda z, a: gamma_deviance(a, z), lambda z, a: jnp.where(z == 0, 1 - a, np.inf)
)


@replayed(4)
@in_float32
def pdf(x: Any, a: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The density, and 0 below `loc`.

    Example:
        >>> from morphax.scipy.stats import gamma
        >>> gamma.pdf(0.0, a=1.0)
        Array(1., dtype=float32, weak_type=True)
    """
    x, a, loc, scale = arguments("gamma.pdf", x, a, loc, scale)
    return _density(x - loc, a, scale)


@custom_jvp
def _density(distance: Any, a: Any, scale: Any) -> Any:
    return lax.exp(_log_density(distance, a, scale))


def _slope_by_place(t: Any, out: Any, distance: Any, a: Any, scale: Any) -> Any:
    z = distance / scale
    # At 0 it is that of zᵃ⁻¹ / Γ(a).
    at_end = jnp.where(a < 2, np.inf, jnp.where(a == 2, 1, 0)) / scale
    inside = -out * one_minus_ratio(a - 1, z)
    return t * (jnp.where(out == 0, jnp.where(z == 0, at_end, 0), inside) / scale)


def _slope_by_shape(t: Any, out: Any, distance: Any, a: Any, scale: Any) -> Any:
    z = distance / scale
    score = log_ratio(a, z, z - a) + (slope_of_factorial_p.bind(a) - 1 / a)
    return t * jnp.where(out == 0, 0, -out * score)


# The slopes of the logarithm may be infinite where the density is 0.
_density.defjvps(
    _slope_by_place,
    _slope_by_shape,
    lambda t, out, x, a, scale: t * jnp.where(out == 0, 0, out * (x / scale - a) / scale),
)


@replayed(4)
@in_float32
def cdf(x: Any, a: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The distribution function P(a, z), the regularised lower incomplete gamma function.

    Example:
        >>> from morphax.scipy.stats import gamma
        >>> gamma.cdf(2.0, 1.0)
        Array(0.86466473, dtype=float32, weak_type=True)
    """
    *inner, below = _within("gamma.cdf", x, a, loc, scale)
    return jnp.where(below, 0.0, _lower(*inner))


_lower = of_quotient(lambda z, a: lax.igamma(a, z), lambda z, a: 0)


@replayed(4)
@in_float32
def logcdf(x: Any, a: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """log P(a, z), accurate in both tails.

    Example:
        >>> from morphax.scipy.stats import gamma
        >>> gamma.logcdf(1e-30, a=2.0)
        Array(-138.84825, dtype=float32, weak_type=True)
    """
    *inner, below = _within("gamma.logcdf", x, a, loc, scale)
    return jnp.where(below, -np.inf, _log_lower(*inner))


_log_lower = of_quotient(lambda z, a: log_igamma_p.bind(a, z), lambda z, a: jnp.where(z == 0, a, 0))


@replayed(4)
@in_float32
def sf(x: Any, a: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The survival function Q(a, z) = 1 − P(a, z).

    Example:
        >>> from morphax.scipy.stats import gamma
        >>> gamma.sf(20.0, 1.0)
        Array(2.0611537e-09, dtype=float32, weak_type=True)
    """
    *inner, below = _within("gamma.sf", x, a, loc, scale)
    return jnp.where(below, 1.0, _upper(*inner))


_upper = of_quotient(lambda z, a: lax.igammac(a, z), lambda z, a: 0)


@replayed(4)
@in_float32
def logsf(x: Any, a: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """log Q(a, z), accurate in both tails, also where Q underflows.

    Example:
        >>> from morphax.scipy.stats import gamma
        >>> gamma.logsf(800.0, 1.0)
        Array(-800., dtype=float32, weak_type=True)
    """
    *inner, below = _within("gamma.logsf", x, a, loc, scale)
    return jnp.where(below, 0.0, _log_upper(*inner))


_log_upper = of_quotient(
    lambda z, a: log_igammac_p.bind(a, z), lambda z, a: jnp.where(z == 0, 0, -np.inf)
)
