"""How ₁F₁(a; b; x) is computed; the ways that it shares with ₂F₁ are in `_hypergeometric_ways`.

References: Pearson, Olver & Porter (2017), see there; DLMF, 13.2.39, 13.3.1, 13.3.2 and 13.7.1.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ...lax.ground.formulas import Notation
from ._hypergeometric_ways import (
    MOST_STEPS,
    REMOTE,
    Equation,
    Scaled,
    carried,
    from_series,
    is_degree,
    least,
    lowered,
    series,
    sign_of_gamma,
    with_limits,
)

_ASYMPTOTIC = 30.0


def _confluent_polynomial(m: Notation, degree: Any, b: Any, x: Any) -> Any:
    """₁F₁(−n; b; x): (b + k) Fₖ₊₁ = (2k + b − x) Fₖ − k Fₖ₋₁."""

    def goes_on(k: Any, f: Any, before: Any) -> Any:
        return k < degree

    def step(k: Any, f: Any, before: Any) -> Sequence[Any]:
        following = ((2.0 * k + b - x) * f - k * before) / (b + k)
        more = k < degree
        return k + 1.0, m.where(more, following, f), m.where(more, f, before)

    one = 0.0 * x + 1.0
    return m.iterate(goes_on, step, (0.0, one, one))[1]


def _confluent_asymptotic(m: Notation, a: Any, b: Any, x: Any) -> Any:
    """e⁻ˣ ₁F₁(a; b; x) for large x, Γ(b)/Γ(a) xᵃ⁻ᵇ Σ (b − a)ₖ (1 − a)ₖ / (k! xᵏ), or NaN.

    It holds if a term falls below the precision before they grow, no digits cancel, and what is
    left out is small.
    """

    def goes_on(k: Any, t: Any, s: Any, ratio: Any, largest: Any) -> Any:
        # For b near x terms fall as slowly as √k.
        return (abs(t) > m.precision * abs(s)) & (ratio < 1.0) & (k < MOST_STEPS)

    def step(k: Any, t: Any, s: Any, ratio: Any, largest: Any) -> Sequence[Any]:
        factor = (b - a + k) * ((1.0 - a + k) / ((k + 1.0) * x))
        more = goes_on(k, t, s, ratio, largest)
        ratio = m.where(more, abs(factor), ratio)
        t = m.where(more, t * factor, t)
        s = m.where(more & (ratio < 1.0), s + t, s)
        return k + 1.0, t, s, ratio, m.where(abs(t) > largest, abs(t), largest)

    zero = 0.0 * x
    _, t, s, _, largest = m.iterate(goes_on, step, (0.0, zero + 1.0, zero + 1.0, zero, zero + 1.0))
    sign = sign_of_gamma(m, a) * sign_of_gamma(m, b)
    log_x = m.log(x)
    power = m.exp(m.lgamma(b) - m.lgamma(a) + (a - b) * log_x)
    # What is left out is Γ(b)/Γ(b − a) (−x)⁻ᵃ.
    rest = m.lgamma(a) - m.lgamma(b - a) + (b - 2.0 * a) * log_x - x
    holds = (abs(t) <= 4.0 * m.precision * abs(s)) & (largest <= 4.0 * abs(s)) & (rest < -40.0)
    return m.where(holds, sign * power * s, math.nan)


def _confluent_positive(m: Notation, a: Any, b: Any, x: Any, exponent: Any) -> tuple[Any, Any]:
    """e^exponent ₁F₁(a; b; x) for x ≥ 0, where it is no polynomial, and its loss."""
    is_far = x > _ASYMPTOTIC
    far = m.if_any(is_far, lambda: _confluent_asymptotic(m, a, b, m.where(is_far, x, 1e10)))
    is_far = is_far & (far == far)
    half = m.exp(0.5 * (x + exponent))
    x = m.where(is_far, 0.0, x)
    # 1 + a G, G of positive terms, as the other solution would outgrow a G of a next to 0.
    is_rest = (a > -1.0) & (a < 0.0) & (b > 0.0)
    one_sign = is_rest | ((a > 0.0) & (b > 0.0))
    start = m.where(one_sign, x, least(m, x, 0.25 / (1.0 + abs(a))))
    function, slope = from_series(m, [a], b, start, start != x, is_rest)

    def at(x: Any) -> tuple[Any, Any, Any, Any]:
        is_zero = x == 0.0
        return m.where(is_zero, 1.0, x), 1.0, b - x, m.where(is_zero, 1.0, x)

    near = carried(m, Equation(at, lambda k: a + k), start, x, function, slope)
    scaled = Scaled(m.where(is_rest, a * near.value, near.value), near.count)
    value = scaled.times_exp(m, exponent) + m.where(is_rest, m.exp(exponent), 0.0)
    value = m.where(is_far, half * (half * far), value)
    return value, m.where(is_far | (start == x), 1.0, near.loss)


def confluent(m: Notation, a: Any, b: Any, x: Any) -> Any:
    """₁F₁(a; b; x)."""
    is_known = (a == a) & (b == b) & (x == x) & (abs(a) < math.inf) & (abs(b) < math.inf)
    is_remote = is_known & (abs(x) == math.inf)
    x = m.where(is_remote, m.where(x > 0.0, REMOTE, -REMOTE), x)
    x = m.where(is_known, x, 0.0)
    a, b = m.where(is_known, a, 1.0), m.where(is_known, b, 2.0)
    is_pole = is_degree(m, b) & ~(is_degree(m, a) & (a >= b)) & (x != 0.0)
    b = m.where(is_degree(m, b) & ((x == 0.0) | is_pole), 1.0, b)
    is_polynomial, is_turned = is_degree(m, a), is_degree(m, b - a)
    degree = m.where(is_polynomial, -a, m.where(is_turned, a - b, 0.0))
    is_whole = is_polynomial | is_turned

    def by_recurrence() -> Any:
        polynomial = _confluent_polynomial(m, degree, b, m.where(is_polynomial, x, -x))
        return m.where(is_polynomial, polynomial, Scaled(polynomial, 0.0).times_exp(m, x))

    whole = m.if_any(is_whole, by_recurrence)
    inner_a, inner_b = m.where(is_whole, 1.0, a), m.where(is_whole, 2.0, b)
    inner = m.where(is_whole, 0.0, x)
    is_left = inner < 0.0
    exponent = m.where(is_left, inner, 0.0)

    def function(b: Any) -> tuple[Any, Any]:
        upper = m.where(is_left, b - inner_a, inner_a)
        return _confluent_positive(m, upper, b, abs(inner), exponent)

    def down(b: Any) -> tuple[Any, Any]:
        return (b + inner) / b, -(inner / (b + 1.0)) * ((b + 1.0 - inner_a) / b)

    def direct(is_low: Any) -> tuple[Any, Any]:
        z = m.where(is_low, inner, 0.0)
        first = series(m, [inner_a], inner_b, z)
        second = series(m, [inner_b - inner_a], inner_b, -z)
        takes_first = first.loss < second.loss
        chosen = [m.where(takes_first, p, q) for p, q in zip(first, second, strict=True)]
        found = Scaled(*chosen)
        return found.times_exp(m, m.where(takes_first, 0.0, z)), found.loss

    value = m.where(is_whole, whole, lowered(m, function, inner_b, down, direct))
    return with_limits(m, value, is_known, is_remote, is_pole)
