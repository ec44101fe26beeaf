"""The functions ₁F₁(a; b; x) and ₂F₁(a, b; c; x) of real numbers: how they are computed.

Transformations lead to 0 ≤ x, for ₂F₁ below 1, and to a solution that no other one outgrows on the
way there:

- ₁F₁(a; b; x) = eˣ ₁F₁(b − a; b; −x) for x < 0 (Kummer);
- ₂F₁(a, b; c; x) = (1 − x)⁻ᵃ ₂F₁(a, c − b; c; x / (x − 1)) for x < 0, a ≥ b (Pfaff);
- ₂F₁(a, b; c; x) = (1 − x)ˢ ₂F₁(c − a, c − b; c; x) for s = c − a − b < 0 (Euler).

A polynomial is found by recurrence in its degree, and for a negative lower parameter, b or c, a
function by recurrence from positive ones.  The rest is Gauss's series, as far as its terms
have one sign or x is small.  From there the function is carried on by its differential equation,

    A F″ + C F′ − D F = 0,

in steps of a quarter of the radius of convergence at most, short against its oscillations; each is
a Taylor series, of the equation's own recurrence.  So there are no cases for differences of
parameters that are integers, or nearly so.

Of a parameter a next to 0, and of one sign of the others, F is 1 + a G: F itself would be carried
on beside a solution that outgrows it, and transformations round a away.  G has positive terms, and
a right side in the equation.

References: J. W. Pearson, S. Olver and M. A. Porter, "Numerical methods for the computation of the
confluent and Gauss hypergeometric functions", Numerical Algorithms 74 (2017), sections 3.1, 3.2,
4.2, 4.6 and 4.7; DLMF, 13.2.39, 13.2, 13.3, 15.5 and 15.8.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ...lax.ground.formulas import Notation

MOST_STEPS = 6000.0
_TAYLOR_TERMS = 40.0
# Numbers beyond 2⁶⁰⁰ are kept as multiples of it.
_LARGE = 2.0**600
_LOG_LARGE = 600 * math.log(2)
# A loss that leaves six digits of sixteen, and one for roundings on the way.
MOST_LOSS = 1e9
# Stands for infinity: what is less than 1 there tends to 0.
REMOTE = 1e305


class Scaled(NamedTuple):
    """The number `value` · 2^(600 `count`), and how many times larger a term of it is."""

    value: Any
    count: Any
    loss: Any = 1.0

    def times_exp(self, m: Notation, exponent: Any) -> Any:
        """It times e^exponent, which alone may overflow."""
        half = m.exp(0.5 * (exponent + _LOG_LARGE * self.count))
        return half * (half * self.value)


def least(m: Notation, x: Any, y: Any) -> Any:
    return m.where(x < y, x, y)


def is_degree(m: Notation, a: Any) -> Any:
    """Whether −a is 0 or a natural number, the degree of a polynomial."""
    return (a <= 0.0) & (a == m.floor(a)) & (a > -MOST_STEPS)


def sign_of_gamma(m: Notation, x: Any) -> Any:
    """The sign of Γ(x)."""
    below = m.floor(x)
    is_even = below == 2.0 * m.floor(0.5 * below)
    return m.where((x > 0.0) | is_even, 1.0, -1.0)


def series(m: Notation, upper: Sequence[Any], lower: Any, x: Any, is_rest: Any = None) -> Scaled:
    """F = Σ Π (uₖ) xᵏ / ((l)ₖ k!) over rising factorials of the parameters.

    Where `is_rest` it is (F − 1) / u of the first parameter u, which may be next to 0.
    """
    zero = 0.0 * x
    start, term = 0.0, zero + 1.0
    if is_rest is not None:
        second = x / lower
        for parameter in upper[1:]:
            second = second * parameter
        start, term = m.where(is_rest, 1.0, zero), m.where(is_rest, second, term)

    def is_open(k: Any, t: Any, s: Any) -> Any:
        # A factor of the denominator that is near 0 lets terms grow again, for long at times.
        ratio = x
        for parameter in upper:
            ratio = ratio * (parameter + k)
        may_grow = (k + lower < 1.0) | (abs(ratio) > abs((lower + k) * (k + 1.0)))
        return (abs(t) > m.precision * abs(s)) | (may_grow & (t != 0.0))

    def goes_on(k: Any, t: Any, s: Any, largest: Any, count: Any) -> Any:
        return is_open(k, t, s) & (k < MOST_STEPS)

    def step(k: Any, t: Any, s: Any, largest: Any, count: Any) -> Sequence[Any]:
        t = t * (x / ((lower + k) * (k + 1.0)))
        for parameter in upper:
            t = t * (parameter + k)
        s = s + t
        largest = m.where(abs(t) > largest, abs(t), largest)
        is_large = largest > _LARGE
        unit = m.where(is_large, 1.0 / _LARGE, 1.0)
        return k + 1.0, t * unit, s * unit, largest * unit, count + m.where(is_large, 1.0, 0.0)

    k, t, s, largest, count = m.iterate(goes_on, step, (start, term, term, abs(term), zero))
    # Steps are counted for all elements together: the one that is open still is to blame.
    return Scaled(m.where(is_open(k, t, s), math.nan, s), count, largest / abs(s))


class Equation(NamedTuple):
    """A F″ + C F′ − D F = 0, differentiated k times: A F⁽ᵏ⁺²⁾ + (B k + C) F⁽ᵏ⁺¹⁾ − D(k) F⁽ᵏ⁾ = 0.

    `at` gives A, B, C and the distance of the nearest singularity from a point.  With a `source`
    the right side is this constant, for k = 0, and not 0.
    """

    at: Callable[[Any], tuple[Any, Any, Any, Any]]
    d: Callable[[Any], Any]
    source: Any = None


def _taylor(
    m: Notation, equation: Equation, a: Any, b: Any, c: Any, h: Any, w: Any, moved: Any, push: Any
) -> tuple[Any, Any]:
    """F(x + h) and h F′(x + h), from F and h F′ at x; `push` is the source in the scale of F."""
    scale = h / a

    def goes_on(k: Any, term: Any, following: Any, total: Any, moved: Any) -> Any:
        rest = abs(term) + abs(k * following)
        return (rest > m.precision * (abs(total) + abs(moved))) & (k < _TAYLOR_TERMS)

    def step(k: Any, term: Any, following: Any, total: Any, moved: Any) -> Sequence[Any]:
        # Terms are derivatives times hᵏ / k!.
        back = h * equation.d(k) * term - (b * k + c) * ((k + 1.0) * following)
        if push is not None:
            back = back + m.where(k == 0.0, h * push, 0.0)
        last = scale * back * (1.0 / ((k + 1.0) * (k + 2.0)))
        return k + 1.0, following, last, total + last, moved + (k + 2.0) * last

    state = (0.0, w, moved, w + moved, moved)
    _, _, _, total, moved = m.iterate(goes_on, step, state)
    return total, moved


def carried(
    m: Notation, equation: Equation, start: Any, end: Any, function: Scaled, slope: Any
) -> Scaled:
    """The solution at `end`, from its value and slope (of the same scale) at `start`.

    Its loss is that of a solution that falls while others, of which errors consist, do not; near a
    zero it is that of the slope.
    """

    def goes_on(n: Any, x: Any, w: Any, slope: Any, count: Any, largest: Any) -> Any:
        return (x != end) & (n < MOST_STEPS)

    def step(n: Any, x: Any, w: Any, slope: Any, count: Any, largest: Any) -> Sequence[Any]:
        a, b, c, radius = equation.at(x)
        rate = abs(c) / a + m.sqrt(abs(equation.d(0.0)) / a)
        reach = end - x
        length = least(m, 0.25 * radius, 2.0 / m.where(rate > 0.0, rate, 1e-300))
        is_last = length >= abs(reach)
        h = m.where(is_last, reach, m.where(reach > 0.0, length, -length))
        push = equation.source
        if push is not None:
            push = push * m.exp(-_LOG_LARGE * count)
        total, moved = _taylor(m, equation, a, b, c, h, w, slope * h, push)
        slope = m.where(h == 0.0, slope, moved / m.where(h == 0.0, 1.0, h))
        is_large = abs(total) > _LARGE
        unit = m.where(is_large, 1.0 / _LARGE, 1.0)
        x = m.where(is_last, end, x + h)
        largest = m.where(abs(total) > largest, abs(total), largest) * unit
        count = count + m.where(is_large, 1.0, 0.0)
        return n + 1.0, x, total * unit, slope * unit, count, largest

    size = abs(function.value) * function.loss
    state = (0.0, start, function.value, slope, function.count, size)
    _, x, w, slope, count, largest = m.iterate(goes_on, step, state)
    amplitude = abs(w) + equation.at(end)[3] * abs(slope)
    return Scaled(m.where(x == end, w, math.nan), count, largest / amplitude)


def from_series(
    m: Notation, upper: Sequence[Any], lower: Any, start: Any, has_way: Any, is_rest: Any = None
) -> tuple[Scaled, Any]:
    """The function by its series, and its slope, in the same scale, where there is a way to go.

    Where `is_rest` the function is (F − 1) / u, as of `series`.
    """
    function = series(m, upper, lower, start, is_rest)
    risen = [u + 1.0 for u in upper]
    slope = series(m, risen, lower + 1.0, m.where(has_way, start, 0.0))
    factor = 1.0 / lower
    for u in upper[1:]:
        factor = factor * u
    factor = factor * (upper[0] if is_rest is None else m.where(is_rest, 1.0, upper[0]))
    difference = m.exp(_LOG_LARGE * (slope.count - function.count))
    return function, slope.value * factor * difference


def lowered(
    m: Notation,
    function: Callable[[Any], tuple[Any, Any]],
    lower: Any,
    down: Callable[..., tuple[Any, Any]],
    direct: Callable[[Any], tuple[Any, Any]],
) -> Any:
    """A function of its lower parameter; a negative one is reached from above 0, or by a series.

    The differential equation would lead astray there: another solution outgrows this one.  Of both
    ways that of the smaller estimate of its error is taken; NaN if few digits are left.

    Args:
        m: notation.
        function: l → f(l) and its loss, for l > 0.
        lower: where it is wanted.
        down: l → the factors of f(l + 1) and f(l + 2) in f(l).
        direct: whether l is negative → f and an estimate of its error, relative to the precision.
    """
    is_low = (lower < 0.0) & (lower > -MOST_STEPS)
    count = m.where(is_low, -m.floor(lower), 0.0)
    zero = 0.0 * lower

    def is_asked(j: Any, *_: Any) -> Any:
        return (j < 1.0) | ((j < 2.0) & is_low)

    def ask(j: Any, _: Any, second: Any, loss: Any, lost: Any) -> Sequence[Any]:
        return j + 1.0, second, *function(lower + count + m.where(j == 0.0, 0.0, 1.0)), loss

    state: tuple[Any, ...] = (zero, zero, zero, zero, zero)
    j, first, above, loss_above, loss = m.iterate(is_asked, ask, state)
    f, loss = m.where(j > 1.0, first, above), m.where(j > 1.0, loss, loss_above)

    def goes_on(k: Any, f: Any, above: Any, error: Any, error_above: Any) -> Any:
        return k > 0.0

    def step(k: Any, f: Any, above: Any, error: Any, error_above: Any) -> Sequence[Any]:
        more = k > 0.0
        # Of k = 1 the place is exact, which may be next to the pole at 0.
        p, q = down(lower + (k - 1.0))
        terms = p * f, q * above
        propagated = abs(p) * error + abs(q) * error_above + abs(terms[0]) + abs(terms[1])
        return (
            m.where(more, k - 1.0, k),
            m.where(more, terms[0] + terms[1], f),
            m.where(more, f, above),
            m.where(more, propagated, error),
            m.where(more, error, error_above),
        )

    state = (count, f, above, abs(f) * loss, abs(above) * loss_above)
    _, f, _, error, _ = m.iterate(goes_on, step, state)
    summed, summed_loss = direct(is_low)
    better = is_low & ~(summed_loss * abs(f) > error)
    value = m.where(better, summed, f)
    loss = m.where(better, summed_loss, error / abs(f))
    is_lost = m.where(is_low, ~(loss < MOST_LOSS), loss_above >= MOST_LOSS)
    return m.where(is_lost, math.nan, value)


def with_limits(m: Notation, value: Any, is_known: Any, is_remote: Any, is_pole: Any) -> Any:
    infinite = m.where(value > 0.0, math.inf, -math.inf)
    limit = m.where(abs(value) == 1.0, value, m.where(abs(value) < 1.0, 0.0, infinite))
    value = m.where(is_pole, math.inf, m.where(is_remote, limit, value))
    return m.where(is_known, value, math.nan)
