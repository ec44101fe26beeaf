"""Addition and multiplication with their relatives.

Integers wrap around.  Their quotient is truncated toward zero, their remainder has the sign of the
dividend; x / 0 has all bits set, x rem 0 is x, and the least integer divided by −1 is itself.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, final

import numpy as np

from ...core import is_undefined_primal
from ...dtypes.numbers import bounds
from ...engines import loops
from ...engines.xla.stablehlo import Builder, Value
from ..ground.families import Elementwise, LinearElementwise, compare, expanded, unbroadcast
from ..ground.kinds import NUMBER, REAL
from ..ground.operands import standardize
from .convert import convert_element_type
from .rounding import RoundingMethod, round_p

T = TypeVar("T")


@final
class Neg(LinearElementwise):
    """−x, element by element."""

    name = "neg"
    quick = True
    accepts = NUMBER
    numpy = np.negative
    stablehlo = "stablehlo.negate"
    narrow_in_loops = "kept"

    scalar_of_complex = Elementwise.scalar

    def transpose_x(self, ct: Any, x: Any, **params: Any) -> Any:
        return neg(ct)


@final
class Add(Elementwise):
    """x + y, element by element."""

    name = "add"
    quick = True
    linear_sets = ((0, 1),)
    accepts = NUMBER
    numpy = np.add
    stablehlo = "stablehlo.add"

    scalar_of_complex = Elementwise.scalar

    def d_x(self, t: Any, x: Any, y: Any, out: Any) -> Any:
        return t

    def d_y(self, t: Any, x: Any, y: Any, out: Any) -> Any:
        return t

    def transpose(self, ct: Any, x: Any, y: Any) -> list[Any]:
        return [unbroadcast(ct, v.aval) if is_undefined_primal(v) else None for v in (x, y)]


@final
class Sub(Elementwise):
    """x − y, element by element."""

    name = "sub"
    quick = True
    linear_sets = ((0, 1),)
    accepts = NUMBER
    numpy = np.subtract
    stablehlo = "stablehlo.subtract"

    scalar_of_complex = Elementwise.scalar

    def d_x(self, t: Any, x: Any, y: Any, out: Any) -> Any:
        return t

    def d_y(self, t: Any, x: Any, y: Any, out: Any) -> Any:
        return neg(t)

    def transpose(self, ct: Any, x: Any, y: Any) -> list[Any]:
        return [
            unbroadcast(ct, x.aval) if is_undefined_primal(x) else None,
            unbroadcast(neg(ct), y.aval) if is_undefined_primal(y) else None,
        ]


@final
class Mul(Elementwise):
    """x · y, element by element."""

    name = "mul"
    quick = True
    linear_sets = ((0,), (1,))
    accepts = NUMBER
    numpy = np.multiply
    stablehlo = "stablehlo.multiply"

    scalar_of_complex = Elementwise.scalar

    def d_x(self, t: Any, x: Any, y: Any, out: Any) -> Any:
        return mul(t, y)

    def d_y(self, t: Any, x: Any, y: Any, out: Any) -> Any:
        return mul(x, t)

    def transpose(self, ct: Any, x: Any, y: Any) -> list[Any]:
        # Linear in either operand, never in both at once.
        if is_undefined_primal(x):
            return [unbroadcast(mul(ct, y), x.aval), None]
        return [None, unbroadcast(mul(x, ct), y.aval)]


def _quotient(x: Any, y: Any) -> Any:
    if x.dtype.kind == "c":
        return _complex_quotient(x, y)
    if x.dtype.kind not in "iu":
        return np.divide(x, y)
    # What is left without the remainder divides exactly, so rounding down is truncation.
    quotient = np.floor_divide(x - np.fmod(x, y), y)
    if np.count_nonzero(y) == y.size:
        return quotient
    return np.where(y == 0, ~np.zeros_like(y), quotient)


def _lowered_division(
    divide: Callable[..., Value],
    b: Builder,
    out: Any,
    x: Value,
    y: Value,
    by_zero: Callable[[Value], Value],
) -> Value:
    """A division of numbers; of integers by 0, what `by_zero` gives.

    XLA's compiler ends the process where both are integers that it knows and the divisor is 0, also
    if nobody wrote them down: the sum over an empty axis is one.
    """
    if bounds(out.dtype) is None or y.element:
        return divide(b, out, x, y)
    x, y = expanded(b, out.shape, (x, y))
    is_zero = compare(b, out.update(dtype=np.dtype(bool), weak_type=False), "EQ", y, b.full(0, out))
    divisor = b.op("stablehlo.select", out, is_zero, b.full(1, out), y)
    return b.op("stablehlo.select", out, is_zero, by_zero(x), divide(b, out, x, divisor))


def _all_bits(b: Builder, out: Any) -> Value:
    least, greatest = bounds(out.dtype) or (0, 0)
    return b.full(-1 if least else greatest, out)


def _complex_quotient(x: Any, y: Any) -> Any:
    """The quotient with the infinities and zeros of C99, annex G.5.1, where NumPy has NaN."""
    quotient = np.array(np.divide(x, y))
    lost = ~np.isfinite(quotient)
    if not lost.any():
        return quotient
    x, y = np.broadcast_arrays(x, y)
    finite_x, finite_y = np.isfinite(x), np.isfinite(y)
    numerator = np.where(np.isinf(x), _boxed(x), x) * np.conj(np.where(np.isinf(y), _boxed(y), y))
    corrections = (
        (np.isinf(x) & finite_y, np.inf, numerator),
        (finite_x & np.isinf(y), 0.0, numerator),
        ((y == 0) & ~(np.isnan(x.real) & np.isnan(x.imag)), np.copysign(np.inf, y.real), x),
    )
    for where, factor, direction in corrections:
        for part in ("real", "imag"):
            found, corrected = getattr(quotient, part), factor * getattr(direction, part)
            setattr(quotient, part, np.where(where & lost, corrected, found))
    return quotient


def inverse(x: Any) -> Any:
    """1 / x of a NumPy array of floats or complex numbers."""
    return _quotient(np.ones_like(x), x)


def power_by_squaring(x: T, exponent: int, multiply: Callable[[T, T], T]) -> T:
    """A positive integer power of x in at most 2 log₂ `exponent` multiplications."""
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


def _boxed(z: Any) -> Any:
    """An infinite number as the corner of the unit square in its direction."""
    corner = np.empty_like(z)
    corner.real = np.copysign(np.isinf(z.real), z.real)
    corner.imag = np.copysign(np.isinf(z.imag), z.imag)
    return corner


@final
class Div(Elementwise):
    """x / y, element by element; of integers, truncated toward zero."""

    name = "div"
    compiled = True
    linear_sets = ((0,),)
    accepts = NUMBER
    numpy = _quotient
    stablehlo = "stablehlo.divide"

    def lower(self, b: Builder, out: Any, x: Value, y: Value, **params: Any) -> Value:
        return _lowered_division(super().lower, b, out, x, y, lambda x: _all_bits(b, out))

    def kernel(self, *avals: Any, **params: Any) -> Callable[..., Any] | None:
        kernel = super().kernel(*avals, **params)
        return np.divide if kernel is _quotient and avals[0].dtype.kind == "f" else kernel

    def scalar(self, w: loops.Writer, x: loops.Operand, y: loops.Operand) -> loops.Operand:
        return loops.scalars.quotient(w, x, y)

    def scalar_of_complex(
        self, w: loops.Writer, x: loops.Operand, y: loops.Operand
    ) -> loops.Operand:
        return loops.scalars.quotient(w, x, y)

    def d_x(self, t: Any, x: Any, y: Any, out: Any) -> Any:
        return div(t, y)

    def d_y(self, t: Any, x: Any, y: Any, out: Any) -> Any:
        # The sign comes first: of x / y / y XLA would make x / (y y), which is out of range sooner.
        return mul(t, div(neg(out), y))

    def transpose(self, ct: Any, x: Any, y: Any) -> list[Any]:
        return [unbroadcast(div(ct, y), x.aval), None]


def _remainder(x: Any, y: Any) -> Any:
    remainder = np.fmod(x, y)
    if x.dtype.kind == "f" or np.count_nonzero(y) == y.size:
        return remainder
    return np.where(y == 0, x, remainder)


@final
class Rem(Elementwise):
    """x − y · trunc(x / y), element by element: the remainder, with the sign of x."""

    name = "rem"
    accepts = REAL
    numpy = _remainder
    stablehlo = "stablehlo.remainder"

    def lower(self, b: Builder, out: Any, x: Value, y: Value, **params: Any) -> Value:
        return _lowered_division(super().lower, b, out, x, y, lambda x: x)

    def scalar(self, w: loops.Writer, x: loops.Operand, y: loops.Operand) -> loops.Operand:
        return loops.scalars.remainder(w, x, y)

    def d_x(self, t: Any, x: Any, y: Any, out: Any) -> Any:
        return t

    def d_y(self, t: Any, x: Any, y: Any, out: Any) -> Any:
        # It is whole, and does not move; the slopes of its parts may be infinite.
        quotient = round_p.bind(div(sub(x, out), y), rounding_method=RoundingMethod.TO_NEAREST_EVEN)
        return mul(t, neg(quotient))


neg_p = Neg()
add_p = Add()
sub_p = Sub()
mul_p = Mul()
div_p = Div()
rem_p = Rem()


def neg(x: Any) -> Any:
    """−x, element by element.

    Example:
        >>> import morphax.numpy as jnp
        >>> from morphax import lax
        >>> lax.neg(jnp.array([1, -2]))
        Array([-1,  2], dtype=int32)
    """
    return neg_p.bind(x)


def add(x: Any, y: Any) -> Any:
    """The sum x + y, element by element.

    Example:
        >>> import morphax.numpy as jnp
        >>> from morphax import lax
        >>> lax.add(jnp.array([1, 2]), 10)
        Array([11, 12], dtype=int32)
    """
    return add_p.bind(*standardize(x, y))


def sub(x: Any, y: Any) -> Any:
    """The difference x − y, element by element.

    Example:
        >>> import morphax.numpy as jnp
        >>> from morphax import lax
        >>> lax.sub(jnp.array([1, 2]), 10)
        Array([-9, -8], dtype=int32)
    """
    return sub_p.bind(*standardize(x, y))


def mul(x: Any, y: Any, *, out_dtype: Any = None) -> Any:
    """The product x · y, element by element.

    Args:
        x: array (...), or scalar.
        y: array of the dtype and shape of `x`, or scalar.
        out_dtype: the dtype to convert the operands to before they are multiplied.

    Returns:
        Array (...).

    Example:
        >>> import morphax as jax, morphax.numpy as jnp
        >>> x = jnp.array([100, 2], jnp.int8)
        >>> jax.lax.mul(x, x), jax.lax.mul(x, x, out_dtype=jnp.int32)
        (Array([16,  4], dtype=int8), Array([10000,     4], dtype=int32))
    """
    if out_dtype is not None:
        x, y = convert_element_type(x, out_dtype), convert_element_type(y, out_dtype)
    return mul_p.bind(*standardize(x, y))


def div(x: Any, y: Any) -> Any:
    """The quotient x / y, element by element.

    Args:
        x: array (...), or scalar.
        y: array of the dtype and shape of `x`, or scalar.

    Returns:
        Array (...) of the same dtype.  Quotients of integers are truncated toward zero; x / 0 has
        all bits set, and the least integer divided by −1 is itself.

    Example:
        >>> import morphax as jax, morphax.numpy as jnp
        >>> jax.lax.div(jnp.array([7, -7, 7]), jnp.array([2, 2, 0]))
        Array([ 3, -3, -1], dtype=int32)
    """
    return div_p.bind(*standardize(x, y))


def rem(x: Any, y: Any) -> Any:
    """The remainder x − y · trunc(x / y), with the sign of `x`, element by element.

    Args:
        x: real array (...), or scalar.
        y: array of the dtype and shape of `x`, or scalar.

    Returns:
        Array (...) of the same dtype; x rem 0 is NaN for floats and x for integers.

    Example:
        >>> import morphax as jax, morphax.numpy as jnp
        >>> jax.lax.rem(jnp.array([7, -7, 7]), jnp.array([2, 2, 0]))
        Array([ 1, -1,  7], dtype=int32)
    """
    return rem_p.bind(*standardize(x, y))
