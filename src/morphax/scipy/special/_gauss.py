"""How ₂F₁(a, b; c; x) is computed; the ways that it shares with ₁F₁ are in `_hypergeometric_ways`.

References: Pearson, Olver & Porter (2017), see there; DLMF, 15.4.20, 15.5.11, 15.5.18 and 15.8.1.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ...lax.ground.formulas import Notation
from ._hypergeometric_ways import (
    REMOTE,
    Equation,
    carried,
    from_series,
    is_degree,
    least,
    lowered,
    series,
    sign_of_gamma,
    with_limits,
)


def _gauss_polynomial(m: Notation, degree: Any, b: Any, c: Any, x: Any) -> Any:
    """₂F₁(−n, b; c; x): (c + k) Fₖ₊₁ = (2k + c − (b + k) x) Fₖ + k (x − 1) Fₖ₋₁."""

    def goes_on(k: Any, f: Any, before: Any) -> Any:
        return k < degree

    def step(k: Any, f: Any, before: Any) -> Sequence[Any]:
        following = (2.0 * k + c - (b + k) * x) * f + k * ((x - 1.0) * before)
        more = k < degree
        return k + 1.0, m.where(more, following / (c + k), f), m.where(more, f, before)

    one = 0.0 * x + 1.0
    return m.iterate(goes_on, step, (0.0, one, one))[1]


def _gauss_inside(m: Notation, a: Any, b: Any, c: Any, x: Any, y: Any) -> Any:
    """₂F₁(a, b; c; x) for 0 ≤ x < 1 and y = 1 − x, which x may not tell exactly."""
    one_sign = (a > 0.0) & (b > 0.0) & (c > 0.0)
    near = m.where(one_sign, 0.5, 0.25 / (1.0 + abs(a) * abs(b) / (1.0 + abs(c))))
    has_way = x > near
    start = m.where(has_way, near, x)
    function, slope = from_series(m, [a, b], c, start, has_way)

    # In y the equation is that of ₂F₁(a, b; a + b + 1 − c; y).
    def at(y: Any) -> tuple[Any, Any, Any, Any]:
        rest = 1.0 - y
        rest = m.where(rest > 0.0, rest, 1.0)
        total = a + b + 1.0
        return y * rest, 1.0 - 2.0 * y, (total - c) - total * y, least(m, y, rest)

    equation = Equation(at, lambda k: (a + k) * (b + k))
    first = m.where(has_way, 1.0 - start, y)
    return carried(m, equation, first, y, function, -slope).times_exp(m, 0.0 * x)


def _gauss_at_one(m: Notation, a: Any, b: Any, c: Any) -> Any:
    """Γ(c) Γ(c − a − b) / (Γ(c − a) Γ(c − b)), or ∞."""
    rest = c - a - b
    is_finite = rest > 0.0
    rest = m.where(is_finite, rest, 1.0)
    sign = sign_of_gamma(m, c) * sign_of_gamma(m, c - a) * sign_of_gamma(m, c - b)
    logarithm = (m.lgamma(c) - m.lgamma(c - a)) + (m.lgamma(rest) - m.lgamma(c - b))
    return m.where(is_finite, sign * m.exp(logarithm), math.inf)


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
    whole = _gauss_polynomial(m, degree, m.where(degree_of_b, a, b), c, x)
    is_inside = ~is_polynomial & (x < 1.0)
    inner_a, inner_b, inner_c = [m.where(is_inside, p, 1.0) for p in (a, b, c)]
    inside = _gauss_below_one(m, inner_a, inner_b, inner_c, m.where(is_inside, x, 0.0))
    edge = m.where(x == 1.0, _gauss_at_one(m, a, b, c), math.inf)
    value = m.where(is_polynomial, whole, m.where(is_inside, inside, edge))
    return with_limits(m, value, is_known, is_remote, is_pole)


def _gauss_below_one(m: Notation, a: Any, b: Any, c: Any, x: Any) -> Any:
    """₂F₁(a, b; c; x) for a ≤ b, x < 1."""

    def down(c: Any) -> tuple[Any, Any]:
        rest = (c - 1.0) * (1.0 - x)
        first = (c - 1.0 - (2.0 * c - a - b - 1.0) * x) / rest
        return first, (c - a) * ((c - b) / c) * (x / rest)

    def direct(is_low: Any) -> tuple[Any, Any]:
        z = m.where(is_low, x, 0.0)
        is_left = z < 0.0
        z = m.where(is_left, -z / (1.0 - z), z)
        found = series(m, [a, m.where(is_left, c - b, b)], c, m.where(z < 0.95, z, 0.0))
        value = found.times_exp(m, m.where(is_left, -a * m.log1p(-x), 0.0))
        return value, m.where(z < 0.95, found.loss, math.inf)

    return lowered(m, lambda c: _gauss_transformed(m, a, b, c, x), c, down, direct)


def _gauss_transformed(m: Notation, a: Any, b: Any, c: Any, x: Any) -> Any:
    """₂F₁(a, b; c; x) for a ≤ b, x < 1."""
    is_left = x < 0.0
    # (1 − x)⁻ᵇ where a = c: the other power would leave a series that cancels.
    a, b = m.where(is_left & (a == c), b, a), m.where(is_left & (a == c), a, b)
    rest = c - a - b
    is_steep = ~is_left & (rest < 0.0)
    power = m.where(is_left, -a, m.where(is_steep, rest, 0.0))
    factor = m.exp(power * m.log1p(-x))
    upper = m.where(is_steep, c - a, a)
    other = m.where(is_left | is_steep, c - b, b)
    y = m.where(is_left, 1.0 / (1.0 - x), 1.0 - x)
    x = m.where(is_left, -x / (1.0 - x), x)
    upper, other = m.where(upper < other, upper, other), m.where(upper < other, other, upper)
    degree_of_other = is_degree(m, other)
    is_polynomial = degree_of_other | is_degree(m, upper)
    degree = m.where(is_polynomial, -m.where(degree_of_other, other, upper), 0.0)
    whole = _gauss_polynomial(m, degree, m.where(degree_of_other, upper, other), c, x)
    plain = (1.0, 1.0, 1.0, 0.0, 1.0)
    given = (upper, other, c, x, y)
    inner = [m.where(is_polynomial, p, q) for p, q in zip(plain, given, strict=True)]
    return factor * m.where(is_polynomial, whole, _gauss_inside(m, *inner))
