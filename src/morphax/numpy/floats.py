"""What floats are made of: sign, exponent and neighbours."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from .. import dtypes, lax
from ..core import aval_of, number_in
from ..engines.reference.replay import replayed
from ..lax.elementwise.convert import convert
from ..util.messages import message
from .complex_numbers import is_complex
from .of_numpy import nan_to_num_of_numpy
from .operands import as_array, promoted_inexact, settled
from .predicates import isfinite, isneginf, isposinf, signbit
from .selection import where


def _real(name: str, *operands: Any) -> Any:
    """Floating operands of one dtype."""
    result = promoted_inexact(name, *operands)
    if not is_complex(result[0]):
        return result
    raise TypeError(
        message(
            f"jnp.{name}",
            given="complex numbers",
            expected="real numbers",
            fix="Use jnp.real and jnp.imag.",
        )
    )


@replayed(2)
def copysign(x1: Any, x2: Any, /) -> Any:
    """|x₁| with the sign of x₂.

    Args:
        x1, x2: real numbers whose shapes broadcast.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.copysign(2.0, jnp.array([-0.0, 1.0]))
        Array([-2.,  2.], dtype=float32)
    """
    x1, x2 = _real("copysign", x1, x2)
    size = lax.abs(x1)
    is_weak = aval_of(x1).weak_type and aval_of(x2).weak_type
    return convert(where(signbit(x2), lax.neg(size), size), aval_of(size).dtype, is_weak)


@replayed(2)
def nextafter(x: Any, y: Any, /) -> Any:
    """The float next to x in the direction of y.

    Args:
        x1, x2: real numbers whose shapes broadcast.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.nextafter(1.0, 2.0) - 1.0
        Array(1.1920929e-07, dtype=float32, weak_type=True)
    """
    return lax.nextafter(*_real("nextafter", x, y))


@replayed(1)
def spacing(x: Any, /) -> Any:
    """The distance from x to the next float away from zero, with the sign of x.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.spacing(1.0) == jnp.finfo(jnp.float32).eps
        Array(True, dtype=bool)
    """
    (x,) = _real("spacing", x)
    negative = lax.lt(x, lax.full_like(x, 0))
    farthest = np.inf
    if not _has_infinities(aval_of(x).dtype):
        # Beyond the greatest number lies nothing: its distance is that of the one before.
        farthest = float(dtypes.finfo(aval_of(x).dtype).max)
        before = lax.nextafter(lax.full_like(x, farthest), lax.full_like(x, 1))
        is_last = lax.eq(lax.abs(x), lax.full_like(x, farthest))
        x = where(is_last, where(negative, lax.neg(before), before), x)
    ends = lax.full_like(x, -farthest), lax.full_like(x, farthest)
    beyond = lax.nextafter(x, where(negative, *ends))
    distance = lax.stop_gradient(lax.sub(beyond, x))
    return convert(distance, distance.aval.dtype)


@replayed(2)
def heaviside(x1: Any, x2: Any, /) -> Any:
    """0 for x₁ < 0, 1 for x₁ > 0, and x₂ for x₁ = 0.

    Args:
        x1, x2: real numbers whose shapes broadcast.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.heaviside(jnp.array([-1.0, 0.0, 1.0]), 0.5)
        Array([0. , 0.5, 1. ], dtype=float32)
    """
    x1, x2 = _real("heaviside", x1, x2)
    # Numbers that are read are chosen among last: as a first choice they become a jump.
    zero = lax.full_like(x1, 0)
    at_zero = where(lax.ne(x1, x1), x1, x2)
    above = where(lax.gt(x1, zero), lax.full_like(x1, 1), at_zero)
    return settled(where(lax.lt(x1, zero), zero, above), x1)


@replayed(1, arrays=("nan", "posinf", "neginf"), of_many=nan_to_num_of_numpy)
def nan_to_num(
    x: Any, copy: bool = True, nan: Any = 0.0, posinf: Any = None, neginf: Any = None
) -> Any:
    """`x` with numbers for NaN and infinities.

    Args:
        x: array.
        copy: accepted for compatibility.
        nan: for NaN.
        posinf: for +∞; the greatest finite number by default.
        neginf: for −∞; the least finite number by default.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.nan_to_num(jnp.array([jnp.nan, jnp.inf, 1.0]), posinf=9.0)
        Array([0., 9., 1.], dtype=float32)
    """
    x = as_array("nan_to_num", x)
    dtype = x.aval.dtype
    if not dtypes.issubdtype(dtype, np.inexact):
        return x
    if is_complex(x):
        parts = [nan_to_num(p, copy, nan, posinf, neginf) for p in (lax.real(x), lax.imag(x))]
        return lax.complex(*parts)
    limits = dtypes.finfo(dtype)
    for condition, value in (
        (lax.ne(x, x), nan),
        (isposinf(x), number_in(limits.max, dtype) if posinf is None else posinf),
        (isneginf(x), number_in(limits.min, dtype) if neginf is None else neginf),
    ):
        x = where(condition, convert(as_array("nan_to_num", value), dtype), x)
    return convert(x, dtype)


def _has_infinities(dtype: Any) -> bool:
    return bool(np.isinf(np.asarray(np.inf, dtype).astype(np.float32)))


def _is_small(dtype: Any) -> bool:
    """Whether this is one of the dtypes of at most 8 bits, whose numbers float32 holds."""
    return dtypes.itemsize_bits(dtype) <= 8


def _bits(dtype: Any) -> tuple[Any, int, int]:
    """Integer dtype of the same width, number of mantissa bits, and bias of the exponent."""
    info = dtypes.finfo(dtype)
    return np.dtype(f"int{8 * dtype.itemsize}"), int(info.nmant), int(info.maxexp) - 1


def _power_of_two(exponent: Any, dtype: Any) -> Any:
    """2ⁿ, exactly, for exponents of normal numbers."""
    integer, digits, bias = _bits(dtype)
    biased = lax.add(convert(exponent, integer), np.asarray(bias, integer)[()])
    shifted = lax.shift_left(biased, np.asarray(digits, integer)[()])
    return lax.bitcast_convert_type(shifted, dtype)


@replayed(2)
def ldexp(x1: Any, x2: Any, /) -> Any:
    """x₁ · 2^x₂, rounded once.

    Args:
        x1: real array.
        x2: integers, or booleans, which count as 0 and 1.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.ldexp(0.75, jnp.array([0, 1, 4]))
        Array([ 0.75,  1.5 , 12.  ], dtype=float32)
    """
    x1, x2 = as_array("ldexp", x1), as_array("ldexp", x2)
    is_whole = dtypes.issubdtype(x2.aval.dtype, np.integer) or x2.aval.dtype == np.bool_
    if is_complex(x1) or not is_whole:
        raise ValueError(
            message(
                "jnp.ldexp",
                given=f"{x1.aval} and {x2.aval}",
                expected="a real x1 and an integer x2",
                fix="Convert the exponent with astype('int32').",
            )
        )
    (x,) = promoted_inexact("ldexp", x1)
    shape = lax.broadcast_shapes(aval_of(x).shape, x2.aval.shape)
    x, exponent = _widened(x, shape), _widened(lax.convert_element_type(x2, np.int32), shape)
    dtype = aval_of(x).dtype
    _, digits, bias = _bits(dtype)
    if bias < 127 or _is_small(dtype):
        # Three steps do not cross a range so short; float32 rounds nothing that it holds.
        return lax.convert_element_type(ldexp(lax.convert_element_type(x, np.float32), x2), dtype)
    # Large exponents in three steps; only the last of them may round, so the ones downwards stop
    # where a mantissa still fits above the subnormal numbers.
    up, down = np.int32(bias), np.int32(digits + 1 - (bias - 1))
    exponent = lax.clamp(np.int32(3 * int(down)), exponent, np.int32(3 * int(up)))
    for _ in range(2):
        high = lax.gt(exponent, up)
        low = lax.lt(exponent, np.int32(1 - bias))
        zero = lax.full_like(exponent, 0)
        step = where(
            high, lax.full_like(exponent, up), where(low, lax.full_like(exponent, down), zero)
        )
        x = lax.mul(x, _power_of_two(step, dtype))
        exponent = lax.sub(exponent, step)
    last = lax.clamp(np.int32(1 - bias), exponent, np.int32(bias))
    return lax.mul(x, _power_of_two(last, dtype))


def _widened(x: Any, shape: tuple[int, ...]) -> Any:
    first = len(shape) - aval_of(x).ndim
    return lax.broadcast_in_dim(x, shape, tuple(range(first, len(shape))))


@replayed(1)
def frexp(x: Any, /) -> tuple[Any, Any]:
    """m and n with x = m · 2ⁿ and ½ ≤ |m| < 1; n is 0 for zeros, infinities and NaN.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.frexp(jnp.array([0.0, 1.0, 12.0]))
        (Array([0.  , 0.5 , 0.75], dtype=float32), Array([0, 1, 4], dtype=int32))
    """
    (x,) = _real("frexp", x)
    x = as_array("frexp", x)
    dtype = x.aval.dtype
    if float(np.asarray(0.75, dtype)) != 0.75:
        raise TypeError(
            message(
                "jnp.frexp",
                given=f"{x.aval}",
                expected="floats that can be 0.75, as mantissas are",
                fix="Convert them, for instance with x.astype('float32').",
            )
        )
    if _is_small(dtype):
        mantissa, exponent = frexp(convert(x, np.float32))
        return convert(mantissa, dtype), exponent
    integer, digits, bias = _bits(dtype)
    number = partial(np.asarray, dtype=integer)
    subnormal, x = _normalised(x)
    bits = lax.shift_right_logical(lax.bitcast_convert_type(x, integer), number(digits)[()])
    biased = lax.bitwise_and(bits, number(2 * bias + 1)[()])
    ordinary = lax.bitwise_and(isfinite(x), lax.ne(x, 0))
    exponent = lax.sub(biased, number(bias - 1)[()])
    exponent = lax.mul(exponent, convert(ordinary, integer))
    # In two halves, neither of which is a power beyond the range.
    half = lax.shift_right_arithmetic(exponent, number(1)[()])
    for part in (half, lax.sub(exponent, half)):
        x = lax.mul(x, _power_of_two(lax.neg(part), dtype))
    lift = lax.mul(convert(subnormal, integer), number(digits)[()])
    return x, lax.convert_element_type(lax.sub(exponent, lift), np.int32)


def _normalised(x: Any) -> tuple[Any, Any]:
    """Which numbers are subnormal, and `x` with these times 2 to the number of mantissa bits.

    XLA takes subnormal operands for zeros, so this is integer arithmetic; the product beside it has
    the derivative.
    """
    dtype = x.aval.dtype
    integer, digits, bias = _bits(dtype)
    number = partial(np.asarray, dtype=integer)
    bits = lax.bitcast_convert_type(x, integer)
    unsigned = lax.bitwise_and(bits, number(np.iinfo(integer).max)[()])
    below = lax.lt(unsigned, number(1 << digits)[()])
    subnormal = lax.bitwise_and(below, lax.ne(unsigned, number(0)[()]))
    # The bits of a subnormal number are its multiple of the smallest one.
    size = lax.mul(convert(unsigned, dtype), _number(2.0 ** (1 - bias), dtype))
    exact = lax.select(lax.lt(bits, number(0)[()]), lax.neg(size), size)
    product = lax.mul(x, _number(2.0**digits, dtype))
    lifted = lax.add(product, lax.stop_gradient(lax.sub(exact, product)))
    return subnormal, lax.select(subnormal, lifted, x)


def _number(value: float, dtype: Any) -> Any:
    return np.asarray(value, dtype)[()]
