"""Circular and hyperbolic functions of complex numbers, and their inverses.

With z = x + i y:

    sin z = sin x cosh y + i cos x sinh y        sinh z = cos y sinh x + i sin y cosh x
    cos z = cos x cosh y − i sin x sinh y        cosh z = cos y cosh x + i sin y sinh x
    tanh z = (sinh x cosh x + i sin y cos y) / (sinh² x + cos² y)

and i f(z) by f(i z).  The inverses are Kahan's (see `complex_scalars`), which lose no digits near
branch cuts.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from .complex_scalars import (
    Pair,
    above,
    has_narrow_parts,
    has_part,
    is_infinite,
    like,
    log_of,
    made,
    parts,
    product,
    quotient,
    root,
    root_of,
    wide_parts,
)
from .program import Operand
from .writer import Writer

Function = Callable[[Writer, Pair], Pair]


def wave(
    w: Writer,
    z: Operand,
    angle: str,
    real_part: tuple[str, str],
    imaginary_part: tuple[str, str],
    *,
    is_negated: bool,
) -> Operand:
    """A circular or hyperbolic function by products of real ones.

    Args:
        w: what writes.
        z: the number.
        angle: the part whose sine and cosine are taken; of the other it is the hyperbolic ones.
        real_part, imaginary_part: the functions whose product that part is.
        is_negated: whether the imaginary part is the negative of it.
    """
    x, y = parts(w, z)
    turned, height = (x, y) if angle == "real" else (y, x)

    def factor(name: str) -> Operand:
        return w.op(name, height if name in ("sinh", "cosh") else turned)

    def product_of(of_angle: str, of_height: str) -> Operand:
        found = _kept_product(w, factor(of_angle), factor(of_height))
        return w.select(is_lost, like(w, x, math.inf), found) if of_angle == "cos" else found

    # C has ∞ there, and leaves its sign open.
    is_bounded = w.op("lt", w.op("fabs", turned), like(w, x, math.inf))
    is_lost = w.all_of([is_infinite(w, height), w.op("not", is_bounded)])
    first, second = product_of(*real_part), product_of(*imaginary_part)
    return w.op("complex", first, w.op("neg", second) if is_negated else second)


def _kept_product(w: Writer, x: Operand, y: Operand) -> Operand:
    """x y, and 0 of the product's sign where 0 meets what is not finite."""
    found = w.op("mul", x, y)
    for zero, other in ((x, y), (y, x)):
        nought = like(w, x, 0.0)
        is_lost = w.all_of([w.op("eq", zero, nought), w.op("ne", found, nought)])
        signed = w.select(w.op("lt", other, nought), w.op("neg", zero), zero)
        found = w.select(is_lost, signed, found)
    return found


def tanh(w: Writer, z: Operand) -> Operand:
    """sinh z / cosh z."""
    return made(w, _tanh(w, wide_parts(w, z)), z.dtype)


def tan(w: Writer, z: Operand) -> Operand:
    """sin z / cos z."""
    return made(w, _by_turning(w, wide_parts(w, z), _tanh), z.dtype)


def _by_turning(w: Writer, pair: Pair, function: Function) -> Pair:
    """The circular function g with i g(z) = f(i z)."""
    x, y = pair
    u, v = function(w, (w.op("neg", y), x))
    return v, w.op("neg", u)


# Beyond this the hyperbolic tangent is ±1.
_FAR = 20.0


def _tanh(w: Writer, pair: Pair) -> Pair:
    x, y = pair
    sine, cosine = w.op("sin", y), w.op("cos", y)
    is_far = w.op("gt", w.op("fabs", x), like(w, x, _FAR))
    height = w.select(is_far, like(w, x, 0.0), x)
    sinh, cosh = w.op("sinh", height), w.op("cosh", height)
    size = w.op("add", w.op("mul", sinh, sinh), w.op("mul", cosine, cosine))
    both = w.op("mul", sine, cosine)
    real, imag = w.op("div", w.op("mul", sinh, cosh), size), w.op("div", both, size)
    decay = w.op("exp", w.op("mul", like(w, x, -2.0), w.op("fabs", x)))
    left = w.op("mul", w.op("mul", like(w, x, 4.0), both), decay)
    is_lost = w.all_of([is_infinite(w, x), w.op("ne", left, left)])
    left = w.select(is_lost, w.op("copysign", like(w, x, 0.0), y), left)
    # It has no limit where the angle is endless, and x is not.
    one = w.op("add", w.op("copysign", like(w, x, 1.0), x), w.op("sub", left, left))
    is_real = w.op("eq", y, like(w, y, 0.0))
    imag = w.select(is_real, y, w.select(is_far, left, imag))
    return _odd_in(w, x, w.select(is_far, one, real)), imag


def _odd_in(w: Writer, x: Operand, found: Operand) -> Operand:
    """A real part that is x where x is 0, whatever the other part is."""
    return w.select(w.op("eq", x, like(w, x, 0.0)), x, found)


# Inverses


def asin(w: Writer, z: Operand) -> Operand:
    """The number with real part in [−π/2, π/2] whose sine is z."""
    x, y = wide_parts(w, z)
    return made(w, _asin(w, (x, above(w, y)), is_narrow=has_narrow_parts(z)), z.dtype)


def asinh(w: Writer, z: Operand) -> Operand:
    """The number whose hyperbolic sine is z."""
    x, y = wide_parts(w, z)

    def turned(w: Writer, pair: Pair) -> Pair:
        return _asin(w, pair, is_narrow=has_narrow_parts(z))

    return made(w, _by_turning(w, (above(w, x), y), turned), z.dtype)


