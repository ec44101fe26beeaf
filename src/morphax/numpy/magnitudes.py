"""Magnitudes and signs of numbers, and lengths of pairs, element by element."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import lax
from ..core import aval_of
from ..engines.reference.replay import replayed
from ..lax.elementwise.convert import convert
from ..lax.elementwise.square_ranges import scale_of_extreme
from ..util.messages import message
from .arithmetic import chosen
from .of_numpy import hypot_of_numpy
from .operands import is_kind, promoted, promoted_inexact


def fabs(x: Any, /) -> Any:
    """|x| of real numbers, in floating point.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.fabs(jnp.array([-3, 2]))
        Array([3., 2.], dtype=float32)
    """
    return lax.abs(*_real("fabs", promoted_inexact("fabs", x)))


def _real(name: str, operands: Sequence[Any]) -> Sequence[Any]:
    """Operands of one dtype, which must not be complex."""
    if not is_kind(operands[0], np.complexfloating):
        return operands
    raise TypeError(
        message(
            f"jnp.{name}",
            given=" and ".join([aval_of(x).str_short(short_dtypes=False) for x in operands]),
            expected="real numbers",
            fix="Take their magnitudes with jnp.abs first.",
        )
    )


def sign(x: Any, /) -> Any:
    """−1, 0 or 1, by the sign of x; for complex numbers x / |x|.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.sign(jnp.array([-2.5, 0.0, 7.0]))
        Array([-1.,  0.,  1.], dtype=float32)
    """
    return lax.sign(*promoted("sign", x))


@replayed(2, of_many=hypot_of_numpy)
def hypot(x1: Any, x2: Any, /) -> Any:
    """√(x² + y²) of real numbers, element by element, without overflow in between.

    It is infinite if one of them is, even if the other is NaN.

    Raises:
        TypeError: if they are complex.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.hypot(jnp.array([3.0, jnp.inf]), jnp.array([4.0, jnp.nan]))
        Array([ 5., inf], dtype=float32)
    """
    x, y = map(lax.abs, _real("hypot", promoted_inexact("hypot", x1, x2)))
    is_weak = x.aval.weak_type and y.aval.weak_type and not (x.aval.shape or y.aval.shape)
    # Either order is the function itself, where x = y too; max and min have no second derivative.
    # What is infinite comes first, even if the other is NaN, which comes before numbers.
    is_nan = lax.bitwise_and(lax.ne(x, x), lax.ne(y, np.inf))
    first = lax.bitwise_or(lax.bitwise_or(lax.ge(x, y), lax.eq(x, np.inf)), is_nan)
    larger, smaller = chosen(first, x, y), chosen(first, y, x)
    is_infinite, zero = lax.eq(larger, np.inf), larger.aval.dtype.type(0)
    smaller = chosen(is_infinite, zero, smaller)
    whole = lax.bitwise_or(lax.eq(larger, zero), is_infinite)
    divisor = lax.select(whole, lax.full_like(larger, 1), larger)
    # Scaled, not divided: the slopes of a quotient by the larger one leave the range.
    scale = scale_of_extreme(divisor)
    squares = [lax.square(lax.mul(side, scale)) for side in (divisor, smaller)]
    length = lax.div(lax.sqrt(lax.add(*squares)), scale)
    return convert(lax.select(whole, lax.max(larger, smaller), length), x.aval.dtype, is_weak)
