"""Special functions that the C library lacks, on scalars of loop programs.

References: Giles, "Approximating the erfinv function", GPU Computing Gems Jade Edition (2011);
Abramowitz & Stegun, "Handbook of Mathematical Functions", 6.3.7, 6.3.18 and 23.2.9.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from .program import Operand
from .writer import Writer

# Of polynomials, highest power first.
_CENTRE = (
    2.81022636e-08, 3.43273939e-07, -3.5233877e-06, -4.39150654e-06, 0.00021858087,
    -0.00125372503, -0.00417768164, 0.246640727, 1.50140941,
)  # fmt: skip
_TAIL = (
    -0.000200214257, 0.000100950558, 0.00134934322, -0.00367342844, 0.00573950773,
    -0.0076224613, 0.00943887047, 1.00167406, 2.83297682,
)  # fmt: skip
_BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510)
"""The Bernoulli numbers B₂, B₄, …"""

# Terms of ζ that are summed, and corrections: an error of at most 1e-17, or of 1e-10 for float32.
_TERMS = (10, 8)
_FEW_TERMS = (6, 5)


def polynomial(w: Writer, coefficients: Sequence[float], x: Operand) -> Operand:
    """The value of a polynomial, highest power first, by Horner's rule."""
    value: Operand = w.number(coefficients[0], x.dtype)
    for coefficient in coefficients[1:]:
        value = w.op("add", w.op("mul", value, x), w.number(coefficient, x.dtype))
    return value


def inverse_erf(w: Writer, x: Operand) -> Operand:
    """erf⁻¹ x in float32: ±∞ at ±1, NaN beyond."""

    def number(value: float) -> Operand:
        return w.number(value, x.dtype)

    size = w.op("neg", w.op("log1p", w.op("neg", w.op("mul", x, x))))
    centre = polynomial(w, _CENTRE, w.op("sub", size, number(2.5)))
    tail = polynomial(w, _TAIL, w.op("sub", w.op("sqrt", size), number(3)))
    ratio = w.select(w.op("lt", size, number(5)), centre, tail)
    y = w.op("mul", ratio, x)
    magnitude = w.op("fabs", x)
    infinite = w.op("copysign", number(math.inf), x)
    y = w.select(w.op("eq", magnitude, number(1)), infinite, y)
    return w.select(w.op("gt", magnitude, number(1)), number(math.nan), y)


def zeta(w: Writer, x: Operand, q: Operand) -> Operand:
    """ζ(x, q), in float64: powers leave the range of float32 where it does not."""
    positive = _zeta_of_positive if x.dtype == np.float64 else _short_zeta
    return in_float64(w, partial(_zeta, positive=positive), x, q)


def _zeta(
    w: Writer, x: Operand, q: Operand, positive: Callable[[Writer, Operand, Operand], Operand]
) -> Operand:
    """ζ(x, q); numbers before 0 are taken together, where x is whole, as powers of their sizes."""
    dtype = x.dtype
    zero, one, two = [w.number(value, dtype) for value in (0, 1, 2)]
    low = w.op("floor", q)
    at_pole = w.all_of([w.op("le", q, zero), w.op("eq", q, low)])
    is_whole = w.op("eq", x, w.op("floor", x))
    is_below = w.all_of([w.op("lt", q, zero), w.op("not", at_pole), is_whole])
    start = w.select(at_pole, one, w.select(is_below, w.op("sub", q, low), q))
    value = positive(w, x, start)
    # Of q = −2.3, the sizes 0.3, 1.3 and 2.3.
    ends = w.op("sub", w.op("ceil", q), q), w.op("sub", one, q)
    sums = [positive(w, x, w.select(is_below, end, one)) for end in ends]
    half = w.op("div", x, two)
    is_even = w.op("eq", half, w.op("floor", half))
    first, last = [w.select(is_even, s, w.op("neg", s)) for s in sums]
    # In this order: the first may cancel what there is, and the second be small beside both.
    added = w.op("sub", w.op("add", value, first), last)
    converges = w.all_of([is_below, w.op("gt", x, one)])
    value = w.select(converges, added, value)
    return _with_poles_of_zeta(w, x, q, value, at_pole)


def _zeta_of_positive(w: Writer, x: Operand, q: Operand) -> Operand:
    """ζ(x, q) for q > 0."""
    return _positive_sum(w, x, q, _TERMS, partial(w.op, "pow"))


