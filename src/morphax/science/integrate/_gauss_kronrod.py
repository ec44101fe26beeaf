"""The rule of Gauss and Kronrod with 21 nodes, and the substitutions that it is applied after.

References: see `_quad`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ... import dtypes
from ... import numpy as jnp
from ...transforms.vmap import vmap

_NODES = np.array(
    [
        0.0,
        0.14887433898163121088,
        0.29439286270146019813,
        0.43339539412924719080,
        0.56275713466860468334,
        0.67940956829902440623,
        0.78081772658641689706,
        0.86506336668898451073,
        0.93015749135570822600,
        0.97390652851717172008,
        0.99565716302580808074,
    ]
)
_KRONROD = np.array(
    [
        0.14944555400291690566,
        0.14773910490133849137,
        0.14277593857706008080,
        0.13470921731147332593,
        0.12349197626206585108,
        0.10938715880229764190,
        0.093125454583697605535,
        0.075039674810919952767,
        0.054755896574351996031,
        0.032558162307964727479,
        0.011694638867371874278,
    ]
)
_GAUSS = np.array(
    [
        0.0,
        0.29552422471475287017,
        0.0,
        0.26926671930999635509,
        0.0,
        0.21908636251598204400,
        0.0,
        0.14945134915058059315,
        0.0,
        0.066671344308688137594,
        0.0,
    ]
)
# From both sides of the middle.
NODES = np.concatenate([-_NODES[:0:-1], _NODES])
_ALL_KRONROD = np.concatenate([_KRONROD[:0:-1], _KRONROD])
_ALL_GAUSS = np.concatenate([_GAUSS[:0:-1], _GAUSS])


class Parts(NamedTuple):
    """Intervals of u, and the integral over each, its error, that of |f|."""

    low: Any
    high: Any
    value: Any
    error: Any
    size: Any


def on_interval(along: Callable[[Any, Any], Any], low: Any, high: Any) -> Parts:
    """The rule on one interval, with the error that QUADPACK takes from it."""
    dtype, half = low.dtype, 0.5 * (high - low)
    nodes = half * jnp.asarray(1 + NODES, dtype)
    # The distance to the other end of (0, 1) is computed as such.
    rest = (1 - high) + half * jnp.asarray(1 - NODES, dtype)
    values = vmap(along)(low + nodes, rest)
    size = jnp.abs(values)

    def summed(weights: Any, values: Any) -> Any:
        return half * jnp.tensordot(jnp.asarray(weights, dtype), values, 1, precision="highest")

    kronrod, gauss = summed(_ALL_KRONROD, values), summed(_ALL_GAUSS, values)
    mean = kronrod / (2 * half)
    spread, absolute = summed(_ALL_KRONROD, jnp.abs(values - mean)), summed(_ALL_KRONROD, size)
    error = jnp.abs(kronrod - gauss)
    is_spread = (spread > 0) & (error > 0)
    ratio = jnp.where(is_spread, 200 * error / jnp.where(is_spread, spread, 1), 0)
    error = jnp.where(is_spread, spread * jnp.minimum(1, ratio**1.5), error)
    eps = dtypes.finfo(dtype).eps
    error = jnp.maximum(error, 50 * eps * absolute)
    return Parts(low, high, kronrod, jnp.max(error), jnp.max(absolute))


def transformed(function: Callable[[Any], Any], low: Any, high: Any, u: Any, v: Any) -> Any:
    """The function of u that has the integral over (0, 1); v = 1 − u."""
    t, s = u * u * (3 - 2 * u), v * v * (3 - 2 * v)
    is_low, is_high = jnp.isfinite(low), jnp.isfinite(high)
    start, end = jnp.where(is_low, low, 0), jnp.where(is_high, high, 0)
    width = end - start
    x = jnp.where(t < 0.5, start + width * t, end - width * s)
    x = jnp.where(is_low & ~is_high, start + s / t, x)
    x = jnp.where(~is_low & is_high, end - t / s, x)
    x = jnp.where(~is_low & ~is_high, 1 / s - 1 / t, x)
    weight = jnp.where(is_low & is_high, width, 0)
    weight = weight + jnp.where(is_high, 0, jnp.where(is_low, 1 / (t * t), 1 / (s * s)))
    weight = weight + jnp.where(is_low, 0, jnp.where(is_high, 1 / (s * s), 1 / (t * t)))
    value = function(x)
    # At the ends themselves, where x is rounded to them, a singular function has no weight.
    is_zero = (value == 0) | (x == low) | (x == high)
    return jnp.where(is_zero, 0, value * (6 * u * v * weight))
