"""Exponentials and logarithms.

The argument of exp is split as x = n ln 2 + r, with |r| ≤ ½ ln 2, and eˣ = 2ⁿ (1 + r + r² q(r)).
That of log is 2ᵏ (1 + f) between √½ and √2 without the power of two; with s = f / (2 + f),
log(1 + f) = f − f²/2 + s (f²/2 + s² p(s²)).
"""

from __future__ import annotations

import math

from .kernel import F32, F64, NO_VALUE, Lanes

_EXP = {
    4: (
        *(0.0013814602218056987, 0.008368716440161631, 0.04166838796077907),
        *(0.16666520638454564, 0.49999993448465796),
    ),
    8: (
        *(2.5000056708161145e-8, 2.7630247990154754e-7, 2.7557586388432948e-6),
        *(2.4801493100070982e-5, 1.9841269506565711e-4, 1.3888888943628945e-3),
        *(8.3333333334944644e-3, 4.1666666666530163e-2, 0.16666666666666413),
        0.50000000000000106,
    ),
}
_LOG = {
    4: (0.23584975475411661, 0.28537168764490201, 0.40000337234215803, 0.66666665637230691),
    8: (
        *(0.14799065811377618, 0.15313755749084412, 0.18183575168187504, 0.22222198378361532),
        *(0.28571428744143436, 0.39999999999407472, 0.66666666666667354),
    ),
}
# ln 2 in two parts, the first with so few bits that products with exponents are exact.
_LN2 = {
    4: (0.693359375, -2.1219444005469057e-4),
    8: (6.93147180369123816490e-01, 1.90821492927058770002e-10),
}
# 2/3 in two parts, the first of 26 digits, and 2/5, 2/7, …, highest first.
_TWO_THIRDS = (float.fromhex("0x1.555555p-1"), 2.0**-25 / 3)
_LOG_SERIES = tuple([2 / n for n in range(25, 3, -2)])
# Below, exponentials are 0; above, infinite.
_RANGE = {4: (-104.0, 89.0), 8: (-746.0, 710.0)}
_MANTISSA = {4: 23, 8: 52}
_BIAS = {4: 127, 8: 1023}
_ROOT_OF_HALF = {4: 0x3F3504F3, 8: 0x3FE6A09E667F3BCD}


def _integer_near(x: Lanes, factor: float) -> tuple[Lanes, Lanes]:
    """The integer nearest to ``factor · x``, as a float and as an integer; |·| is small.

    A number whose last bit counts ones is added, so that rounding does it; of NaN too, what comes
    out is some integer.
    """
    magic = 1.5 * 2.0 ** _MANTISSA[x.dtype.itemsize]
    moved = x.times_plus(factor, magic)
    return moved - magic, moved.bits() - x.like(magic).bits()


def _power_of_two(n: Lanes) -> Lanes:
    """2ⁿ of an integer, which is the exponent of a normal number."""
    size = n.dtype.itemsize
    return ((n + _BIAS[size]) << _MANTISSA[size]).as_float()


def _scaled(y: Lanes, n: Lanes) -> Lanes:
    """2ⁿ y, in two steps, for 2ⁿ may be out of range."""
    half = n >> 1
    return y * _power_of_two(half) * _power_of_two(n - half)


def _reduced(x: Lanes) -> tuple[Lanes, Lanes]:
    """What is left of x, and how many times ln 2 was taken away."""
    high, low = _LN2[x.dtype.itemsize]
    n, count = _integer_near(x, 1 / math.log(2))
    return n.times_plus(-low, n.times_plus(-high, x)), count


def _exp_minus_one(r: Lanes, precision: int) -> Lanes:
    """eʳ − 1 of a small number."""
    return (r * r).times_plus(r.polynomial(_EXP[precision]), r)


def exp(x: Lanes, precision: int = 0) -> Lanes:
    """eˣ; with the polynomial for numbers of so many bytes."""
    size = x.dtype.itemsize
    r, n = _reduced(x.clamped(*_RANGE[size]))
    return _scaled(_exp_minus_one(r, precision or size) + 1.0, n)


def exp_in_range(x: Lanes, precision: int = 0) -> Lanes:
    """eˣ, with the same bits, of a number whose exponential is a normal one."""
    r, n = _reduced(x)
    return (_exp_minus_one(r, precision or x.dtype.itemsize) + 1.0) * _power_of_two(n)


def exp2(x: Lanes) -> Lanes:
    """2ˣ: what is beyond an integer is taken times ln 2."""
    size = x.dtype.itemsize
    low, high = {4: (-151.0, 129.0), 8: (-1076.0, 1025.0)}[size]
    x = x.clamped(low, high)
    n, count = _integer_near(x, 1.0)
    return _scaled(_exp_minus_one((x - n) * math.log(2), size) + 1.0, count)


