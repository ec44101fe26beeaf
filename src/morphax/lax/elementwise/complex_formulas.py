"""Functions of complex numbers by their parts, where libraries lose digits or meet 0 · ∞.

With z = x + i y:

    sin z = sin x cosh y + i cos x sinh y        sinh z = cos y sinh x + i sin y cosh x
    cos z = cos x cosh y − i sin x sinh y        cosh z = cos y cosh x + i sin y sinh x

XLA forms sinh y as a difference of exponentials, which is 0 for y = 10⁻³⁰, and 0 · cosh y as it is,
which is NaN far out; NumPy's ``log1p`` and ``expm1`` of complex numbers do the like.  Where the
angle is not finite and the other part infinite, the product with the cosine is ∞, whose sign C
leaves open.

Reference:
    Kahan, "Branch cuts for complex elementary functions", in: Iserles and Powell, The State of the
    Art in Numerical Analysis (1987).
"""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np

from ...engines import loops
from ...engines.xla.stablehlo import Builder, Value
from ..ground.families import Elementwise
from ..ground.kinds import INEXACT
from .complex_special_points import Questions, joined, parts_of

LN_2 = math.log(2.0)


class Wave(Elementwise):
    """A circular or hyperbolic function, of complex numbers by products of real ones.

    Attributes:
        angle: the part of z whose sine and cosine are taken, "real" or "imag"; of the other part
            it is the hyperbolic ones.
        real_part, imaginary_part: the functions whose product that part is.
        is_negated: whether the imaginary part is the negative of it.
    """

    accepts = INEXACT
    angle: ClassVar[str]
    real_part: ClassVar[tuple[str, str]]
    imaginary_part: ClassVar[tuple[str, str]]
    is_negated: ClassVar[bool] = False

    def lower(self, b: Builder, out: Any, *operands: Value, **params: Any) -> Value:
        if out.dtype.kind != "c":
            return super().lower(b, out, *operands, **params)
        (z,) = operands
        x, y = parts_of(b, z)
        angle, height = (x, y) if self.angle == "real" else (y, x)
        of_angle, of_height = self.real_part
        real = _product(b, of_angle, angle, of_height, height)
        of_angle, of_height = self.imaginary_part
        imag = _product(b, of_angle, angle, of_height, height)
        if self.is_negated:
            imag = b.elementwise("stablehlo.negate", imag.aval, imag)
        return joined(b, out, (real, imag))

    def scalar_of_complex(self, w: loops.Writer, z: loops.Operand) -> loops.Operand:
        pairs = self.real_part, self.imaginary_part
        return loops.complex_waves.wave(w, z, self.angle, *pairs, is_negated=self.is_negated)


_NAMES = {
    "sin": "stablehlo.sine",
    "cos": "stablehlo.cosine",
    "sinh": "chlo.sinh",
    "cosh": "chlo.cosh",
}


def _product(b: Builder, of_angle: str, angle: Value, of_height: str, height: Value) -> Value:
    """A circular function of one part by a hyperbolic one of the other, right at special points."""
    x, y = b.op(_NAMES[of_angle], angle.aval, angle), b.op(_NAMES[of_height], height.aval, height)
    found = b.elementwise("stablehlo.multiply", x.aval, x, y)
    found = _kept_zero(b, y, x, _kept_zero(b, x, y, found))
    if of_angle != "cos":
        return found
    ask = Questions(b, found.aval)
    is_lost = ask.both(ask.is_not_finite(angle), ask.is_infinite(height))
    return ask.where(is_lost, ask.number(math.inf), found)


def _kept_zero(b: Builder, x: Value, y: Value, found: Value) -> Value:
    """The product `found` of x and y, where x is 0 a zero of its sign."""
    ask = Questions(b, found.aval)
    is_lost = ask.both(ask.equals(x, 0), ask.differs(found, 0))
    opposite = b.elementwise("stablehlo.negate", x.aval, x)
    signed = ask.where(ask.is_negative(y), opposite, x)
    return ask.where(is_lost, signed, found)


def scaled(b: Builder, z: Value, factor: float) -> Value:
    """`z` by a real number: the product with a complex one has 0 · ∞."""
    x, y = parts_of(b, z)
    scale = b.full(factor, x.aval)
    real, imag = [b.elementwise("stablehlo.multiply", v.aval, v, scale) for v in (x, y)]
    return joined(b, z.aval, (real, imag))


def expm1(z: Any) -> Any:
    """e^z − 1 of NumPy's complex numbers: NumPy's own has 0 · ∞ far out."""
    value, power = np.asarray(np.expm1(z)), np.exp(z)
    value.imag = power.imag
    value.real[power == 0] = -1.0
    value.real[np.isposinf(z.real)] = power.real[np.isposinf(z.real)]
    return value


def exp2(z: Any) -> Any:
    """2^z of NumPy's complex numbers."""
    exponent, factor = np.empty_like(z), z.real.dtype.type(LN_2)
    exponent.real, exponent.imag = z.real * factor, z.imag * factor
    return np.exp(exponent)


def log1p(z: Any) -> Any:
    """log(1 + z) of NumPy's complex numbers: |1 + z|² is 1 + x (2 + x) + y²."""
    x, y = z.real.astype(np.float64), z.imag.astype(np.float64)
    following = np.array(z, np.complex128)
    following.real += 1.0
    value = np.asarray(np.log(following))
    near = np.abs(z) < 0.5
    np.log1p(x * (2.0 + x) + y * y, out=value.real, where=near)
    value.real[near] *= 0.5
    return value.astype(z.dtype)
