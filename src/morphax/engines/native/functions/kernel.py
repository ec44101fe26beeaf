"""Writing straight-line code on floats: values with Python's operators."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final, final

import numpy as np

from ...loops.program import BOOL, Const, DType
from ..llvm_scalars import instructions, number, scalar_type, wide

F32: DType = np.dtype(np.float32)
F64: DType = np.dtype(np.float64)
NO_VALUE: Final = -math.nan
"""What processors make of operations without a value: of NaN they set the sign."""


@final
class Kernel:
    """The lines of one function.

    Args:
        width: of its vectors; 0 for scalars.
    """

    def __init__(self, width: int) -> None:
        self.width = width
        self.lines: list[str] = []
        self._count = 0

    def parameter(self, text: str, dtype: DType) -> Lanes:
        """An argument of the function."""
        return Lanes(self, text, dtype)

    def type_of(self, dtype: DType) -> str:
        """The type of values."""
        return wide(scalar_type(dtype), self.width)

    def number(self, value: float, dtype: DType) -> Lanes:
        """A constant in all lanes."""
        text = number(Const(dtype.type(value)))
        if self.width:
            text = f"splat ({scalar_type(dtype)} {text})"
        return Lanes(self, text, dtype)

    def op(self, operation: str, result: DType, *operands: Lanes) -> Lanes:
        """The value of an operation of loop programs."""
        text = instructions(operation, result, operands[-1].dtype, self.width)
        name = self._name()
        self.lines.append("  " + text.format(name, *[x.text for x in operands]))
        return Lanes(self, name, result)

    def new(self, instruction: str, dtype: DType) -> Lanes:
        """The value of an instruction."""
        name = self._name()
        self.lines.append(f"  {name} = {instruction}")
        return Lanes(self, name, dtype)

    def _name(self) -> str:
        self._count += 1
        return f"%k{self._count}"


@final
class Lanes:
    """A value: a scalar, or a vector."""

    __slots__ = ("dtype", "kernel", "text")

    def __init__(self, kernel: Kernel, text: str, dtype: DType) -> None:
        self.kernel = kernel
        self.text = text
        self.dtype = dtype

    def like(self, value: Lanes | float) -> Lanes:
        """An operand of the same dtype."""
        return value if isinstance(value, Lanes) else self.kernel.number(value, self.dtype)

    def _with(self, operation: str, other: Lanes | float) -> Lanes:
        return self.kernel.op(operation, self.dtype, self, self.like(other))

    def __add__(self, other: Lanes | float) -> Lanes:
        return self._with("add", other)

    def __sub__(self, other: Lanes | float) -> Lanes:
        return self._with("sub", other)

    def __rsub__(self, other: float) -> Lanes:
        return self.like(other) - self

    def __mul__(self, other: Lanes | float) -> Lanes:
        return self._with("mul", other)

    def __rmul__(self, other: float) -> Lanes:
        return self.like(other) * self

    def __truediv__(self, other: Lanes | float) -> Lanes:
        return self._with("div", other)

    def __rtruediv__(self, other: float) -> Lanes:
        return self.like(other) / self

    def __neg__(self) -> Lanes:
        return self.kernel.op("neg", self.dtype, self)

    def __and__(self, other: Lanes | float) -> Lanes:
        return self._with("and", other)

    def __or__(self, other: Lanes | float) -> Lanes:
        return self._with("or", other)

    def __xor__(self, other: Lanes | float) -> Lanes:
        return self._with("xor", other)

    def __lshift__(self, places: int) -> Lanes:
        return self._with("shift_left", places)

    def __rshift__(self, places: int) -> Lanes:
        return self._with("shift_right", places)

    def __invert__(self) -> Lanes:
        return self.kernel.op("not", self.dtype, self)

    def __lt__(self, other: Lanes | float) -> Lanes:
        return self.kernel.op("lt", BOOL, self, self.like(other))

    def __gt__(self, other: Lanes | float) -> Lanes:
        return self.kernel.op("gt", BOOL, self, self.like(other))

    def equals(self, other: Lanes | float) -> Lanes:
        """Where both are equal."""
        return self.kernel.op("eq", BOOL, self, self.like(other))

    def where(self, condition: Lanes, other: Lanes | float) -> Lanes:
        """This where a condition holds, else the other."""
        return self.kernel.op("select", self.dtype, condition, self, self.like(other))

    def clamped(self, low: float, high: float) -> Lanes:
        """Moved into bounds; NaN stays."""
        return self.like(low).where(self < low, self).at_most(high)

    def at_most(self, high: float) -> Lanes:
        """The bound where it is larger; NaN stays."""
        return self.like(high).where(self > high, self)

    def call(self, operation: str) -> Lanes:
        """An operation of one operand."""
        return self.kernel.op(operation, self.dtype, self)

    def with_sign_of(self, other: Lanes) -> Lanes:
        return self.kernel.op("copysign", self.dtype, self, other)

    def to(self, dtype: DType) -> Lanes:
        """By value."""
        return self if dtype == self.dtype else self.kernel.op("convert", dtype, self)

    def bits(self) -> Lanes:
        """The bits, as signed integers."""
        return self.kernel.op("bitcast", np.dtype(f"i{self.dtype.itemsize}"), self)

    def as_float(self) -> Lanes:
        """The float with these bits."""
        return self.kernel.op("bitcast", np.dtype(f"f{self.dtype.itemsize}"), self)

    def first_digits(self) -> Lanes:
        """The first 26 of the 53 digits of a float64: products of such numbers are exact."""
        return (self.bits() & -(1 << 27)).as_float()

    def times_plus(self, factor: Lanes | float, term: Lanes | float) -> Lanes:
        """``self · factor + term``, rounded once where the machine does so at no cost."""
        suffix = f"{f'v{self.kernel.width}' if self.kernel.width else ''}f{8 * self.dtype.itemsize}"
        type_ = self.kernel.type_of(self.dtype)
        operands = ", ".join([f"{type_} {self.like(x).text}" for x in (self, factor, term)])
        return self.kernel.new(f"call {type_} @llvm.fmuladd.{suffix}({operands})", self.dtype)

    def polynomial(self, coefficients: Sequence[float]) -> Lanes:
        """The polynomial of this, highest power first, by Horner's rule."""
        value = self.like(coefficients[0])
        for coefficient in coefficients[1:]:
            value = value.times_plus(self, coefficient)
        return value
