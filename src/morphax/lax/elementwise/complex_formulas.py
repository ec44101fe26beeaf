"""Functions of complex numbers by their parts, where libraries lose digits or meet 0 · ∞.

With z = x + i y:

    sin z = sin x cosh y + i cos x sinh y        sinh z = cos y sinh x + i sin y cosh x
    cos z = cos x cosh y − i sin x sinh y        cosh z = cos y cosh x + i sin y sinh x

XLA forms sinh y as a difference of exponentials, which is 0 for y = 10⁻³⁰, and 0 · cosh y as it is,
which is NaN far out; NumPy's ``log1p`` and ``expm1`` of complex numbers do the like.

Reference:
    Kahan, "Branch cuts for complex elementary functions", in: Iserles and Powell, The State of the
    Art in Numerical Analysis (1987).
"""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np

from ...core import ShapedArray
from ...engines import loops
from ...engines.xla.stablehlo import Builder, Value
from ..ground.families import Elementwise, compare
from ..ground.kinds import INEXACT
from .complex import real_dtype

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
        part = _waves(b, *operands, angle=self.angle)
        pairs = (self.real_part, self.imaginary_part)
        real, imag = [_product(b, part[x], part[y]) for x, y in pairs]
        if self.is_negated:
            imag = b.elementwise("stablehlo.negate", imag.aval, imag)
        return b.op("stablehlo.complex", out, real, imag)

    def scalar_of_complex(self, w: loops.Writer, z: loops.Operand) -> loops.Operand:
        pairs = self.real_part, self.imaginary_part
        return loops.complex_waves.wave(w, z, self.angle, *pairs, is_negated=self.is_negated)


def _parts(b: Builder, z: Value) -> dict[str, Value]:
    aval = z.aval.update(dtype=real_dtype(z.aval.dtype))
    return {part: b.op(f"stablehlo.{part}", aval, z) for part in ("real", "imag")}


def _waves(b: Builder, z: Value, *, angle: str) -> dict[str, Value]:
    """The circular functions of one part of z, and the hyperbolic ones of the other."""
    parts = _parts(b, z)
    turned = parts.pop(angle)
    (height,) = parts.values()
    return {
        "sin": b.elementwise("stablehlo.sine", turned.aval, turned),
        "cos": b.elementwise("stablehlo.cosine", turned.aval, turned),
        "sinh": b.op("chlo.sinh", turned.aval, height),
        "cosh": b.op("chlo.cosh", turned.aval, height),
    }


def _product(b: Builder, x: Value, y: Value) -> Value:
    """x y for real numbers, and 0 of the product's sign where 0 meets what is not finite."""
    found = b.elementwise("stablehlo.multiply", x.aval, x, y)
    return _kept_zero(b, y, x, _kept_zero(b, x, y, found))


def _kept_zero(b: Builder, x: Value, y: Value, found: Value) -> Value:
    """The product `found` of x and y, where x is 0 a zero."""
    aval: ShapedArray = x.aval
    flags, zero = aval.update(dtype=np.dtype(bool)), b.full(0, aval)
    is_lost = b.elementwise(
        "stablehlo.and",
        flags,
        compare(b, flags, "EQ", x, zero),
        compare(b, flags, "NE", found, zero),
    )
    opposite = b.elementwise("stablehlo.negate", aval, x)
    signed = b.op("stablehlo.select", aval, compare(b, flags, "LT", y, zero), opposite, x)
    return b.op("stablehlo.select", aval, is_lost, signed, found)


def scaled(b: Builder, z: Value, factor: float) -> Value:
    """`z` by a real number: the product with a complex one has 0 · ∞."""
    parts = _parts(b, z).values()
    products = [
        b.elementwise("stablehlo.multiply", x.aval, x, b.full(factor, x.aval)) for x in parts
    ]
    return b.op("stablehlo.complex", z.aval, *products)


def expm1(z: Any) -> Any:
    """e^z − 1 of NumPy's complex numbers: NumPy's own has 0 · ∞ far out."""
    value, power = np.asarray(np.expm1(z)), np.exp(z)
    value.imag = power.imag
    value.real[power == 0] = -1.0
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
