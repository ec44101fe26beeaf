"""Γ(x) of real numbers, with all its digits.

The exponential of log Γ loses what the logarithm is large: five bits of Γ(31).  So Γ is a product:

- below 24, of the factors x − 1, x − 2, … that are at least 1, and of 1/Γ(1 + u) on [0, 1), an
  entire function that a short polynomial meets.  Its value at 0 is 1, so factorials come out exact;
- from there on, √(2π) xˣ⁻½ e⁻ˣ Γ*(x), where xˣ⁻½ is the square of what is in range wherever Γ is;
- on the left, by Γ(−y) = −π / (sin πy Γ(1 + y)).

Reference: DLMF, 5.5, 5.7 and 5.11.
"""

from __future__ import annotations

import math
from typing import Any, final

import numpy as np

from ... import lax
from ...lax.elementwise.gamma_parts import STIRLING
from ...lax.ground.formulas import ByFormula, Notation
from ...lax.ground.horner import polynomial
from ...lax.ground.log_gamma import sine_of_half_turns
from ...util.scipy_libraries import special_functions

# From here on the factorials have more digits than float64, and Stirling's series is exact.
_START_OF_STIRLING = 24

# (1/Γ(1 + u) − 1) / u on [0, 1], by interpolation in Chebyshev's points with 60 digits.
_RECIPROCAL = (
    1.7200070946431934e-08, -2.1896988906648608e-07, 1.1389962411508655e-06,
    -1.2436534652553382e-06, -2.0149457390763776e-05, 0.000128063513304448, -0.00021524914822683067,
    -0.0011651647525430678, 0.007218942511576732, -0.009621971400288845, -0.042197734569778066,
    0.16653861138323703, -0.042002635034127836, -0.6558780715202535, 0.5772156649015329,
)  # fmt: skip


def _product_below(m: Notation, y: Any) -> Any:
    """Γ(y) for 1 ≤ y < 24."""
    product: Any = 1.0
    for k in range(1, _START_OF_STIRLING - 1):
        product = m.where(y >= k + 1.0, product * (y - float(k)), product)
    u = y - m.floor(y)
    return product / (1.0 + u * polynomial(_RECIPROCAL, u))


def _below(m: Notation, y: Any) -> Any:
    """Γ(1 + y) for y < 1, where 1 + y would be rounded, and Γ(y) up to 24."""
    is_below_one = y < 1.0
    near = 1.0 / (1.0 + y * polynomial(_RECIPROCAL, y))
    return m.where(is_below_one, near, _product_below(m, m.where(is_below_one, 1.0, y)))


def _beyond(m: Notation, y: Any) -> tuple[Any, Any]:
    """Two factors of Γ(y) for y ≥ 24: their product may be beyond the largest number."""
    inverse = 1.0 / y
    root = m.power(y, 0.5 * y - 0.25)
    front = root * m.exp(-y) * math.sqrt(2 * math.pi)
    front = front * m.exp(inverse * polynomial(STIRLING, inverse * inverse))
    # Where the root is infinite, e⁻ˣ may be 0.
    return m.where(root < math.inf, front, math.inf), root


def _gamma(m: Notation, x: Any) -> Any:
    y = abs(x)
    is_large = y >= _START_OF_STIRLING
    start = float(_START_OF_STIRLING)

    def large() -> Any:
        front, root = _beyond(m, m.where(is_large, y, start))
        return front * root

    def left() -> Any:
        front, root = _beyond(m, m.where(is_large, y, start))
        front = m.where(is_large, front, _below(m, m.where(is_large, 1.0, y)))
        # Γ(1 + y) is y Γ(y), where that is not what there is.
        following = m.where(y < 1.0, front, y * front)
        value = -math.pi / (sine_of_half_turns(m, y) * following) / m.where(is_large, root, 1.0)
        return m.where(y == m.floor(y), math.nan, value)

    small = _below(m, m.where(is_large, 1.0, y))
    right = m.where(is_large, m.if_any(is_large, large), m.where(y < 1.0, small / y, small))
    value = m.where(x < 0.0, m.if_any(x < 0.0, left), right)
    return m.where(x == 0.0, 1.0 / x, value)


@final
class Gamma(ByFormula):
    """Γ(x), element by element: NaN at negative integers, ±∞ at ±0."""

    name = "gamma"
    formula = _gamma
    keeps_dtype = True

    def evaluate(self, *operands: Any, **params: Any) -> Any:
        (x,) = operands
        return special_functions().gamma(np.asarray(x, np.float64)).astype(x.dtype)

    def d_x(self, t: Any, x: Any, out: Any) -> Any:
        return lax.mul(t, lax.mul(out, lax.digamma(x)))


gamma_p = Gamma()
