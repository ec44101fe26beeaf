"""What Si and Ci of float32 have beyond 4, as formulas of compiled programs.

The two functions that do not oscillate are quotients of one denominator, and x is reduced by half
turns in two parts, so that sine and cosine are two short polynomials.  The numerators next to the
zeros of Ci are needed to 16 digits: there its two terms cancel but for what x is off the zero.

Reference: DLMF, 6.2 and 6.12.
"""

from __future__ import annotations

import math
from typing import Any

from ...lax.ground.formulas import Notation
from ...lax.ground.horner import polynomial

END = 1e6
"""Where half turns are no longer counted exactly."""

# π in two parts: multiples of the first one are exact.
_PI, _REST_OF_PI = 3.1415926534682512, 1.2154201013012384e-10
# x f and x² g of Si and Ci, and what both are divided by, in 1/x² up to 1/16, by weighted least
# squares with 70 digits, highest power first.  The errors are 2e-9, and 1e-15 with all digits.
_OF_SINGLE = (
    (
        346528.50013684016, 737970.5472016643, 178013.2059148794, 10865.009090699032,
        201.83215027917123, 1.0000000012388333,
    ),
    (
        66046.77806722802, 463229.06212427357, 148291.62855829694, 10145.645499257314,
        197.83217245079416, 0.9999999984245089,
    ),
    (
        854392.2197388404, 967684.5759372372, 196337.80271766594, 11248.672530298463,
        203.8321540900214, 1.0,
    ),
)  # fmt: skip
_OF_ALL_DIGITS = (
    (
        6223056399301.353, 53632213796990.81, 54387404429648.66, 16229686730426.01,
        1933088394572.022, 106120582187.87964, 2884835688.296612, 39870548.719670326,
        275675.7520236454, 879.4999978099885, 0.9999999999999994,
    ),
    (
        622848866444.948, 23513000773338.375, 34773204970567.816, 12524219909591.148,
        1660940320592.8425, 97210755003.74683, 2746362209.2555313, 38841193.71417626,
        272245.75203175074, 875.4999978100456, 0.9999999999999986,
    ),
    (
        25100911389808.203, 94567923473706.28, 72446097540133.97, 18943369212103.35,
        2105160442631.8345, 111237852610.0981, 2959581978.8486667, 40404942.22368913,
        277414.7520193004, 881.4999978099776, 1.0,
    ),
)  # fmt: skip
# sin r / r and cos r in r² up to a quarter turn, to 17 digits.
_SINE = (
    -7.374383749700106e-13, 1.60481683248457e-10, -2.505188195822435e-08, 2.755731660940936e-06,
    -0.00019841269824864456, 0.008333333333282745, -0.16666666666666072, 0.9999999999999999,
)  # fmt: skip
_COSINE = (
    4.608968309326287e-14, -1.1462901250487855e-11, 2.087656182211299e-09, -2.755731639082689e-07,
    2.4801587277414628e-05, -0.0013888888888773, 0.04166666666666388, -0.4999999999999997, 1.0,
)  # fmt: skip


def si_far(m: Notation, x: Any) -> Any:
    """f cos x + g sin x for 4 ≤ x ≤ `END`, to 9 digits."""
    f, g = _auxiliary(x, _OF_SINGLE)
    sine, cosine = _sine_and_cosine(m, x)
    return f * cosine + g * sine


def ci_far(m: Notation, x: Any) -> Any:
    """f sin x − g cos x for 4 ≤ x ≤ `END`, with all digits of float32 next to its zeros."""
    f, g = _auxiliary(x, _OF_ALL_DIGITS)
    sine, cosine = _sine_and_cosine(m, x)
    return f * sine - g * cosine


def _auxiliary(x: Any, tables: tuple[tuple[float, ...], ...]) -> tuple[Any, Any]:
    inverse = 1.0 / x
    square = inverse * inverse
    f, g, divisor = [polynomial(coefficients, square) for coefficients in tables]
    scale = inverse / divisor
    return f * scale, g * (scale * inverse)


def _sine_and_cosine(m: Notation, x: Any) -> tuple[Any, Any]:
    turns = m.floor(x * (1 / math.pi) + 0.5)
    rest = (x - turns * _PI) - turns * _REST_OF_PI
    square = rest * rest
    sign = 1.0 - 2.0 * (turns - 2.0 * m.floor(0.5 * turns))
    return sign * rest * polynomial(_SINE, square), sign * polynomial(_COSINE, square)
