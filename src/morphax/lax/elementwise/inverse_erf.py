"""The inverse of the error function in float32, by polynomials, for the reference engine.

With w = −log(1 − x²), erf⁻¹(x) / x is smooth: one polynomial in w serves |x| < 0.9966, where w < 5,
and one in √w the tails.  The relative error is below 3 · 10⁻⁷.  XLA uses the same polynomials, so
the engines agree, and they are several times faster than a function good to twice the digits.

Reference: Giles, "Approximating the erfinv function", GPU Computing Gems Jade Edition (2011).
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
_ONE, _CENTRE_OFFSET, _TAIL_OFFSET, _START_OF_TAIL = _constants(1, 2.5, 3, 5)

# Numbers computed together: few enough for the intermediate results to stay in the cache.
_BLOCK = 1 << 15


def inverse_erf(x: Floats) -> Floats:
    """erf⁻¹(x), element by element; ±∞ at ±1, NaN outside [−1, 1]."""
    out = np.empty(x.size, np.float32)
    flat = x.reshape(-1)
    for start in range(0, x.size, _BLOCK):
        part = slice(start, start + _BLOCK)
        _write_block(flat[part], out[part])
    return out.reshape(x.shape)


def _write_block(x: Floats, out: Floats) -> None:
    w = np.subtract(_ONE, x)
    np.multiply(w, np.add(_ONE, x), w)
    np.negative(np.log(w, w), w)
    np.multiply(_polynomial(_CENTRE, np.subtract(w, _CENTRE_OFFSET)), x, out)
    (tail,) = np.nonzero(np.greater_equal(w, _START_OF_TAIL))
    if tail.size:
        ratio = _polynomial(_TAIL, np.sqrt(w[tail]) - _TAIL_OFFSET)
        out[tail] = np.where(np.isinf(w[tail]), np.inf, ratio) * x[tail]


def _polynomial(coefficients: Sequence[Floats], x: Floats) -> Floats:
    """The value of a polynomial at each number, by Horner's rule."""
    value = np.multiply(coefficients[0], x)
    np.add(value, coefficients[1], value)
    for coefficient in coefficients[2:]:
        np.multiply(value, x, value)
        np.add(value, coefficient, value)
    return value
