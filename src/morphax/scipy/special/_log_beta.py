"""log |B(a, b)|, where neither log Γ(a), log Γ(b) and log Γ(a + b) nor their errors cancel.

In float64 it is the sum of the three, and where one of a and b is large Stirling's formula takes
the place of the two that nearly cancel.

For float32 and positive a and b, with A = a + 1, B = b + 1 and S = A + B, it is
A log(A/S) + B log(B/S) + log((s + 1) s / (a b)) + ½ log(2π S / (A B)) + log Γ*(A) Γ*(B) / Γ*(S) for
s = a + b, of which the last three are one logarithm, and the greater of A and B stands under a
logarithm of 1 − A/S.  There is no branch, and logarithms have the digits of the result.

References: DLMF, 5.11 and 5.12.  Didonato & Morris, "Algorithm 708", ACM TOMS 18 (1992).
"""

from __future__ import annotations

import math
from typing import Any, final

import numpy as np

from ... import lax
from ... import numpy as jnp
from ...control.custom.custom_jvp import custom_jvp
from ...lax.elementwise.gamma_parts import (
    SCALED_GAMMA_OF_SINGLE,
    START_OF_STIRLING,
    STIRLING,
)
from ...lax.ground.formulas import ByFormula, Notation
from ...lax.ground.horner import polynomial
from ...lax.ground.single import log1p_of_single, log_of_single
from ._digamma_difference import digamma_difference_p

# Beyond this a quotient of sums and factors is scaled, so that it has a logarithm in float32.
_LARGE = 1e38


def _log_beta_of_single(m: Notation, a: Any, b: Any) -> Any:
    """log B(a, b) of positive numbers of float32; ∞ where one is 0, NaN of negative ones."""
    s = a + b
    next_a, next_b, next_s = a + 1.0, b + 1.0, s + 2.0
    inverse = 1.0 / (next_a * next_b * next_s)
    inverse_s = inverse * next_a * next_b
    inverse_a, inverse_b = inverse * next_b * next_s, inverse * next_a * next_s
    least = m.where(a < b, next_a, next_b)
    part = least * inverse_s
    powers = least * log_of_single(m, part) + (next_s - least) * log1p_of_single(m, -part)
    above = (
        polynomial(SCALED_GAMMA_OF_SINGLE, inverse_a)
        * polynomial(SCALED_GAMMA_OF_SINGLE, inverse_b)
        * (s + 1.0)
    )
    below = polynomial(SCALED_GAMMA_OF_SINGLE, inverse_s) * a * b
    quotient = abs(above * s / below) * m.sqrt(next_s * inverse_a * inverse_b)
    is_large = quotient > _LARGE
    quotient = quotient * m.where(is_large, 1 / _LARGE, 1.0)
    powers = powers + m.where(is_large, math.log(_LARGE * math.sqrt(2 * math.pi)), _LOG_OF_ROOT)
    value = powers + log_of_single(m, quotient)
    return m.where((a >= 0.0) & (b >= 0.0), value, math.nan)


_LOG_OF_ROOT = 0.5 * math.log(2 * math.pi)


def _by_scipy(a: Any, b: Any) -> Any:
    from scipy import special

    is_known = (a >= 0) & (b >= 0) & (0 < a + b) & (a + b < math.inf)
    return np.where(is_known, special.betaln(a, b), np.nan)


@final
class LogBetaOfSingle(ByFormula):
    """log B(a, b) of positive numbers with the digits of float32, element by element."""

    name = "log_beta"
    formula = _log_beta_of_single
    of_narrow = _by_scipy

    def d_x(self, t: Any, a: Any, b: Any, out: Any) -> Any:
        return -t * digamma_difference_p.bind(a, b)

    def d_y(self, t: Any, a: Any, b: Any, out: Any) -> Any:
        return -t * digamma_difference_p.bind(b, a)


log_beta_of_single_p = LogBetaOfSingle()


def log_beta_of_positive(a: Any, b: Any, total: Any) -> Any:
    """log B(a, b) of positive numbers for `total` = a + b; one may be of a smaller shape."""
    if a.dtype == np.float32:
        return log_beta_of_single_p.bind(*jnp.broadcast_arrays(a, b))
    return log_beta(a, b, total)


@custom_jvp
def log_beta(a: Any, b: Any, total: Any) -> Any:
    """log |B(a, b)| for `total` = a + b, where one of the three may be of a smaller shape."""
    of_a, of_b = lax.lgamma(a), lax.lgamma(b)
    near = of_a + of_b - lax.lgamma(total)
    large = jnp.where(a < b, b, a)
    remote = (large >= START_OF_STIRLING) & (total >= START_OF_STIRLING)
    small = jnp.where(remote, jnp.where(a < b, a, b), 1)
    large = jnp.where(remote, large, START_OF_STIRLING)
    sum_ = jnp.where(remote, total, START_OF_STIRLING + 1)
    far = jnp.where(a < b, of_a, of_b) + _difference_by_stirling(small, large, sum_)
    return jnp.where(remote, far, near)


# The terms of Stirling's formula, and the digammas, nearly cancel; the sum moves with both.
log_beta.defjvps(
    lambda t, out, a, b, total: -t * digamma_difference_p.bind(*jnp.broadcast_arrays(a, b)),
    lambda t, out, a, b, total: -t * digamma_difference_p.bind(*jnp.broadcast_arrays(b, a)),
    None,
)


def _difference_by_stirling(a: Any, b: Any, total: Any) -> Any:
    """log Γ(b) − log Γ(a + b) for large b and `total` = a + b, where the two nearly cancel.

    By log Γ(x) = (x − ½) log x − x + ½ log 2π + Δ(x), in their difference only that of the
    corrections Δ is left, and a log b + (a + b − ½) log(1 + a/b) − a.
    """
    quotient = (total - 0.5) * lax.log1p(a / b) + a * (lax.log(b) - 1)
    return _correction(b) - _correction(total) - quotient


def _correction(x: Any) -> Any:
    """Stirling's series Σₖ B₂ₖ / (2k (2k − 1) x²ᵏ⁻¹), good to the last digit for x ≥ 10."""
    inverse = 1 / x
    return polynomial(STIRLING, inverse * inverse) * inverse
