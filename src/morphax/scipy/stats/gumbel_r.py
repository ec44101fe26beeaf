"""The Gumbel distribution of largest values.

For z = (x − `loc`) / `scale` its distribution function is exp(−e⁻ᶻ).  All functions take arrays
that broadcast against each other, and give an array of their shape and promoted floating dtype.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import lax
from ... import numpy as jnp
from ...control.custom.custom_jvp import custom_jvp
from ...engines.reference.replay import replayed
from ...nn import log1mexp
from ...numpy.half_precision import in_float32
from .. import special
from ._arguments import arguments, placed, positive, probability, standardized
from ._ends import of_quotient

_REMOTE = -20.0


@replayed(3)
@in_float32
def logpdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of the density: −z − e⁻ᶻ − log(`scale`).

    Example:
        >>> from morphax.scipy.stats import gumbel_r
        >>> gumbel_r.logpdf(0.0)
        Array(-1., dtype=float32, weak_type=True)
    """
    distance, scale = placed("gumbel_r.logpdf", x, loc, scale)
    return _log_of_scaled(distance, scale) - lax.log(scale)


def _log_density(z: Any) -> Any:
    # Of two infinities the exponential is the larger one.
    is_remote = z == -np.inf
    return -jnp.where(is_remote, 0, z) - lax.exp(-z)


_log_of_scaled = of_quotient(_log_density, lambda z: jnp.where(z == 0, 0, -np.inf))


@replayed(3)
@in_float32
def pdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The density e^(−z − e⁻ᶻ) / `scale`.

    Example:
        >>> from morphax.scipy.stats import gumbel_r
        >>> gumbel_r.pdf(0.0)
        Array(0.36787945, dtype=float32, weak_type=True)
    """
    z, scale = _near("gumbel_r.pdf", x, loc, scale)
    return lax.exp(-z - lax.exp(-z) - lax.log(scale))


@replayed(3)
@in_float32
def cdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The distribution function exp(−e⁻ᶻ).

    Example:
        >>> from morphax.scipy.stats import gumbel_r
        >>> gumbel_r.cdf(0.0)
        Array(0.36787945, dtype=float32, weak_type=True)
    """
    z, _ = _near("gumbel_r.cdf", x, loc, scale)
    return lax.exp(-lax.exp(-z))


@replayed(3)
@in_float32
def logcdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of the distribution function: −e⁻ᶻ.

    Example:
        >>> from morphax.scipy.stats import gumbel_r
        >>> gumbel_r.logcdf(0.0)
        Array(-1., dtype=float32, weak_type=True)
    """
    return _log_below(*placed("gumbel_r.logcdf", x, loc, scale))


_log_below = of_quotient(lambda z: -lax.exp(-z), lambda z: jnp.where(z < 0, -np.inf, 0))


@replayed(3)
@in_float32
def sf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The survival function 1 − exp(−e⁻ᶻ).

    Example:
        >>> from morphax.scipy.stats import gumbel_r
        >>> gumbel_r.sf(0.0)
        Array(0.63212055, dtype=float32, weak_type=True)
    """
    return above("gumbel_r.sf", x, loc, scale)


def above(name: str, x: Any, loc: Any, scale: Any) -> Any:
    """The survival function, for the function `name` of a distribution."""
    z, _ = _near(name, x, loc, scale)
    return -lax.expm1(-lax.exp(-z))


@replayed(3)
@in_float32
def logsf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of the survival function, accurate in both tails.

    Example:
        >>> from morphax.scipy.stats import gumbel_r
        >>> gumbel_r.logsf(50.0)
        Array(-50., dtype=float32, weak_type=True)
    """
    return _log_above(*placed("gumbel_r.logsf", x, loc, scale))


def _log_above_scaled(z: Any) -> Any:
    z = _clipped(z)
    # Far above, where e⁻ᶻ vanishes, the survival function is e⁻ᶻ to the last digit.
    is_far = z > 40
    near, far = jnp.where(is_far, 0, z), jnp.where(is_far, z, 0)
    return jnp.where(is_far, -far, log1mexp(lax.exp(-near)))


_log_above = of_quotient(_log_above_scaled, lambda z: jnp.where(z > 0, -np.inf, 0))


@replayed(3)
@in_float32
def ppf(p: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The quantile `loc` − `scale` · log(−log p), the inverse of `cdf`: NaN unless 0 ≤ p ≤ 1.

    Example:
        >>> from morphax.scipy.stats import gumbel_r
        >>> gumbel_r.ppf(0.5)
        Array(0.36651292, dtype=float32, weak_type=True)
    """
    p, loc, scale = arguments("gumbel_r.ppf", p, loc, scale)
    scale = positive(scale)
    return loc + scale * _quantile(p)


def _near(name: str, x: Any, loc: Any, scale: Any) -> list[Any]:
    """z, clipped, and the scale."""
    z, scale = standardized(name, x, loc, scale)
    return [_clipped(z), scale]


def _clipped(z: Any) -> Any:
    """z from `_REMOTE` on.

    Below it exp(−e⁻ᶻ) is 0 in all dtypes; where e⁻ᶻ leaves their range, slopes would be 0 · ∞.
    """
    return jnp.where(z < _REMOTE, _REMOTE, z)


@custom_jvp
def _quantile(p: Any) -> Any:
    """−log(−log p)."""
    return -lax.log(-lax.log(probability(p)))


# −p log p is 0 at both ends.
_quantile.defjvps(lambda t, out, p: t / lax.abs(special.entr(probability(p))))
