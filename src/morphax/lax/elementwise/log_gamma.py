"""log |Γ(x)| with the digits of float32, as a formula of compiled programs.

- On [1/2, 10] it is (x − 1) (x − 2) times a quotient of polynomials, so that the zeros at 1 and 2
  keep their digits; from there on Stirling's series.
- From 0 to 1/2 it is log Γ(1 + x) − log x.
- On the left, log Γ(1 + |x|) is subtracted from log |π / sin πx|.

All ways are short, and there is no branch: many numbers are computed together.  Logarithms need no
more digits than the result has; the rest is float64, where nothing is rounded that counts.

Reference: DLMF, 5.5 and 5.11.
"""

from __future__ import annotations

import math
from typing import Any

from ..ground.formulas import Notation
from ..ground.horner import polynomial
from ..ground.single import log_of_single
from .gamma_parts import START_OF_STIRLING

# log Γ(x) / ((x − 1) (x − 2)) on [1/2, 10], highest power first: the quotient of least relative
# error, 3e-9, by weighted least squares with 40 digits.
_NUMERATOR = (
    4.963229485437501, 268.85156958929224, 2440.0385868323187, 5365.750282397483,
    2845.0660698417228, 262.17132839962784,
)  # fmt: skip
_DENOMINATOR = (
    1.0, 100.30824210463828, 1613.9263574976521, 6795.106921249398, 8243.09913783683,
    2508.4797821459692, 118.77515403517206,
)  # fmt: skip

# (sin πr) / πr by powers of r², for |r| ≤ 1/2, off by 2e-11.
_SINE = tuple(
    x / math.pi
    for x in (
        -0.0070221617573680995, 0.08204647761958096, -0.5992513298055618, 2.5501632402849865,
        -5.167712762114355, 3.141592653523328,
    )
)  # fmt: skip


def _right(m: Notation, y: Any) -> Any:
    """log Γ(y) for y ≥ 1/2."""
    is_far = y > START_OF_STIRLING
    near, far = m.where(is_far, 1.0, y), m.where(is_far, y, START_OF_STIRLING)
    # A quotient for both ways, since it takes as long as half of a polynomial.
    above = m.where(is_far, 1.0, polynomial(_NUMERATOR, near))
    quotient = above / m.where(is_far, y, polynomial(_DENOMINATOR, near))
    correction = quotient * (1 / 12 - quotient * quotient * (1 / 360))
    stirling = (
        (far - 0.5) * log_of_single(m, far) - far + (0.5 * math.log(2 * math.pi) + correction)
    )
    # (x − 1) (x − 2), which is +0 at both zeros.
    return m.where(is_far, stirling, (near * (near - 3.0) + 2.0) * quotient)


def log_gamma_of_single(m: Notation, x: Any) -> Any:
    """log |Γ(x)| for the numbers of float32: ∞ at ±∞ and at the poles."""
    is_left, is_small = x < 0.0, x < 0.5
    value = _right(m, m.where(is_left, 1.0 - x, m.where(is_small, 1.0 + x, x)))
    r = x - m.floor(x + 0.5)
    sine = abs(r * polynomial(_SINE, r * r))
    log = log_of_single(m, m.where(is_left, sine, m.where(is_small, x, 1.0)))
    value = m.where(is_left, -value, value) - log
    return m.where(abs(x) == math.inf, math.inf, value)
