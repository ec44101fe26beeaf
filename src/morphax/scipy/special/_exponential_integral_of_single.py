"""Ei of float32, as a formula of compiled programs.

From −1 to 12 it is log(|x|/z) + (x − z) R(x), where z is its zero and R is entire: both terms are 0
at z and have the same sign beside it, so that the zero costs no digits.  Beyond, on both sides, it
is eˣ/x times a function of 1/x.  All ways are short, so there is no branch: many numbers are
computed together.

Reference: DLMF, 6.2, 6.6 and 6.12.
"""

from __future__ import annotations

import math
from typing import Any

from ...lax.ground.formulas import Notation
from ...lax.ground.horner import polynomial
from ...lax.ground.single import log_of_quotient

ZERO, REST_OF_ZERO = 0.3725074107813666, 1.3140183414386028e-17
"""The zero of Ei in two parts."""

_END_BELOW, _START_ABOVE = -1.0, 12.0
# Beyond, on both sides, there is 0 or ∞ in float32.
_MOST = 200.0
# Quotients by weighted least squares with 45 digits, highest power first; the relative errors are
# 3e-11 of R, and 4e-10 on both sides.
_INNER = (
    (
        3.544088290685023e-10, 1.197335870101314e-08, 3.0071935744354743e-07, 4.610716393938463e-06,
        0.00011137906825337773, -4.0543469670222013e-05, 0.02334037167606859, -0.09598356077029191,
        1.1014081059061187,
    ),
    (
        -1.1865011224751295e-09, 1.4114584872000788e-07, -7.4392402304223276e-06,
        0.00022539527201245516, -0.004242648474300233, 0.049637398098701914, -0.3343126572389797,
        1.0,
    ),
)  # fmt: skip
_ABOVE = (
    (
        -12432.264666570523, -22673.777613708582, 21851.81354932701, -5609.670894681518,
        675.4069858141771, -39.77463480766228, 0.9999999988257717,
    ),
    (
        -40564.11803964403, 26894.463178500737, -6248.337526949605, 714.1819158459281,
        -40.77463591797529, 1.0,
    ),
)  # fmt: skip
_BELOW = (
    (
        0.3415642625957518, 16.65253328045522, 54.92413977706188, 46.17964130738095,
        12.585526039376635, 0.9999999995415507,
    ),
    (
        6.73058178423242, 50.219371443546, 91.51592031686273, 57.76521359929716,
        13.585525674403891, 1.0,
    ),
)  # fmt: skip


def expi_of_single(m: Notation, x: Any) -> Any:
    """Ei(x): −∞ at 0."""
    is_inner = (x >= _END_BELOW) & (x <= _START_ABOVE)
    inner = m.where(is_inner & (x != 0.0), x, 1.0)
    size = abs(inner)
    past = (size - ZERO) - REST_OF_ZERO
    log = log_of_quotient(m, size * (1 / ZERO), past * (1 / ZERO))
    near = log + ((inner - ZERO) - REST_OF_ZERO) * _quotient(_INNER, inner)
    outer = m.where(is_inner, _START_ABOVE, x)
    outer = m.where(outer > _MOST, _MOST, m.where(outer < -_MOST, -_MOST, outer))
    inverse = 1.0 / outer
    share = m.where(outer > 0.0, _quotient(_ABOVE, inverse), _quotient(_BELOW, -inverse))
    return m.where(x == 0.0, -math.inf, m.where(is_inner, near, m.exp(outer) * inverse * share))


def exp1_of_single(m: Notation, x: Any) -> Any:
    """E₁(x) = −Ei(−x): ∞ at 0, NaN below."""
    return m.where(x < 0.0, math.nan, -expi_of_single(m, -x))


def _quotient(coefficients: tuple[tuple[float, ...], tuple[float, ...]], x: Any) -> Any:
    above, below = coefficients
    return polynomial(above, x) / polynomial(below, x)
