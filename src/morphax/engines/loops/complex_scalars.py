"""What lax means by functions of complex numbers, in terms of operations on their parts.

Numbers whose parts are float32 are computed with parts in float64, where that spares the care for
what overflows or cancels; wider ones are scaled.  On branch cuts −0 counts as 0 in those functions
in which XLA has it so.

References:
    Kahan, "Branch cuts for complex elementary functions", in: Iserles and Powell, The State of the
    Art in Numerical Analysis (1987).
    Smith, "Algorithm 116: complex division", Communications of the ACM 5 (1962).
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from .operations import PART_OF
from .program import DType, Operand
from .writer import Writer

Pair = tuple[Operand, Operand]
WIDE: Final[DType] = np.dtype(np.float64)
_LN_2: Final = math.log(2.0)


def parts(w: Writer, z: Operand) -> Pair:
    """Re z and Im z."""
    return w.op("real", z), w.op("imag", z)


def wide_parts(w: Writer, z: Operand) -> Pair:
    """The same, as float64."""
    x, y = parts(w, z)
    return w.convert(x, WIDE), w.convert(y, WIDE)


def made(w: Writer, pair: Pair, dtype: DType) -> Operand:
    """The number of a complex dtype with these parts."""
    x, y = [w.convert(part, PART_OF[dtype]) for part in pair]
    return w.op("complex", x, y)


def like(w: Writer, x: Operand, value: float) -> Operand:
    """A number of the dtype of x."""
    return w.number(value, x.dtype)


def is_infinite(w: Writer, x: Operand) -> Operand:
    """Whether x is ∞ or −∞."""
    return w.op("eq", w.op("fabs", x), like(w, x, math.inf))


def has_part(w: Writer, operation: str, pair: Pair) -> Operand:
    """Whether a part is infinite ("inf"), or NaN ("nan")."""
    if operation == "inf":
        flags = [is_infinite(w, x) for x in pair]
    else:
        flags = [w.op("ne", x, x) for x in pair]
    return w.op("or", *flags)


def above(w: Writer, x: Operand) -> Operand:
    """x, and 0 for −0."""
    return w.op("add", x, like(w, x, 0.0))


def conjugate(w: Writer, z: Operand) -> Operand:
    """x − i y."""
    x, y = parts(w, z)
    return w.op("complex", x, w.op("neg", y))


def scaled(w: Writer, z: Operand, factor: Operand) -> Operand:
    """z by a real number."""
    x, y = parts(w, z)
    return w.op("complex", w.op("mul", x, factor), w.op("mul", y, factor))


def product(w: Writer, left: Pair, right: Pair) -> Pair:
    """(a + i b) (c + i d), without care for infinities."""
    (a, b), (c, d) = left, right
    return (
        w.op("sub", w.op("mul", a, c), w.op("mul", b, d)),
        w.op("add", w.op("mul", a, d), w.op("mul", b, c)),
    )


# Magnitudes and quotients


def _extremes(w: Writer, x: Operand, y: Operand) -> Pair:
    """The larger and the smaller of |x| and |y|, NaN if either is."""
    sizes = w.op("fabs", x), w.op("fabs", y)
    return w.op("max", *sizes), w.op("min", *sizes)


def _ratio(w: Writer, larger: Operand, smaller: Operand) -> Operand:
    """Their quotient, 0 where the larger is 0 or infinite."""
    zero = like(w, larger, 0.0)
    is_plain = w.op("and", w.op("ne", larger, zero), w.op("ne", larger, like(w, larger, math.inf)))
    return w.select(is_plain, w.op("div", smaller, larger), zero)


def _size(w: Writer, pair: Pair, *, is_narrow: bool) -> Operand:
    """|z|; of numbers whose squares float64 holds, by these."""
    x, y = pair
    if is_narrow:
        squares = w.op("add", w.op("mul", x, x), w.op("mul", y, y))
        return w.op("sqrt", squares)
    larger, smaller = _extremes(w, x, y)
    ratio = _ratio(w, larger, smaller)
    one = like(w, x, 1.0)
    return w.op("mul", larger, w.op("sqrt", w.op("add", one, w.op("mul", ratio, ratio))))


def has_narrow_parts(z: Operand) -> bool:
    """Whether float64 has room for squares of the parts."""
    return PART_OF[z.dtype] != WIDE


def magnitude(w: Writer, z: Operand) -> Operand:
    """|z|; one infinite part is far enough, beside NaN too."""
    pair = wide_parts(w, z)
    size = _size(w, pair, is_narrow=has_narrow_parts(z))
    size = w.select(has_part(w, "inf", pair), like(w, size, math.inf), size)
    return w.convert(size, PART_OF[z.dtype])


def sign(w: Writer, z: Operand) -> Operand:
    """z / |z|, part by part; 0 is itself."""
    size = magnitude(w, z)
    divided = [w.op("div", x, size) for x in parts(w, z)]
    is_zero = w.op("eq", size, like(w, size, 0.0))
    return w.select(is_zero, z, w.op("complex", *divided))


def quotient(w: Writer, u: Operand, v: Operand) -> Operand:
    """u / v, with the infinities and zeros of C99, annex G.5.1.

    All cases are two numerators over one real divisor, so that special ones cost two choices:
    0 for it gives infinities, ∞ gives zeros, and a NaN stays one whatever it is divided by.
    """
    left, right = wide_parts(w, u), wide_parts(w, v)
    u_is_infinite, v_is_infinite = has_part(w, "inf", left), has_part(w, "inf", right)
    x, y = [w.select(u_is_infinite, _corner(w, part), part) for part in left]
    c, d = [w.select(v_is_infinite, _corner(w, part), part) for part in right]
    numerators = product(w, (x, y), (c, w.op("neg", d)))
    zero, infinity, nan = [like(w, x, value) for value in (0.0, math.inf, math.nan)]
    if has_narrow_parts(u):
        # float64 has room for the squares of the parts.
        size = w.op("add", w.op("mul", c, c), w.op("mul", d, d))
        is_zero = w.op("eq", size, zero)
    else:
        is_special = w.op("or", u_is_infinite, v_is_infinite)
        scaled_numerators, size = _scaled_quotient(w, left, right)
        numerators = _either(w, is_special, numerators, scaled_numerators)
        is_zero = w.all_of([w.op("eq", part, zero) for part in right])
    size = w.select(v_is_infinite, infinity, size)
    size = w.select(u_is_infinite, w.select(v_is_infinite, nan, zero), size)
    size = w.select(is_zero, w.op("copysign", zero, right[0]), size)
    x, y = _either(w, is_zero, left, numerators)
    return made(w, (w.op("div", x, size), w.op("div", y, size)), u.dtype)


def _either(w: Writer, where: Operand, yes: Pair, no: Pair) -> Pair:
    return w.select(where, yes[0], no[0]), w.select(where, yes[1], no[1])


def _corner(w: Writer, x: Operand) -> Operand:
    """1 if x is infinite, else 0, with the sign of x."""
    flag = w.select(is_infinite(w, x), like(w, x, 1.0), like(w, x, 0.0))
    return w.op("copysign", flag, x)


def _scaled_quotient(w: Writer, left: Pair, right: Pair) -> tuple[Pair, Operand]:
    """Numerators and divisor by Smith's algorithm: the divisor's larger part goes out."""
    (a, b), (c, d) = left, right
    is_first = w.op("ge", w.op("fabs", c), w.op("fabs", d))
    larger, smaller = w.select(is_first, c, d), w.select(is_first, d, c)
    ratio = w.op("div", smaller, larger)
    size = w.op("add", larger, w.op("mul", smaller, ratio))
    p, q = w.select(is_first, a, b), w.select(is_first, b, a)
    x = w.op("add", p, w.op("mul", q, ratio))
    turned = w.op("sub", q, w.op("mul", p, ratio))
    y = w.select(is_first, turned, w.op("neg", turned))
    return (x, y), size


# Exponentials and logarithms

# e to this is a number of the dtype.
_LARGEST_EXPONENT: Final = {np.dtype(np.float32): 88.0, WIDE: 709.0}


def exponential(w: Writer, z: Operand) -> Operand:
    """e^z."""
    return made(w, _exponential(w, parts(w, z)), z.dtype)


def exponential_of_two(w: Writer, z: Operand) -> Operand:
    """2^z."""
    return exponential(w, scaled(w, z, w.number(_LN_2, PART_OF[z.dtype])))


def _exponential(w: Writer, pair: Pair) -> Pair:
    x, y = pair
    zero, infinity = like(w, x, 0.0), like(w, x, math.inf)
    # Where e^x alone would overflow, a factor of it comes last.
    most = _LARGEST_EXPONENT[x.dtype]
    is_large = w.op("gt", x, like(w, x, most))
    power = w.op("exp", w.select(is_large, w.op("sub", x, like(w, x, most)), x))
    rest = w.select(is_large, like(w, x, math.exp(most)), like(w, x, 1.0))
    turned = [w.op("mul", w.op("mul", power, w.op(name, y)), rest) for name in ("cos", "sin")]
    unbounded = w.op("not", w.op("lt", w.op("fabs", y), infinity))
    # A real number has a real power; nothing is left of the direction far out.
    real = w.select(w.op("eq", y, zero), w.op("mul", power, rest), turned[0])
    imag = w.select(w.op("eq", y, zero), y, turned[1])
    vanishes = w.op("and", w.op("eq", x, like(w, x, -math.inf)), unbounded)
    grows = w.op("and", w.op("eq", x, infinity), unbounded)
    real = w.select(vanishes, zero, w.select(grows, infinity, real))
    return real, w.select(vanishes, zero, imag)


def exponential_less_one(w: Writer, z: Operand) -> Operand:
    """e^z − 1: of the real part, (e^x − 1) cos y − 2 sin² (y / 2)."""
    x, y = parts(w, z)
    power, imag = _exponential(w, (x, y))
    half = w.op("sin", w.op("mul", y, like(w, y, 0.5)))
    below = w.op("mul", like(w, y, 2.0), w.op("mul", half, half))
    real = w.op("sub", w.op("mul", w.op("expm1", x), w.op("cos", y)), below)
    # Where e^x − 1 would overflow and e^z does not.
    real = w.select(w.op("gt", x, like(w, x, 40.0)), power, real)
    is_lost = w.all_of([w.op("eq", part, like(w, x, 0.0)) for part in (power, imag)])
    return w.op("complex", w.select(is_lost, like(w, x, -1.0), real), imag)


def logarithm(w: Writer, z: Operand) -> Operand:
    """log |z| + i arg z."""
    return made(w, log_of(w, wide_parts(w, z), is_narrow=has_narrow_parts(z)), z.dtype)


def logarithm_to_base_two(w: Writer, z: Operand) -> Operand:
    """log z / log 2, part by part."""
    pair = log_of(w, wide_parts(w, z), is_narrow=has_narrow_parts(z))
    x, y = [w.op("div", part, like(w, part, _LN_2)) for part in pair]
    return made(w, (x, y), z.dtype)


def log_of(w: Writer, pair: Pair, *, is_narrow: bool) -> Pair:
    """The logarithm of a number by its parts."""
    x, y = pair
    larger, smaller = _extremes(w, x, y)
    one, half = like(w, x, 1.0), like(w, x, 0.5)
    square = w.op("mul", smaller, smaller)
    # |z|² − 1 without what cancels.
    above = w.op("mul", w.op("sub", larger, one), w.op("add", larger, one))
    near = w.op("mul", half, w.op("log1p", w.op("add", above, square)))
    size = w.op("add", w.op("mul", larger, larger), square)
    if is_narrow:
        far = w.op("mul", half, w.op("log", size))
    else:
        ratio = _ratio(w, larger, smaller)
        rest = w.op("log1p", w.op("mul", ratio, ratio))
        far = w.op("add", w.op("log", larger), w.op("mul", half, rest))
    is_near = w.all_of([w.op("gt", size, half), w.op("lt", size, like(w, x, 2.0))])
    real = w.select(is_near, near, far)
    real = w.select(has_part(w, "inf", pair), like(w, x, math.inf), real)
    return real, w.op("atan2", y, x)


def logarithm_of_following(w: Writer, z: Operand) -> Operand:
    """log(1 + z): |1 + z|² is 1 + x (2 + x) + y²."""
    x, y = wide_parts(w, z)
    following = w.op("add", x, like(w, x, 1.0)), y
    far, angle = log_of(w, following, is_narrow=has_narrow_parts(z))
    square = w.op("mul", x, w.op("add", x, like(w, x, 2.0)))
    near = w.op("log1p", w.op("add", square, w.op("mul", y, y)))
    near = w.op("mul", near, like(w, x, 0.5))
    size = w.op("add", w.op("mul", x, x), w.op("mul", y, y))
    is_near = w.op("lt", size, like(w, x, 0.25))
    return made(w, (w.select(is_near, near, far), angle), z.dtype)


def logistic(w: Writer, z: Operand) -> Operand:
    """1 / (1 + e⁻ᶻ)."""
    one = w.number(1, z.dtype)
    return quotient(w, one, w.op("add", one, exponential(w, w.op("neg", z))))


def power(w: Writer, z: Operand, exponent: Operand) -> Operand:
    """z to a complex power; 0 has real positive powers only, and its power 0 is 1."""
    pair, (c, d) = wide_parts(w, z), wide_parts(w, exponent)
    of_log = log_of(w, pair, is_narrow=has_narrow_parts(z))
    x, y = _exponential(w, product(w, of_log, (c, d)))
    zero, one, nan = [like(w, x, value) for value in (0.0, 1.0, math.nan)]
    is_real = w.op("eq", d, zero)
    vanishes = w.all_of([is_real, w.op("gt", c, zero)])
    is_one = w.all_of([is_real, w.op("eq", c, zero)])
    is_zero = w.all_of([w.op("eq", part, zero) for part in pair])
    nought = w.select(vanishes, zero, nan)
    x = w.select(is_one, one, w.select(is_zero, nought, x))
    y = w.select(is_one, zero, w.select(is_zero, nought, y))
    return made(w, (x, y), z.dtype)


# Roots


def root(w: Writer, z: Operand) -> Operand:
    """√z with a real part ≥ 0; −0 beside it is 0."""
    x, y = wide_parts(w, z)
    return made(w, root_of(w, (x, above(w, y)), is_narrow=has_narrow_parts(z)), z.dtype)


def inverse_root(w: Writer, z: Operand) -> Operand:
    """1 / √z."""
    found = made(w, root_of(w, wide_parts(w, z), is_narrow=has_narrow_parts(z)), z.dtype)
    return quotient(w, w.number(1, z.dtype), found)


def root_of(w: Writer, pair: Pair, *, is_narrow: bool) -> Pair:
    """The square root of a number by its parts; its imaginary part has the sign of that."""
    x, y = pair
    zero, half, infinity = [like(w, x, value) for value in (0.0, 0.5, math.inf)]
    size = _size(w, pair, is_narrow=is_narrow)
    sum_ = w.op("add", w.op("mul", half, size), w.op("mul", half, w.op("fabs", x)))
    larger = w.select(is_infinite(w, x), infinity, w.op("sqrt", sum_))
    is_zero = w.op("eq", larger, zero)
    smaller = w.op("div", w.op("mul", half, w.op("fabs", y)), larger)
    smaller = w.select(is_zero, zero, smaller)
    is_left = w.op("lt", x, zero)
    real = w.select(is_left, smaller, larger)
    imag = w.op("copysign", w.select(is_left, larger, smaller), y)
    is_high = is_infinite(w, y)
    is_lost = w.all_of([w.op("ne", y, y), w.op("ne", x, like(w, x, -math.inf))])
    imag = w.select(is_lost, y, imag)
    return w.select(is_high, infinity, real), w.select(is_high, y, imag)


def extreme(w: Writer, u: Operand, v: Operand, *, greater: bool) -> Operand:
    """The greater or smaller number, by real parts, then imaginary ones."""
    (a, b), (c, d) = parts(w, u), parts(w, v)
    direction = "gt" if greater else "lt"
    by_imag, by_real = w.op(direction, b, d), w.op(direction, a, c)
    same = w.op("eq", a, c)
    first = w.op("or", w.all_of([same, by_imag]), w.all_of([w.op("not", same), by_real]))
    return w.select(first, u, v)