def _around_one(w: Writer, pair: Pair, *, is_narrow: bool) -> tuple[Pair, Pair]:
    """√(1 − z) and √(1 + z)."""
    x, y = pair
    one = like(w, x, 1.0)
    below = root_of(w, (w.op("sub", one, x), w.op("neg", y)), is_narrow=is_narrow)
    return below, root_of(w, (w.op("add", one, x), y), is_narrow=is_narrow)


def _asin(w: Writer, pair: Pair, *, is_narrow: bool) -> Pair:
    x, y = pair
    (a, b), above_one = _around_one(w, pair, is_narrow=is_narrow)
    real, _ = product(w, (a, b), above_one)
    _, imag = product(w, (a, w.op("neg", b)), above_one)
    angle = _odd_in(w, x, w.op("atan2", x, real))
    far = w.op("atan2", x, w.op("fabs", y))
    endless = w.op("copysign", like(w, x, math.inf), y)
    return _far_or_near(w, pair, (far, endless), (angle, w.op("asinh", imag)))


def _far_or_near(w: Writer, pair: Pair, far: Pair, near: Pair) -> Pair:
    """The first of two where a part is infinite."""
    is_endless = has_part(w, "inf", pair)
    (a, b), (c, d) = far, near
    return w.select(is_endless, a, c), w.select(is_endless, b, d)


def acos(w: Writer, z: Operand) -> Operand:
    """The number with real part in [0, π] whose cosine is z."""
    x, y = wide_parts(w, z)
    y = above(w, y)
    below, (c, d) = _around_one(w, (x, y), is_narrow=has_narrow_parts(z))
    _, imag = product(w, (c, w.op("neg", d)), below)
    half = w.op("atan2", below[0], c)
    endless = w.op("neg", w.op("copysign", like(w, x, math.inf), y))
    far = w.op("atan2", w.op("fabs", y), x), endless
    angle = w.op("add", half, half)
    angle = w.select(w.op("eq", x, like(w, x, 0.0)), like(w, x, math.pi / 2), angle)
    near = angle, w.op("asinh", imag)
    return made(w, _far_or_near(w, (x, y), far, near), z.dtype)


def acosh(w: Writer, z: Operand) -> Operand:
    """The number with real part ≥ 0 whose hyperbolic cosine is z."""
    x, y = wide_parts(w, z)
    y, one, is_narrow = above(w, y), like(w, x, 1.0), has_narrow_parts(z)
    a, b = root_of(w, (w.op("sub", x, one), y), is_narrow=is_narrow)
    above_one = root_of(w, (w.op("add", x, one), y), is_narrow=is_narrow)
    real, _ = product(w, (a, w.op("neg", b)), above_one)
    half = w.op("atan2", b, above_one[0])
    far = like(w, x, math.inf), w.op("atan2", y, x)
    angle = w.op("add", half, half)
    is_lost = w.all_of([w.op("eq", x, like(w, x, 0.0)), w.op("ne", y, y)])
    near = w.op("asinh", real), w.select(is_lost, like(w, x, math.pi / 2), angle)
    return made(w, _far_or_near(w, (x, y), far, near), z.dtype)


def atanh(w: Writer, z: Operand) -> Operand:
    """The number whose hyperbolic tangent is z."""
    return made(w, _atanh(w, wide_parts(w, z)), z.dtype)


def atan(w: Writer, z: Operand) -> Operand:
    """The number whose tangent is z."""
    return made(w, _by_turning(w, wide_parts(w, z), _atanh), z.dtype)


# Beyond this the square of a part may overflow, and atanh z is 1 / z ± i π / 2.
_HUGE = 1e150


def _atanh(w: Writer, pair: Pair) -> Pair:
    x, y = pair
    one, two, four = [like(w, x, value) for value in (1.0, 2.0, 4.0)]
    larger = w.op("max", w.op("fabs", x), w.op("fabs", y))
    is_endless = has_part(w, "inf", pair)
    is_huge = w.op("or", is_endless, w.op("gt", larger, like(w, x, _HUGE)))
    a, b = [w.select(is_huge, like(w, x, 0.0), part) for part in pair]
    below, square = w.op("sub", one, a), w.op("mul", b, b)
    distance = w.op("add", w.op("mul", below, below), square)
    real = w.op("log1p", w.op("div", w.op("mul", four, a), distance))
    real = w.op("div", real, four)
    rest = w.op("sub", w.op("mul", below, w.op("add", one, a)), square)
    angle = w.op("div", w.op("atan2", w.op("mul", two, b), rest), two)
    p, q = w.op("div", x, larger), w.op("div", y, larger)
    size = w.op("add", w.op("mul", p, p), w.op("mul", q, q))
    far = w.op("div", w.op("div", p, size), larger)
    far = w.select(is_endless, w.op("copysign", like(w, x, 0.0), x), far)
    right = w.op("copysign", like(w, x, math.pi / 2), y)
    right = w.select(w.op("ne", y, y), y, right)
    return _odd_in(w, x, w.select(is_huge, far, real)), w.select(is_huge, right, angle)


def angle(w: Writer, u: Operand, v: Operand) -> Operand:
    """−i log ((v + i u) / √(u² + v²))."""
    radius = root(w, w.op("add", w.op("mul", u, u), w.op("mul", v, v)))
    (a, b), (c, d) = parts(w, u), parts(w, v)
    turned = w.op("complex", w.op("sub", c, b), w.op("add", d, a))
    x, y = wide_parts(w, quotient(w, turned, radius))
    real, imag = log_of(w, (x, above(w, y)), is_narrow=has_narrow_parts(u))
    return made(w, (imag, w.op("neg", real)), u.dtype)
