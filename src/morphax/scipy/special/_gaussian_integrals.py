"""Integrals of Gaussian functions beside the error function: Dawson's, and Owen's T.

References: DLMF, 7.2, 7.6 and 7.12.  Rybicki, "Dawson's integral and the sampling theorem",
Computers in Physics 3 (1989).  Owen, "Tables for computing bivariate normal probabilities", Annals
of Mathematical Statistics 27 (1956).
"""

from __future__ import annotations

import math
from typing import Any, final

import numpy as np

from ... import lax
from ...lax.ground.formulas import ByFormula, Notation
from ...numpy.half_precision import in_float32
from ._operands import operands, strong

_END_OF_SERIES = 1.5
_START_OF_ASYMPTOTIC = 8.0
# The samples' distance; their sum is Dawson's integral but for exp(−(π/2h)²).
_SPACING = 0.25
# Beyond this, the Gaussian function adds nothing to its integral from 0.
_END_OF_GAUSSIAN = 8.6
# There exp(−h²/2) is 0, and h² finite.
_END_OF_RANGE = 64.0
# Of Gauss' rule, 10 nodes leave less than 10⁻⁹ of Owen's integral while h a < 4, and 16 wherever.
_FEW, _MORE, _ALL = 10, 16, 40
_REACH_OF_FEW = 4.0
_ERROR_OF_FEW = 1e-9
_RULES = {count: np.polynomial.legendre.leggauss(count) for count in (_FEW, _MORE, _ALL)}


def _dawsn(m: Notation, x: Any) -> Any:
    size = abs(x)
    is_small = size < _END_OF_SERIES
    is_large = size >= _START_OF_ASYMPTOTIC
    small = m.where(is_small, x, 0.0)
    square = small * small
    total: Any = 0.0
    for k in reversed(range(28)):
        total = total * square + 1 / ((2 * k + 1) * math.factorial(k))
    near = small * m.exp(-square) * total
    large = m.where(is_large, size, _START_OF_ASYMPTOTIC)
    inverse = 0.5 / (large * large)
    series: Any = 1.0
    for k in reversed(range(1, 26)):
        series = 1.0 + series * ((2 * k - 1) * inverse)
    far = 0.5 / large * series
    inner = m.where(is_small | is_large, 4.0, size)
    # An even multiple of the spacing; beside it stand the odd ones.
    base = 2.0 * m.floor(inner * (0.5 / _SPACING) + 0.5)
    rest = inner - base * _SPACING
    samples: Any = 0.0
    for k in reversed(range(13)):
        n = 2 * k + 1
        above, below = rest - n * _SPACING, rest + n * _SPACING
        samples = samples + m.exp(-above * above) / (base + n) + m.exp(-below * below) / (base - n)
    middle = samples * (1 / math.sqrt(math.pi))
    value = m.where(is_large, far, m.where(x == x, middle, math.nan))
    return m.where(is_small, near, m.where(x < 0.0, -value, value))


@final
class Dawsn(ByFormula):
    """Dawson's integral, element by element."""

    name = "dawsn"
    formula = _dawsn

    def d_x(self, t: Any, x: Any, out: Any) -> Any:
        return t * dawsn_slope_p.bind(x, out)


def _dawsn_slope(m: Notation, x: Any, value: Any) -> Any:
    """1 − 2 x D(x), whose terms cancel far out: there it is −Σₖ (2k − 1)!! / (2x²)ᵏ over k > 0."""
    is_large = abs(x) >= _START_OF_ASYMPTOTIC
    inverse = 1.0 / m.where(is_large, x, 1.0)
    inverse = 0.5 * (inverse * inverse)
    series: Any = 1.0
    for k in reversed(range(2, 27)):
        series = 1.0 + series * ((2 * k - 1) * inverse)
    return m.where(is_large, -inverse * series, 1.0 - 2.0 * m.where(is_large, 0.0, x) * value)


@final
class DawsnSlope(ByFormula):
    """The derivative of Dawson's integral D, of x and D(x), element by element."""

    name = "dawsn_slope"
    formula = _dawsn_slope

    def d_x(self, t: Any, x: Any, value: Any, out: Any) -> Any:
        # That of all of it is −2 D − 2 x D′, of which the second is the slope by D.
        return -2 * t * value

    def d_y(self, t: Any, x: Any, value: Any, out: Any) -> Any:
        return -2 * t * x


dawsn_slope_p = DawsnSlope()


