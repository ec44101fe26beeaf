"""Student's distribution of `df` degrees of freedom ν, for z = (x − `loc`) / `scale`.

Its density is Γ((ν + 1)/2) / (Γ(ν/2) √(νπ) `scale`) · (1 + z²/ν)^(−(ν + 1)/2).  All functions take
arrays that broadcast against each other, and give an array of their shape and promoted floating
dtype.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import lax
from ... import numpy as jnp
from ...control.custom.custom_jvp import custom_jvp
from ...engines.reference.replay import replayed
from ...numpy.half_precision import in_float32
from ..special._deviances import deviance_at
from ._arguments import arguments, log_of_one_plus_square, placed
from ._ends import exponential, of_quotient
from ._t_constant import log_constant

_FAR = 2.0**31
"""Beyond it 1 + x² is x², and its square would be beyond the largest number."""


@replayed(4)
@in_float32
def logpdf(x: Any, df: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of the density, whose quotient of gamma functions is computed as one.

    Example:
        >>> from morphax.scipy.stats import t
        >>> t.logpdf(0.0, 1.0)
        Array(-1.1447299, dtype=float32, weak_type=True)
    """
    distance, scale, df = placed("t.logpdf", x, loc, scale, df)
    constant = log_constant(df) - lax.log(scale)
    return constant + _log_of_scaled(distance, scale, df)


@replayed(4)
@in_float32
def pdf(x: Any, df: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The density.

    Example:
        >>> from morphax.scipy.stats import t
        >>> t.pdf(0.0, df=1.0)
        Array(0.3183099, dtype=float32, weak_type=True)
    """
    return _density(*arguments("t.pdf", x, df, loc, scale))


@custom_jvp
def _log_of_power(z: Any, df: Any) -> Any:
    """−½ (ν + 1) log(1 + z²/ν), and its limit for ν = ∞."""
    is_normal = df == np.inf
    freedom = jnp.where(is_normal, 1, df)
    value = -0.5 * (freedom + 1) * log_of_one_plus_square(z / lax.sqrt(freedom))
    return jnp.where(is_normal, -0.5 * z * z, value)


def _slope_by_place(t: Any, out: Any, z: Any, df: Any) -> Any:
    x = z / lax.sqrt(df)
    is_far = lax.abs(x) > _FAR
    share = jnp.where(is_far, df / jnp.where(is_far, z, 1), z * _share_of_one(x))
    return -t * (share * (1 + 1 / df))


def _slope_by_freedom(t: Any, out: Any, z: Any, df: Any) -> Any:
    # For large ν the logarithm and the rest nearly cancel.
    x = z / lax.sqrt(df)
    return 0.5 * t * (_share_of_square(x) / df - _log_beyond_share(x))


_log_of_power.defjvps(_slope_by_place, _slope_by_freedom)
_log_of_scaled = of_quotient(_log_of_power, lambda z, df: jnp.where(z == 0, 0, -1 - df))
_density = exponential(logpdf, 4)


def _share_of_one(x: Any) -> Any:
    """1 / (1 + x²)."""
    near = jnp.where(lax.abs(x) > _FAR, 0, x)
    return jnp.where(lax.abs(x) > _FAR, 0, 1 / (1 + near * near))


def _share_of_square(x: Any) -> Any:
    """x² / (1 + x²)."""
    near = jnp.where(lax.abs(x) > _FAR, 0, x)
    return jnp.where(lax.abs(x) > _FAR, 1, near * near / (1 + near * near))


@custom_jvp
def _log_beyond_share(x: Any) -> Any:
    """log(1 + x²) − x² / (1 + x²), which is x⁴/2 next to 0."""
    is_far = lax.abs(x) > _FAR
    near = jnp.where(is_far, 0, x)
    power = near * near
    total = 1 + power
    of_near = deviance_at(total, lax.full_like(total, 1), -power) / total
    return jnp.where(is_far, 2 * lax.log(jnp.where(is_far, lax.abs(x), 1)) - 1, of_near)


def _slope_beyond_share(t: Any, out: Any, x: Any) -> Any:
    is_far = lax.abs(x) > _FAR
    near = x * _share_of_one(x) * _share_of_square(x)
    return 2 * t * jnp.where(is_far, 1 / jnp.where(is_far, x, 1), near)


_log_beyond_share.defjvps(_slope_beyond_share)
