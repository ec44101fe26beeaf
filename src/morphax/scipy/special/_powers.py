"""The transformations of Box and Cox: powers that turn into the logarithm.

Reference: Box & Cox, "An analysis of transformations", Journal of the Royal Statistical Society B
26 (1964).
"""

from __future__ import annotations

import math
from typing import Any, final

from ... import lax
from ... import numpy as jnp
from ...lax.ground.formulas import ByFormula, Notation
from ._operands import operands, polynomial, strong

# The derivative of (eᵘ − 1) / u: Σ uⁿ / (n! (n + 2)), highest power first.
_SLOPES = [1 / (math.factorial(n) * (n + 2)) for n in reversed(range(13))]


def _power(m: Notation, log: Any, power: Any) -> Any:
    """(e^(power · log) − 1) / power."""
    is_log = abs(power) < 1e-19
    inner = m.where(is_log, 1.0, power)
    return m.where(is_log, log, m.expm1(inner * log) / inner)


def _slope_of_power(log: Any, power: Any, value: Any) -> Any:
    """The derivative of `_power` with respect to the power."""
    exponent = power * log
    is_small = lax.abs(exponent) < 0.4
    series = log * log * polynomial(jnp.where(is_small, exponent, 0), _SLOPES)
    quotient = (log * lax.exp(exponent) - value) / jnp.where(is_small, 1, power)
    return jnp.where(is_small, series, quotient)


@final
class Boxcox(ByFormula):
    """(xᵖ − 1) / p, element by element."""

    name = "boxcox"
    formula = staticmethod(lambda m, x, power: _power(m, m.log(x), power))

    def d_x(self, t: Any, x: Any, power: Any, out: Any) -> Any:
        return t * lax.pow(x, power - 1)

    def d_y(self, t: Any, x: Any, power: Any, out: Any) -> Any:
        return t * _slope_of_power(lax.log(x), power, out)


@final
class BoxcoxOfNext(ByFormula):
    """((1 + x)ᵖ − 1) / p, element by element."""

    name = "boxcox_of_next"
    formula = staticmethod(lambda m, x, power: _power(m, m.log1p(x), power))

    def d_x(self, t: Any, x: Any, power: Any, out: Any) -> Any:
        return t * lax.exp((power - 1) * lax.log1p(x))

    def d_y(self, t: Any, x: Any, power: Any, out: Any) -> Any:
        return t * _slope_of_power(lax.log1p(x), power, out)


boxcox_p = Boxcox()
boxcox_of_next_p = BoxcoxOfNext()


def boxcox(x: Any, lmbda: Any) -> Any:
    """(x^λ − 1) / λ, and log x for λ = 0.

    Args:
        x, lmbda: arrays (...) that broadcast, floating; x ≥ 0.

    Returns:
        Array (...); NaN where x is negative.

    Raises:
        TypeError: an operand is a list, or complex.

    Example:
        >>> from morphax.scipy import special
        >>> special.boxcox(4.0, 0.5)
        Array(2., dtype=float32)
    """
    return strong(boxcox_p.bind(*operands("boxcox", x, lmbda)))


def boxcox1p(x: Any, lmbda: Any) -> Any:
    """((1 + x)^λ − 1) / λ, and log(1 + x) for λ = 0, accurate for small x; see `boxcox`.

    Example:
        >>> from morphax.scipy import special
        >>> special.boxcox1p(3.0, 0.5)
        Array(2., dtype=float32)
    """
    return strong(boxcox_of_next_p.bind(*operands("boxcox1p", x, lmbda)))