def expm1(x: Lanes) -> Lanes:
    """eˣ − 1 as ``2 (2ⁿ⁻¹ p + (2ⁿ⁻¹ − ½))`` with p = eʳ − 1: 2ⁿ itself may be out of range.

    What r lost when it was rounded is put back.
    """
    size = x.dtype.itemsize
    moved = x.clamped(*{4: (-20.0, 89.0), 8: (-45.0, 710.0)}[size])
    high, low = _LN2[size]
    n, count = _integer_near(moved, 1 / math.log(2))
    first = n.times_plus(-high, moved)
    r = n.times_plus(-low, first)
    lost = n.times_plus(-low, first - r)
    p = r + (r * r).times_plus(r.polynomial(_EXP[size]), lost)
    half_power = _power_of_two(count - 1)
    half = half_power.times_plus(p, half_power - 0.5)
    # Of numbers next to 0, whose halves may have fewer digits, the square is not seen.
    return x.where(x.call("fabs") < {4: 2.0**-25, 8: 2.0**-54}[size], half + half)


def _log_of_parts(k: Lanes, f: Lanes, correction: Lanes | None, precision: int) -> Lanes:
    """``k ln 2 + log(1 + f)``, and a small number."""
    high, low = _LN2[f.dtype.itemsize]
    s = f / (f + 2.0)
    z = s * s
    half_square = 0.5 * f * f
    rest = k * low if correction is None else k * low + correction
    series = s * (half_square + z * z.polynomial(_LOG[precision])) + rest
    return k * high - ((half_square - series) - f)


def _exponent_and_fraction(x: Lanes) -> tuple[Lanes, Lanes]:
    """Of a normal number 2ᵏ (1 + f): k, a float, and f."""
    size = x.dtype.itemsize
    root, places = _ROOT_OF_HALF[size], _MANTISSA[size]
    above = x.bits() - root
    fraction = ((above & ((1 << places) - 1)) + root).as_float()
    return (above >> places).to(x.dtype), fraction - 1.0


def log(x: Lanes, precision: int = 0) -> Lanes:
    """log x: −∞ of 0, NaN below."""
    size = x.dtype.itemsize
    is_small = x < {4: 2.0**-126, 8: 2.0**-1022}[size]
    k, f = _exponent_and_fraction((x * 2.0**54).where(is_small, x))
    k = (k - 54.0).where(is_small, k)
    return _with_ends(x, x, _log_of_parts(k, f, None, precision or size))


def log_beyond_one(x: Lanes, precision: int) -> Lanes:
    """log x of a number from 1 on, infinite or NaN."""
    k, f = _exponent_and_fraction(x)
    return _log_of_parts(k, f, None, precision).where(x < math.inf, x)


def _with_ends(x: Lanes, argument: Lanes, result: Lanes) -> Lanes:
    """The logarithm of an argument that may be 0, negative, infinite or NaN."""
    finite = result.where(x < math.inf, x)
    positive = x.like(NO_VALUE).where(argument < 0.0, finite)
    return x.like(-math.inf).where(argument.equals(0.0), positive)


def log2(x: Lanes) -> Lanes:
    """log₂ x."""
    if x.dtype == F32:
        return (log(x.to(F64), 4) * (1 / math.log(2))).to(F32)
    is_small = x < 2.0**-1022
    k, f = _exponent_and_fraction((x * 2.0**54).where(is_small, x))
    k = (k - 54.0).where(is_small, k)
    of_fraction = _log_of_parts(k.like(0.0), f, None, 8)
    return _with_ends(x, x, of_fraction.times_plus(1 / math.log(2), k))


def log1p(x: Lanes) -> Lanes:
    """log(1 + x); what 1 + x lost when it was rounded is put back.

    Reference: Kahan's correction, in Goldberg, "What every computer scientist should know about
    floating-point arithmetic", ACM Computing Surveys 23 (1991), theorem 4.
    """
    size = x.dtype.itemsize
    u = x + 1.0
    k, f = _exponent_and_fraction(u)
    lost = (1.0 - (u - x)).where(x > 1.0, x - (u - 1.0)) / u
    is_near = (x > math.sqrt(0.5) - 1) & (x < math.sqrt(2) - 1)
    zero = x.like(0.0)
    result = _log_of_parts(
        zero.where(is_near, k), x.where(is_near, f), zero.where(is_near, lost), size
    )
    return x.where(x.equals(0.0), _with_ends(x, u, result))


