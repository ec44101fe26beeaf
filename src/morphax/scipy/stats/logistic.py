"""The logistic distribution.

For z = (x − `loc`) / `scale` its distribution function is 1 / (1 + e⁻ᶻ).  All functions take arrays
that broadcast against each other, and give an array of their shape and promoted floating dtype.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import lax
from ... import numpy as jnp
from ...engines.reference.replay import replayed
from ...numpy.half_precision import in_float32
from .. import special
from ._arguments import arguments, placed, positive, standardized
from ._ends import exponential, of_quotient


@replayed(3)
@in_float32
def logpdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of the density e⁻ᶻ / (`scale` · (1 + e⁻ᶻ)²).

    Example:
        >>> from morphax.scipy.stats import logistic
        >>> logistic.logpdf(0.0)
        Array(-1.3862944, dtype=float32, weak_type=True)
    """
    distance, scale = placed("logistic.logpdf", x, loc, scale)
    return _log_of_scaled(distance, scale) - lax.log(scale)


def _log_density(z: Any) -> Any:
    # The density is even; above 0 nothing overflows.
    size = lax.abs(z)
    return -size - 2 * lax.log1p(lax.exp(-size))


_log_of_scaled = of_quotient(_log_density, lambda z: jnp.where(z == 0, 0, -np.inf))
_density = exponential(logpdf, 3)


@replayed(3)
@in_float32
def pdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The density e⁻ᶻ / (`scale` · (1 + e⁻ᶻ)²).

    Example:
        >>> from morphax.scipy.stats import logistic
        >>> logistic.pdf(0.0)
        Array(0.25, dtype=float32, weak_type=True)
    """
    return _density(*arguments("logistic.pdf", x, loc, scale))


@replayed(3)
@in_float32
def cdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The distribution function 1 / (1 + e⁻ᶻ).

    Example:
        >>> from morphax.scipy.stats import logistic
        >>> logistic.cdf(0.0)
        Array(0.5, dtype=float32, weak_type=True)
    """
    z, _ = standardized("logistic.cdf", x, loc, scale)
    return lax.logistic(z)


@replayed(3)
@in_float32
def sf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The survival function 1 / (1 + eᶻ).

    Example:
        >>> from morphax.scipy.stats import logistic
        >>> logistic.sf(0.0)
        Array(0.5, dtype=float32, weak_type=True)
    """
    z, _ = standardized("logistic.sf", x, loc, scale)
    return lax.logistic(-z)


@replayed(3)
@in_float32
def ppf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The quantile `loc` + `scale` · log(x / (1 − x)), the inverse of `cdf`.

    Example:
        >>> from morphax.scipy.stats import logistic
        >>> logistic.ppf(0.5, loc=3.0)
        Array(3., dtype=float32, weak_type=True)
    """
    q, loc, scale = arguments("logistic.ppf", x, loc, scale)
    scale = positive(scale)
    return loc + scale * special.logit(q)


@replayed(3)
@in_float32
def isf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The inverse of `sf`: `loc` − `scale` · log(x / (1 − x)).

    Example:
        >>> from morphax.scipy.stats import logistic
        >>> logistic.isf(0.5, loc=3.0)
        Array(3., dtype=float32, weak_type=True)
    """
    q, loc, scale = arguments("logistic.isf", x, loc, scale)
    scale = positive(scale)
    return loc - scale * special.logit(q)
