"""The sine cardinal, and its derivatives of all orders.

The quotient rule subtracts terms that nearly cancel next to 0, and at 0 itself a quotient has to be
replaced; so each derivative is a function of its own, whose derivative is the next.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from .. import lax
from ..control.custom.custom_jvp import custom_jvp
from ..core import aval_of
from ..engines.reference.replay import replayed
from ..lax.elementwise.convert import convert
from ..lax.elementwise.selection import scalar_like
from .arithmetic import chosen
from .half_precision import in_float32
from .operands import promoted_inexact


@replayed(1)
@in_float32
def sinc(x: Any, /) -> Any:
    """sin(π x) / (π x), element by element, and 1 at zero.

    Derivatives of all orders are accurate at and next to zero.

    Example:
        >>> import morphax as jax
        >>> import morphax.numpy as jnp
        >>> print(f"{jax.grad(jax.grad(jnp.sinc))(0.0):.4f}")
        -3.2899
    """
    (x,) = promoted_inexact("sinc", x)
    aval = aval_of(x)
    result = sine_over(0, lax.mul(x, scalar_like(np.pi, x)))
    return convert(result, aval.dtype, aval.weak_type and not aval.shape)


@functools.partial(custom_jvp, nondiff_argnums=(0,))
def sine_over(order: int, z: Any) -> Any:
    """The derivative of `order` n of sin(z) / z, which is ∫₀¹ sⁿ cos(s z + n π/2) ds."""
    if not order:
        at_zero = lax.eq(z, scalar_like(0, z))
        divisor = chosen(at_zero, scalar_like(1, z), z)
        return chosen(at_zero, scalar_like(1, z), lax.div(lax.sin(divisor), divisor))
    # Up to here, the terms of the quotient cancel, and those of the series do not.
    bound = 1 + order / 2
    size = lax.abs(z)
    near = lax.lt(size, scalar_like(bound, size))
    far = _by_quotient_rule(order, chosen(near, scalar_like(bound, z), z))
    series = _by_series(order, chosen(near, z, scalar_like(0, z)), bound)
    return chosen(near, series, far)


@sine_over.defjvp
def _next_derivative(order: int, primals: Any, tangents: Any) -> tuple[Any, Any]:
    (z,), (t,) = primals, tangents
    return sine_over(order, z), lax.mul(t, sine_over(order + 1, z))


def _by_quotient_rule(order: int, z: Any) -> Any:
    """Σₖ (−1)ᵏ n!/(n−k)! sin⁽ⁿ⁻ᵏ⁾(z) / zᵏ⁺¹."""
    sine, cosine = lax.sin(z), lax.cos(z)
    waves = (sine, cosine, lax.neg(sine), lax.neg(cosine))
    total = scalar_like(0, z)
    for k in reversed(range(order + 1)):
        factor = (-1) ** k * math.perm(order, k)
        term = lax.mul(waves[(order - k) % 4], scalar_like(factor, z))
        total = lax.div(lax.add(total, term), z)
    return total


def _by_series(order: int, z: Any, bound: float) -> Any:
    """Σⱼ (−1)ʲ z²ʲ⁻ⁿ / ((2j + 1) (2j − n)!), as far as float64 tells for |z| < `bound`."""
    first = (order + 1) // 2
    last = first
    while bound ** (2 * last - order) / math.factorial(2 * last - order) > 1e-18:
        last += 1
    square = lax.mul(z, z)
    total = scalar_like(0, z)
    for j in reversed(range(first, last + 1)):
        coefficient = (-1) ** j / ((2 * j + 1) * math.factorial(2 * j - order))
        total = lax.add(lax.mul(total, square), scalar_like(coefficient, z))
    return lax.mul(total, z) if order % 2 else total
