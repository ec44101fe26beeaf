"""Rounding to integers and to decimals."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import dtypes, lax
from ..core import aval_of
from ..engines.reference.nan_checks import checked_as_one
from ..engines.reference.replay import replayed
from ..lax.elementwise.convert import convert
from ..lax.elementwise.rounding import RoundingMethod
from ..lax.ground.axes import integer
from ..util.messages import message
from .operands import as_array, check_no_out, promoted_inexact


def _is_integer(x: Any) -> bool:
    dtype = aval_of(x).dtype
    return dtypes.issubdtype(dtype, np.integer) or dtype == np.bool_


@replayed(1)
def floor(x: Any, /) -> Any:
    """The greatest integer ≤ x; integers stay as they are.

    Args:
        x: real numbers of any shape.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.floor(jnp.array([-1.5, 1.5]))
        Array([-2.,  1.], dtype=float32)
    """
    x = as_array("floor", x)
    return x if _is_integer(x) else lax.floor(x)


def ceil(x: Any, /) -> Any:
    """The least integer ≥ x; integers stay as they are.

    Args:
        x: real numbers of any shape.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.ceil(jnp.array([-1.5, 1.5]))
        Array([-1.,  2.], dtype=float32)
    """
    x = as_array("ceil", x)
    return x if _is_integer(x) else lax.ceil(x)


@replayed(1)
def trunc(x: Any) -> Any:
    """The integer part of x: rounded towards zero.

    Args:
        x: real numbers of any shape.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.trunc(jnp.array([-1.5, 1.5]))
        Array([-1.,  1.], dtype=float32)
    """
    x = as_array("trunc", x)
    if _is_integer(x):
        return x
    return lax.select(lax.lt(x, 0), lax.ceil(x), lax.floor(x))


@replayed(1)
def rint(x: Any, /) -> Any:
    """The nearest integer as a float; halves go to the even one.

    Args:
        x: numbers of any shape.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.rint(jnp.array([0.5, 1.5, 2.6]))
        Array([0., 2., 3.], dtype=float32)
    """
    x = as_array("rint", x)
    return _to_nearest(convert(x, dtypes.python_scalar_dtype(float)) if _is_integer(x) else x)


def _to_nearest(x: Any) -> Any:
    if dtypes.issubdtype(aval_of(x).dtype, np.complexfloating):
        return lax.complex(_to_nearest(lax.real(x)), _to_nearest(lax.imag(x)))
    return lax.round(x, RoundingMethod.TO_NEAREST_EVEN)


@replayed(1)
def round(a: Any, decimals: int = 0, out: None = None) -> Any:
    """`a` rounded to `decimals` places behind the point, halves to even.

    Args:
        a: array of number dtype, which the result has too.
        decimals: how many; negative ones count in front of the point.
        out: must be `None`.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.round(jnp.array([1.25, 2.75]), 1)
        Array([1.2, 2.8], dtype=float32)
    """
    check_no_out("round", out)
    decimals = integer("jnp.round, argument decimals", decimals)
    a = as_array("round", a)
    dtype = a.aval.dtype
    _check_number("round", a.aval)
    if abs(decimals) > _MOST_DECIMALS:
        raise OverflowError(_too_many(decimals))
    if dtypes.issubdtype(dtype, np.integer):
        return a if decimals >= 0 else _to_multiples(a, 10**-decimals)
    if decimals == 0:
        return _to_nearest(a)
    if dtypes.issubdtype(dtype, np.complexfloating):
        # A product of complex numbers mixes infinities of one part into the other.
        return lax.complex(round(lax.real(a), decimals), round(lax.imag(a), decimals))
    # The scaled number needs more digits than a short dtype has.
    wide = convert(a, np.dtype(np.float32)) if dtype.itemsize < 4 else a
    factor = np.asarray(10.0 ** abs(decimals), aval_of(wide).dtype)[()]
    if decimals > 0:
        rounded = lax.div(_to_nearest(lax.mul(wide, factor)), factor)
    else:
        rounded = lax.mul(_to_nearest(lax.div(wide, factor)), factor)
    # Of arrays the factor, which is not weak, decides.
    return convert(rounded, dtype, a.aval.weak_type and not a.aval.ndim)


def _check_number(name: str, aval: Any) -> None:
    if isinstance(aval.dtype, dtypes.ExtendedDType):
        raise TypeError(
            message(
                f"jnp.{name}",
                given=f"{aval}",
                expected="numbers or truth values",
                fix="Pass an array of numbers; jax.random.key_data(key) gives the words of a key.",
            )
        )


# No float has more places in front of the point.
_MOST_DECIMALS = 308


def _too_many(decimals: int) -> str:
    return message(
        "jnp.round, argument decimals",
        given=f"{decimals}",
        expected=f"a number from -{_MOST_DECIMALS} to {_MOST_DECIMALS}",
        fix="Numbers have fewer places: leave them as they are.",
    )


around = round


def _to_multiples(a: Any, unit: int) -> Any:
    """Integers rounded to multiples of `unit`, halves to even multiples."""
    dtype = a.aval.dtype
    if unit // 2 > dtypes.iinfo(dtype).max:
        return lax.full_like(a, 0)
    rest = lax.rem(a, unit)
    rest = lax.select(lax.lt(rest, lax.full_like(a, 0)), lax.add(rest, unit), rest)
    low = lax.sub(a, rest)
    odd = lax.ne(lax.rem(lax.div(low, unit), 2), lax.full_like(a, 0))
    half = lax.sub(unit, rest)
    up = lax.bitwise_or(lax.gt(rest, half), lax.bitwise_and(lax.eq(rest, half), odd))
    return lax.select(up, lax.add(low, unit), low)


@replayed(1)
@checked_as_one
def modf(x: Any, /, out: None = None) -> tuple[Any, Any]:
    """The fractional and the integer part of x, both with its sign.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.modf(jnp.array([1.5, -1.5]))
        (Array([ 0.5, -0.5], dtype=float32), Array([ 1., -1.], dtype=float32))
    """
    check_no_out("modf", out)
    (x,) = promoted_inexact("modf", x)
    whole = trunc(x)
    infinite = lax.eq(lax.abs(x), np.inf)
    return lax.select(infinite, lax.full_like(x, 0), lax.sub(x, whole)), whole
