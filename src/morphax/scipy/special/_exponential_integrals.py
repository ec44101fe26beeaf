"""The exponential integrals E₁, Eₙ and Ei.

For x ≥ 1, Eₙ(x) = e⁻ˣ F with Legendre's continued fraction, that of the upper incomplete gamma
function Γ(1 − n, x).  Below, Eₙ(x) is a power series, of which the pole of Γ(1 − n) at an integer n
cancels that of one term: both together are an `expm1` of what is small there, so that n need be no
integer.  Ei(x) is a series of positive terms, about its zero or about 0, and an asymptotic one.

References: DLMF, 6.6, 6.12, 8.9 and 8.19.  Gautschi, "A computational procedure for incomplete
gamma functions", ACM Transactions on Mathematical Software 5 (1979).  Cody & Thacher, "Chebyshev
approximations for the exponential integral Ei(x)", Mathematics of Computation 23 (1969), for what
to do about the zero.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, final

import numpy as np

from ... import lax
from ... import numpy as jnp
from ...core import not_differentiable
from ...lax.ground.formulas import ByFormula, Notation
from ...lax.ground.horner import polynomial
from ...numpy.half_precision import in_float32
from ...util.scipy_libraries import special_functions
from ._exponential_integral_of_single import (
    REST_OF_ZERO,
    ZERO,
    exp1_of_single,
    expi_of_single,
)
from ._operands import real_operands, strong, strong_value

EULER = 0.5772156649015329
_START_OF_ASYMPTOTIC = 40.0
_MOST_STEPS = 2000.0
_MOST_TERMS = 21
# (ζ(k) − 1) / k, highest k first, for log Γ(1 + d) = −log(1 + d) + d (1 − γ + …); DLMF 5.7.3.
ZETAS = (
    1.330476437424449e-10, 2.7595228851242334e-10, 5.731367241678862e-10, 1.1921401405860912e-09,
    2.4836745438024785e-09, 5.183475041970047e-09, 1.0838659214896955e-08, 2.2711094608943164e-08,
    4.7698101693639804e-08, 1.0043224823968099e-07, 2.1207184805554665e-07, 4.492469198764566e-07,
    9.55141213040742e-07, 2.039215753801366e-06, 4.374866789907488e-06, 9.439488275268397e-06,
    2.050721277567069e-05, 4.492623673813314e-05, 9.945751278180853e-05, 0.00022315475845357939,
    0.0005096695247430425, 0.001192753911703261, 0.0028905103307415234, 0.007385551028673986,
    0.020580808427784546, 0.0673523010531981, 0.3224670334241132,
)  # fmt: skip


def _scaled_fraction(m: Notation, n: Any, x: Any) -> Any:
    """eˣ Eₙ(x) = 1/(x+n − 1n/(x+n+2 − 2(n+1)/(x+n+4 − …))), summed as Gautschi's series."""

    def goes_on(k: Any, inverse: Any, r: Any, t: Any, s: Any) -> Any:
        return (abs(t) > m.precision * abs(s)) & (k < _MOST_STEPS)

    def step(k: Any, inverse: Any, r: Any, t: Any, s: Any) -> Sequence[Any]:
        k = k + 1.0
        following = 1.0 / (x + n + 2.0 * k)
        v = (inverse * k) * (following * (k + n - 1.0)) * (1.0 + r)
        r = v / (1.0 - v)
        t = r * t
        return k, following, r, t, s + t

    zero = 0.0 * x
    first = 1.0 / (x + n)
    _, _, _, _, s = m.iterate(goes_on, step, (0.0, first, zero, zero + 1.0, zero + 1.0))
    return s * first


def _slope_of_log_gamma(m: Notation, d: Any) -> Any:
    """log Γ(1 + d) / d for |d| ≤ ½, also at d = 0."""
    is_zero = d == 0.0
    ratio = m.where(is_zero, 1.0, m.log1p(d) / m.where(is_zero, 1.0, d))
    return 1.0 - EULER - ratio + d * polynomial(ZETAS, -d)


