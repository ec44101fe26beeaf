"""The inverse of the complementary error function.

Near its middle it is erf⁻¹(1 − x), where the difference is exact.  In the tail a rational
approximation to the quantiles of the normal distribution, good to 5 · 10⁻⁴, is improved by two
steps of Halley's method on erfc, each of which triples the number of digits.

References: Abramowitz & Stegun, "Handbook of Mathematical Functions", 26.2.23.  DLMF, 3.8(v).
"""

from __future__ import annotations

import math
from typing import Any, final

import numpy as np

from ...util.scipy_libraries import special_functions
from ..ground.formulas import ByFormula, Notation
from ..ground.horner import polynomial
from .arithmetic import mul
from .exponential import exp
from .powers import square

_NUMERATOR = (0.010328, 0.802853, 2.515517)
_DENOMINATOR = (0.001308, 0.189269, 1.432788, 1.0)
_SLOPE_OF_ERFC = -2 / math.sqrt(math.pi)
# Below this erfc comes near the smallest numbers, and is multiplied by exp(y²).
_START_OF_REMOTE = 1e-200


def _scaled_erfc(y: Any) -> Any:
    """exp(y²) erfc y for y > 20, by the continued fraction of DLMF 7.9.1."""
    denominator = y
    for k in range(6, 0, -1):
        denominator = y + 0.5 * k / denominator
    return 1.0 / (math.sqrt(math.pi) * denominator)


def _inverse(m: Notation, x: Any) -> Any:
    """y with erfc y = x."""
    is_middle = (x >= 0.5) & (x <= 1.5)
    middle = m.erf_inv(m.where(is_middle, 1.0 - x, 0.0))
    tail = m.where(x < 1.0, x, 2.0 - x)
    is_tail = (tail > 0.0) & (tail < 0.5)
    inner = m.where(is_tail, tail, 0.25)
    t = m.sqrt(2.0 * (math.log(2) - m.log(inner)))
    y = (t - polynomial(_NUMERATOR, t) / polynomial(_DENOMINATOR, t)) * math.sqrt(0.5)
    is_remote = inner < _START_OF_REMOTE
    for _ in range(2):
        newton = (m.erfc(y) - inner) / (_SLOPE_OF_ERFC * m.exp(-(y * y)))
        remote = (_scaled_erfc(y) - m.exp(y * y + m.log(inner))) / _SLOPE_OF_ERFC
        newton = m.where(is_remote, remote, newton)
        # Of erfc, f″/f′ = −2y.
        y = y - newton / (1.0 + y * newton)
    y = m.where(is_tail, y, m.where(tail == 0.0, math.inf, math.nan))
    return m.where(is_middle, middle, m.where(x < 1.0, y, -y))


@final
class ErfcInv(ByFormula):
    """The inverse of erfc, element by element: ±∞ at 0 and 2, NaN beyond."""

    name = "erfc_inv"
    formula = _inverse

    def evaluate(self, *operands: Any, **params: Any) -> Any:
        (x,) = operands
        # SciPy gives −0 at 1.
        return (special_functions().erfcinv(np.asarray(x, np.float64)) + 0.0).astype(x.dtype)

    def d_x(self, t: Any, x: Any, out: Any) -> Any:
        return mul(t, mul(1 / _SLOPE_OF_ERFC, exp(square(out))))


erfc_inv_p = ErfcInv()
