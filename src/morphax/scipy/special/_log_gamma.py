"""The principal branch of log Γ, on the complex plane too.

In the right half-plane it is Stirling's series, to which numbers of small size are moved by
Γ(z + 1) = z Γ(z): the logarithms of the factors are added one by one, so that the branch cut stays
on the negative real axis.  About the zeros at 1 and 2 it is a power series, so that they cost no
digits.  To the left, reflection leads there.

References: DLMF, 5.5, 5.7.3 and 5.11.1.  Hare, "Computing the principal branch of log-Gamma",
Journal of Algorithms 25 (1997).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ... import lax
from ... import numpy as jnp
from ._exponential_integrals import EULER, ZETAS
from ._operands import operands, polynomial, strong

_STEPS = 9
_HALF_LOG_2PI = 0.5 * math.log(2 * math.pi)
# Highest power of 1/z² first.
_STIRLING = (1 / 156, -691 / 360360, 1 / 1188, -1 / 1680, 1 / 1260, -1 / 360, 1 / 12)


def _right(z: Any) -> Any:
    """log Γ(z) for Re z ≥ ½."""
    near_two = lax.abs(z - 2) <= 0.5
    near_one = lax.abs(z - 1) <= 0.5
    is_near = near_one | near_two
    distance = jnp.where(is_near, z - jnp.where(near_two, 2, 1), 0)
    series = distance * (1 - EULER - distance * polynomial(-distance, [-c for c in ZETAS]))
    series = series - jnp.where(near_two, 0, lax.log1p(distance))
    is_small = lax.abs(z) < _STEPS + 1
    small = jnp.where(is_small & ~is_near, z, 1.5)
    # The angles of two of them add up to less than π, so that one logarithm is that of both.
    factors = lax.log(small + (_STEPS - 1))
    for k in range(0, _STEPS - 1, 2):
        factors = factors + lax.log((small + k) * (small + (k + 1)))
    far = jnp.where(is_small, small + _STEPS, z)
    inverse = 1 / far
    correction = inverse * polynomial(inverse * inverse, _STIRLING)
    stirling = (far - 0.5) * lax.log(far) - far + _HALF_LOG_2PI + correction
    return jnp.where(is_near, series, stirling - jnp.where(is_small, factors, 0))


def _log_one_minus_exp(x: Any, y: Any) -> Any:
    """log(1 − exp(2πi (x + iy))) for y ≥ 0, exact where x + iy is near an integer."""
    angle, decay = 2 * math.pi * (x - lax.round(x)), -2 * math.pi * y
    sine = lax.sin(0.5 * angle)
    real = 2 * sine * sine - lax.expm1(decay) * lax.cos(angle)
    return lax.log(lax.complex(real, -lax.exp(decay) * lax.sin(angle)))


def _complex(z: Any) -> Any:
    """log Γ(z) in the upper half-plane; below, the conjugate.

    On the left, log Γ(z) = log 2π + iπ (z − ½) − log(1 − exp(2πiz)) − log Γ(1 − z): above the real
    axis every term is analytic, and on (0, 1) they add up to the real logarithm.
    """
    x, y = lax.real(z), lax.imag(z)
    is_below = (y < 0) | ((y == 0) & (jnp.copysign(1, y) < 0))
    y = lax.abs(y)
    is_left = x < 0.5
    right = _right(lax.complex(jnp.where(is_left, 1 - x, x), jnp.where(is_left, -y, y)))
    left_x, left_y = jnp.where(is_left, x, 0.25), jnp.where(is_left, y, 0)
    turn = lax.complex(math.log(2 * math.pi) - math.pi * left_y, math.pi * (left_x - 0.5))
    left = turn - _log_one_minus_exp(left_x, left_y) - right
    is_pole = (y == 0) & (x <= 0) & (x == lax.floor(x))
    value = jnp.where(is_pole, np.nan, jnp.where(is_left, left, right))
    return jnp.where(is_below, lax.conj(value), value)


def loggamma(x: Any) -> Any:
    """The principal branch of log Γ(x), whose cut is the negative real axis.

    Args:
        x: array (...), floating or complex.

    Returns:
        Array (...): for real x, ∞ at 0 and NaN below; for complex x, NaN at the poles, and on the
        cut the limit from the side that the sign of the imaginary zero tells.

    Raises:
        TypeError: `x` is a list.

    Reference:
        DLMF, 5.5.3, 5.7.3 and 5.11.1; Hare (1997).

    Example:
        >>> from morphax.scipy import special
        >>> special.loggamma(3.0)
        Array(0.6931472, dtype=float32, weak_type=True)
    """
    (x,) = operands("loggamma", x)
    if jnp.issubdtype(x.dtype, np.complexfloating):
        return strong(_complex(x))
    return jnp.where(x < 0, np.nan, lax.lgamma(jnp.where(x < 0, 1, x)))
