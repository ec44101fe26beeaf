"""The Gumbel distribution of smallest values: that of −x, for the x of `gumbel_r`.

For z = (x − `loc`) / `scale` its survival function is exp(−eᶻ).  All functions take arrays that
broadcast against each other, and give an array of their shape and promoted floating dtype.
"""

from __future__ import annotations

from typing import Any

from ... import lax
from ...control.custom.custom_jvp import custom_jvp
from ...engines.reference.replay import replayed
from ...numpy.half_precision import in_float32
from .. import special
from . import gumbel_r
from ._arguments import arguments, positive, probability


@replayed(3)
@in_float32
def logpdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of the density: z − eᶻ − log(`scale`).

    Example:
        >>> from morphax.scipy.stats import gumbel_l
        >>> gumbel_l.logpdf(0.0)
        Array(-1., dtype=float32, weak_type=True)
    """
    return gumbel_r.logpdf(*_reflected("logpdf", x, loc, scale))


@replayed(3)
@in_float32
def pdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The density e^(z − eᶻ) / `scale`.

    Example:
        >>> from morphax.scipy.stats import gumbel_l
        >>> gumbel_l.pdf(0.0)
        Array(0.36787945, dtype=float32, weak_type=True)
    """
    return gumbel_r.pdf(*_reflected("pdf", x, loc, scale))


@replayed(3)
@in_float32
def cdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The distribution function 1 − exp(−eᶻ).

    Example:
        >>> from morphax.scipy.stats import gumbel_l
        >>> gumbel_l.cdf(0.0)
        Array(0.63212055, dtype=float32, weak_type=True)
    """
    return gumbel_r.above("gumbel_l.cdf", *_reflected("cdf", x, loc, scale))


@replayed(3)
@in_float32
def logcdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of the distribution function, accurate in both tails.

    Example:
        >>> from morphax.scipy.stats import gumbel_l
        >>> gumbel_l.logcdf(-50.0)
        Array(-50., dtype=float32, weak_type=True)
    """
    return gumbel_r.logsf(*_reflected("logcdf", x, loc, scale))


@replayed(3)
@in_float32
def sf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The survival function exp(−eᶻ).

    Example:
        >>> from morphax.scipy.stats import gumbel_l
        >>> gumbel_l.sf(0.0)
        Array(0.36787945, dtype=float32, weak_type=True)
    """
    return gumbel_r.cdf(*_reflected("sf", x, loc, scale))


@replayed(3)
@in_float32
def logsf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of the survival function: −eᶻ.

    Example:
        >>> from morphax.scipy.stats import gumbel_l
        >>> gumbel_l.logsf(0.0)
        Array(-1., dtype=float32, weak_type=True)
    """
    return gumbel_r.logcdf(*_reflected("logsf", x, loc, scale))


@replayed(3)
@in_float32
def ppf(p: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The quantile `loc` + `scale` · log(−log(1 − p)), the inverse of `cdf`: NaN outside [0, 1].

    Example:
        >>> from morphax.scipy.stats import gumbel_l
        >>> gumbel_l.ppf(1 - 1 / 2.718281828)
        Array(0., dtype=float32, weak_type=True)
    """
    p, loc, scale = arguments("gumbel_l.ppf", p, loc, scale)
    scale = positive(scale)
    return loc + scale * _quantile(p)


@custom_jvp
def _quantile(p: Any) -> Any:
    """log(−log(1 − p))."""
    return lax.log(-lax.log1p(-probability(p)))


# (1 − p) log(1 − p) is 0 at both ends.
_quantile.defjvps(
    lambda t, out, p: t / lax.abs(special.xlog1py(1 - probability(p), -probability(p)))
)


def _reflected(name: str, x: Any, loc: Any, scale: Any) -> list[Any]:
    """The arguments of `gumbel_r` for the function `name` of this distribution."""
    x, loc, scale = arguments(f"gumbel_l.{name}", x, loc, scale)
    return [-x, -loc, scale]
