"""Sines, tangents and their inverses.

The argument of a sine is less n · π/2 between −π/4 and π/4.  π/2 is taken in three parts, two of
them of 33 bits, so that products with n below 2²⁰ are exact; beyond, the C library is asked.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from .kernel import F32, F64, Lanes

_SIN = {
    4: (-0.00019516653802460995, 0.0083321735312465412, -0.16666654873458286),
    8: (
        *(1.5896504879041191e-10, -2.5050753265808805e-8, 2.7557313662084239e-6),
        *(-1.9841269829725341e-4, 8.3333333333223154e-3, -0.16666666666666632),
    ),
}
_COS = {
    4: (2.4437724541568211e-5, -0.0013887361406217034, 0.041666646747104912),
    8: (
        *(-1.135944920667963e-11, 2.0875719570904285e-9, -2.7557314326138763e-7),
        *(2.4801587289395379e-5, -1.3888888888873992e-3, 4.1666666666666599e-2),
    ),
}
_ATAN = {
    4: (
        *(0.047478572319539057, -0.084782144500363449, 0.11045061173002911),
        *(-0.14282039626115594, 0.19999905107214872, -0.33333332513778886),
    ),
    8: (
        *(0.015206536085802145, -0.033485653323943685, 0.045040298917126203),
        *(-0.052185224429362051, 0.058770401218928052, -0.066662286271257314),
        *(0.076922828851834487, -0.090909081501201996, 0.11111111088332678),
        *(-0.14285714285390492, 0.19999999999997689, -0.33333333333333328),
    ),
}
# π/2 less its nearest float64.
_HALF_PI_REST = 6.123233995736766e-17
_TAN_OF_EIGHTH = 0.41421356237309503
_HALF_PI = (1.57079632673412561417e00, 6.07710050630396597660e-11, 2.02226624879595063154e-21)
_LARGEST = 2.0**20


def _reduced(x: Lanes) -> tuple[Lanes, Lanes, Lanes]:
    """The rest of a float64 in two parts, and how often π/2 was taken away, modulo 4."""
    magic = 1.5 * 2.0**52
    moved = x.times_plus(2 / math.pi, magic)
    n = moved - magic
    first, second, third = _HALF_PI
    high = n.times_plus(-first, x)
    product = n * second
    rest = high - product
    low = ((high - rest) - product) - n * third
    r = rest + low
    return r, (rest - r) + low, moved.bits()


def _reduced_shortly(x: Lanes) -> tuple[Lanes, Lanes]:
    """The same for a number that was a float32, of which half the digits of the rest are enough."""
    magic = 1.5 * 2.0**52
    moved = x.times_plus(2 / math.pi, magic)
    n = moved - magic
    first, second, _ = _HALF_PI
    return n.times_plus(-second, n.times_plus(-first, x)), moved.bits()


def _sin_of_rest(r: Lanes, low: Lanes | None) -> tuple[Lanes, Lanes]:
    """The sine as a sum of a number and a smaller one."""
    z = r * r
    series = (z * r) * z.polynomial(_SIN[r.dtype.itemsize])
    return r, series if low is None else series + low


def _cos_of_rest(r: Lanes, low: Lanes | None) -> tuple[Lanes, Lanes]:
    """The cosine likewise."""
    z = r * r
    half = 0.5 * z
    near = 1.0 - half
    series = (z * z) * z.polynomial(_COS[r.dtype.itemsize])
    if low is not None:
        series = series - r * low
    return near, ((1.0 - near) - half) + series


def _sum(parts: tuple[Lanes, Lanes]) -> Lanes:
    return parts[0] + parts[1]


def _quarter_turns(x: Lanes, more: int) -> tuple[Lanes, Lanes]:
    """The sine of x and so many quarter turns, and where x is too large."""
    outside = ~(x.call("fabs") < _LARGEST)
    if x.dtype == F32:
        r, turns = _reduced_shortly(x.to(F64))
        rest = r.to(F32)
        parts = _sin_of_rest(rest, None), _cos_of_rest(rest, None)
    else:
        r, low, turns = _reduced(x)
        parts = _sin_of_rest(r, low), _cos_of_rest(r, low)
    sine, cosine = map(_sum, parts)
    turns = turns + more if more else turns
    value = sine.where((turns & 1).equals(0), cosine)
    return value.where((turns & 2).equals(0), -value), outside


def sin(x: Lanes) -> tuple[Lanes, Lanes]:
    """Sin x, and where x is too large."""
    value, outside = _quarter_turns(x, 0)
    return x.where(x.equals(0.0), value), outside


def cos(x: Lanes) -> tuple[Lanes, Lanes]:
    """Cos x, and where x is too large."""
    return _quarter_turns(x, 1)


def tan(x: Lanes) -> tuple[Lanes, Lanes]:
    """Tan x, and where x is too large."""
    if x.dtype == F32:
        r, turns = _reduced_shortly(x.to(F64))
        sine, cosine = _sum(_sin_of_rest(r, None)), _sum(_cos_of_rest(r, None))
        is_even = (turns & 1).equals(0)
        value = (sine.where(is_even, -cosine) / cosine.where(is_even, sine)).to(F32)
    else:
        r, low, turns = _reduced(x)
        pairs = [_two_parts(parts(r, low)) for parts in (_sin_of_rest, _cos_of_rest)]
        is_even = (turns & 1).equals(0)
        above = [a.where(is_even, -b) for a, b in zip(*pairs, strict=True)]
        below = [b.where(is_even, a) for a, b in zip(*pairs, strict=True)]
        value = _quotient(above, below)
    return x.where(x.equals(0.0), value), ~(x.call("fabs") < _LARGEST)


def _two_parts(parts: tuple[Lanes, Lanes]) -> tuple[Lanes, Lanes]:
    """The rounded sum, and what it leaves."""
    total = _sum(parts)
    return total, (parts[0] - total) + parts[1]


def _quotient(above: Sequence[Lanes], below: Sequence[Lanes]) -> Lanes:
    """The quotient of two sums: half of its digits, and the rest, whose products are exact."""
    (top, low_top), (bottom, low_bottom) = above, below
    first, half = (top / bottom).first_digits(), bottom.first_digits()
    rest = (top - first * half) - first * (bottom - half)
    return first + (rest + (low_top - first * low_bottom)) / bottom


def atan(x: Lanes) -> Lanes:
    """Arctan x, reduced to less than tan(π/8) by differences from π/4 and π/2."""
    magnitude = x.call("fabs")
    is_large, is_medium = magnitude > 2.414213562373095, magnitude > _TAN_OF_EIGHTH
    top = x.like(-1.0).where(is_large, (magnitude - 1.0).where(is_medium, magnitude))
    bottom = magnitude.where(is_large, (magnitude + 1.0).where(is_medium, 1.0))
    t = top / bottom
    offset, rest = [
        x.like(value).where(is_large, x.like(value / 2).where(is_medium, 0.0))
        for value in (math.pi / 2, _rest_of_half_pi(x))
    ]
    return (offset + ((_atan_series(t) + rest) + t)).with_sign_of(x)


def _atan_series(t: Lanes) -> Lanes:
    """Arctan t − t of a number less than tan(π/8)."""
    z = t * t
    return (t * z) * z.polynomial(_ATAN[t.dtype.itemsize])


def atan2(y: Lanes, x: Lanes) -> Lanes:
    """The angle of the point (x, y), from that of a point below the diagonal.

    Its tangent is at most 1, and less than tan(π/8) after a turn by π/4.
    """
    across, up = x.call("fabs"), y.call("fabs")
    is_steep = up > across
    low, high = across.where(is_steep, up), up.where(is_steep, across)
    are_infinite = across.equals(math.inf) & up.equals(math.inf)
    is_medium = (low > high * _TAN_OF_EIGHTH) | are_infinite
    # Sums of large numbers would be infinite; halves of small ones are not exact.
    scale = x.like(0.5).where(high > 1.0, 1.0)
    top = ((low - high) * scale).where(is_medium, low)
    bottom = (low * scale + high * scale).where(is_medium, high)
    are_zero = across.equals(0.0) & up.equals(0.0)
    t = x.like(0.0).where(are_infinite | are_zero, top / bottom)
    eighth = x.like(math.pi / 4).where(is_medium, 0.0)
    rest = x.like(_rest_of_half_pi(x) / 2).where(is_medium, 0.0)
    angle = eighth + ((_atan_series(t) + rest) + t)
    angle = ((math.pi / 2 - angle) + _rest_of_half_pi(x)).where(is_steep, angle)
    turned = (math.pi - angle) + 2 * _rest_of_half_pi(x)
    return turned.where(x.bits() < 0, angle).with_sign_of(y)


def _rest_of_half_pi(x: Lanes) -> float:
    if x.dtype == F64:
        return _HALF_PI_REST
    return math.pi / 2 - float(F32.type(math.pi / 2))


def asin(x: Lanes) -> Lanes:
    """Arcsin x of float32, NaN beyond ±1."""
    wide = x.to(F64)
    value = atan(wide / (1.0 - wide * wide).call("sqrt")).to(F32)
    return x.where(x.equals(0.0), value)


def acos(x: Lanes) -> Lanes:
    """Arccos x of float32, NaN beyond ±1."""
    wide = x.to(F64)
    value = atan(((1.0 - wide) / (wide + 1.0)).call("sqrt"))
    return (value + value).to(F32)
