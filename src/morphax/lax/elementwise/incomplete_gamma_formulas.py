"""The incomplete gamma functions: how their values and derivatives are computed.

Three ways, each where it needs few steps and loses no digits:

- *uniform*: for a ≥ 30 and x within 30 % of a, Temme's asymptotic expansion in 1/a, uniform in
  η, where η²/2 = x/a − 1 − log(x/a), and η has the sign of x − a;
- *series*: for smaller x, P = D Σ xⁿ / ((a+1) … (a+n)) with D = xᵃ e⁻ˣ / Γ(a+1).  Where P is near
  1, for a and x small, Q comes from a series of its own;
- *fraction*: for larger x, Q = a D F with Legendre's continued fraction F, summed as a series.

The derivative with respect to a is that of the formula, term by term.

References: DLMF, 8.7–8.12.  Gautschi, "A computational procedure for incomplete gamma functions",
ACM Transactions on Mathematical Software 5 (1979).  Gil, Segura & Temme, "Efficient and accurate
algorithms for the computation and inversion of the incomplete gamma function ratios", SIAM Journal
on Scientific Computing 34 (2012).  Moore, "Algorithm AS 187: derivatives of the incomplete gamma
integral", Applied Statistics 31 (1982).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, final

from ...util.records import dataclass
from ..ground.formulas import Notation
from .gamma_parts import (
    START_OF_STIRLING,
    TEMME,
    log1p_minus,
    log_gamma_of_next,
    log_scaled_gamma,
)

_START_OF_UNIFORM = 30.0
_START_OF_FRACTION = 1.1
# Steps that suffice wherever the loops are entered with numbers.
_MOST_STEPS = 1000.0
# Smaller tails are given by their logarithm.
_START_OF_REMOTE = 1e-200


@final
@dataclass(frozen=True, slots=True)
class _Regions:
    """Where x lies: distance from a, relative to it, and which way is taken."""

    distance: Any
    uniform: Any
    fraction: Any
    series: Any


def _regions(a: Any, x: Any) -> _Regions:
    distance = (x - a) / a
    uniform = (a >= _START_OF_UNIFORM) & (abs(distance) < 0.3)
    fraction = ~uniform & (x >= _START_OF_FRACTION) & (x >= a)
    return _Regions(distance, uniform, fraction, ~(uniform | fraction))


def leading_factor(m: Notation, a: Any, x: Any) -> Any:
    """D = xᵃ e⁻ˣ / Γ(a+1) for a > 0, x ≥ 0."""
    is_large = a >= START_OF_STIRLING
    large, small = m.where(is_large, a, START_OF_STIRLING), m.where(is_large, 1.0, a)
    exponent = large * log1p_minus(m, (x - large) / large, x / large)
    far = m.exp(exponent - log_scaled_gamma(m, large)) / m.sqrt(2 * math.pi * large)
    # Beyond, the exponential is 0 and the power might overflow.
    bounded = m.where(x > 1e4, 1e4, x)
    # In halves, for e⁻ˣ loses digits before D does.
    half = m.exp(-0.5 * bounded)
    near = m.power(bounded, small) * half * m.exp(-log_gamma_of_next(m, small)) * half
    return m.where(is_large, far, near)


def density(m: Notation, a: Any, x: Any) -> Any:
    """x^(a−1) e⁻ˣ / Γ(a) for a > 0, x ≥ 0."""
    is_large = a >= START_OF_STIRLING
    small = m.where(is_large, 1.0, a)
    at_zero = x == 0.0  # And −0, of which powers may be −∞.
    bounded = m.where(x > 1e4, 1e4, m.where(at_zero, 0.0, x))
    scale = small * m.exp(-bounded) * m.exp(-log_gamma_of_next(m, small))
    near = m.power(bounded, small - 1.0) * scale
    far = leading_factor(m, a, x) / m.where(at_zero, 1.0, x) * a
    return m.where(is_large, m.where(at_zero, 0.0, far), near)


def _series(m: Notation, a: Any, x: Any, *, sloped: bool) -> tuple[Any, Any]:
    """S = Σₙ xⁿ / ((a+1) … (a+n)), and if `sloped` its derivative with respect to a."""

    def goes_on(n: Any, t: Any, s: Any, *slopes: Any) -> Any:
        return _changes(m, t, s, slopes) & (n < _MOST_STEPS)

    def step(n: Any, t: Any, s: Any, dt: Any = 0.0, ds: Any = 0.0) -> Sequence[Any]:
        n = n + 1.0
        inverse = 1.0 / (a + n)
        ratio = x * inverse
        dt = (dt - t * inverse) * ratio
        t = t * ratio
        return (n, t, s + t, dt, ds + dt) if sloped else (n, t, s + t)

    zero = 0.0 * x
    start = (0.0, zero + 1.0, zero + 1.0, zero, zero)
    _, _, s, *slopes = m.iterate(goes_on, step, start if sloped else start[:3])
    return s, slopes[1] if sloped else zero


def _changes(m: Notation, t: Any, s: Any, slopes: Sequence[Any]) -> Any:
    """Whether the last term t was not yet negligible beside the sum s, or that of the slopes."""
    changes = abs(t) > m.precision * abs(s)
    if slopes:
        changes = changes | (abs(slopes[-2]) > m.precision * abs(slopes[-1]))
    return changes


def _fraction(m: Notation, a: Any, x: Any, *, sloped: bool) -> tuple[Any, Any]:
    """F = 1/(x+1−a − 1(1−a)/(x+3−a − 2(2−a)/(x+5−a − …))), and if `sloped` its derivative.

    As Gautschi's series: F = (1 + t₁ + t₂ + …) / (x+1−a) with tₖ = ρₖ tₖ₋₁ and ρₖ = v / (1 − v),
    v = cₖ (1 + ρₖ₋₁), where cₖ is k (k−a) over the product of two partial denominators.
    """

    def goes_on(k: Any, i: Any, r: Any, t: Any, s: Any, *slopes: Any) -> Any:
        return _changes(m, t, s, slopes) & (k < _MOST_STEPS)

    def step(
        k: Any, i: Any, r: Any, t: Any, s: Any, dr: Any = 0.0, dt: Any = 0.0, ds: Any = 0.0
    ) -> Sequence[Any]:
        k = k + 1.0
        following = 1.0 / (x + 1.0 - a + 2.0 * k)
        product = i * following * k
        c = product * (k - a)
        v = c * (1.0 + r)
        dv = (c * (i + following) - product) * (1.0 + r) + c * dr
        inverse = 1.0 / (1.0 - v)
        r = v * inverse
        dr = dv * inverse * inverse
        dt = r * dt + dr * t
        t = r * t
        values = k, following, r, t, s + t
        return (*values, dr, dt, ds + dt) if sloped else values

    zero = 0.0 * x
    one = zero + 1.0
    first = 1.0 / (x + 1.0 - a)
    start = (0.0, first, zero, one, one, zero, zero, zero)
    _, _, _, _, s, *slopes = m.iterate(goes_on, step, start if sloped else start[:5])
    return s * first, (slopes[2] + s * first) * first if sloped else zero


@final
@dataclass(frozen=True, slots=True)
class _Uniform:
    """Temme's expansion: Q = ½ erfc(η √(a/2)) + R T with R = exp(−a η²/2) / √(2πa).

    Args:
        eta: η.
        factor: R.
        sum: T = Σₖ Cₖ(η) a⁻ᵏ.
        slopes: of T, with respect to η and to a.
    """

    eta: Any
    factor: Any
    sum: Any
    slopes: tuple[Any, Any]


def _uniform(m: Notation, a: Any, distance: Any) -> _Uniform:
    half_square = -log1p_minus(m, distance, distance + 1.0)
    size = m.sqrt(2.0 * half_square)
    eta = m.where(distance < 0.0, -size, size)
    inverse = 1.0 / a
    total: Any = 0.0
    by_eta: Any = 0.0
    by_inverse: Any = 0.0
    for row in reversed(TEMME):
        value, slope = row[-1] + 0.0 * eta, 0.0 * eta
        for coefficient in reversed(row[:-1]):
            slope = slope * eta + value
            value = value * eta + coefficient
        by_inverse = by_inverse * inverse + total
        total = total * inverse + value
        by_eta = by_eta * inverse + slope
    factor = m.exp(-a * half_square) / m.sqrt(2 * math.pi * a)
    return _Uniform(eta, factor, total, (by_eta, -by_inverse * inverse * inverse))


def _tail_of_small(m: Notation, a: Any, x: Any) -> Any:
    """Q for x ≤ 1.1 and a ≤ 1, from Q = 1 − xᵃ/Γ(1+a) (1 + a Σₙ (−x)ⁿ / ((a+n) n!))."""
    exponent = a * m.log(x) - log_gamma_of_next(m, a)
    total: Any = 0.0
    power: Any = 1.0
    for n in range(1, 21):
        power = power * x * (-1.0 / n)
        total = total + power / (a + float(n))
    return -m.expm1(exponent) - m.exp(exponent) * a * total


def _values(m: Notation, a: Any, x: Any, *, upper: bool) -> Any:
    """P, or Q if `upper`, of positive finite numbers."""
    at = _regions(a, x)
    s, _ = _series(m, m.where(at.series, a, 1.0), m.where(at.series, x, 0.0), sloped=False)
    f, _ = _fraction(m, m.where(at.fraction, a, 1.0), m.where(at.fraction, x, 9.0), sloped=False)
    factor = leading_factor(m, a, x)
    below, above = factor * s, factor * a * f
    near = _uniform(m, m.where(at.uniform, a, 30.0), m.where(at.uniform, at.distance, 0.0))
    sign = 1.0 if upper else -1.0
    half = 0.5 * m.erfc(sign * near.eta * m.sqrt(0.5 * m.where(at.uniform, a, 30.0)))
    uniform = half + sign * near.factor * near.sum
    if not upper:
        return m.where(at.uniform, uniform, m.where(at.fraction, 1.0 - above, below))
    is_small = at.series & (x < 1.1) & (a <= 1.0) & (below > 0.5)
    small = _tail_of_small(m, m.where(is_small, a, 1.0), m.where(is_small, x, 1.0))
    series = m.where(is_small, small, 1.0 - below)
    return m.where(at.uniform, uniform, m.where(at.fraction, above, series))


def _regular(m: Notation, a: Any, x: Any) -> tuple[Any, Any, Any]:
    """Where a and x are positive and finite, and both with ordinary numbers elsewhere."""
    of_a, of_x = (a > 0.0) & (a < math.inf), (x > 0.0) & (x < math.inf)
    return of_a & of_x, m.where(of_a, a, 1.0), m.where(of_x, x, 1.0)


def _is_defined(a: Any, x: Any) -> Any:
    """a ≥ 0, x ≥ 0, and not both 0 or both ∞; false for NaN."""
    # XLA takes |x| ≥ 0 for granted, also where x is NaN.
    numbers = (a == a) & (x == x) & (a >= 0.0) & (x >= 0.0)
    return numbers & ((a > 0.0) | (x > 0.0)) & ((a < math.inf) | (x < math.inf))


def lower(m: Notation, a: Any, x: Any) -> Any:
    """P(a, x) = ∫₀ˣ s^(a−1) e⁻ˢ ds / Γ(a)."""
    is_regular, inner_a, inner_x = _regular(m, a, x)
    value = _values(m, inner_a, inner_x, upper=False)
    # P(a, 0) = P(∞, x) = 0 and P(0, x) = P(a, ∞) = 1.
    limit = m.where((x == 0.0) | (a == math.inf), 0.0, 1.0)
    return m.where(is_regular, value, m.where(_is_defined(a, x), limit, math.nan))


def upper(m: Notation, a: Any, x: Any) -> Any:
    """Q(a, x) = 1 − P(a, x)."""
    is_regular, inner_a, inner_x = _regular(m, a, x)
    value = _values(m, inner_a, inner_x, upper=True)
    limit = m.where((x == 0.0) | (a == math.inf), 1.0, 0.0)
    return m.where(is_regular, value, m.where(_is_defined(a, x), limit, math.nan))


def _slope_of_log_sample(m: Notation, a: Any, x: Any) -> Any:
    """∂ log x / ∂a at constant P(a, x), of positive finite numbers.

    It is (∂Q/∂a) / (x p) with the density p, and x p = a D.  In terms of the sums S, F and T:
    ((ψ(a+1) − log x) S − S′) / a, (log x − ψ(a)) F + F′, and for the uniform expansion the
    derivative of its two terms, where that of −a η²/2 is log(x/a) and that of η is −μ/(aη).
    """
    at = _regions(a, x)
    series_a, series_x = m.where(at.series, a, 1.0), m.where(at.series, x, 1.0)
    s, ds = _series(m, series_a, series_x, sloped=True)
    series = ((m.digamma(series_a + 1.0) - m.log(series_x)) * s - ds) / series_a
    fraction_a, fraction_x = m.where(at.fraction, a, 1.0), m.where(at.fraction, x, 9.0)
    f, df = _fraction(m, fraction_a, fraction_x, sloped=True)
    fraction = (m.log(fraction_x) - m.digamma(fraction_a)) * f + df
    near_a, distance = m.where(at.uniform, a, 30.0), m.where(at.uniform, at.distance, 0.0)
    near = _uniform(m, near_a, distance)
    at_mode = near.eta == 0.0
    ratio = m.where(at_mode, 1.0, distance / m.where(at_mode, 1.0, near.eta))
    by_eta, by_a = near.slopes
    uniform = ratio - 0.5 * near.eta + (m.log1p(distance) - 0.5 / near_a) * near.sum
    uniform = (uniform - by_eta * ratio / near_a + by_a) / near_a
    uniform = uniform * m.exp(log_scaled_gamma(m, near_a))
    return m.where(at.uniform, uniform, m.where(at.fraction, fraction, series))


def slope_of_lower(m: Notation, a: Any, x: Any) -> Any:
    """∂P/∂a; NaN at a = 0."""
    is_regular, inner_a, inner_x = _regular(m, a, x)
    slope = _slope_of_log_sample(m, inner_a, inner_x)
    # In this order nothing leaves the range for a tiny a.
    value = -leading_factor(m, inner_a, inner_x) * (inner_a * slope)
    is_defined = _is_defined(a, x) & (a > 0.0)
    return m.where(is_regular, value, m.where(is_defined, 0.0, math.nan))


def slope_of_sample(m: Notation, a: Any, x: Any) -> Any:
    """∂x/∂a at constant P(a, x): how a gamma number moves with its parameter; NaN at a = 0."""
    is_regular, inner_a, inner_x = _regular(m, a, x)
    value = inner_x * _slope_of_log_sample(m, inner_a, inner_x)
    is_start = (x == 0.0) & (a > 0.0) & (a < math.inf)
    return m.where(is_regular, value, m.where(is_start, 0.0, math.nan))


def density_of_gamma(m: Notation, a: Any, x: Any) -> Any:
    """x^(a−1) e⁻ˣ / Γ(a) = ∂P/∂x; at x = 0 its limit."""
    is_inside = (a > 0.0) & (x >= 0.0) & (a < math.inf) & (x < math.inf)
    value = density(m, m.where(is_inside, a, 1.0), m.where(is_inside, x, 1.0))
    # All of the distribution is at 0 for a = 0, and at ∞ for a = ∞.
    limit = m.where((a == 0.0) & (x == 0.0), math.inf, 0.0)
    is_defined = (a >= 0.0) & (x >= 0.0) & ((a < math.inf) | (x < math.inf))
    return m.where(is_inside, value, m.where(is_defined, limit, math.nan))


def _log_leading_factor(m: Notation, a: Any, x: Any) -> Any:
    is_large = a >= START_OF_STIRLING
    large, small = m.where(is_large, a, START_OF_STIRLING), m.where(is_large, 1.0, a)
    exponent = large * log1p_minus(m, (x - large) / large, x / large)
    far = exponent - log_scaled_gamma(m, large) - 0.5 * m.log(2 * math.pi * large)
    near = small * m.log(x) - x - log_gamma_of_next(m, small)
    return m.where(is_large, far, near)


def _remote_total(m: Notation, a: Any, distance: Any, *, upper: bool) -> Any:
    """P or Q over exp(−a η²/2) / √(2πa), far from a in the uniform expansion.

    There erfc z is e^(−z²) / (z √π) (1 − 1/(2z²) + 3/(4z⁴) − …).
    """
    near = _uniform(m, a, distance)
    z = abs(near.eta) * m.sqrt(0.5 * a)
    inverse = 0.5 / (z * z)
    scaled_erfc = (1.0 - inverse * (1.0 - inverse * (3.0 - 15.0 * inverse))) / z
    return abs(m.sqrt(0.5 * a) * scaled_erfc + (near.sum if upper else -near.sum))


def _log_of_remote_tail(m: Notation, a: Any, x: Any, *, upper: bool) -> Any:
    """log P or log Q of positive finite numbers, where that itself has left the range."""
    at = _regions(a, x)
    factor = _log_leading_factor(m, a, x)
    if upper:
        a_there, x_there = m.where(at.fraction, a, 1.0), m.where(at.fraction, x, 9.0)
        f, _ = _fraction(m, a_there, x_there, sloped=False)
        direct = factor + m.log(a_there * f)
    else:
        s, _ = _series(m, m.where(at.series, a, 1.0), m.where(at.series, x, 0.0), sloped=False)
        direct = factor + m.log(s)
    near_a = m.where(at.uniform, a, 1e4)
    total = _remote_total(m, near_a, m.where(at.uniform, at.distance, 0.2), upper=upper)
    exponent = near_a * log1p_minus(m, at.distance, at.distance + 1.0)
    uniform = exponent - 0.5 * m.log(2 * math.pi * near_a) + m.log(total)
    return m.where(at.uniform, uniform, direct)


def log_of_tail(m: Notation, a: Any, x: Any, *, upper: bool) -> Any:
    """log Q if `upper`, else log P, also where that underflows or is nearly 0."""
    is_regular, inner_a, inner_x = _regular(m, a, x)
    own = _values(m, inner_a, inner_x, upper=upper)
    other = _values(m, inner_a, inner_x, upper=not upper)
    is_large, is_remote = own > 0.5, own < _START_OF_REMOTE
    if upper:  # The series has all digits of a Q that is small because a is.
        is_remote = is_remote & (inner_x >= _START_OF_FRACTION)
    value = m.where(is_large, m.log1p(-other), m.log(m.where(is_remote, 1.0, own)))
    # Where the tail is not remote, the numbers stay where that formula has values.
    far_a, far_x = m.where(is_remote, inner_a, 1.0), m.where(is_remote, inner_x, 1.0)
    value = m.where(is_remote, _log_of_remote_tail(m, far_a, far_x, upper=upper), value)
    at_zero = (x == 0.0) | (a == math.inf)
    limit = m.where(at_zero, 0.0, -math.inf) if upper else m.where(at_zero, -math.inf, 0.0)
    return m.where(is_regular, value, m.where(_is_defined(a, x), limit, math.nan))


def density_over_tail(m: Notation, a: Any, x: Any, *, upper: bool) -> Any:
    """x^(a−1) e⁻ˣ / Γ(a) over Q if `upper`, else over P, where nothing is left of both too.

    With D of `leading_factor` the density is D a / x, the tails are D S and D a F.
    """
    is_regular, inner_a, inner_x = _regular(m, a, x)
    at = _regions(inner_a, inner_x)
    own = _values(m, inner_a, inner_x, upper=upper)
    ratio = density(m, inner_a, inner_x) / m.where(own > 0.0, own, 1.0)
    is_remote = at.uniform & (own <= _START_OF_REMOTE)
    far_a, far = m.where(is_remote, inner_a, 1e4), m.where(is_remote, at.distance, 0.2)
    of_remote = m.exp(-log_scaled_gamma(m, far_a)) / _remote_total(m, far_a, far, upper=upper)
    ratio = m.where(is_remote, inner_a / inner_x * of_remote, ratio)
    if upper:
        there, at_end = at.fraction, density_of_gamma(m, a, x)
        f, _ = _fraction(m, m.where(there, a, 1.0), m.where(there, x, 9.0), sloped=False)
        direct, limit = 1.0 / (inner_x * f), m.where(x == math.inf, 1.0, at_end)
    else:
        there, at_end = at.series, (x == 0.0) | (a == math.inf)
        s, _ = _series(m, m.where(there, a, 1.0), m.where(there, x, 0.0), sloped=False)
        direct, limit = inner_a / (inner_x * s), m.where(at_end, math.inf, 0.0)
    limit = m.where(_is_defined(a, x) & (a > 0.0), limit, math.nan)
    return m.where(is_regular, m.where(there, direct, ratio), limit)
