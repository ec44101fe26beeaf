"""The scaled factorial Γ(x + 1) (e/x)ˣ, of which the densities of `_deviances.py` are made.

Its logarithm S is next to ½ log 2πx.  It is two polynomials, whose terms do not cancel: from 1 on
S(x) − ½ log x in 1/x, below S(x) / x + log x.  Its derivatives are by the recurrence at x + 10, and
there by Stirling's series.

Reference: DLMF, 5.5, 5.11 and 5.15.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any, final

from ... import lax
from ...engines import loops
from ...lax.ground.formulas import ByFormula, Notation
from ...lax.ground.horner import polynomial
from ...lax.ground.log_gamma import ABOVE_ONE, ABOVE_ONE_IN_SINGLE, OF_DIGAMMA
from ...lax.ground.loop_formulas import formula_of_scalars

OF_SINGLE = 1e-12
"""What the precision of a notation is above, if results are of float32, or narrower."""

# In 2x − 1, by interpolation in Chebyshev's points with 60 digits; the shorter one for results of 8
# digits.  The one in 2/x − 1 is that of log Γ.
_BELOW_ONE = (
    7.639092521777215e-12, -2.3933398839462246e-11, 3.311835672167677e-11, -1.0474712795206161e-10,
    4.320413056213583e-10, -1.3699500407040754e-09, 4.224420317065063e-09, -1.3498077369276839e-08,
    4.3429278490077415e-08, -1.4006572569595664e-07, 4.5435332271160426e-07,
    -1.484540063588933e-06, 4.892819541320356e-06, -1.6302861339725934e-05, 5.5097616218622696e-05,
    -0.0001898258024931559, 0.0006721846829855331, -0.0024816898010490236, 0.009820705603133714,
    -0.044353899112896854, 0.27805444924906697, 0.7584355247295096,
)  # fmt: skip
_BELOW_ONE_IN_SINGLE = (
    6.231419583089148e-06, -2.0667134582176008e-05, 5.3866095292662394e-05,
    -0.00018581313242089833, 0.0006726344839571714, -0.0024831549879129667, 0.009820648805363943,
    -0.04435371412199461, 0.278054450387209, 0.758435521022656,
)  # fmt: skip

_STEPS = 10
# B₂ₖ, highest power of 1/z² first.
_OF_TRIGAMMA = (7 / 6, -691 / 2730, 5 / 66, -1 / 30, 1 / 42, -1 / 30, 1 / 6)


def _log_scaled_factorial(m: Notation, x: Any) -> Any:
    is_single = m.precision > OF_SINGLE
    above, below = (
        (ABOVE_ONE_IN_SINGLE, _BELOW_ONE_IN_SINGLE) if is_single else (ABOVE_ONE, _BELOW_ONE)
    )
    is_small = x < 1.0
    log = m.log(m.where(x > 0.0, x, 1.0))
    large = 0.5 * log + polynomial(above, 2.0 / m.where(is_small, 1.0, x) - 1.0)
    value = m.where(is_small, x * (polynomial(below, 2.0 * x - 1.0) - log), large)
    return m.where(x < 0.0, math.nan, value)


def _moved(m: Notation, x: Any) -> tuple[Any, Any]:
    """How far x is moved for Stirling's series, ten steps or none, and 1 / (x + steps)."""
    steps = m.where(x < float(_STEPS), float(_STEPS), 0.0)
    return steps, 1.0 / (x + steps)


def _slope_of_factorial(m: Notation, x: Any) -> Any:
    """ψ(x + 1) − log x."""
    steps, inverse = _moved(m, x)
    flag = steps * (1 / _STEPS)
    fractions: Any = 0.0
    for k in range(1, _STEPS + 1):
        fractions = fractions + flag / (x + float(k))
    square = inverse * inverse
    series = 0.5 * inverse - square * polynomial(OF_DIGAMMA, square)
    ratio = m.where(x < float(_STEPS), x * inverse, 1.0)
    return series - fractions - m.log(ratio)


def _curvature_of_factorial(m: Notation, x: Any) -> Any:
    """ψ′(x + 1) − 1/x."""
    steps, inverse = _moved(m, x)
    flag = steps * (1 / _STEPS)
    fractions: Any = 0.0
    for k in range(1, _STEPS + 1):
        fractions = fractions + flag / ((x + float(k)) * (x + float(k)))
    square = inverse * inverse
    series = square * (inverse * polynomial(_OF_TRIGAMMA, square) - 0.5)
    return series + fractions - steps * inverse / x


class InItsDtype(ByFormula):
    """Formulas that lose no digits, so that float32 is computed in float32."""

    compiled = True
    keeps_dtype = True

    def scalar(self, w: loops.Writer, *operands: loops.Operand, **params: Any) -> loops.Operand:
        formula = partial(type(self).formula, **params)
        return formula_of_scalars(w, formula, *operands, dtype=operands[0].dtype)


@final
class LogScaledFactorial(InItsDtype):
    """S(x) = log(Γ(x + 1) (e/x)ˣ) for x ≥ 0, element by element."""

    name = "log_scaled_factorial"
    formula = _log_scaled_factorial

    def d_x(self, t: Any, x: Any, out: Any) -> Any:
        return t * slope_of_factorial_p.bind(x)


@final
class SlopeOfFactorial(ByFormula):
    """S′(x) = ψ(x + 1) − log x, element by element."""

    name = "slope_of_log_scaled_factorial"
    formula = _slope_of_factorial

    def d_x(self, t: Any, x: Any, out: Any) -> Any:
        return t * curvature_of_factorial_p.bind(x)


@final
class CurvatureOfFactorial(ByFormula):
    """S″(x) = ψ′(x + 1) − 1/x, element by element."""

    name = "curvature_of_log_scaled_factorial"
    formula = _curvature_of_factorial

    def d_x(self, t: Any, x: Any, out: Any) -> Any:
        return t * (lax.polygamma(lax.full_like(x, 2), x + 1) + 1 / lax.square(x))


log_scaled_factorial_p = LogScaledFactorial()
slope_of_factorial_p = SlopeOfFactorial()
curvature_of_factorial_p = CurvatureOfFactorial()


def log_scaled_factorial(x: Any) -> Any:
    """log(Γ(x + 1) (e/x)ˣ) for x ≥ 0, which is 0 at 0 and next to ½ log 2πx for large x."""
    return log_scaled_factorial_p.bind(x)
