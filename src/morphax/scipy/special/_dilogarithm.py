"""The dilogarithm as SciPy has it, Spence's function Li₂(1 − x).

References: DLMF, 25.12.  Lewin, "Polylogarithms and associated functions", 1981, 1.2 and 1.4.
"""

from __future__ import annotations

import math
from typing import Any, final

import numpy as np

from ... import lax
from ... import numpy as jnp
from ...lax.ground.formulas import ByFormula, Notation
from ...lax.ground.horner import polynomial
from ...util.messages import message
from ._operands import operands, strong

# B₂ₖ / (2k + 1)!, highest k first, from B₂ₖ = ±2 (2k)! ζ(2k) / (2π)²ᵏ.
_BERNOULLI = [
    2
    * (-1) ** (k - 1)
    * math.fsum(j ** (-2.0 * k) for j in range(1, 200))
    / ((2 * math.pi) ** (2 * k) * (2 * k + 1))
    for k in reversed(range(3, 12))
] + [-1 / 3600, 1 / 36]


def _spence(m: Notation, x: Any) -> Any:
    """Li₂(1 − x) by Debye's series in u = −log x, u − u²/4 + Σ B₂ₖ u²ᵏ⁺¹ / (2k + 1)!.

    It converges fast for ½ ≤ x ≤ 2; Li₂(z) + Li₂(1 − z) = π²/6 − log z log(1 − z) leads there from
    below, and Li₂(1 − x) + Li₂(1 − 1/x) = −log² x / 2 from above.
    """
    is_inside = (x > 0.0) & (x < math.inf)
    inner = m.where(is_inside, x, 1.0)
    is_large = inner > 2.0
    reduced = m.where(is_large, 1.0 / inner, inner)
    is_small = reduced < 0.5
    log = m.log(reduced)
    below = m.where(is_small, reduced, 0.0)
    # What 1 − x loses is not seen in float32.
    log_of_rest = m.log1p(-below) if m.precision < 1e-9 else m.log(1.0 - below)
    u = m.where(is_small, -log_of_rest, -log)
    square = u * u
    series = u + square * (u * polynomial(_BERNOULLI, square) - 0.25)
    value = m.where(is_small, math.pi**2 / 6 - log * log_of_rest - series, series)
    value = m.where(is_large, -0.5 * log * log - value, value)
    limit = m.where(x == 0.0, math.pi**2 / 6, m.where(x == math.inf, -math.inf, math.nan))
    return m.where(is_inside, value, limit)


@final
class Spence(ByFormula):
    """Li₂(1 − x), element by element."""

    name = "spence"
    formula = _spence

    def d_x(self, t: Any, x: Any, out: Any) -> Any:
        distance = x - 1
        is_near = lax.abs(distance) < 0.02
        near = jnp.where(is_near, distance, 0)
        # log(1 + d) / d about d = 0, where the quotient has no derivative.
        series = polynomial([(-1) ** k / (k + 1) for k in reversed(range(11))], near)
        far = jnp.where(x == math.inf, 0, lax.log(x) / jnp.where(is_near, 1, distance))
        return -t * jnp.where(is_near, series, far)


spence_p = Spence()


def spence(x: Any) -> Any:
    """Spence's function −∫₁ˣ log(s)/(s − 1) ds, which is the dilogarithm Li₂(1 − x).

    Args:
        x: array (...), float32 or float64, or a Python float.

    Returns:
        Array (...): π²/6 at 0, NaN below.

    Raises:
        TypeError: `x` has another dtype.

    Reference:
        DLMF, 25.12.

    Example:
        >>> from morphax.scipy import special
        >>> special.spence(2.0)
        Array(-0.822467, dtype=float32)
    """
    x = jnp.asarray(x)
    if x.dtype not in (np.float32, np.float64):
        raise TypeError(
            message(
                "scipy.special.spence, argument x",
                given=f"{x.aval}",
                expected="float32 or float64",
                fix="Convert it by astype.",
            )
        )
    return strong(spence_p.bind(*operands("spence", x)))
