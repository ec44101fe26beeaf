"""ψ of float32, as a formula of compiled programs, with all digits next to its root.

To 10 it is the distance from its root, of which more digits are known than a float has, times a
quotient of polynomials; beyond it is the asymptotic series.  Numbers on the left are reflected,
ψ(x) = ψ(1 − x) − π cot πx, where the cotangent is its poles times a polynomial.  All ways are
short, so there is no branch: many numbers are computed together.

Reference: DLMF, 5.5 and 5.11.
"""

from __future__ import annotations

import math
from typing import Any

from ..ground.formulas import Notation
from ..ground.horner import polynomial
from ..ground.log_gamma import OF_DIGAMMA, REST_OF_ROOT, ROOT
from ..ground.single import log_of_quotient

_START_OF_SERIES = 10.0
# Both by weighted least squares with 70 digits, highest power first.  The relative error of P/Q on
# [1/2, 10] is 2e-14, that of π p cot πp (1 − p²) by powers of p² for |p| ≤ 1/2 is 9e-16.
_P = (
    326.10148754144683, 59624.29753426392, 2358486.978130387, 32633091.724674582,
    188327633.6630393, 475623959.0815419, 489566709.55729955, 148017849.84554735,
)  # fmt: skip
_Q = (
    47.50381703907955, 12777.777570199036, 674161.5724975268, 12134095.520921241,
    91124814.0359007, 305982107.4288925, 442669429.68843114, 216347633.58381093, 1.0,
)  # fmt: skip
_COTANGENT = (
    0.00012260647627509687, 0.0003544758362122021, 0.0015009297308588678, 0.006164969549690166,
    0.026531463486866164, 0.1299603409061048, 1.1252216663366807, -4.289868133697043,
    1.0000000000000009,
)  # fmt: skip
# Terms of the series for 12 digits.
_TERMS = 4


def digamma_of_single(m: Notation, x: Any) -> Any:
    """ψ(x): NaN at the poles 0, −1, −2 and so on, and at −∞."""
    is_left = x < 0.5
    z = m.where(is_left, 1.0 - x, x)
    is_low = z < _START_OF_SERIES
    low, high = m.where(is_low, z, 1.0), m.where(is_low, _START_OF_SERIES, z)
    distance = (low - ROOT) - REST_OF_ROOT
    near = distance * (polynomial(_P, low) / polynomial(_Q, low))
    inverse = 1.0 / high
    square = inverse * inverse
    log = log_of_quotient(m, high, high - 1.0)
    far = log - 0.5 * inverse - square * polynomial(OF_DIGAMMA[-_TERMS:], square)
    right = m.where(is_low, near, far)
    # Of what x is past a whole number the cotangent is exact enough next to the poles.
    past = m.where(is_left, x - m.floor(x + 0.5), 0.25)
    area = past * past
    cotangent = polynomial(_COTANGENT, area) / (past * (1.0 - area))
    value = right - m.where(is_left, cotangent, 0.0)
    value = m.where(x == math.inf, math.inf, value)
    return m.where((is_left & (past == 0.0)) | (x == -math.inf), math.nan, value)
