"""Powers and roots."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import index
from typing import Any, TypeVar, final

import numpy as np

from .. import dtypes
from ..core import ShapedArray
from ..engines.xla.stablehlo import Builder, Value
from ..util.messages import message
from .arithmetic import div, mul, sub
from .comparison import eq
from .exponential import log
from .families import Elementwise, elementwise_shape, expanded, without_derivative
from .kinds import FLOATING, INEXACT, INTEGER, NUMBER
from .narrow import computed_wide, widened
from .operands import standardize
from .selection import scalar_like, select_n_p

T = TypeVar("T")


def power_by_squaring(x: T, exponent: int, multiply: Callable[[T, T], T]) -> T:
    """x to a positive integer power in about log₂ `exponent` multiplications."""
    result: T | None = None
    square = x
    while True:
        if exponent & 1:
            result = square if result is None else multiply(result, square)
        exponent >>= 1
        if not exponent:
            assert result is not None, "a positive number has a highest bit"
            return result
        square = multiply(square, square)


@final
class Square(Elementwise):
    """x², element by element."""

    name = "square"
    accepts = NUMBER
    numpy = np.square

    def lower(self, b: Builder, out: Any, x: Value) -> Value:
        return b.elementwise("stablehlo.multiply", out, x, x)

    def d_x(self, t: Any, x: Any, out: Any) -> Any:
        return mul(t, mul(2.0, x))


@final
class IntegerPow(Elementwise):
    """xʸ, element by element, for one integer y."""

    name = "integer_pow"
    accepts = NUMBER

    def abstract_eval(self, x: Any, *, y: int) -> ShapedArray:
        if y < 0 and x.dtype in INTEGER:
            raise TypeError(
                message(
                    "lax.integer_pow",
                    given=f"{x.str_short(short_dtypes=False)} with y={y}",
                    expected="y ≥ 0 for integers, whose reciprocals are not integers",
                    fix="Convert the operand to a float, for instance with x.astype('float32').",
                )
            )
        return super().abstract_eval(x)

    def evaluate(self, x: Any, *, y: int) -> Any:
        if y == 0:
            return np.ones_like(x)
        wide = widened(x)
        power = power_by_squaring(wide, abs(y), np.multiply)
        return (power if y > 0 else np.reciprocal(power)).astype(x.dtype)

    def lower(self, b: Builder, out: Any, x: Value, *, y: int) -> Value:
        if y == 0:
            return b.full(1, out)

        def multiply(x: Value, y: Value) -> Value:
            return b.elementwise("stablehlo.multiply", out, x, y)

        power = power_by_squaring(x, abs(y), multiply)
        return power if y > 0 else b.elementwise("stablehlo.divide", out, b.full(1, out), power)

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any], *, y: int) -> Any:
        if y == 0:
            return without_derivative(self, primals, {"y": y})
        return super().jvp(primals, tangents, y=y)

    def d_x(self, t: Any, x: Any, out: Any, *, y: int) -> Any:
        if y == 1:
            return t
        return mul(t, mul(float(y), integer_pow(x, y - 1)))


@final
class Pow(Elementwise):
    """xʸ, element by element; y may be of integer dtype."""

    name = "pow"

    def abstract_eval(self, x: Any, y: Any) -> ShapedArray:
        INEXACT.check(self.name, 0, x)
        if y.dtype != x.dtype and y.dtype not in INTEGER:
            raise TypeError(
                message(
                    "lax.pow, argument y",
                    given=f"{y.str_short(short_dtypes=False)} beside x of dtype {x.dtype}",
                    expected=f"dtype {x.dtype}, or an integer dtype",
                    fix="Convert y with astype, or use jnp.power, which promotes dtypes.",
                )
            )
        return ShapedArray(
            elementwise_shape(self.name, (x, y)), x.dtype, x.weak_type and y.weak_type
        )

    def evaluate(self, x: Any, y: Any) -> Any:
        base = widened(x)
        return np.power(base, y.astype(base.dtype)).astype(x.dtype)

    def lower(self, b: Builder, out: Any, x: Value, y: Value) -> Value:
        if y.aval.dtype != out.dtype:
            y = b.op("stablehlo.convert", y.aval.update(dtype=out.dtype), y)
        return b.elementwise("stablehlo.power", out, *expanded(b, out.shape, (x, y)))

    def d_x(self, t: Any, x: Any, y: Any, out: Any) -> Any:
        if y.aval.dtype not in INTEGER:
            return mul(t, mul(y, pow(x, sub(y, 1.0))))
        # x⁰ is constant, also at 0, where y · xʸ⁻¹ would be 0 · ∞.
        constant = eq(y, scalar_like(0, y))
        ...


@final
class Sqrt(Elementwise):
    """√x, element by element."""

    name = "sqrt"
    accepts = INEXACT
    numpy = np.sqrt
    stablehlo = "stablehlo.sqrt"

    def d_x(self, t: Any, x: Any, out: Any, **params: Any) -> Any:
        return mul(t, div(0.5, out))


def _rsqrt(x: Any) -> Any:
    return 1 / np.sqrt(x)


@final
class Rsqrt(Elementwise):
    """1 / √x, element by element."""

    name = "rsqrt"
    accepts = INEXACT
    numpy = _rsqrt
    stablehlo = "stablehlo.rsqrt"

    def d_x(self, t: Any, x: Any, out: Any, **params: Any) -> Any:
        return mul(t, mul(-0.5, div(out, x)))


@final
class Cbrt(Elementwise):
    """The real cube root of x, element by element."""

    name = "cbrt"
    accepts = FLOATING
    numpy = np.cbrt
    stablehlo = "stablehlo.cbrt"

    def d_x(self, t: Any, x: Any, out: Any, **params: Any) -> Any:
        return mul(t, mul(1 / 3, integer_pow(out, -2)))
