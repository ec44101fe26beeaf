"""The normalized sine cardinal, and its derivatives of all orders.

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
from .operands import promoted_inexact


@replayed(1)
def sinc(x: Any, /) -> Any:
    """sin(π x) / (π x), element by element, and 1 at zero.

    Derivatives of all orders are accurate at and next to zero.

    Example:
        >>> import morphax as jax
        >>> import morphax.numpy as jnp
        >>> print(f"{jax.grad(jax.grad(jnp.sinc))(0.0):.4f}")
        -3.2899
    """
    return _derivative(0, *promoted_inexact("sinc", x))


def _sinc(x: Any) -> Any:
    (x,) = promoted_inexact("sinc", x)
    aval = aval_of(x)
    at_zero = lax.eq(x, scalar_like(0, x))
    scaled = chosen(at_zero, scalar_like(1, x), lax.mul(x, scalar_like(np.pi, x)))
    result = chosen(at_zero, scalar_like(1, x), lax.div(lax.sin(scaled), scaled))
    return convert(result, aval.dtype, aval.weak_type and not aval.shape)


@functools.partial(custom_jvp, nondiff_argnums=(0,))
def _derivative(order: int, x: Any) -> Any:
    """The derivative of `order` n: πⁿ ∫₀¹ sⁿ cos(s z + n π/2) ds for z = π x."""
    if not order:
        return _sinc(x)
    z = lax.mul(x, scalar_like(np.pi, x))
    # Up to here, the terms of the quotient cancel, and those of the series do not.
    bound = 1 + order / 2
    size = lax.abs(z)
    near = lax.lt(size, scalar_like(bound, size))
    far = _by_quotient_rule(order, chosen(near, scalar_like(bound, z), z))
    series = _by_series(order, chosen(near, z, scalar_like(0, z)), bound)
    return lax.mul(chosen(near, series, far), scalar_like(np.pi**order, x))


@_derivative.defjvp
def _next_derivative(order: int, primals: Any, tangents: Any) -> tuple[Any, Any]:
    (x,), (t,) = primals, tangents
    return _derivative(order, x), lax.mul(t, _derivative(order + 1, x))


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
