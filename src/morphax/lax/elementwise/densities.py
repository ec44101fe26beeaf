"""The gamma and the beta density with the digits of float32, as formulas of compiled programs.

With A = a + 1, the gamma density is a/A (x/A)^(a−1) e^(A−x) / (√(2πA) Γ*(A)), and with B = b + 1
and S = A + B the beta density (xS/A)^(a−1) ((1−x)S/B)^(b−1) times what follows from a and b alone.
So powers are those of quotients that are 1 about the mean, where a is large.  The exponent is
summed in float64, and its power taken in float32.

Reference: Loader, "Fast and accurate computation of binomial probabilities" (2000), for powers of
quotients.
"""

from __future__ import annotations

import math
from typing import Any

from ..ground.formulas import Notation
from ..ground.horner import polynomial
from ..ground.single import exp_of_single, log_of_quotient
from .gamma_parts import SCALED_GAMMA_OF_SINGLE

# Exponents below this have no power in float32, with a factor of 10³⁰ and more before it.
_LEAST = -200.0
_ROOT = math.sqrt(2 * math.pi)


def gamma_density_of_single(m: Notation, a: Any, x: Any) -> Any:
    """x^(a−1) e⁻ˣ / Γ(a); at x = 0 its limit."""
    is_regular = (a > 0.0) & (a < math.inf)
    inner = m.where(is_regular, a, 1.0)
    following, power = inner + 1.0, inner - 1.0
    inverse = 1.0 / following
    front = (
        inner * inverse * m.sqrt(inverse) / (_ROOT * polynomial(SCALED_GAMMA_OF_SINGLE, inverse))
    )
    is_inside = (x > 0.0) & (x < math.inf)
    place = m.where(is_inside, x, 1.0)
    distance = place - following
    log = log_of_quotient(m, place * inverse, distance * inverse)
    exponent = power * log - distance
    value = front * exp_of_single(m, m.where(exponent > _LEAST, exponent, _LEAST))
    # All of the distribution is at 0 for a = 0, and at ∞ for a = ∞.
    at_zero = m.where(a < 1.0, math.inf, m.where(a == 1.0, 1.0, 0.0))
    end = m.where(x == 0.0, at_zero, m.where(x > 0.0, 0.0, math.nan))
    limit = m.where(a == 0.0, m.where(x == 0.0, math.inf, 0.0), 0.0)
    is_defined = (a >= 0.0) & (x >= 0.0) & ((a < math.inf) | (x < math.inf))
    value = m.where(is_inside, value, end)
    return m.where(is_regular, value, m.where(is_defined, limit, math.nan))


def beta_density_of_single(m: Notation, a: Any, b: Any, x: Any) -> Any:
    """x^(a−1) (1−x)^(b−1) / B(a, b), also at the ends of the ranges."""
    is_regular = (a > 0.0) & (b > 0.0) & (a < math.inf) & (b < math.inf)
    inner_a, inner_b = m.where(is_regular, a, 1.0), m.where(is_regular, b, 1.0)
    next_a, next_b = inner_a + 1.0, inner_b + 1.0
    sum_, total = inner_a + inner_b, next_a + next_b
    inverse_a, inverse_b, inverse = 1.0 / next_a, 1.0 / next_b, 1.0 / total
    # The quotient of gamma functions, and the squares of A/S and B/S that powers have too few of.
    gammas = polynomial(SCALED_GAMMA_OF_SINGLE, inverse) / (
        polynomial(SCALED_GAMMA_OF_SINGLE, inverse_a)
        * polynomial(SCALED_GAMMA_OF_SINGLE, inverse_b)
    )
    shares = (inner_a * inverse_a) * (inner_b * inverse_b) * (total / sum_) * (total / (sum_ + 1.0))
    front = shares * total * m.sqrt(total * inverse_a * inverse_b)
    is_inside = (x > 0.0) & (x < 1.0)
    place = m.where(is_inside, x, 0.5)
    rest = 1.0 - place
    distance = place * total - next_a
    below = log_of_quotient(m, place * total * inverse_a, distance * inverse_a)
    above = log_of_quotient(m, rest * total * inverse_b, -distance * inverse_b)
    exponent = (inner_a - 1.0) * below + (inner_b - 1.0) * above
    power = exp_of_single(m, m.where(exponent > _LEAST, exponent, _LEAST))
    value = front * gammas / _ROOT * power
    # At 0 it is 0, b or ∞ as a is above, at or below 1; at 1 likewise.
    own, other = m.where(x == 0.0, a, b), m.where(x == 0.0, b, a)
    end = m.where(own > 1.0, 0.0, m.where(own < 1.0, math.inf, other))
    is_defined = is_regular & (x >= 0.0) & (x <= 1.0)
    return m.where(is_regular & is_inside, value, m.where(is_defined, end, math.nan))