def _owen(m: Notation, h: Any, a: Any) -> Any:
    """1/2π ∫₀ᵃ exp(−h²(1 + s²)/2) / (1 + s²) ds for h ≥ 0, 0 ≤ a ≤ 1.

    By Gauss' rule as far as the integrand reaches: all its terms are positive.
    """
    reach = h * a
    end = m.where(reach > _END_OF_GAUSSIAN, _END_OF_GAUSSIAN / m.where(h == 0.0, 1.0, h), a)
    bounded = m.where(h < _END_OF_RANGE, h, _END_OF_RANGE)
    factor = -0.5 * bounded * bounded
    scale = m.exp(factor) * end * (0.25 / math.pi)
    if m.precision < _ERROR_OF_FEW:
        return scale * _by_rule(m, factor, end, _ALL)
    is_long = reach > _REACH_OF_FEW
    more = m.if_any(is_long, lambda: _by_rule(m, factor, end, _MORE))
    return scale * m.where(is_long, more, _by_rule(m, factor, end, _FEW))


def _by_rule(m: Notation, factor: Any, end: Any, count: int) -> Any:
    """2 ∫₀¹ exp(factor s²) / (1 + s²) du with s = `end` u, by a rule of so many nodes."""
    nodes, weights = _RULES[count]
    total: Any = 0.0
    for node, weight in zip(nodes.tolist(), weights.tolist(), strict=True):
        s = end * (0.5 * node + 0.5)
        growth = s * s
        total = total + weight * m.exp(factor * growth) / (1.0 + growth)
    return total


def _beyond(m: Notation, h: Any, other: Any) -> Any:
    """1/4 − (1/2 − p)(1/2 − q) with the tails p and q of the two numbers."""
    first = 0.5 * m.erfc(h * math.sqrt(0.5))
    second = 0.5 * m.erfc(other * math.sqrt(0.5))
    return 0.5 * (first + second) - first * second


def _owens_t(m: Notation, h: Any, a: Any) -> Any:
    """T(h, a) for all h and a; for |a| > 1 from T(ah, 1/a), which Owen's (2.3) adds to it."""
    size, slope = abs(h), abs(a)
    is_finite = (size < math.inf) & (slope == slope)
    size = m.where(is_finite, size, 1.0)
    is_steep = is_finite & (slope > 1.0)
    steep = m.where(is_steep, slope, 1.0)
    # For a = ∞ and h = 0 the product has no value, and none is needed.
    other = m.where((size == 0.0) & (steep == math.inf), 0.0, size * steep)
    is_near = ~is_steep | (other < _END_OF_GAUSSIAN * 5.0)
    inner_h = m.where(is_steep, m.where(is_near, other, 0.0), size)
    inner_a = m.where(is_steep, 1.0 / steep, m.where(slope <= 1.0, slope, 0.0))
    inner = m.where(is_near, _owen(m, inner_h, inner_a), 0.0)
    value = m.where(is_steep, m.if_any(is_steep, lambda: _beyond(m, size, other) - inner), inner)
    value = m.where(is_finite, value, m.where((h == h) & (a == a), 0.0, math.nan))
    return m.where(a < 0.0, -value, value)


@final
class OwensT(ByFormula):
    """Owen's T, element by element."""

    name = "owens_t"
    formula = _owens_t

    def d_x(self, t: Any, h: Any, a: Any, out: Any) -> Any:
        density = lax.exp(-0.5 * lax.square(h)) * (0.5 / math.sqrt(2 * math.pi))
        return -t * density * lax.erf(a * h * math.sqrt(0.5))

    def d_y(self, t: Any, h: Any, a: Any, out: Any) -> Any:
        growth = 1 + lax.square(a)
        return t * lax.exp(-0.5 * lax.square(h) * growth) / (2 * math.pi * growth)


dawsn_p = Dawsn()
owens_t_p = OwensT()


@in_float32
def dawsn(x: Any) -> Any:
    """Dawson's integral exp(−x²) ∫₀ˣ exp(s²) ds.

    Args:
        x: array (...), floating.

    Returns:
        Array (...), about 1/(2x) for large x.

    Raises:
        TypeError: `x` is a list, or complex.

    Reference:
        DLMF, 7.2 and 7.12; Rybicki (1989).

    Example:
        >>> from morphax.scipy import special
        >>> special.dawsn(1.0)
        Array(0.5380795, dtype=float32)
    """
    return strong(dawsn_p.bind(*operands("dawsn", x)))


@in_float32
def owens_t(h: Any, a: Any) -> Any:
    """Owen's T(h, a) = 1/2π ∫₀ᵃ exp(−h²(1 + s²)/2) / (1 + s²) ds.

    It is the probability of X > h and 0 < Y < a X for independent standard normal X and Y.

    Args:
        h, a: arrays (...) that broadcast, floating.

    Returns:
        Array (...), even in h and odd in a.

    Raises:
        TypeError: an operand is a list, or complex.

    Reference:
        Owen (1956).

    Example:
        >>> from morphax.scipy import special
        >>> special.owens_t(1.0, 2.0)
        Array(0.07846819, dtype=float32)
    """
    return strong(owens_t_p.bind(*operands("owens_t", h, a)))
