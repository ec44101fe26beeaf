"""The inverse of the error function in float32, by polynomials, for the reference engine.

With w = −log(1 − x²), erf⁻¹(x) / x is smooth: one polynomial in w serves |x| < 0.9966, where w < 5,
and one in √w the tails.  XLA uses the same polynomials, and rounds x² before it subtracts: at the
ends of the tails that costs 65 units in the last place, which both engines then share.

This is the twin of ``erf_inv_float32`` in `native/fused_operations.cpp`, step by step.  It takes no
logarithm of NumPy's, whose last bit depends on the processor.

References: Giles, "Approximating the erfinv function", GPU Computing Gems Jade Edition (2011);
Moshier, "Methods and Programs for Mathematical Functions" (1989), for the logarithms.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

Floats = np.ndarray[Any, np.dtype[np.float32]]


def _constants(*values: float) -> tuple[Floats, ...]:
    """Numbers as arrays of rank 0, the scalars that NumPy's functions take fastest."""
    return tuple(np.array(value, np.float32) for value in values)


# Highest power first.
_CENTRE = _constants(
    2.81022636e-08, 3.43273939e-07, -3.5233877e-06, -4.39150654e-06, 0.00021858087,
    -0.00125372503, -0.00417768164, 0.246640727, 1.50140941,
)  # fmt: skip
_TAIL = _constants(
    -0.000200214257, 0.000100950558, 0.00134934322, -0.00367342844, 0.00573950773,
    -0.0076224613, 0.00943887047, 1.00167406, 2.83297682,
)  # fmt: skip
_LOGARITHM = _constants(
    7.0376836292e-2, -1.1514610310e-1, 1.1676998740e-1, -1.2420140846e-1, 1.4249322787e-1,
    -1.6668057665e-1, 2.0000714765e-1, -2.4999993993e-1, 3.3333331174e-1,
)  # fmt: skip
_NUMERATOR = _constants(
    4.5270000862445199635215e-5, 4.9854102823193375972212e-1, 6.5787325942061044846969,
    2.9911919328553073277375e1, 6.0949667980987787057556e1, 5.7112963590585538103336e1,
    2.0039553499201281259648e1,
)  # fmt: skip
_DENOMINATOR = _constants(
    1, 1.5062909083469192043167e1, 8.3047565967967209469434e1, 2.2176239823732856465394e2,
    3.0909872225312059774938e2, 2.1642788614495947685003e2, 6.0118660497603843919306e1,
)  # fmt: skip
_ONE, _CENTRE_OFFSET, _TAIL_OFFSET, _START_OF_TAIL = _constants(1, 2.5, 3, 5)
# log 2 in two parts, of which the first has few digits: its multiples are exact.
_LOG_2, _REST_OF_LOG_2, _MINUS_HALF = _constants(0.693359375, -2.12194440e-4, -0.5)
_NEAR_ZERO, _INFINITY, _NAN = _constants(0.41421356237309504880, np.inf, np.nan)
_LEAST_NORMAL = np.array(np.finfo(np.float32).tiny)
_BITS_OF_ROOT_OF_HALF = np.array(0x3F3504F3, np.int32)


def inverse_erf(x: Floats) -> Floats:
    """erf⁻¹(x), element by element; ±∞ at ±1, NaN outside [−1, 1]."""
    square = x * x
    near_zero = _log1p_near_zero(-square)
    w = -np.where(square < _NEAR_ZERO, near_zero, _logarithm(_ONE - square))
    centre = _polynomial(_CENTRE, w - _CENTRE_OFFSET)
    tail = _polynomial(_TAIL, np.sqrt(w) - _TAIL_OFFSET)
    ratio = np.where(w < _START_OF_TAIL, centre, tail)
    return np.where(w == _INFINITY, _INFINITY, ratio) * x


def _log1p_near_zero(x: Floats) -> Floats:
    """log(1 + x) for |x| < 0.4142."""
    square = x * x
    ratio = _polynomial(_NUMERATOR, x) / _polynomial(_DENOMINATOR, x)
    return x + _fused(_MINUS_HALF, square, x * square * ratio)


def _logarithm(x: Floats) -> Floats:
    """log x, NaN of negative numbers: x = 2ᵉ (1 + m).

    Subnormal numbers count as the least normal one.  The polynomial is taken in three parts.
    """
    bits = np.where(x < _LEAST_NORMAL, _LEAST_NORMAL, x).view(np.int32)
    exponent = (bits - _BITS_OF_ROOT_OF_HALF) >> 23
    e = exponent.astype(np.float32)
    m = (bits - (exponent << 23)).view(np.float32) - _ONE
    square = m * m
    cube = square * m
    first, second, third = [_polynomial(_LOGARITHM[i : i + 3], m) for i in (0, 3, 6)]
    value = _fused(_fused(first, cube, second), cube, third)
    rest = _fused(value, cube, _REST_OF_LOG_2 * e)
    result = _fused(_LOG_2, e, _fused(_MINUS_HALF, square, m) + rest)
    result = np.where(x == _INFINITY, x, result)
    return np.where(x > 0, result, np.where(x == 0, -_INFINITY, _NAN))


def _fused(a: Floats, b: Floats, c: Floats) -> Floats:
    """a b + c with one rounding: a product of two numbers in float32 is exact in float64."""
    return (a.astype(np.float64) * b + c).astype(np.float32)


def _polynomial(coefficients: Sequence[Floats], x: Floats) -> Floats:
    """The value of a polynomial by Horner's rule, with one rounding per step.

    A product of two numbers in float32 is exact in float64.
    """
    value, wide = coefficients[0], x.astype(np.float64)
    for coefficient in coefficients[1:]:
        value = (value * wide + coefficient).astype(np.float32)
    return value
