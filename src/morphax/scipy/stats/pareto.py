"""The Pareto distribution, with density b z^(−b−1) / `scale` for z = (x − `loc`) / `scale` ≥ 1.

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
from ._arguments import arguments, positive, probability, standardized


@replayed(4)
@in_float32
def logpdf(x: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of the density: log(b / `scale`) − (b + 1) log z, and −∞ for z < 1.

    Example:
        >>> from morphax.scipy.stats import pareto
        >>> pareto.logpdf(1.0, 2.0)
        Array(0.6931472, dtype=float32, weak_type=True)
    """
    z, scale, b = standardized("pareto.logpdf", x, loc, scale, b)
    inside = jnp.where(z < 1, 1, z)
    return jnp.where(z < 1, -np.inf, lax.log(b / scale) - (b + 1) * lax.log(inside))


@replayed(4)
@in_float32
def pdf(x: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The density b z^(−b−1) / `scale`, and 0 for z < 1.

    Example:
        >>> from morphax.scipy.stats import pareto
        >>> pareto.pdf(1.0, b=3.0)
        Array(3., dtype=float32, weak_type=True)
    """
    return lax.exp(logpdf(*arguments("pareto.pdf", x, b, loc, scale)))


@replayed(4)
@in_float32
def cdf(x: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The distribution function 1 − z⁻ᵇ, and 0 for z < 1.

    Example:
        >>> from morphax.scipy.stats import pareto
        >>> pareto.cdf(2.0, b=1.0)
        Array(0.5, dtype=float32, weak_type=True)
    """
    return -lax.expm1(logsf(*arguments("pareto.cdf", x, b, loc, scale)))


@replayed(4)
@in_float32
def logcdf(x: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of the distribution function, −∞ for z ≤ 1.

    Example:
        >>> from morphax.scipy.stats import pareto
        >>> pareto.logcdf(2.0, b=1.0)
        Array(-0.6931472, dtype=float32, weak_type=True)
    """
    z, _, b = standardized("pareto.logcdf", x, loc, scale, b)
    below = z < 1
    return jnp.where(below, -np.inf, log1mexp(b * lax.log(jnp.where(below, 2, z))))


@replayed(4)
@in_float32
def sf(x: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The survival function z⁻ᵇ, and 1 for z < 1.

    Example:
        >>> from morphax.scipy.stats import pareto
        >>> pareto.sf(2.0, b=3.0)
        Array(0.125, dtype=float32, weak_type=True)
    """
    return lax.exp(logsf(*arguments("pareto.sf", x, b, loc, scale)))


@replayed(4)
@in_float32
def logsf(x: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of the survival function: −b log z, and 0 for z < 1.

    Example:
        >>> from morphax.scipy.stats import pareto
        >>> pareto.logsf(2.0, b=200.0)
        Array(-138.62944, dtype=float32, weak_type=True)
    """
    z, _, b = standardized("pareto.logsf", x, loc, scale, b)
    return jnp.where(z < 1, 0.0, -b * lax.log(jnp.where(z < 1, 1, z)))


@replayed(4)
@in_float32
def ppf(q: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The quantile `loc` + `scale` · (1 − q)^(−1/b), the inverse of `cdf`: NaN unless 0 ≤ q ≤ 1.

    Example:
        >>> from morphax.scipy.stats import pareto
        >>> pareto.ppf(0.5, b=1.0)
        Array(2., dtype=float32, weak_type=True)
    """
    q, b, loc, scale = arguments("pareto.ppf", q, b, loc, scale)
    scale = positive(scale)
    return loc + scale * lax.exp(-lax.log1p(-probability(q)) / b)
