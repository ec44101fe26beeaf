"""The chi-squared distribution of `df` degrees of freedom: a gamma distribution of twice the scale.

For z = (x − `loc`) / `scale` ≥ 0 its density is (z/2)^(df/2 − 1) exp(−z/2) / (2 Γ(df/2) `scale`).
All functions take arrays that broadcast against each other, and give an array of their shape and
promoted floating dtype; NaN where df ≤ 0.
"""

from __future__ import annotations

from typing import Any

from ...engines.reference.replay import replayed
from ...numpy.half_precision import in_float32
from . import gamma
from ._arguments import arguments


def _as_gamma(name: str, x: Any, df: Any, loc: Any, scale: Any) -> list[Any]:
    """The arguments of the gamma distribution."""
    x, df, loc, scale = arguments(f"chi2.{name}", x, df, loc, scale)
    return [x, 0.5 * df, loc, 2 * scale]


@replayed(4)
@in_float32
def logpdf(x: Any, df: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of the density, and −∞ below `loc`.

    Example:
        >>> from morphax.scipy.stats import chi2
        >>> chi2.logpdf(2.0, 2.0)
        Array(-1.6931472, dtype=float32, weak_type=True)
    """
    return gamma.logpdf(*_as_gamma("logpdf", x, df, loc, scale))


@replayed(4)
@in_float32
def pdf(x: Any, df: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The density, and 0 below `loc`.

    Example:
        >>> from morphax.scipy.stats import chi2
        >>> chi2.pdf(0.0, df=2)
        Array(0.5, dtype=float32, weak_type=True)
    """
    return gamma.pdf(*_as_gamma("pdf", x, df, loc, scale))


@replayed(4)
@in_float32
def cdf(x: Any, df: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The distribution function P(df/2, z/2).

    Example:
        >>> from morphax.scipy.stats import chi2
        >>> chi2.cdf(2.0, 2.0)
        Array(0.63212055, dtype=float32, weak_type=True)
    """
    return gamma.cdf(*_as_gamma("cdf", x, df, loc, scale))


@replayed(4)
@in_float32
def logcdf(x: Any, df: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """log P(df/2, z/2), accurate in both tails.

    Example:
        >>> from morphax.scipy.stats import chi2
        >>> chi2.logcdf(2.0, df=2)
        Array(-0.45867515, dtype=float32, weak_type=True)
    """
    return gamma.logcdf(*_as_gamma("logcdf", x, df, loc, scale))


@replayed(4)
@in_float32
def sf(x: Any, df: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The survival function Q(df/2, z/2) = 1 − P(df/2, z/2).

    Example:
        >>> from morphax.scipy.stats import chi2
        >>> chi2.sf(2.0, df=2)
        Array(0.36787945, dtype=float32, weak_type=True)
    """
    return gamma.sf(*_as_gamma("sf", x, df, loc, scale))


@replayed(4)
@in_float32
def logsf(x: Any, df: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """log Q(df/2, z/2), accurate in both tails, also where Q underflows.

    Example:
        >>> from morphax.scipy.stats import chi2
        >>> chi2.logsf(3000.0, 2.0)
        Array(-1500., dtype=float32, weak_type=True)
    """
    return gamma.logsf(*_as_gamma("logsf", x, df, loc, scale))