def _short_zeta(w: Writer, x: Operand, q: Operand) -> Operand:
    """ζ(x, q) for q > 0 with the digits of float32: its powers are vectors' logarithms."""

    def power(base: Operand, exponent: Operand) -> Operand:
        return w.op("exp", w.op("mul", exponent, w.op("log", base)))

    return _positive_sum(w, x, q, _FEW_TERMS, power)


def _positive_sum(
    w: Writer,
    x: Operand,
    q: Operand,
    counts: tuple[int, int],
    power_of: Callable[[Operand, Operand], Operand],
) -> Operand:
    """ζ(x, q) for q > 0 by the Euler–Maclaurin formula."""
    dtype, (terms, corrections) = x.dtype, counts

    def number(value: float) -> Operand:
        return w.number(value, dtype)

    minus_x = w.op("neg", x)
    total: Operand = number(0)
    for k in range(terms):
        total = w.op("add", total, power_of(w.op("add", q, number(k)), minus_x))
    high = w.op("add", q, number(terms))
    power, inverse = power_of(high, minus_x), w.op("div", number(1), high)
    ratio = w.op("div", w.op("mul", high, power), w.op("sub", x, number(1)))
    total = w.op("add", total, w.op("add", ratio, w.op("mul", number(0.5), power)))
    # Terms B₂ₖ / (2k)! · x (x + 1) … (x + 2k − 2) · high^(−x − 2k + 1).
    factor = w.op("mul", x, w.op("mul", power, inverse))
    for k, bernoulli in enumerate(_BERNOULLI[:corrections], start=1):
        term = w.op("mul", number(bernoulli / math.factorial(2 * k)), factor)
        total = w.op("add", total, term)
        for step in (2 * k - 1, 2 * k):
            factor = w.op("mul", factor, w.op("mul", w.op("add", x, number(step)), inverse))
    return total


def in_float64(w: Writer, function: Callable[..., Operand], *operands: Operand) -> Operand:
    """A function of floats computed in float64 and rounded once."""
    wide = [w.convert(x, np.dtype(np.float64)) for x in operands]
    return w.convert(function(w, *wide), operands[0].dtype)


def _with_poles_of_zeta(
    w: Writer, x: Operand, q: Operand, value: Operand, at_pole: Operand
) -> Operand:
    def number(number: float) -> Operand:
        return w.number(number, x.dtype)

    half = w.op("div", x, number(2))
    is_even = w.op("eq", half, w.op("floor", half))
    is_whole = w.op("eq", x, w.op("floor", x))
    low_and_broken = w.all_of([w.op("lt", q, number(0)), w.op("not", is_whole)])
    elsewhere = w.op("or", w.op("eq", q, number(math.inf)), low_and_broken)
    wrong = w.select(at_pole, w.op("not", is_even), elsewhere)
    wrong = w.op("or", wrong, w.op("eq", w.op("fabs", x), number(math.inf)))
    diverges = w.all_of([w.op("lt", x, number(1)), w.op("not", at_pole)])
    wrong = w.op("or", wrong, diverges)
    is_one = w.op("eq", x, number(1))
    infinite = w.op("or", at_pole, is_one)
    undefined = w.all_of([wrong, w.op("not", is_one)])
    return w.select(undefined, number(math.nan), w.select(infinite, number(math.inf), value))


def polygamma(w: Writer, m: Operand, x: Operand, digamma: Callable[..., Operand]) -> Operand:
    """ψ⁽ᵐ⁾ x = (−1)ᵐ⁺¹ m! ζ(m + 1, x), and ψ x for m = 0; in float64, as ζ is."""
    return in_float64(w, partial(_polygamma, digamma=digamma), m, x)


def _polygamma(w: Writer, m: Operand, x: Operand, digamma: Callable[..., Operand]) -> Operand:
    dtype = x.dtype
    zero, half = w.number(0, dtype), w.op("div", m, w.number(2, dtype))
    is_even = w.op("eq", half, w.op("floor", half))
    order = w.op("add", m, w.number(1, dtype))
    size = w.op("mul", w.op("exp", w.op("lgamma", order)), _zeta(w, order, x, _zeta_of_positive))
    value = w.select(is_even, w.op("neg", size), size)
    is_order = w.all_of([w.op("gt", m, zero), w.op("eq", m, w.op("floor", m))])
    defined = w.select(is_order, value, w.number(math.nan, dtype))
    return w.select(w.op("eq", m, zero), digamma(w, x), defined)
