"""Student's distribution of `df` degrees of freedom ν, for z = (x − `loc`) / `scale`.

Its density is Γ((ν + 1)/2) / (Γ(ν/2) √(νπ) `scale`) · (1 + z²/ν)^(−(ν + 1)/2).  All functions take
arrays that broadcast against each other, and give an array of their shape and promoted floating
dtype.
"""

from __future__ import annotations

from typing import Any

from ... import lax
from ...engines.reference.replay import replayed
from ...numpy.half_precision import in_float32
from ._arguments import arguments, log_of_one_plus_square, standardized
from ._t_constant import log_constant


@replayed(4)
@in_float32
def logpdf(x: Any, df: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of the density, whose quotient of gamma functions is computed as one.

    Example:
        >>> from morphax.scipy.stats import t
        >>> t.logpdf(0.0, 1.0)
        Array(-1.1447299, dtype=float32, weak_type=True)
    """
    z, scale, df = standardized("t.logpdf", x, loc, scale, df)
    constant = log_constant(df) - lax.log(scale)
    return constant - 0.5 * (df + 1) * log_of_one_plus_square(z / lax.sqrt(df))


@replayed(4)
@in_float32
def pdf(x: Any, df: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The density."""
    return lax.exp(logpdf(*arguments("t.pdf", x, df, loc, scale)))