def _near_zero(m: Notation, n: Any, x: Any) -> Any:
    """Eₙ(x) for 0 < x < 1 and n ≥ 0: Γ(1−n) xⁿ⁻¹ − Σ (−x)ᵏ / ((k + 1 − n) k!).

    With n = N + d, |d| ≤ ½, the term of k = N − 1 and the first are together
    (−1)ᴺ xᴺ⁻¹/(N−1)! (e^{dL} − 1)/d for L = log x + (log Γ(1−d) − Σⱼ log(1 + d/j)) / d, where
    j = 1, …, N − 1.
    """
    nearest = m.floor(n + 0.5)
    d = n - nearest
    is_whole = d == 0.0
    divisor = m.where(is_whole, 1.0, d)
    growth = m.log(x) - _slope_of_log_gamma(m, -d)
    power: Any = -1.0
    term: Any = 0.0 * x + 1.0
    rest: Any = 0.0 * x
    for k in range(_MOST_TERMS):
        if k:
            term = term * (x * (-1.0 / k))
            is_factor = nearest > float(k)
            harmonic = m.where(is_whole, 1.0 / k, m.log1p(d / k) / divisor)
            growth = growth - m.where(is_factor, harmonic, 0.0)
            power = power * m.where(is_factor, x * (-1.0 / k), 1.0)
        is_pole = nearest == k + 1.0
        rest = rest + m.where(is_pole, 0.0, term / m.where(is_pole, 1.0, k + 1.0 - n))
    pair = power * m.where(is_whole, growth, m.expm1(d * growth) / divisor)
    has_pole = nearest > 0.0
    far = m.where(has_pole, 0.5, 1.0 - n)
    return m.where(has_pole, pair, m.exp(m.lgamma(far)) * m.power(x, -far)) - rest


def _far(m: Notation, n: Any, x: Any) -> Any:
    """Eₙ(x) for x ≥ 1."""
    return m.exp(-x) * _scaled_fraction(m, n, x)


def _order_n(m: Notation, n: Any, x: Any) -> Any:
    """Eₙ(x) = ∫₁^∞ e^(−xs) s⁻ⁿ ds for n ≥ 0, x ≥ 0."""
    is_regular = (n >= 0.0) & (n < math.inf) & (x > 0.0) & (x < math.inf)
    is_near = is_regular & (x < 1.0)
    is_far = is_regular & (x >= 1.0)
    near = m.if_any(
        is_near, lambda: _near_zero(m, m.where(is_near, n, 0.0), m.where(is_near, x, 0.5))
    )
    far = m.if_any(is_far, lambda: _far(m, m.where(is_far, n, 1.0), m.where(is_far, x, 9.0)))
    at_zero = m.where(n > 1.0, 1.0 / m.where(n > 1.0, n - 1.0, 1.0), math.inf)
    limit = m.where((x == 0.0) & (n < math.inf), at_zero, 0.0)
    value = m.where(is_near, near, m.where(is_far, far, limit))
    return m.where((n >= 0.0) & (x >= 0.0), value, math.nan)


def _order_1(m: Notation, x: Any) -> Any:
    return _order_n(m, m.where(x > 0.0, 1.0, 1.0), x)


def _about_zero(m: Notation, x: Any) -> Any:
    """Ei(x) = log(x/z) + (x − z) Σ (xᵏ⁻¹ + xᵏ⁻² z + … + zᵏ⁻¹) / (k k!) near its zero z."""
    distance = (x - ZERO) - REST_OF_ZERO
    powers: Any = 0.0 * x + 1.0
    total: Any = powers
    for k in range(2, 20):
        powers = powers * x + ZERO ** (k - 1)
        total = total + powers * (1 / (k * math.factorial(k)))
    return m.log1p(distance / ZERO) + distance * total


def _by_series(m: Notation, x: Any) -> Any:
    """Ei(x) = γ + log x + Σ xᵏ / (k k!)."""

    def goes_on(k: Any, t: Any, s: Any) -> Any:
        return t > m.precision * s

    def step(k: Any, t: Any, s: Any) -> Sequence[Any]:
        k = k + 1.0
        t = t * (x / k)
        return k, t, s + t / k

    _, _, s = m.iterate(goes_on, step, (1.0, x, x))
    return EULER + m.log(x) + s


def _asymptotic(m: Notation, x: Any) -> Any:
    """Ei(x) = eˣ/x Σ k!/xᵏ for x ≥ 40."""
    inverse = 1.0 / x
    total: Any = 1.0
    for k in reversed(range(1, 40)):
        total = 1.0 + total * (k * inverse)
    # In two factors, because eˣ overflows before the quotient does.
    half = m.exp(0.5 * x)
    return half * (half * (inverse * total))


