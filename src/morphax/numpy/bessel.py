"""Modified Bessel functions of the first kind, with derivatives that lose no digits near 0."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import lax
from ..control.custom.custom_jvp import custom_jvp
from ..core import aval_of
from ..engines.reference.replay import replayed
from ..lax.elementwise.bessel import i1_over_x
from ..lax.elementwise.convert import convert
from ..util.messages import described, message
from .complex_numbers import is_complex
from .operands import promoted_inexact


@replayed(1)
def i0(x: Any) -> Any:
    """I₀(x), the modified Bessel function of order 0, element by element.

    Args:
        x: real array.

    Returns:
        Array of the shape of `x`, floating.

    Raises:
        ValueError: `x` is complex.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.i0(jnp.array([0.0, 1.0]))
        Array([1.       , 1.2660658], dtype=float32)
    """
    (x,) = promoted_inexact("i0", x)
    if is_complex(x):
        raise ValueError(
            message(
                "jnp.i0",
                given=described(x),
                expected="real numbers",
                fix="Pass the real part, or write the power series out.",
            )
        )
    return bessel_i0(x)


@custom_jvp
def bessel_i0(x: Any) -> Any:
    """I₀(x) of a floating array."""
    return _unscaled(x, lax.bessel_i0e(x), lax.abs(x))


@custom_jvp
def bessel_i1(x: Any) -> Any:
    """I₁(x) of a floating array."""
    return _unscaled(x, lax.bessel_i1e(x), x)


# The kinks of |x| in the factors, which cancel in the product, stay out of the derivatives.
bessel_i0.defjvps(lambda t, out, x: lax.mul(t, bessel_i1(x)))
bessel_i1.defjvps(lambda t, out, x: lax.mul(t, _slope_of_i1(x)))


def _unscaled(x: Any, scaled: Any, at_infinity: Any) -> Any:
    """The function from the one scaled by e^{−|x|}; half of the factor is in range where it is."""
    root = lax.exp(lax.mul(lax.abs(x), _like(x, 0.5)))
    is_infinite = lax.eq(lax.abs(x), _like(x, np.inf))
    return lax.select(is_infinite, at_infinity, lax.mul(lax.mul(root, scaled), root))


def _slope_of_i1(x: Any) -> Any:
    i0 = bessel_i0(x)
    # Where I₀ is out of range I₁ may be too, and ∞ − ∞ says nothing.
    is_out = lax.eq(i0, _like(x, np.inf))
    return lax.select(is_out, i0, lax.sub(i0, _i1_over_x(x)))


def _i1_over_x(x: Any) -> Any:
    near = lax.lt(lax.abs(x), _like(x, 0.5))
    dtype, is_weak = aval_of(x).dtype, aval_of(x).weak_type
    series = convert(i1_over_x(lax.select(near, x, _like(x, 0))), dtype, is_weak)
    quotient = lax.div(bessel_i1(x), lax.select(near, _like(x, 1), x))
    return lax.select(near, series, quotient)


def _like(x: Any, value: float) -> Any:
    return lax.full_like(x, value)
