"""The normal distribution, cut off at `loc` + a `scale` and at `loc` + b `scale`.

Within, the density is that of `norm` divided by Φ(b) − Φ(a).  All functions take arrays that
broadcast against each other, and give an array of their shape and promoted floating dtype.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import lax
from ... import numpy as jnp
from ...engines.reference.replay import replayed
from ...nn import log1mexp
from ...numpy.half_precision import in_float32
from .. import special
from . import norm
from ._arguments import arguments, standardized


@replayed(5)
@in_float32
def logpdf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of the density, −∞ outside.

    Example:
        >>> from morphax.scipy.stats import truncnorm
        >>> truncnorm.logpdf(0.5, -1.0, 1.0)
        Array(-0.66222334, dtype=float32)
    """
    z, scale, a, b = standardized("truncnorm.logpdf", x, loc, scale, a, b)
    outside = (z < a) | (z > b)
    value = norm.logpdf(jnp.where(outside, a, z)) - lax.log(scale) - _log_mass(a, b)
    return _of_interval(a, b, jnp.where(outside, -np.inf, value))


@replayed(5)
@in_float32
def pdf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The density, 0 outside.

    Example:
        >>> from morphax.scipy.stats import truncnorm
        >>> truncnorm.pdf(2.0, a=-1.0, b=1.0)
        Array(0., dtype=float32)
    """
    return lax.exp(logpdf(*arguments("truncnorm.pdf", x, a, b, loc, scale)))


@replayed(5)
@in_float32
def cdf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The distribution function (Φ(z) − Φ(a)) / (Φ(b) − Φ(a)).

    Example:
        >>> from morphax.scipy.stats import truncnorm
        >>> truncnorm.cdf(0.0, a=-1.0, b=1.0).round(5)
        Array(0.5, dtype=float32)
    """
    return lax.exp(logcdf(*arguments("truncnorm.cdf", x, a, b, loc, scale)))


@replayed(5)
@in_float32
def logcdf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of the distribution function, accurate in both tails.

    Example:
        >>> from morphax.scipy.stats import truncnorm
        >>> truncnorm.logcdf(1.0, a=-1.0, b=1.0)
        Array(0., dtype=float32)
    """
    z, _, a, b = standardized("truncnorm.logcdf", x, loc, scale, a, b)
    return _log_share(z, a, b, -_log_mass(a, b), below=True)


@replayed(5)
@in_float32
def sf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The survival function (Φ(b) − Φ(z)) / (Φ(b) − Φ(a)).

    Example:
        >>> from morphax.scipy.stats import truncnorm
        >>> truncnorm.sf(0.0, a=-1.0, b=1.0).round(5)
        Array(0.5, dtype=float32)
    """
    return lax.exp(logsf(*arguments("truncnorm.sf", x, a, b, loc, scale)))


@replayed(5)
@in_float32
def logsf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of the survival function, accurate in both tails.

    Example:
        >>> from morphax.scipy.stats import truncnorm
        >>> truncnorm.logsf(0.0, a=-1.0, b=1.0).round(5)
        Array(-0.69315, dtype=float32)
    """
    z, _, a, b = standardized("truncnorm.logsf", x, loc, scale, a, b)
    return _log_share(z, a, b, -_log_mass(a, b), below=False)


def _log_share(z: Any, a: Any, b: Any, log_scale: Any, *, below: bool) -> Any:
    """The logarithm of the share of the mass that lies below z, or above."""
    empty, full = (z <= a, z >= b) if below else (z >= b, z <= a)
    inside = jnp.where(empty | full, 0.5 * (a + b), z)
    start, stop = (a, inside) if below else (inside, b)
    share = _log_mass(start, stop) + log_scale
    # The larger share is the complement of the smaller one.
    other = _log_mass(inside, b) if below else _log_mass(a, inside)
    rest = log1mexp(-jnp.where(share > -0.5, other + log_scale, -1.0))
    value = jnp.where(share > -0.5, rest, share)
    return _of_interval(a, b, jnp.where(empty, -np.inf, jnp.where(full, 0.0, value)))


def _of_interval(a: Any, b: Any, value: Any) -> Any:
    """The value, or NaN where there is no interval from a to b."""
    return jnp.where(a < b, value, np.nan)


def _log_mass(a: Any, b: Any) -> Any:
    """log(Φ(b) − Φ(a)) for a < b: in the tail where both lie, or between the tails."""
    # Reflected so that the larger part is below 0, where Φ keeps its digits.
    flipped = a > 0
    low, high = jnp.where(flipped, -b, a), jnp.where(flipped, -a, b)
    crossing = high > 0
    under = jnp.where(crossing, -1.0, high)
    upper = special.log_ndtr(under)
    lower = special.log_ndtr(jnp.where(crossing, -2.0, low))
    # Both may be −∞.
    in_tail = upper + log1mexp(jnp.where(lower == -np.inf, np.inf, upper - lower))
    across = lax.log1p(-special.ndtr(low) - special.ndtr(-jnp.where(crossing, high, 1.0)))
    return jnp.where(crossing, across, in_tail)
