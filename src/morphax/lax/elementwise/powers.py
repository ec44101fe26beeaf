"""Powers and roots."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, final

import numpy as np

from ...core import ShapedArray, like
from ...engines import loops
from ...engines.xla.stablehlo import Builder, Value
from ...util.messages import message
from ..ground.accuracy import check_accuracy
from ..ground.axes import integer
from ..ground.families import (
    ComputedWide,
    Elementwise,
    elementwise_shape,
    expanded,
    without_derivative,
)
from ..ground.kinds import FLOATING, INEXACT, INTEGER, NUMBER
from ..ground.narrow import widened
from ..ground.operands import standardize
from .arithmetic import div, inverse, mul, power_by_squaring, sub
from .bitwise import bitwise_and, bitwise_not
from .comparison import eq, ne
from .complex import above_the_cut
from .complex_special_points import Parts, SpecialPoints
from .convert import convert
from .exponential import log
from .selection import scalar_like, select_n_p

# As arrays, of which NumPy need not make any.
_ZERO, _INFINITY, _MINUS_INFINITY = np.array(0.0), np.array(np.inf), np.array(-np.inf)


@final
class Square(Elementwise):
    """x², element by element."""

    name = "square"
    quick = True
    accepts = NUMBER
    numpy = np.square

    def lower(self, b: Builder, out: Any, x: Value) -> Value:
        return b.elementwise("stablehlo.multiply", out, x, x)

    def scalar(self, w: loops.Writer, x: loops.Operand) -> loops.Operand:
        return w.op("mul", x, x)

    scalar_of_complex = scalar

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
        # Rounded at each step, as the compiled program does: overflow on the way stays overflow.
        power = power_by_squaring(x, abs(y), np.multiply)
        if y < 0:
            return inverse(power)
        return x.copy() if power is x else power

    def composed(self, x: Any, *, y: int) -> Any:
        return power_by_squaring(x, y, mul) if y > 0 else self.bind(x, y=y)

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

    def scalar(self, w: loops.Writer, x: loops.Operand, *, y: int) -> loops.Operand:
        return loops.scalars.power_of_integer(w, x, y)

    scalar_of_complex = scalar

    def loop_cost(self, *, y: int) -> int:
        return loops.cost_of("div" if y < 0 else "mul") + y.bit_length()

    def d_x(self, t: Any, x: Any, out: Any, *, y: int) -> Any:
        if y == 1:
            return t
        rest = x if y == 2 else integer_pow(x, y - 1)
        return mul(t, mul(float(y), rest))


def _power_of_doubles(x: Any, y: Any) -> Any:
    power = np.power(x, y)
    if y.size != 1 or y.item() != 0.5:
        return power
    # NumPy takes the square root, which differs at −0 and −∞ (C99, F.10.4.4).
    power = np.asarray(power + _ZERO)
    np.copyto(power, _INFINITY, where=x == _MINUS_INFINITY)
    return power


def _power_of_complex(x: Any, y: Any) -> Any:
    # Zero has real positive powers only, and its power 0 is 1.
    vanishing = (x == 0) & (y != 0)
    defined = (y.imag == 0) & (y.real > 0)
    return np.where(vanishing, np.where(defined, 0, np.nan * (1 + 1j)), np.power(x, y))


@final
class Pow(Elementwise):
    """xʸ, element by element; y may be of integer dtype.

    That of float32 is computed in double precision and rounded once, of all numbers in one way:
    NumPy's takes eighty times as long for negative ones, and where results leave the range.
    """

    name = "pow"
    compiled = True

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
        return like(x, y, shape=elementwise_shape(self.name, (x, y)))

    def evaluate(self, x: Any, y: Any) -> Any:
        narrow = widened(x)
        base = narrow.astype(np.float64) if narrow.dtype == np.float32 else narrow
        power = _power_of_complex if base.dtype.kind == "c" else _power_of_doubles
        return power(base, y.astype(base.dtype)).astype(narrow.dtype).astype(x.dtype)

    def fused(self, x: Any, y: Any) -> str | None:
        return super().fused(x, y) if x.dtype == y.dtype else None

    def lower(self, b: Builder, out: Any, x: Value, y: Value) -> Value:
        if y.aval.dtype != out.dtype:
            y = b.op("stablehlo.convert", y.aval.update(dtype=out.dtype), y)
        return b.elementwise("stablehlo.power", out, *expanded(b, out.shape, (x, y)))

    def scalar(self, w: loops.Writer, x: loops.Operand, y: loops.Operand) -> loops.Operand:
        return w.op("pow", x, w.convert(y, x.dtype))

    def scalar_of_complex(
        self, w: loops.Writer, x: loops.Operand, y: loops.Operand
    ) -> loops.Operand:
        exponent = loops.scalars.converted(w, y, x.dtype)
        return loops.complex_scalars.power(w, x, exponent)

    def d_x(self, t: Any, x: Any, y: Any, out: Any) -> Any:
        # x⁰ = 1 is constant, at 0 and NaN too, where the 0 · x⁻¹ of the formula is NaN.  Elsewhere
        # the formula stays, for its derivative with respect to y.
        usual = bitwise_and(eq(x, x), ne(x, scalar_like(0, x)))
        constant = bitwise_and(eq(y, scalar_like(0, y)), bitwise_not(usual))
        base = select_n_p.bind(constant, x, scalar_like(1, x))
        power = pow(base, sub(y, scalar_like(1, y)))
        return mul(t, mul(convert(y, x.aval.dtype), power))

    def d_y(self, t: Any, x: Any, y: Any, out: Any) -> Any:
        # 0ʸ does not depend on y > 0: log 1 = 0 stands for log 0.
        base = select_n_p.bind(eq(x, scalar_like(0, x)), x, scalar_like(1, x))
        return mul(t, mul(log(base), out))


def _sqrt(x: Any) -> Any:
    return np.sqrt(above_the_cut(x))


@final
class Sqrt(SpecialPoints):
    """√x, element by element."""

    name = "sqrt"
    accepts = INEXACT
    compiled = True
    numpy = _sqrt
    stablehlo = "stablehlo.sqrt"

    def special(self, p: Parts) -> tuple[Value, Value]:  # √(x ± i∞) is ∞ ± i∞
        is_far = p.either(p.is_infinite(p.y), p.equals(p.x, math.inf))
        imag = p.where(p.equals(p.x, -math.inf), p.signed(math.inf, p.y), p.imag)
        imag = p.where(p.is_infinite(p.y), p.y, imag)
        return p.where(is_far, p.number(math.inf), p.real), imag

    def scalar_of_complex(self, w: loops.Writer, z: loops.Operand) -> loops.Operand:
        return loops.complex_scalars.root(w, z)

    def d_x(self, t: Any, x: Any, out: Any, **params: Any) -> Any:
        return mul(t, div(0.5, out))


def _rsqrt(x: Any) -> Any:
    return inverse(np.sqrt(x))


@final
class Rsqrt(Elementwise):
    """1 / √x, element by element."""

    name = "rsqrt"
    accepts = INEXACT
    numpy = _rsqrt
    compiled = True
    stablehlo = "stablehlo.rsqrt"

    def scalar(self, w: loops.Writer, x: loops.Operand) -> loops.Operand:
        return w.op("div", w.number(1, x.dtype), w.op("sqrt", x))

    def scalar_of_complex(self, w: loops.Writer, z: loops.Operand) -> loops.Operand:
        return loops.complex_scalars.inverse_root(w, z)

    def d_x(self, t: Any, x: Any, out: Any, **params: Any) -> Any:
        return mul(t, mul(-0.5, div(out, x)))


def _one_minus_square(x: Any) -> Any:
    one = x.dtype.type(1)
    return (one - x) * (one + x)


@final
class OneMinusSquare(ComputedWide):
    """1 − x² = (1 − x) (1 + x), element by element: no digits are lost near ±1.

    Its derivative −2x loses none near 0, where that of the product would.
    """

    name = "one_minus_square"
    quick = True
    numpy = _one_minus_square

    def lower_wide(self, b: Builder, out: Any, x: Value) -> Value:
        one = b.full(1, out)
        factors = [b.elementwise(f"stablehlo.{name}", out, one, x) for name in ("subtract", "add")]
        return b.elementwise("stablehlo.multiply", out, *factors)

    def scalar(self, w: loops.Writer, x: loops.Operand) -> loops.Operand:
        one = w.number(1, x.dtype)
        return w.op("mul", w.op("sub", one, x), w.op("add", one, x))

    scalar_of_complex = scalar

    def d_x(self, t: Any, x: Any, out: Any) -> Any:
        return mul(t, mul(-2.0, x))


def _cbrt(x: Any) -> Any:
    # cbrtf of the C library is off by up to two units in the last place, even of cubes of integers.
    if x.dtype == np.float32:
        return np.cbrt(x, dtype=np.float64).astype(np.float32)
    return np.cbrt(x)


@final
class Cbrt(Elementwise):
    """The real cube root of x, element by element."""

    name = "cbrt"
    accepts = FLOATING
    numpy = _cbrt
    stablehlo = "stablehlo.cbrt"

    def d_x(self, t: Any, x: Any, out: Any, **params: Any) -> Any:
        return mul(t, mul(1 / 3, integer_pow(out, -2)))


square_p = Square()
integer_pow_p = IntegerPow()
pow_p = Pow()
sqrt_p = Sqrt()
rsqrt_p = Rsqrt()
cbrt_p = Cbrt()
one_minus_square_p = OneMinusSquare()


def square(x: Any) -> Any:
    """x², element by element."""
    return square_p.bind(x)


def integer_pow(x: Any, y: int) -> Any:
    """xʸ, element by element, for one integer y known while tracing.

    Args:
        x: array (...) of numbers.
        y: exponent; negative only if `x` is floating or complex.

    Returns:
        Array (...) of the dtype of `x`; 1 everywhere if y = 0, even where x is 0 or NaN.

    Raises:
        TypeError: `y` is no integer, or negative while `x` is an integer.

    Example:
        >>> import morphax as jax, morphax.numpy as jnp
        >>> jax.lax.integer_pow(jnp.array([1.0, 2.0]), -2)
        Array([1.  , 0.25], dtype=float32)
    """
    return integer_pow_p.bind(x, y=integer("lax.integer_pow, argument y", y))


def reciprocal(x: Any) -> Any:
    """1 / x, element by element."""
    return integer_pow_p.bind(x, y=-1)


def pow(x: Any, y: Any) -> Any:
    """xʸ, element by element.

    Args:
        x: floating or complex array (...).
        y: array of the dtype of `x`, or of an integer dtype, of the same shape; either may be a
            scalar.

    Returns:
        Array (...) of the dtype of `x`; NaN for a negative real x and a y that is not whole.

    Raises:
        TypeError: the dtypes do not fit.

    Example:
        >>> import morphax as jax, morphax.numpy as jnp
        >>> jax.lax.pow(jnp.array([2.0, -2.0]), jnp.array([3, 2]))
        Array([8., 4.], dtype=float32)
    """
    # An integer stays one: its derivatives are defined at 0, too.
    return pow_p.bind(x, y) if type(y) is int else pow_p.bind(*standardize(x, y))


def sqrt(x: Any, *, accuracy: Any = None) -> Any:
    """√x, element by element; NaN for negative real numbers."""
    if accuracy is not None:
        check_accuracy("lax.sqrt", accuracy)
    return sqrt_p.bind(x)


def rsqrt(x: Any, *, accuracy: Any = None) -> Any:
    """1 / √x, element by element; NaN for negative real numbers."""
    if accuracy is not None:
        check_accuracy("lax.rsqrt", accuracy)
    return rsqrt_p.bind(x)


def cbrt(x: Any, *, accuracy: Any = None) -> Any:
    """The real cube root of `x`, element by element."""
    if accuracy is not None:
        check_accuracy("lax.cbrt", accuracy)
    return cbrt_p.bind(x)


def one_minus_square(x: Any) -> Any:
    """1 − x², element by element, with all digits near ±1; its derivative has them near 0.

    Example:
        >>> import morphax as jax
        >>> jax.lax.one_minus_square(0.5)
        Array(0.75, dtype=float32, weak_type=True)
    """
    return one_minus_square_p.bind(x)