def _ei(m: Notation, x: Any) -> Any:
    is_near = abs(x - ZERO) < 0.15
    is_remote = (x >= _START_OF_ASYMPTOTIC) & (x < math.inf)
    is_middle = (x > 0.0) & (x < _START_OF_ASYMPTOTIC) & ~is_near
    is_below = x <= 0.0
    near = m.if_any(is_near, lambda: _about_zero(m, m.where(is_near, x, 0.4)))
    middle = m.if_any(is_middle, lambda: _by_series(m, m.where(is_middle, x, 1.0)))
    remote = m.if_any(
        is_remote, lambda: _asymptotic(m, m.where(is_remote, x, _START_OF_ASYMPTOTIC))
    )
    below = m.if_any(is_below, lambda: -_order_1(m, m.where(is_below, -x, 1.0)))
    limit = m.where(is_below, below, x)
    return m.where(is_near, near, m.where(is_middle, middle, m.where(is_remote, remote, limit)))


@final
class Expn(ByFormula):
    """Eₙ(x), element by element."""

    name = "expn"
    formula = _order_n

    d_x = not_differentiable("the derivative of Eₙ(x) with respect to n has no closed form")

    def d_y(self, t: Any, n: Any, x: Any, out: Any) -> Any:
        # It is −Eₙ₋₁, and for n < 1 by its recurrence, which then has no cancellation.
        is_low = n < 1
        low = (lax.exp(-x) + (1 - n) * out) / x
        return -t * jnp.where(is_low, low, expn_p.bind(jnp.where(is_low, 1, n) - 1, x))


@final
class Exp1(ByFormula):
    """E₁(x), element by element."""

    name = "exp1"
    formula = _order_1
    formula_of_single = exp1_of_single

    def evaluate(self, *operands: Any, **params: Any) -> Any:
        # SciPy's own has as many digits, in one call for hundreds.
        (x,) = operands
        return np.asarray(special_functions().exp1(np.asarray(x, np.float64))).astype(x.dtype)

    def d_x(self, t: Any, x: Any, out: Any) -> Any:
        return -t * (lax.exp(-x) / x)


def _ei_of_scipy(x: Any) -> Any:
    """SciPy's, which loses up to three digits in some places."""
    return special_functions().expi(x)


@final
class Expi(ByFormula):
    """Ei(x), element by element."""

    name = "expi"
    formula = _ei
    formula_of_single = expi_of_single
    of_narrow = _ei_of_scipy

    def d_x(self, t: Any, x: Any, out: Any) -> Any:
        return t * (lax.exp(x) / x)


expn_p = Expn()
exp1_p = Exp1()
expi_p = Expi()


@in_float32
def exp1(x: Any) -> Any:
    """E₁(x) = ∫ₓ^∞ e⁻ˢ/s ds.

    Args:
        x: array (...), floating.

    Returns:
        Array (...): ∞ at 0, NaN below.

    Raises:
        TypeError: `x` is a list.
        ValueError: `x` is complex.

    Reference:
        DLMF, 6.6 and 8.9.

    Example:
        >>> from morphax.scipy import special
        >>> special.exp1(1.0)
        Array(0.21938394, dtype=float32)
    """
    return strong(exp1_p.bind(*real_operands("exp1", x)))


@in_float32
def expi(x: Any) -> Any:
    """Ei(x), the principal value of ∫₋∞ˣ eˢ/s ds; see `exp1`, of which Ei(−x) is the negative.

    Its zero at 0.3725… costs no digits.

    Reference:
        DLMF, 6.6 and 6.12.

    Example:
        >>> from morphax.scipy import special
        >>> special.expi(1.0)
        Array(1.8951178, dtype=float32)
    """
    return strong_value(expi_p.bind(*real_operands("expi", x)))


@in_float32
def expn(n: Any, x: Any) -> Any:
    """Eₙ(x) = ∫₁^∞ e^(−xs) s⁻ⁿ ds, the generalised exponential integral.

    It has a derivative with respect to `x` only.

    Args:
        n, x: arrays (...) that broadcast, floating; `n` need be no integer.

    Returns:
        Array (...): NaN where n or x is negative, ∞ for x = 0, n ≤ 1.

    Raises:
        TypeError: an operand is a list.
        ValueError: an operand is complex.

    Reference:
        DLMF, 8.9 and 8.19.

    Example:
        >>> from morphax.scipy import special
        >>> special.expn(2, 1.0)
        Array(0.14849551, dtype=float32)
    """
    return strong(expn_p.bind(*real_operands("expn", n, x)))
