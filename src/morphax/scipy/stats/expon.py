"""The exponential distribution, with density e⁻ᶻ / `scale` for z = (x − `loc`) / `scale` ≥ 0.

All functions take arrays that broadcast against each other, and give an array of their shape and
promoted floating dtype.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import lax
from ... import numpy as jnp
from ...engines.reference.replay import replayed
from ...nn import log1mexp
from ...numpy.half_precision import in_float32
from ._arguments import arguments, from_zero, placed, positive, probability, standardized
from ._ends import exponential, of_quotient


@replayed(3)
@in_float32
def logpdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of the density: −z − log(`scale`), and −∞ below `loc`.

    Example:
        >>> from morphax.scipy.stats import expon
        >>> expon.logpdf(2.0)
        Array(-2., dtype=float32, weak_type=True)
    """
    inner, scale, below = _within("expon.logpdf", x, loc, scale)
    return jnp.where(below, -np.inf, -inner / scale - lax.log(scale))


def _within(name: str, x: Any, loc: Any, scale: Any) -> list[Any]:
    """x − `loc` or, where it is negative, `scale`; `scale` or NaN; and where that is."""
    distance, scale = placed(name, x, loc, scale)
    inner, below = from_zero(distance, scale)
    return [inner, scale, below]


_density = exponential(logpdf, 3)


@replayed(3)
@in_float32
def pdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The density e⁻ᶻ / `scale`, and 0 below `loc`.

    Example:
        >>> from morphax.scipy.stats import expon
        >>> expon.pdf(0.0, scale=2.0)
        Array(0.5, dtype=float32, weak_type=True)
    """
    return _density(*arguments("expon.pdf", x, loc, scale))


@replayed(3)
@in_float32
def cdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The distribution function 1 − e⁻ᶻ, and 0 below `loc`.

    Example:
        >>> from morphax.scipy.stats import expon
        >>> expon.cdf(1.0)
        Array(0.63212055, dtype=float32, weak_type=True)
    """
    z, _ = standardized("expon.cdf", x, loc, scale)
    # Far below e⁻ᶻ is infinite, and so would be the slope that is not taken.
    return -lax.expm1(-jnp.where(z < 0, 0, z))


@replayed(3)
@in_float32
def logcdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """log(1 − e⁻ᶻ), accurate for small and large z, and −∞ below `loc`.

    Example:
        >>> from morphax.scipy.stats import expon
        >>> expon.logcdf(1e-20)
        Array(-46.0517, dtype=float32, weak_type=True)
    """
    inner, scale, below = _within("expon.logcdf", x, loc, scale)
    return jnp.where(below, -np.inf, _log_below(inner, scale))


_log_below = of_quotient(log1mexp, lambda z: jnp.where(z == 0, 1, 0))


@replayed(3)
@in_float32
def sf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The survival function e⁻ᶻ, and 1 below `loc`.

    Example:
        >>> from morphax.scipy.stats import expon
        >>> expon.sf(1.0)
        Array(0.36787945, dtype=float32, weak_type=True)
    """
    return _survival(*arguments("expon.sf", x, loc, scale))


@replayed(3)
@in_float32
def logsf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of the survival function: −z, and 0 below `loc`.

    Example:
        >>> from morphax.scipy.stats import expon
        >>> expon.logsf(300.0)
        Array(-300., dtype=float32, weak_type=True)
    """
    inner, scale, below = _within("expon.logsf", x, loc, scale)
    return jnp.where(below, 0.0, -inner / scale)


_survival = exponential(logsf, 3)


@replayed(3)
@in_float32
def ppf(q: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The quantile `loc` − `scale` · log(1 − q), the inverse of `cdf`: NaN unless 0 ≤ q ≤ 1.

    Example:
        >>> from morphax.scipy.stats import expon
        >>> expon.ppf(0.5)
        Array(0.6931472, dtype=float32, weak_type=True)
    """
    q, loc, scale = arguments("expon.ppf", q, loc, scale)
    scale = positive(scale)
    return loc - scale * lax.log1p(-probability(q))
