"""The constant of the logarithm of Student's density, log Γ((ν + 1)/2) − log Γ(ν/2) − ½ log ν.

For float64 it is made of scaled factorials.  For float32 it is one logarithm: with a = ν/2, the
quotient Γ(a + ½) / Γ(a) is that of a + 2 times a (a + 1) / ((a + ½) (a + 3/2)), and of b = a + 2 it
is √w exp(Σₖ cₖ w⁻²ᵏ) with w = b − ¼.

Reference: DLMF, 5.11.13: about this w the expansion has even powers alone.
"""

from __future__ import annotations

import math
from typing import Any, final

import numpy as np

from ... import lax
from ...lax.ground.formulas import ByFormula, Notation
from ...lax.ground.horner import polynomial
from ...lax.ground.single import log_of_single
from ..special._digamma_difference import digamma_difference_p
from ..special._scaled_factorials import log_scaled_factorial
from ._arguments import positive

# The sum, over w⁻², for w ≥ 7/4, by powers of w⁻², highest power first: the polynomial of least
# relative error, 5e-8, by weighted least squares with 40 digits.
_SERIES = (
    -0.0008356344123681726, 0.0012918880371667846, -0.0011849705206987797, 0.0012325021632303519,
    -0.002441198126272899, 0.015624999163651242,
)  # fmt: skip


def _constant_of_single(m: Notation, df: Any) -> Any:
    a = 0.5 * df
    w, product, next_ = a + 1.75, (a + 0.5) * (a + 1.5), a + 1.0
    inverse = 1.0 / (product * product * w * w)
    s = product * product * inverse
    # Its logarithm is twice that of the quotient over √ν.
    square = 0.5 * a * next_ * next_ * w * (w * w * inverse)
    constant = 0.5 * log_of_single(m, square) + s * polynomial(_SERIES, s)
    return m.where(df > 0.0, constant, math.nan)


def _by_scipy(df: Any) -> Any:
    from scipy import special

    return np.where(
        df > 0, math.log(math.pi) / 2 - special.betaln(df / 2, 0.5) - np.log(df) / 2, np.nan
    )


@final
class TConstantOfSingle(ByFormula):
    """The constant with the digits of float32, element by element; NaN where ν is not positive."""

    name = "t_constant"
    formula = _constant_of_single
    of_narrow = _by_scipy

    def d_x(self, t: Any, df: Any, out: Any) -> Any:
        half = lax.full_like(df, 0.5)
        return 0.5 * t * (digamma_difference_p.bind(0.5 * df, half) - 1 / df)


t_constant_of_single_p = TConstantOfSingle()


def log_constant(df: Any) -> Any:
    """The constant less ½ log π, as it stands before the logarithm of 1 + z²/ν."""
    if df.dtype == np.float32:
        return t_constant_of_single_p.bind(df) - 0.5 * math.log(math.pi)
    half = 0.5 * positive(df)
    quotient = log_scaled_factorial(half + 0.5) - log_scaled_factorial(half)
    return quotient + (half - 0.5) * lax.log1p(1 / df) - 0.5 * math.log(2 * math.pi) - 0.5
