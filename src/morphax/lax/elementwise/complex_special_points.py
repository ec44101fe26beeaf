"""Complex functions where a part is infinite or NaN, in compiled programs.

XLA multiplies NaN by what decides alone there, or takes it for a number: its e^(−∞ + i∞) is NaN,
where 0 is right whatever the angle, and its atan of NaN has the real part −π/2.  The values here
are those of C, which NumPy has, and with it eager evaluation; the standard of arrays for Python
repeats them.  Signs that C leaves open are NumPy's.

A primitive names the parts that are others than XLA's by `SpecialPoints.special`.  What is chosen
there is right wherever it is chosen, not only where XLA is wrong, so tests are few and cheap.

References:
    ISO/IEC 9899:2011, Annex G.6.
    Kahan, "Branch cuts for complex elementary functions", in: Iserles and Powell, The State of the
    Art in Numerical Analysis (1987).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...core import ShapedArray
from ...engines.xla.stablehlo import Builder, Value
from ...util.records import dataclass
from ..ground.families import Elementwise, compare
from .complex import real_dtype

HALF_TURN = math.pi / 2


@dataclass(frozen=True, slots=True)
class Questions:
    """What is asked of real numbers, and chosen by the answer.

    Args:
        b: what writes.
        aval: of the numbers.
    """

    b: Builder
    aval: ShapedArray

    @property
    def _flags(self) -> ShapedArray:
        return self.aval.update(dtype=np.dtype(bool))

    def number(self, value: float) -> Value:
        """The number everywhere."""
        return self.b.full(value, self.aval)

    def where(self, flag: Value, chosen: Value, other: Value) -> Value:
        """`chosen` where the flag is set, elsewhere the other."""
        return self.b.op("stablehlo.select", chosen.aval, flag, chosen, other)

    def signed(self, size: float, part: Value) -> Value:
        """`size` with the sign of a part that is not 0; of NaN it is positive."""
        return self.where(self.is_negative(part), self.number(-size), self.number(size))

    def copied(self, size: float, part: Value) -> Value:
        """`size` with the sign of a part, that of 0 too, which its reciprocal shows."""
        turned = self.b.elementwise("stablehlo.divide", part.aval, self.number(1), part)
        return self.signed(size, self.where(self.equals(part, 0), turned, part))

    def equals(self, part: Value, value: float) -> Value:
        """Where a part is that number."""
        return compare(self.b, self._flags, "EQ", part, self.number(value))

    def differs(self, part: Value, value: float) -> Value:
        """Where a part is another number, or none."""
        return compare(self.b, self._flags, "NE", part, self.number(value))

    def is_negative(self, part: Value) -> Value:
        return compare(self.b, self._flags, "LT", part, self.number(0))

    def is_nan(self, part: Value) -> Value:
        return compare(self.b, self._flags, "NE", part, part)

    def is_infinite(self, part: Value) -> Value:
        size = self.b.elementwise("stablehlo.abs", part.aval, part)
        return self.equals(size, math.inf)

    def is_not_finite(self, part: Value) -> Value:
        finite = self.b.op("stablehlo.is_finite", self._flags, part)
        return self.b.elementwise("stablehlo.not", self._flags, finite)

    def both(self, first: Value, second: Value) -> Value:
        return self.b.elementwise("stablehlo.and", self._flags, first, second)

    def either(self, first: Value, second: Value) -> Value:
        return self.b.elementwise("stablehlo.or", self._flags, first, second)


@dataclass(frozen=True, slots=True)
class Parts(Questions):
    """A place z = x + i y and the value found there, by parts, and what is asked of them."""

    x: Value
    y: Value
    real: Value
    imag: Value

    @classmethod
    def of(cls, b: Builder, z: Value, found: Value) -> Parts:
        """Those of `z`, and of `found`, which may be real: then that is both parts."""
        x, y = parts_of(b, z)
        return cls(b, x.aval, x, y, *parts_of(b, found))


class SpecialPoints(Elementwise):
    """Operations of one operand whose value at complex special points is not XLA's."""

    def lower(self, b: Builder, out: Any, *operands: Value, **params: Any) -> Value:
        found = super().lower(b, out, *operands, **params)
        (z,) = operands
        if z.aval.dtype.kind != "c":
            return found
        return joined(b, out, self.special(Parts.of(b, z, found)))

    def special(self, p: Parts) -> tuple[Value, Value]:
        """The real and the imaginary part, right at special points."""
        raise AssertionError(f"{self.name} defines special")


def parts_of(b: Builder, z: Value) -> tuple[Value, Value]:
    """The real and the imaginary part; of a real number it is itself, twice."""
    if z.aval.dtype.kind != "c":
        return z, z
    aval = z.aval.update(dtype=real_dtype(z.aval.dtype))
    return b.op("stablehlo.real", aval, z), b.op("stablehlo.imag", aval, z)


def joined(b: Builder, out: Any, parts: tuple[Value, Value]) -> Value:
    """The complex number of these parts; the first of them where a real one is asked for."""
    return b.op("stablehlo.complex", out, *parts) if out.dtype.kind == "c" else parts[0]


def special_exp(p: Parts, least: float = 0.0) -> tuple[Value, Value]:
    """Of e^z + `least`: ∞ and 0 have no angle, whatever that of z is."""
    is_lost = p.both(p.is_infinite(p.x), p.is_not_finite(p.y))
    is_far = p.equals(p.x, math.inf)
    real = p.where(is_far, p.number(math.inf), p.number(least))
    imag = p.where(is_far, p.number(math.nan), p.signed(0, p.y))
    return p.where(is_lost, real, p.real), p.where(is_lost, imag, p.imag)


def special_log(p: Parts) -> tuple[Value, Value]:
    """Of log z and log(1 + z): one infinite part is far enough."""
    is_far = p.either(p.is_infinite(p.x), p.is_infinite(p.y))
    return p.where(is_far, p.number(math.inf), p.real), p.imag


def special_atanh(p: Parts) -> tuple[Value, Value]:
    """Of atanh z; that of i y is i atan y."""
    lost = p.either(p.is_nan(p.x), p.is_nan(p.y))
    imag = p.where(lost, p.number(math.nan), p.imag)
    imag = p.where(p.is_infinite(p.y), p.signed(HALF_TURN, p.y), imag)
    far = p.where(p.is_nan(p.y), p.y, p.copied(HALF_TURN, p.y))
    imag = p.where(p.is_infinite(p.x), far, imag)
    return p.where(p.equals(p.x, 0), p.x, p.real), imag
