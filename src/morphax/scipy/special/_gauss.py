"""How ₂F₁(a, b; c; x) is computed; the ways that it shares with ₁F₁ are in `_hypergeometric_ways`.

References: Pearson, Olver & Porter (2017), see there; DLMF, 15.4.20, 15.5.11, 15.5.18 and 15.8.1.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ...lax.ground.formulas import Notation
from ._hypergeometric_ways import (
    MOST_LOSS,
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


def _gauss_polynomial(m: Notation, degree: Any, b: Any, c: Any, x: Any) -> tuple[Any, Any]:
    """₂F₁(−n, b; c; x): (c + k) Fₖ₊₁ = (2k + c − (b + k) x) Fₖ + k (x − 1) Fₖ₋₁; and its loss."""

    def goes_on(k: Any, f: Any, before: Any, largest: Any) -> Any:
        return k < degree

    def step(k: Any, f: Any, before: Any, largest: Any) -> Sequence[Any]:
        following = (2.0 * k + c - (b + k) * x) * f + k * ((x - 1.0) * before)
        more = k < degree
        f, before = m.where(more, following / (c + k), f), m.where(more, f, before)
        return k + 1.0, f, before, m.where(abs(f) > largest, abs(f), largest)

    one = 0.0 * x + 1.0
    _, f, before, largest = m.iterate(goes_on, step, (0.0, one, one, one))
    # Powers of 1 − x, though small, are no zeros, around which the step before is larger.
    return f, largest / (abs(f) + abs((1.0 - x) * before))


def _gauss_inside(
    m: Notation, a: Any, b: Any, c: Any, x: Any, y: Any, is_rest: Any
) -> tuple[Any, Any]:
    """₂F₁(a, b; c; x) for 0 ≤ x < 1 and y = 1 − x, which x may not tell exactly; and its loss.

    Where `is_rest` it is 1 + a G, and G = (F − 1) / a is what is computed, of positive terms: it
    solves the equation of F with b on the right side.
    """
    one_sign = is_rest | ((a > 0.0) & (b > 0.0) & (c > 0.0))
    # The ratios of the first terms; of a parameter next to 0 the second one counts.
    ratio, following = abs(a) * abs(b), 0.5 * abs((a + 1.0) * (b + 1.0))
    ratio = m.where(ratio > following, ratio, following) / (1.0 + abs(c))
    near = m.where(one_sign, 0.5, 0.25 / (1.0 + ratio))
    has_way = x > near
    start = m.where(has_way, near, x)
    function, slope = from_series(m, [a, b], c, start, has_way, is_rest)

    # In y the equation is that of ₂F₁(a, b; a + b + 1 − c; y).
    def at(y: Any) -> tuple[Any, Any, Any, Any]:
        rest = 1.0 - y
        rest = m.where(rest > 0.0, rest, 1.0)
        total = a + b + 1.0
        return y * rest, 1.0 - 2.0 * y, (total - c) - total * y, least(m, y, rest)

    equation = Equation(at, lambda k: (a + k) * (b + k), m.where(is_rest, b, 0.0))
    first = m.where(has_way, 1.0 - start, y)
    found = carried(m, equation, first, y, function, -slope)
    scaled = Scaled(m.where(is_rest, a * found.value, found.value), found.count)
    value = scaled.times_exp(m, 0.0 * x)
    return m.where(is_rest, 1.0 + value, value), m.where(is_rest, 1.0, found.loss)


def _gauss_at_one(m: Notation, a: Any, b: Any, c: Any) -> Any:
    """Γ(c) Γ(c − a − b) / (Γ(c − a) Γ(c − b)), or ∞ of the sign of Γ(c) / (Γ(a) Γ(b))."""
    rest = c - a - b
    is_finite = rest > 0.0
    rest = m.where(is_finite, rest, 1.0)
    sign = sign_of_gamma(m, c) * sign_of_gamma(m, c - a) * sign_of_gamma(m, c - b)
    parts = [m.lgamma(p) for p in (c, c - a, rest, c - b)]
    value = sign * m.exp((parts[0] - parts[1]) + (parts[2] - parts[3]))
    size = sum((abs(part) for part in parts), 0.0)
    is_lost = ~(size < MOST_LOSS) & (size < math.inf)
    infinite = math.inf * (sign_of_gamma(m, c) * sign_of_gamma(m, a) * sign_of_gamma(m, b))
    return m.where(is_finite, m.where(is_lost, math.nan, value), infinite)


def gauss(m: Notation, a: Any, b: Any, c: Any, x: Any) -> Any:
    """₂F₁(a, b; c; x)."""
    is_known = (a == a) & (b == b) & (c == c) & (x == x)
    is_known = is_known & (abs(a) < math.inf) & (abs(b) < math.inf) & (abs(c) < math.inf)
    is_remote = is_known & (abs(x) == math.inf)
    x = m.where(is_remote, m.where(x > 0.0, REMOTE, -REMOTE), m.where(is_known, x, 0.0))
    a, b, c = [m.where(is_known, p, 1.0) for p in (a, b, c)]
    # Of two degrees the smaller one counts, which is the greater parameter.
    a, b = m.where(a < b, a, b), m.where(a < b, b, a)
    degree_of_b = is_degree(m, b)
    is_polynomial = degree_of_b | is_degree(m, a)
    degree = m.where(is_polynomial, -m.where(degree_of_b, b, a), 0.0)
    is_pole = is_degree(m, c) & ~(is_polynomial & (degree <= -c)) & (x != 0.0)
    c = m.where(is_degree(m, c) & ((x == 0.0) | is_pole), 1.0, c)
    other = m.where(degree_of_b, a, b)
    whole, loss = _gauss_polynomial(m, degree, other, c, x)
    # The recurrence loses a parameter next to 0, and terms of one sign have all digits anyway.
    given = m.where(is_polynomial, x, 0.0)
    summed = series(m, [other, -degree], c, given, is_polynomial)
    rest = Scaled(other * summed.value, summed.count).times_exp(m, 0.0)
    is_plain = (summed.loss < 4.0) & (abs(1.0 + rest) > 0.25 * abs(rest))
    whole, loss = m.where(is_plain, 1.0 + rest, whole), m.where(is_plain, 1.0, loss)
    is_inside = ~is_polynomial & (x < 1.0)
    whole = m.where(loss >= MOST_LOSS, math.nan, whole)
    inner_a, inner_b, inner_c = [m.where(is_inside, p, 1.0) for p in (a, b, c)]
    inside = _gauss_below_one(m, inner_a, inner_b, inner_c, m.where(is_inside, x, 0.0))
    edge = m.where(x == 1.0, _gauss_at_one(m, a, b, c), math.inf)
    value = m.where(is_polynomial, whole, m.where(is_inside, inside, edge))
    return with_limits(m, value, is_known, is_remote, is_pole)


def _gauss_below_one(m: Notation, a: Any, b: Any, c: Any, x: Any) -> Any:
    """₂F₁(a, b; c; x) for a ≤ b, x < 1."""

    def down(c: Any) -> tuple[Any, Any]:
        rest = c * (1.0 - x)
        above = c + 1.0
        first = (c - (2.0 * c - a - b + 1.0) * x) / rest
        return first, (above - a) * ((above - b) / above) * (x / rest)

    def direct(is_low: Any) -> tuple[Any, Any]:
        z = m.where(is_low, x, 0.0)
        is_left = z < 0.0
        z = m.where(is_left, -z / (1.0 - z), z)
        found = series(m, [a, m.where(is_left, c - b, b)], c, m.where(z < 0.95, z, 0.0))
        value = found.times_exp(m, m.where(is_left, -a * m.log1p(-x), 0.0))
        return value, m.where(z < 0.95, found.loss, math.inf)

    return lowered(m, lambda c: _gauss_transformed(m, a, b, c, x), c, down, direct)


def _gauss_transformed(m: Notation, a: Any, b: Any, c: Any, x: Any) -> tuple[Any, Any]:
    """₂F₁(a, b; c; x) for a ≤ b, x < 1, c > 0, and its loss."""
    is_left = x < 0.0
    rest = c - a - b
    # Next to 0 a parameter is lost in c − a, and as F − 1 tends to 0 with it, so are digits of F.
    small = m.where(is_left, b, a)
    is_rest = (small > -1.0) & (32.0 * small <= 1.0 + c)
    is_rest = is_rest & m.where(is_left, (a < b) & (a < c), rest < 0.0)
    # (1 − x)⁻ᵇ where a = c: the other power would leave a series that cancels.
    is_turned = is_left & ((a == c) | is_rest)
    a, b = m.where(is_turned, b, a), m.where(is_turned, a, b)
    is_steep = ~is_left & (rest < 0.0) & ~is_rest
    power = m.where(is_left, -a, m.where(is_steep, rest, 0.0))
    half = m.exp(0.5 * power * m.log1p(-x))
    upper = m.where(is_steep, c - a, a)
    other = m.where(is_left | is_steep, c - b, b)
    y = m.where(is_left, 1.0 / (1.0 - x), 1.0 - x)
    x = m.where(is_left, -x / (1.0 - x), x)
    # Where `is_rest` the small one is the first as it is.
    is_sorted = is_rest | (upper < other)
    upper, other = m.where(is_sorted, upper, other), m.where(is_sorted, other, upper)
    degree_of_other = is_degree(m, other)
    is_polynomial = degree_of_other | is_degree(m, upper)
    degree = m.where(is_polynomial, -m.where(degree_of_other, other, upper), 0.0)
    whole, loss = _gauss_polynomial(m, degree, m.where(degree_of_other, upper, other), c, x)
    plain = (1.0, 1.0, 1.0, 0.0, 1.0)
    given = (upper, other, c, x, y)
    inner = [m.where(is_polynomial, p, q) for p, q in zip(plain, given, strict=True)]
    upper, other, c, x, y = inner
    inside, inner_loss = _gauss_inside(m, upper, other, c, x, y, is_rest & ~is_polynomial)
    loss = m.where(is_polynomial, loss, inner_loss)
    return half * (half * m.where(is_polynomial, whole, inside)), loss
