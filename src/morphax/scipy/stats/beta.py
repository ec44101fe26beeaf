"""The beta distribution with parameters a, b > 0, for z = (x − `loc`) / `scale` in [0, 1].

Its density is zᵃ⁻¹ (1 − z)ᵇ⁻¹ / (B(a, b) `scale`), computed by a deviance
(`special/_deviances.py`).  All functions take arrays that broadcast against each other, and give an
array of their shape and promoted floating dtype; NaN where a ≤ 0 or b ≤ 0.  Distribution functions
have derivatives with respect to all but a and b.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ... import lax
from ... import numpy as jnp
from ...control.custom.custom_jvp import custom_jvp
from ...engines.reference.replay import replayed
from ...numpy.half_precision import in_float32
from ..special._deviances import beta_deviance, binomial_slope, score, score_of_rest
from ..special._scaled_factorials import log_scaled_factorial, slope_of_factorial_p
from ._arguments import arguments, inside, placed, positive
from ._ends import of_quotient
from ._tails import log_betainc_p, log_betaincc_p


def _within(name: str, x: Any, a: Any, b: Any, loc: Any, scale: Any) -> list[Any]:
    """The distance for z, or ½, scale, a and b, or NaN; then where z is below and above."""
    distance, scale, a, b = placed(name, x, loc, scale, a, b)
    defined = (a > 0) & (b > 0)
    inner, below, above = _inner(distance, scale)
    a, b = jnp.where(defined, a, np.nan), jnp.where(defined, b, np.nan)
    return [inner, scale, a, b, below & defined, above & defined]


def _inner(distance: Any, scale: Any) -> tuple[Any, Any, Any]:
    """The distance or, outside of [0, scale], half the scale; where it is below and above."""
    below, above = (distance < 0) & (scale > 0), distance > scale
    return inside(below | above, distance, 0.5 * scale), below, above


def _continued(value: Any, beyond: Sequence[Any], at_zero: float, at_one: float) -> Any:
    """A function of z with what it is below and above the ends, where its slope is infinite."""
    below, above = beyond
    return jnp.where(below, at_zero, jnp.where(above, at_one, value))


@replayed(5)
@in_float32
def logpdf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of the density, and −∞ outside of [`loc`, `loc` + `scale`].

    Example:
        >>> from morphax.scipy.stats import beta
        >>> beta.logpdf(0.5, 2.0, 2.0)
        Array(0.40546513, dtype=float32, weak_type=True)
    """
    x, a, b, loc, scale = arguments("beta.logpdf", x, a, b, loc, scale)
    return _log_density(x - loc, a, b, scale)


def _log_density(distance: Any, a: Any, b: Any, scale: Any) -> Any:
    scale = positive(scale)
    inner, below, above = _inner(distance, scale)
    outside, defined = below | above, (a > 0) & (b > 0) & ~jnp.isnan(distance / scale)
    value = log_scaled_factorial(a + b) - log_scaled_factorial(a) - log_scaled_factorial(b)
    value = value + lax.log(a + b) - _deviance(inner, scale, a, b) - lax.log(scale)
    return jnp.where(defined, jnp.where(outside, -np.inf, value), np.nan)


_deviance = of_quotient(lambda z, a, b: beta_deviance(a, b, z), lambda z, a, b: 1 - a)


