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
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(40)


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
        return t * (1 - 2 * x * out)


def _owen(m: Notation, h: Any, a: Any) -> Any:
    """1/2π ∫₀ᵃ exp(−h²(1 + s²)/2) / (1 + s²) ds for h ≥ 0, 0 ≤ a ≤ 1.

    By Gauss' rule as far as the integrand reaches: all its terms are positive.
    """
    end = m.where(h * a > _END_OF_GAUSSIAN, _END_OF_GAUSSIAN / m.where(h == 0.0, 1.0, h), a)
    factor = -0.5 * h * h
    total: Any = 0.0
    for node, weight in zip(_NODES.tolist(), _WEIGHTS.tolist(), strict=True):
        s = end * (0.5 * node + 0.5)
        growth = s * s
        total = total + weight * m.exp(factor * growth) / (1.0 + growth)
    return m.exp(factor) * end * total * (0.25 / math.pi)


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
    first = 0.5 * m.erfc(size * math.sqrt(0.5))
    second = 0.5 * m.erfc(other * math.sqrt(0.5))
    # 1/4 − (1/2 − p)(1/2 − q) with the tails p and q.
    beyond = 0.5 * (first + second) - first * second - inner
    value = m.where(is_steep, beyond, inner)
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
