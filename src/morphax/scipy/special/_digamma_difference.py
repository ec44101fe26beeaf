"""ψ(z + n) − ψ(z), the derivative of a logarithm of Γ(z + n) / Γ(z), with all its digits.

Of the two terms next to nothing is left where n is small beside z.  Each of their parts is
subtracted by itself, with n as a factor: of ψ(z) = ψ(z + 10) − Σₖ 1 / (z + k) the fractions; of
Stirling's series, in p = 1/z and q = 1/(z + n), the divided differences.

Reference: DLMF, 5.5.2, 5.5.4 and 5.11.2.
"""

from __future__ import annotations

import math
from typing import Any, final

from ... import lax
from ...lax.ground.formulas import ByFormula, Notation
from ...lax.ground.log_gamma import sine_of_half_turns

_STEPS = 10
# −B₂ₖ / 2k, highest power of 1/z² first.
_SERIES = (-1 / 12, 691 / 32760, -1 / 132, 1 / 240, -1 / 252, 1 / 120, -1 / 12)


def _difference_far_out(m: Notation, z: Any, n: Any) -> Any:
    """ψ(z + n) − ψ(z) for z and z + n from 10 on, by log(1 + n/z) and series."""
    p, q = 1.0 / z, 1.0 / (z + n)
    value: Any = _SERIES[0]
    divided: Any = 0.0
    for coefficient in _SERIES[1:]:
        divided = divided * q * q + value
        value = value * p * p + coefficient
    # The last coefficient belongs to 1/z², not to 1: (p² f(p²) − q² f(q²)) / (p² − q²).
    divided = divided * q * q + value
    return m.log1p(n * p) + n * p * q * (0.5 - (p + q) * divided)


def _difference_of_positive(m: Notation, z: Any, n: Any) -> Any:
    """ψ(z + n) − ψ(z) for positive z and z + n."""
    end = z + n
    fractions: Any = 0.0
    for k in reversed(range(1, _STEPS)):
        fractions = fractions + n / ((z + float(k)) * (end + float(k)))
    # The first may be as large as numbers are.
    fractions = fractions + m.where(abs(n) < 0.5 * z, n / z / end, 1.0 / z - 1.0 / end)
    return fractions + _difference_far_out(m, z + float(_STEPS), n)


def _digamma_difference(m: Notation, z: Any, n: Any) -> Any:
    """As above, and for negative z by ψ(1 − z) = ψ(z) + π cot πz."""
    end = z + n
    is_right = (z > 0.0) & (end > 0.0)
    is_left = (z < 0.0) & (end < 0.0) & (z != m.floor(z)) & (end != m.floor(end))
    is_known = (is_right | is_left) & (abs(z) < math.inf) & (abs(end) < math.inf)
    start = m.where(is_known, m.where(is_left, 1.0 - z, z), 1.0)
    step = m.where(is_known, m.where(is_left, -n, n), 0.0)
    value = _difference_of_positive(m, start, step)
    sines = m.where(is_left, sine_of_half_turns(m, z) * sine_of_half_turns(m, end), 1.0)
    turned = math.pi * sine_of_half_turns(m, m.where(is_left, n, 0.0)) / sines
    return m.where(is_known, value + turned, _digamma(m, end) - _digamma(m, z))


def _digamma(m: Notation, x: Any) -> Any:
    """ψ(x), at ±0 the limit from the side of its sign."""
    return m.where(x == 0.0, -1.0 / x, m.digamma(x))


@final
class DigammaDifference(ByFormula):
    """ψ(z + n) − ψ(z), element by element."""

    name = "digamma_difference"
    formula = _digamma_difference

    def d_x(self, t: Any, z: Any, n: Any, out: Any) -> Any:
        return t * (_trigamma(z + n) - _trigamma(z))

    def d_y(self, t: Any, z: Any, n: Any, out: Any) -> Any:
        return t * _trigamma(z + n)


def _trigamma(x: Any) -> Any:
    return lax.polygamma(lax.full_like(x, 1), x)


digamma_difference_p = DigammaDifference()
