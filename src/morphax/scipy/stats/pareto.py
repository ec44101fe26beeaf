"""The Pareto distribution, with density b z^(−b−1) / `scale` for z = (x − `loc`) / `scale` ≥ 1.

All functions take arrays that broadcast against each other, and give an array of their shape and
promoted floating dtype; NaN where b ≤ 0.
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
from ..special._deviances import log_of_quotient
from ._arguments import arguments, inside, placed, positive, probability
from ._ends import exponential, of_quotient


@replayed(4)
@in_float32
def logpdf(x: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of the density: log(b / `scale`) − (b + 1) log z, and −∞ for z < 1.

    Example:
        >>> from morphax.scipy.stats import pareto
        >>> pareto.logpdf(1.0, 2.0)
        Array(0.6931472, dtype=float32, weak_type=True)
    """
    logarithm, scale, b, below = _within("pareto.logpdf", x, b, loc, scale)
    return jnp.where(below, -np.inf, log_of_quotient(b, scale) - (b + 1) * logarithm)


def _within(name: str, x: Any, b: Any, loc: Any, scale: Any) -> list[Any]:
    """log z, or 0 where z < 1; `scale`, or NaN if b is none; b; and where z < 1."""
    distance, scale, b = placed(name, x, loc, scale, b)
    scale = jnp.where(b > 0, scale, np.nan)
    below = distance / scale < 1
    return [_log_quotient(inside(below, distance, scale), scale), scale, b, below]


_log_quotient = of_quotient(lax.log, lambda z: 1)
_density = exponential(logpdf, 4)


@replayed(4)
@in_float32
def pdf(x: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The density b z^(−b−1) / `scale`, and 0 for z < 1.

    Example:
        >>> from morphax.scipy.stats import pareto
        >>> pareto.pdf(1.0, b=3.0)
        Array(3., dtype=float32, weak_type=True)
    """
    return _density(*arguments("pareto.pdf", x, b, loc, scale))


@replayed(4)
@in_float32
def cdf(x: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The distribution function 1 − z⁻ᵇ, and 0 for z < 1.

    Example:
        >>> from morphax.scipy.stats import pareto
        >>> pareto.cdf(2.0, b=1.0)
        Array(0.5, dtype=float32, weak_type=True)
    """
    logarithm, _, b, below = _within("pareto.cdf", x, b, loc, scale)
    return jnp.where(below, 0.0, _below(logarithm, b))


@custom_jvp
def _below(logarithm: Any, b: Any) -> Any:
    return -lax.expm1(-b * logarithm)


# Of an infinite logarithm no slope is left.
_below.defjvps(
    lambda t, out, x, b: t * b * lax.exp(-b * x),
    lambda t, out, x, b: t * jnp.where(x == np.inf, 0, x * lax.exp(-b * x)),
)


@replayed(4)
@in_float32
def logcdf(x: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of the distribution function, −∞ for z ≤ 1.

    Example:
        >>> from morphax.scipy.stats import pareto
        >>> pareto.logcdf(2.0, b=1.0)
        Array(-0.6931472, dtype=float32, weak_type=True)
    """
    logarithm, _, b, below = _within("pareto.logcdf", x, b, loc, scale)
    return jnp.where(below, -np.inf, _log_below(jnp.where(below, 1, logarithm), b))


@custom_jvp
def _log_below(logarithm: Any, b: Any) -> Any:
    return log1mexp(b * logarithm)


def _slope_by_power(t: Any, out: Any, x: Any, b: Any) -> Any:
    far = jnp.where(x == np.inf, 0, x / lax.expm1(b * x))
    return t * jnp.where(x == 0, 1 / b, far)


_log_below.defjvps(lambda t, out, x, b: t * (b / lax.expm1(b * x)), _slope_by_power)


@replayed(4)
@in_float32
def sf(x: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The survival function z⁻ᵇ, and 1 for z < 1.

    Example:
        >>> from morphax.scipy.stats import pareto
        >>> pareto.sf(2.0, b=3.0)
        Array(0.125, dtype=float32, weak_type=True)
    """
    return _survival(*arguments("pareto.sf", x, b, loc, scale))


@replayed(4)
@in_float32
def logsf(x: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of the survival function: −b log z, and 0 for z < 1.

    Example:
        >>> from morphax.scipy.stats import pareto
        >>> pareto.logsf(2.0, b=200.0)
        Array(-138.62944, dtype=float32, weak_type=True)
    """
    logarithm, _, b, below = _within("pareto.logsf", x, b, loc, scale)
    return jnp.where(below, 0.0, -b * logarithm)


_survival = exponential(logsf, 4)


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
    scale, b = positive(scale), positive(b)
    return loc + scale * lax.exp(-lax.log1p(-probability(q)) / b)
