"""The zeta function of Hurwitz, its derivatives, and those of the digamma function.

Compiled programs sum by Euler and Maclaurin: with a = q + N,

    ζ(x, q) = Σₖ (q + k)⁻ˣ over k < N  +  a⁻ˣ (a / (x − 1) + ½ + Σⱼ B₂ⱼ/(2j)! (x)₂ⱼ₋₁ a¹⁻²ʲ).

All of it is known as a Taylor series in x, and so are the derivatives with respect to x.

The sum over k with q + k < 0 has the terms of two sums that start at positive numbers: with
n = ⌈q⌉ − q, it is (−1)ˣ (ζ(x, n) − ζ(x, 1 − q)) for whole x.  The first goes to the sum of the
positive terms before the second does: halfway between whole numbers they are equal, and for odd x
all that is left may be small beside them.

References: DLMF, 25.11.9, 2.10.1 and 5.15.1.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any, final

import numpy as np

from ...core import not_differentiable
from ...engines import loops
from ...util.scipy_libraries import special_functions
from ..ground.families import Elementwise
from ..ground.formulas import ByFormula, Notation
from ..ground.log_gamma import digamma
from ..ground.loop_formulas import formula_of_scalars
from ..ground.operands import standardize
from .arithmetic import add, mul, neg

# Terms that are summed, and corrections: an error of at most 1e-17, or of 1e-10 where that does.
_NARROW = 1e-12
_TERMS = (10, 10)
_FEW_TERMS = (6, 5)
# Powers of a known exponent up to this are products, in float64.
_LARGEST_PRODUCT = 2
# The gamma function of larger numbers is beyond float64.
_LARGEST_FACTORIAL = 171.0
# Of higher powers the first term alone counts, or all vanish.
_LARGE = 1e8
_BERNOULLI = (
    (1, 6), (-1, 30), (1, 42), (-1, 30), (5, 66), (-691, 2730), (7, 6), (-3617, 510), (43867, 798),
    (-174611, 330),
)  # fmt: skip
# B₂ⱼ / (2j)! for j = 1, 2, …; the quotient of integers is rounded once.
_CORRECTIONS = [
    numerator / (denominator * math.factorial(2 * j))
    for j, (numerator, denominator) in enumerate(_BERNOULLI, 1)
]


def _times_linear(series: list[Any], constant: Any) -> list[Any]:
    """A Taylor series in h times (constant + h)."""
    return [c * constant + (series[i - 1] if i else 0.0) for i, c in enumerate(series)]


def _rest_of_sum(x: Any, a: Any, order: int, corrections: int) -> list[Any]:
    """Taylor coefficients of a / (x − 1) + ½ + Σⱼ B₂ⱼ/(2j)! (x)₂ⱼ₋₁ a¹⁻²ʲ about x."""
    inverse = 1.0 / (x - 1.0)
    total = [a * inverse]
    for _ in range(order):
        total.append(-total[-1] * inverse)
    total[0] = total[0] + 0.5
    reciprocal = 1.0 / a
    rising = _times_linear([reciprocal, *[0.0 * a] * order], x)
    for j, correction in enumerate(_CORRECTIONS[:corrections], 1):
        total = [s + correction * c for s, c in zip(total, rising, strict=True)]
        for k in (2 * j - 1, 2 * j):
            rising = [c * reciprocal for c in _times_linear(rising, x + float(k))]
    return total


def _power_and_log(m: Notation, place: Any, x: Any) -> tuple[Any, Any]:
    """place⁻ˣ and −log(place)."""
    if isinstance(x, float) and x <= (_LARGEST_PRODUCT if m.precision < _NARROW else 64):
        return _product(1.0 / place, int(x)), None
    log = -m.log(place)
    # The exponential loses as many bits as its argument has before the point, which few can spare.
    return (m.power(place, -x) if m.precision < _NARROW else m.exp(x * log)), log


def _product(factor: Any, count: int) -> Any:
    """A power by multiplications, each of which has half a unit of error at most."""
    if count == 1:
        return factor
    half = _product(factor, count // 2)
    return half * half * factor if count % 2 else half * half


def _positive_sum(m: Notation, x: Any, q: Any, order: int) -> Any:
    """The derivative of ζ(x, q) of this order with respect to x, for x > 1 and q > 0."""
    terms, corrections = _TERMS if m.precision < _NARROW else _FEW_TERMS
    total: Any = 0.0
    for k in range(terms):
        term, log = _power_and_log(m, q + float(k), x)
        for _ in range(order):
            term = term * log
        total = total + term
    a = q + float(terms)
    power, log = _power_and_log(m, a, x)
    series = _rest_of_sum(x, a, order, corrections)
    # By Horner's rule for n! Σᵢ (−log a)ⁿ⁻ⁱ/(n − i)! cᵢ.
    rest = series[0]
    for i in range(1, order + 1):
        rest = rest * log + series[i] * float(math.perm(order, i))
    # Where the power vanishes, the corrections may have overflowed.
    return total + m.where(power > 0.0, power * rest, 0.0)


def _is_whole(m: Notation, x: Any) -> Any:
    return x == m.floor(x)


def _hurwitz(m: Notation, x: Any, q: Any) -> Any:
    """ζ(x, q)."""
    is_known = (x > 1.0) & (x < math.inf)
    inner = m.where(is_known, x, 2.0)
    is_even = _is_whole(m, 0.5 * x) & (abs(x) < math.inf)
    pole = (q <= 0.0) & _is_whole(m, q)
    is_positive = (q > 0.0) & (q < math.inf)
    # Between whole numbers x the powers of negative numbers are complex.
    is_below = (q < 0.0) & ~pole & is_known & _is_whole(m, x)
    start = m.where(is_below, q - m.floor(q), m.where(is_positive, q, 1.0))
    value = _positive_sum(m, inner, start, 0)
    value = _with_sum_below(m, inner, q, value, is_below, is_even)
    value = m.where(is_known & (is_positive | is_below), value, math.nan)
    return m.where((x == 1.0) | (pole & is_even), math.inf, value)


def _with_sum_below(m: Notation, x: Any, q: Any, value: Any, is_below: Any, is_even: Any) -> Any:
    """The value and the sum over k with q + k < 0, where that is asked for."""
    first = m.where(is_below, -m.floor(-q) - q, 1.0)
    last = m.where(is_below, 1.0 - q, 1.0)

    sum_from = partial(_positive_sum, m, x, order=0)
    if isinstance(x, float):
        sign = 1.0 if is_even else -1.0
        total = m.if_any(
            is_below, lambda: (value + sign * sum_from(q=first)) - sign * sum_from(q=last)
        )
        return m.where(is_below, total, value)

    # One sum after the other: of two, XLA would take twice the time to compile them.
    def add_one(step: Any, total: Any) -> Any:
        is_first = step < 1.0
        term = sum_from(q=m.where(is_first, first, last))
        is_added = (is_first & is_even) | ~(is_first | is_even)
        return step + 1.0, total + m.where(is_added, term, -term)

    _, total = m.iterate(lambda step, _: (step < 2.0) & is_below, add_one, (0.0, value))
    return m.where(is_below, total, value)


def _if_asked(m: Notation, is_asked: Any, function: Callable[[Any], Any]) -> Any:
    """The function of zeros, which is computed only where that is asked for of some element.

    That it adds the zeros to its operands keeps the compiler from computing before it knows.
    """

    def goes_on(step: Any, value: Any) -> Any:
        return (step < 1.0) & is_asked

    zeros = m.where(is_asked, 0.0, 0.0)
    return m.iterate(goes_on, lambda step, value: (step + 1.0, function(step)), (zeros, zeros))[1]


def _hurwitz_slope(m: Notation, x: Any, q: Any, *, order: int) -> Any:
    """The derivative of ζ(x, q) of this order with respect to x: NaN for x < 1 or q ≤ 0."""
    is_known = (x > 1.0) & (x < math.inf) & (q > 0.0) & (q < math.inf)
    value = _positive_sum(m, m.where(is_known, x, 2.0), m.where(is_known, q, 1.0), order)
    end = m.where((x == 1.0) & (q == q), math.inf if order % 2 == 0 else -math.inf, math.nan)
    return m.where(is_known, value, end)


def _zeta_of_positive(x: Any, q: Any) -> Any:
    """SciPy's ζ(x, q) for q > 0, and the first of its terms where SciPy's is NaN: x is large."""
    value = special_functions()._zeta(x, q)
    is_large = (x > _LARGE) & (x < np.inf)
    return np.where(is_large, np.power(q, -x), value) if is_large.any() else value


def _zeta(x: Any, q: Any) -> Any:
    if ((x > 1) & (x < np.inf) & (q > 0) & (q < np.inf)).all():
        return _zeta_of_positive(x, q).astype(x.dtype, copy=False)
    # Sums below zero lose digits.
    dtype, x, q = x.dtype, x.astype(np.float64), q.astype(np.float64)
    half = x / 2
    is_whole, is_even = x == np.floor(x), half == np.floor(half)
    pole = (q <= 0) & (q == np.floor(q))
    undefined = (x != 1) & (
        np.isinf(x) | np.where(pole, ~is_even, (q == np.inf) | ((q < 0) & ~is_whole))
    )
    is_below = (q < 0) & ~pole & is_whole
    start = np.where(is_below, q - np.floor(q), np.where(pole, 1, q))
    value = np.where(pole | (x == 1), np.inf, _zeta_of_positive(x, start))
    if is_below.any():
        ends = [np.where(is_below, v, 1) for v in (np.ceil(q) - q, 1 - q)]
        sums = [_zeta_of_positive(x, end) for end in ends]
        first, last = [np.where(is_even, s, -s) for s in sums]
        value = np.where(is_below & (x > 1), (value + first) - last, value)
    return np.where(undefined, np.nan, value).astype(dtype)


@final
class Zeta(ByFormula):
    """The Hurwitz zeta function ζ(x, q) = Σₖ (q + k)⁻ˣ over k ≥ 0, element by element."""

    name = "zeta"
    compiled = True
    formula = _hurwitz
    numpy = _zeta
    evaluate = Elementwise.evaluate
    # Of float32 a number takes 0.18 µs there, for the sums below 0 are made too; in a vector of
    # XLA's 0.06, which takes 0.2 ms more.  Powers of float64 are made one by one.
    most_by_loops = 2000

    def size_by_loops(self, *avals: Any) -> int:
        return max([aval.size * (1 if aval.dtype.itemsize <= 4 else 8) for aval in avals])

    def scalar(self, w: loops.Writer, *operands: loops.Operand, **params: Any) -> loops.Operand:
        return loops.special.zeta(w, *operands)

    def d_x(self, t: Any, x: Any, q: Any, out: Any) -> Any:
        return mul(t, zeta_slope_p.bind(x, q, order=1))

    def d_y(self, t: Any, x: Any, q: Any, out: Any) -> Any:
        return mul(t, mul(neg(x), zeta(add(x, 1.0), q)))


@final
class ZetaSlope(ByFormula):
    """The derivative of ζ(x, q) of the given order with respect to x, element by element."""

    name = "zeta_slope"
    formula = _hurwitz_slope

    def d_x(self, t: Any, x: Any, q: Any, out: Any, *, order: int) -> Any:
        return mul(t, self.bind(x, q, order=order + 1))

    def d_y(self, t: Any, x: Any, q: Any, out: Any, *, order: int) -> Any:
        # Of −x ζ(x + 1, q).
        following = add(x, 1.0)
        lower = self.bind(following, q, order=order - 1) if order > 1 else zeta(following, q)
        rest = add(mul(x, self.bind(following, q, order=order)), mul(lower, float(order)))
        return mul(t, neg(rest))


def _polygamma(m: Any, x: Any) -> Any:
    # n! and the zeta function leave the range of float32 where their product does not.
    wide_m, wide_x = m.astype(np.float64), x.astype(np.float64)
    value = special_functions().gamma(wide_m + 1) * _zeta(wide_m + 1, wide_x)
    value = np.where(wide_m % 2 == 0, -value, value)
    is_order = (m > 0) & (m == np.floor(m))
    if not is_order.all():
        plain = np.where(x == 0, np.nan, special_functions().psi(x)) if (m == 0).any() else np.nan
        value = np.where(m == 0, plain, np.where(is_order, value, np.nan))
    return value.astype(x.dtype)


def _of_known_order(m: Notation, order: float, x: Any) -> Any:
    """(−1)ⁿ⁺¹ n! ζ(n + 1, x) for a whole n > 0 that is known while the program is written."""
    exponent, is_even = order + 1.0, order % 2 == 1
    pole = (x <= 0.0) & _is_whole(m, x)
    is_positive, is_below = (x > 0.0) & (x < math.inf), (x < 0.0) & ~pole
    start = m.where(is_below, x - m.floor(x), m.where(is_positive, x, 1.0))
    value = _positive_sum(m, exponent, start, 0)
    value = _with_sum_below(m, exponent, x, value, is_below, is_even)
    factor = math.gamma(exponent) if exponent < _LARGEST_FACTORIAL else math.inf
    value = m.where(is_positive | is_below, value * (factor if is_even else -factor), math.nan)
    return m.where(pole, math.inf, value) if is_even else value


def _derivative_of_digamma(m: Notation, order: Any, x: Any) -> Any:
    """(−1)ⁿ⁺¹ n! ζ(n + 1, x) for n > 0, and the digamma function for n = 0."""
    if isinstance(order, float):
        if 0.0 < order < math.inf and order.is_integer():
            return _of_known_order(m, order, x)
        return m.where(x == 0.0, math.nan, m.digamma(x) if order == 0.0 else math.nan)
    is_order = (order > 0.0) & _is_whole(m, order)
    above = m.where(is_order, order, 1.0) + 1.0
    value = m.exp(m.lgamma(above)) * _hurwitz(m, above, x)
    value = m.where(_is_whole(m, 0.5 * above), value, -value)
    is_plain = order == 0.0
    plain = _if_asked(m, is_plain, lambda zero: m.digamma(x + zero))
    plain = m.where(x == 0.0, math.nan, plain)
    return m.where(is_plain, plain, m.where(is_order, value, math.nan))


def _digamma_of_scalar(w: loops.Writer, x: loops.Operand) -> loops.Operand:
    return formula_of_scalars(w, digamma, x)


@final
class Polygamma(ByFormula):
    """ψ⁽ᵐ⁾(x), the m-th derivative of the digamma function, element by element."""

    name = "polygamma"
    compiled = True
    formula = _derivative_of_digamma
    known_operands = (0,)
    numpy = _polygamma
    evaluate = Elementwise.evaluate
    most_by_loops = 256  # orders: see `Zeta`

    def scalar(self, w: loops.Writer, *operands: loops.Operand, **params: Any) -> loops.Operand:
        order, x = operands
        if isinstance(order, loops.program.Const):
            known = partial(type(self).formula, order=float(order.value))
            return formula_of_scalars(w, lambda m, x: known(m, x=x), x)
        return loops.special.polygamma(w, order, x, _digamma_of_scalar)

    d_x = not_differentiable("the order m is a whole number")

    def d_y(self, t: Any, m: Any, x: Any, out: Any) -> Any:
        return mul(t, polygamma(add(m, 1.0), x))


zeta_p = Zeta()
zeta_slope_p = ZetaSlope()
polygamma_p = Polygamma()


def zeta(x: Any, q: Any) -> Any:
    """The Hurwitz zeta function ζ(x, q) = Σₖ (q + k)⁻ˣ over k ≥ 0, element by element.

    Args:
        x: floating array (...), or scalar.
        q: array of the dtype and shape of `x`, or scalar.

    Returns:
        Array (...); ∞ for x = 1, NaN for x < 1.

    Example:
        >>> import morphax as jax
        >>> jax.lax.zeta(2.0, 1.0)
        Array(1.644934, dtype=float32, weak_type=True)
    """
    return zeta_p.bind(*standardize(x, q))


def polygamma(m: Any, x: Any) -> Any:
    """ψ⁽ᵐ⁾(x), the m-th derivative of the digamma function, element by element.

    Args:
        m: order, a whole number ≥ 0 in the dtype of `x`.
        x: floating array (...); either may be a scalar.

    Returns:
        Array (...); NaN where m is not whole or negative.

    Example:
        >>> import morphax as jax
        >>> jax.lax.polygamma(1.0, 1.0)
        Array(1.644934, dtype=float32, weak_type=True)
    """
    return polygamma_p.bind(*standardize(m, x))