def power(x: Lanes, y: Lanes) -> tuple[Lanes, Lanes]:
    """x^y, and where it is none: x is 0 (of float64 not positive), or one is infinite or NaN.

    That of float32 is computed in float64, that of float64 with a logarithm of twice the digits.
    """
    if x.dtype == F32:
        return power_of_known(x, y, log_of_base(x))
    log_of_x, rest_of_log = _precise_log(x)
    product, lost = _product(y, log_of_x)
    inside = (x > 2.0**-1022) & (x < math.inf) & (product.call("fabs") < 708.0)
    product, lost = product.where(inside, 0.0), (lost + y * rest_of_log).where(inside, 0.0)
    high, low = _LN2[8]
    n, count = _integer_near(product, 1 / math.log(2))
    first = n.times_plus(-high, product)
    r = n.times_plus(-low, first)
    lost = lost + ((first - r) - n * low)
    near, series = r + 1.0, r * r * r.polynomial(_EXP[8])
    small = ((1.0 - near) + r) + (series + lost * (near + series))
    return _with_products(x, y, (near + small) * _power_of_two(count), inside)


def _with_products(x: Lanes, y: Lanes, power: Lanes, inside: Lanes) -> tuple[Lanes, Lanes]:
    """The power, and where it is none; x and x² themselves where y is 1 and 2.

    Where the exponent is a constant, programs have these (`loops/folding.py`).
    """
    is_same, is_square = y.equals(1.0), y.equals(2.0)
    power = x.where(is_same, (x * x).where(is_square, power))
    return power, ~(inside | is_same | is_square)


def _product(x: Lanes, y: Lanes) -> tuple[Lanes, Lanes]:
    """A product of float64, and what its rounding lost.

    Reference: Dekker, "A floating-point technique for extending the available precision",
    Numerische Mathematik 18 (1971).
    """
    product, x1, y1 = x * y, x.first_digits(), y.first_digits()
    x2, y2 = x - x1, y - y1
    return product, ((x1 * y1 - product) + x1 * y2 + x2 * y1) + x2 * y2


def _precise_log(x: Lanes) -> tuple[Lanes, Lanes]:
    """Log x of a normal float64 as a sum of two: 2 s + ⅔ s³ + s⁵ p(s²) of s = f / (2 + f).

    s, s² and s³ are sums of two as well, the first of which has half of the digits.
    """
    k, f = _exponent_and_fraction(x)
    g = f + 2.0
    half_g = g.first_digits()
    s1 = (f / g).first_digits()
    s2 = (((f - s1 * half_g) - s1 * (g - half_g)) - s1 * (f - (g - 2.0))) / g
    square, rest = s1 * s1, s2 * (s1 + s1 + s2)
    z = square + rest
    z1 = z.first_digits()
    z2 = (square - z1) + rest
    cube, rest = z1 * s1, z1 * s2 + z2 * (s1 + s2)
    c = cube + rest
    c1 = c.first_digits()
    c2 = (cube - c1) + rest
    third, rest_of_third = _TWO_THIRDS
    series = (c * z) * z.polynomial(_LOG_SERIES)
    high, low = _LN2[8]
    whole, twice, cubed = k * high, s1 + s1, c1 * third
    first = whole + twice
    total = first + cubed
    lost = ((whole - first) + twice) + ((first - total) + cubed)
    small = ((k * low + (s2 + s2)) + (c1 * rest_of_third + c2 * (2 / 3))) + (lost + series)
    result = total + small
    return result, (total - result) + small


def log_of_base(x: Lanes) -> Lanes:
    """Log |x| of float32 as a float64, for powers."""
    return log(x.call("fabs").to(F64), 4)


def power_of_known(x: Lanes, y: Lanes, log_of_x: Lanes) -> tuple[Lanes, Lanes]:
    """The power, where the logarithm of the base is known."""
    size = x.call("fabs")
    inside = (size > 0.0) & (size < math.inf) & (y.call("fabs") < math.inf)
    # Far beyond the range of float32, and far within that of float64.
    r, n = _reduced((y.to(F64) * log_of_x).clamped(-200.0, 200.0))
    power = ((_exp_minus_one(r, 4) + 1.0) * _power_of_two(n)).to(F32)
    # Of a negative base whole powers are real, and odd ones negative.
    half = 0.5 * y
    is_even = half.call("floor").equals(half)
    is_whole = y.call("floor").equals(y)
    of_negative = power.where(is_even, -power).where(is_whole, NO_VALUE)
    return _with_products(x, y, of_negative.where(x < 0.0, power), inside)
