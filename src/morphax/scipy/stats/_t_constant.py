"""The constant of the logarithm of Student's density.

It is C(ν) = log Γ((ν + 1)/2) − log Γ(ν/2) − ½ log ν, less ½ log π.  For float64 it is made of
scaled factorials.  For float32 it is one logarithm: with a = ν/2, the quotient Γ(a + ½) / Γ(a) is
that of a + 2 times a (a + 1) / ((a + ½) (a + 3/2)), and of b = a + 2 it is √w exp(Σₖ cₖ w⁻²ᵏ) with
w = b − ¼.

Its slope C′(ν) = ½ (ψ((ν + 1)/2) − ψ(ν/2) − 1/ν) is ¼ ν⁻² for large ν, of which differences leave
no digit.  It is C′(ν + 2) and 1 / (ν (ν + 1) (ν + 2)), so it is a sum of few positive numbers and a
series in (ν + 2k)⁻².

Reference: DLMF, 5.11.13: about this w the expansion has even powers alone.
"""

from __future__ import annotations

import math
from typing import Any, final

import numpy as np

from ... import lax
from ... import numpy as jnp
from ...control.custom.custom_jvp import custom_jvp
from ...core import aval_of, not_differentiable
from ...lax.ground.formulas import ByFormula, Notation
from ...lax.ground.horner import polynomial
from ...lax.ground.single import log_of_single
from ...util.scipy_libraries import special_functions
from ..special._scaled_factorials import log_scaled_factorial
from ._arguments import positive

# The sum, over w⁻², for w ≥ 7/4, by powers of w⁻², highest power first: the polynomial of least
# relative error, 5e-8, by weighted least squares with 40 digits.
_SERIES = (
    -0.0008356344123681726, 0.0012918880371667846, -0.0011849705206987797, 0.0012325021632303519,
    -0.002441198126272899, 0.015624999163651242,
)  # fmt: skip

# C′(w) w² over w⁻², for w ≥ 4 and for w ≥ 10, by powers of w⁻², highest power first: by weighted
# least squares with 60 digits, of relative errors 1.5e-8 and 1.3e-17.
_SLOPE_OF_SINGLE = (
    -14.846639711677243, 4.804305721779719, -0.9887479589299851, 0.24906296823698212,
    -0.12499539735480594, 0.24999999622272429,
)  # fmt: skip
_SLOPE = (
    -5602261.985636521, 488794.84763294726, -26067.035292903092, 1346.438759241964,
    -86.29831275872426, 7.749805075537149, -1.0624997112884798, 0.24999999978081122,
    -0.12499999999993504, 0.25,
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
    log_beta = special_functions().betaln(df / 2, 0.5)
    return np.where(df > 0, math.log(math.pi) / 2 - log_beta - np.log(df) / 2, np.nan)


@final
class TConstantOfSingle(ByFormula):
    """The constant with the digits of float32, element by element; NaN where ν is not positive."""

    name = "t_constant"
    formula = _constant_of_single
    of_narrow = _by_scipy

    d_x = not_differentiable("`log_constant`, which applies it, has a slope of its own")


t_constant_of_single_p = TConstantOfSingle()


@custom_jvp
def log_constant(df: Any) -> Any:
    """The constant less ½ log π, as it stands before the logarithm of 1 + z²/ν."""
    is_normal = df == np.inf
    constant = _constant_less_half_log_pi(jnp.where(is_normal, 1, df))
    return jnp.where(is_normal, -0.5 * math.log(2 * math.pi), constant)


def _constant_less_half_log_pi(df: Any) -> Any:
    if df.dtype == np.float32:
        return t_constant_of_single_p.bind(df) - 0.5 * math.log(math.pi)
    half = 0.5 * positive(df)
    quotient = log_scaled_factorial(half + 0.5) - log_scaled_factorial(half)
    return quotient + (half - 0.5) * lax.log1p(1 / df) - 0.5 * math.log(2 * math.pi) - 0.5


def slope_of_constant(df: Any) -> Any:
    """C′(ν) of positive numbers, where nothing cancels."""
    steps, series = (2, _SLOPE_OF_SINGLE) if aval_of(df).dtype == np.float32 else (5, _SLOPE)
    inverse = 1 / (df + 2 * steps)
    square = inverse * inverse
    slope = square * polynomial(series, square)
    for k in reversed(range(steps)):
        # The product of the three may be beyond the largest number.
        slope = slope + 1 / (df + 2 * k) / (df + (2 * k + 1)) / (df + (2 * k + 2))
    return slope


log_constant.defjvps(lambda t, out, df: t * slope_of_constant(df))
