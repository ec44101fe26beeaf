"""Student's distribution of `df` degrees of freedom ν, for z = (x − `loc`) / `scale`.

Its density is Γ((ν + 1)/2) / (Γ(ν/2) √(νπ) `scale`) · (1 + z²/ν)^(−(ν + 1)/2).  All functions take
arrays that broadcast against each other, and give an array of their shape and promoted floating
dtype.
"""

from __future__ import annotations

import math
from typing import Any

from ... import lax
from ... import numpy as jnp
from ...engines.reference.replay import replayed
from ...numpy.half_precision import in_float32
from ..special._scaled_factorials import log_scaled_factorial
from ._arguments import arguments, positive, standardized

_CONSTANT = 0.5 * math.log(2 * math.pi) + 0.5


@replayed(4)
@in_float32
def logpdf(x: Any, df: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of the density, by scaled factorials for the quotient of gamma functions.

    Example:
        >>> from morphax.scipy.stats import t
        >>> t.logpdf(0.0, 1.0)
        Array(-1.1447299, dtype=float32, weak_type=True)
    """
    z, scale, df = standardized("t.logpdf", x, loc, scale, df)
    df = positive(df)
    half = 0.5 * df
    constant = log_scaled_factorial(half + 0.5) - log_scaled_factorial(half)
    constant = constant + (half - 0.5) * lax.log1p(1 / df) - _CONSTANT - lax.log(scale)
    return constant - 0.5 * (df + 1) * _log_of_one_plus_square(z / lax.sqrt(df))


def _log_of_one_plus_square(x: Any) -> Any:
    """log(1 + x²), where x² is beyond the largest number too."""
    is_far = lax.abs(x) > 2.0**60
    far = 2 * lax.log(lax.abs(jnp.where(is_far, x, 1)))
    return jnp.where(is_far, far, lax.log1p(lax.square(jnp.where(is_far, 1, x))))


@replayed(4)
@in_float32
def pdf(x: Any, df: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The density."""
    return lax.exp(logpdf(*arguments("t.pdf", x, df, loc, scale)))