@replayed(5)
@in_float32
def pdf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The density, and 0 outside of [`loc`, `loc` + `scale`].

    Example:
        >>> from morphax.scipy.stats import beta
        >>> beta.pdf(0.5, a=2.0, b=2.0)
        Array(1.5, dtype=float32, weak_type=True)
    """
    x, a, b, loc, scale = arguments("beta.pdf", x, a, b, loc, scale)
    return _density(x - loc, a, b, scale)


@custom_jvp
def _density(distance: Any, a: Any, b: Any, scale: Any) -> Any:
    return lax.exp(_log_density(distance, a, b, scale))


def _slope_by_place(out: Any, distance: Any, a: Any, b: Any, scale: Any) -> Any:
    z = distance / scale
    at_end = jnp.where(z == 0, _slope_at_zero(a, b), jnp.where(z == 1, -_slope_at_zero(b, a), 0))
    inside = -out * binomial_slope(a - 1, b - 1, z)
    return jnp.where(out == 0, at_end / scale, inside) / scale


def _slope_at_zero(a: Any, b: Any) -> Any:
    """The slope at 0 of zᵃ⁻¹ / B(a, b), for a > 1."""
    return jnp.where(a < 2, np.inf, jnp.where(a == 2, b * (b + 1), 0))


def _slope_by_power(out: Any, a: Any, b: Any, score: Any) -> Any:
    slopes = [slope_of_factorial_p.bind(x) - 1 / x for x in (a + b, a)]
    return jnp.where(out == 0, 0, out * (slopes[0] - slopes[1] - score))


def _slope_by_scale(out: Any, distance: Any, a: Any, b: Any, scale: Any) -> Any:
    z = distance / scale
    # That of the logarithm by log z: the one by z may be beyond the largest number.
    pace = jnp.where(z == 0, a - 1, -z * binomial_slope(a - 1, b - 1, z))
    at_end = jnp.where(z == 1, _slope_at_zero(b, a), 0) / scale
    return jnp.where(out == 0, at_end, -out * (1 + pace)) / scale


# The slopes of the logarithm may be infinite where the density is 0.
_density.defjvps(
    lambda t, out, x, a, b, scale: t * _slope_by_place(out, x, a, b, scale),
    lambda t, out, x, a, b, scale: t * _slope_by_power(out, a, b, score(a, b, x / scale)),
    lambda t, out, x, a, b, scale: t * _slope_by_power(out, b, a, score_of_rest(a, b, x / scale)),
    lambda t, out, x, a, b, scale: t * _slope_by_scale(out, x, a, b, scale),
)


@replayed(5)
@in_float32
def cdf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The distribution function I_z(a, b), the regularised incomplete beta function.

    Example:
        >>> from morphax.scipy.stats import beta
        >>> beta.cdf(0.5, 2.0, 3.0)
        Array(0.6875, dtype=float32, weak_type=True)
    """
    *inner, below, above = _within("beta.cdf", x, a, b, loc, scale)
    return _continued(_lower(*inner), [below, above], 0.0, 1.0)


_lower = of_quotient(lambda z, a, b: lax.betainc(a, b, z), lambda z, a, b: 0)


@replayed(5)
@in_float32
def logcdf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """log I_z(a, b), accurate in both tails, also where I underflows.

    Example:
        >>> from morphax.scipy.stats import beta
        >>> beta.logcdf(1e-30, a=2.0, b=1.0).round(3)
        Array(-138.155, dtype=float32, weak_type=True)
    """
    *inner, below, above = _within("beta.logcdf", x, a, b, loc, scale)
    return _continued(_log_lower(*inner), [below, above], -np.inf, 0.0)


_log_lower = of_quotient(lambda z, a, b: log_betainc_p.bind(a, b, z), lambda z, a, b: a)


@replayed(5)
@in_float32
def sf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The survival function 1 − I_z(a, b), which is I of 1 − z, b and a where 1 − z is exact.

    Example:
        >>> from morphax.scipy.stats import beta
        >>> beta.sf(0.5, 2.0, 3.0)
        Array(0.3125, dtype=float32, weak_type=True)
    """
    *inner, below, above = _within("beta.sf", x, a, b, loc, scale)
    return _continued(_upper(*inner), [below, above], 1.0, 0.0)


def _upper_scaled(z: Any, a: Any, b: Any) -> Any:
    # Where z is small its digits are lost in 1 − z, and with them all of I if a is small too.
    is_small = z < 0.5
    large = lax.betainc(b, a, 1 - jnp.where(is_small, 0.5, z))
    small = lax.exp(log_betaincc_p.bind(a, b, jnp.where(is_small, z, 0.5)))
    return jnp.where(is_small, small, large)


_upper = of_quotient(_upper_scaled, lambda z, a, b: 0)


@replayed(5)
@in_float32
def logsf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """log(1 − I_z(a, b)), accurate in both tails, also where 1 − I underflows.

    Example:
        >>> from morphax.scipy.stats import beta
        >>> beta.logsf(0.5, a=1.0, b=100.0)
        Array(-69.31472, dtype=float32, weak_type=True)
    """
    *inner, below, above = _within("beta.logsf", x, a, b, loc, scale)
    return _continued(_log_upper(*inner), [below, above], 0.0, -np.inf)


_log_upper = of_quotient(lambda z, a, b: log_betaincc_p.bind(a, b, z), lambda z, a, b: 0)
