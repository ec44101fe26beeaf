"""Normal numbers and what is made of them.

If u is uniform on (−1, 1), then √2 erf⁻¹ u is normal: the inverse of the distribution function.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .. import lax
from ..core import aval_of
from ..engines.reference.replay import replayed
from ..lax.elementwise.complex import real_dtype
from ..lax.ground.kinds import COMPLEX, INEXACT
from ._arguments import drawn_shape, placed, prepared, requested_dtype
from ._keys import keys_from, single_key
from ._uniform import rademacher, uniform_between, unit_interval


@replayed(1)
def normal(key: Any, shape: Any = (), dtype: Any = None, *, out_sharding: Any = None) -> Any:
    """Normal numbers of mean 0 and variance 1.

    Args:
        key: one key.
        shape: of the result.
        dtype: a floating or complex dtype; the parts of complex numbers are independent and have
            variance ½.
        out_sharding: layout of the result over devices.

    Example:
        >>> import morphax as jax
        >>> jax.random.normal(jax.random.key(0), (3,))
        Array([ 1.62264...,  2.02526..., -0.43359...], dtype=float32)
    """
    typed = single_key("normal", key)
    chosen = requested_dtype("normal", dtype, INEXACT)
    shape = drawn_shape("normal", shape)
    if chosen in COMPLEX:
        parts = [erf_inv_of_uniform(k, shape, real_dtype(chosen)) for k in keys_from(typed)]
        numbers = lax.complex(*parts)
    else:
        numbers = standard_normal(typed, shape, chosen)
    return placed(numbers, out_sharding)


def erf_inv_of_uniform(key: Any, shape: tuple[int, ...], dtype: Any) -> Any:
    """Normal numbers of variance ½, for a typed key."""
    minus_one, zero = np.full((2, 1), [[-1], [0]], dtype)
    above_minus_one = np.nextafter(minus_one, zero)[0]
    return lax.erf_inv(uniform_between(key, shape, dtype, above_minus_one, dtype.type(1)))


def standard_normal(key: Any, shape: tuple[int, ...], dtype: Any) -> Any:
    """Normal numbers of variance 1, for a typed key."""
    return lax.mul(dtype.type(math.sqrt(2)), erf_inv_of_uniform(key, shape, dtype))


@replayed(1, arrays=("lower", "upper"))
def truncated_normal(
    key: Any,
    lower: Any,
    upper: Any,
    shape: Any = None,
    dtype: Any = None,
    *,
    out_sharding: Any = None,
) -> Any:
    """Normal numbers of mean 0 and variance 1 on condition that they lie in (lower, upper).

    Args:
        key: one key.
        lower: lower bound, an array that can be broadcast to `shape`.
        upper: upper bound, likewise.
        shape: of the result; the one that the bounds share if `None`.
        dtype: a floating dtype.
        out_sharding: layout of the result over devices.

    Example:
        >>> import morphax as jax
        >>> jax.random.truncated_normal(jax.random.key(0), -1.0, 1.0, (3,))
        Array([ 0.86185...,  0.94128..., -0.29104...], dtype=float32)
    """
    arguments = prepared("truncated_normal", key, shape, dtype, lower, upper)
    typed, shape, chosen, *bounds = arguments
    root = chosen.type(math.sqrt(2))
    ends = [lax.erf(lax.div(bound, root)) for bound in bounds]
    uniform = uniform_between(typed, shape, chosen, *ends)
    numbers = lax.mul(root, lax.erf_inv(uniform))
    # Rounding must not move a number out of the open interval.
    infinity = chosen.type(np.inf)
    first = lax.nextafter(lax.stop_gradient(bounds[0]), infinity)
    last = lax.nextafter(lax.stop_gradient(bounds[1]), -infinity)
    return placed(lax.min(last, lax.max(first, numbers)), out_sharding)


@replayed(1, arrays=("sigma",))
def lognormal(
    key: Any, sigma: Any = 1.0, shape: Any = None, dtype: Any = None, *, out_sharding: Any = None
) -> Any:
    """Numbers whose logarithm is normal, of mean 0 and standard deviation `sigma`.

    Args:
        key: one key.
        sigma: the standard deviation of the logarithm, an array.
        shape: of the result; that of the parameters without it.
        dtype: of the numbers, floating; the default one without it.
        out_sharding: how the result is split over a mesh.

    Raises:
        TypeError: `key` is no key.
        ValueError: the parameters do not broadcast to `shape`.

    Example:
        >>> import morphax as jax
        >>> jax.random.lognormal(jax.random.key(0), 0.5, (3,)).min() > 0
        Array(True, dtype=bool)
    """
    typed, shape, chosen, sigma = prepared("lognormal", key, shape, dtype, sigma)
    exponents = lax.mul(standard_normal(typed, shape, chosen), sigma)
    return placed(lax.exp(exponents), out_sharding)


@replayed(1)
def maxwell(key: Any, shape: Any = (), dtype: Any = None, *, out_sharding: Any = None) -> Any:
    """Lengths of vectors of three independent normal numbers of variance 1.

    Args:
        key: one key.
        shape: of the result; () for one number.
        dtype: of the numbers, floating; the default one without it.
        out_sharding: how the result is split over a mesh.

    Raises:
        TypeError: `key` is no key.

    Example:
        >>> import morphax as jax
        >>> jax.random.maxwell(jax.random.key(0), (3,)).shape
        (3,)
    """
    typed, shape, chosen = prepared("maxwell", key, shape, dtype)
    return placed(_speeds(typed, shape, chosen), out_sharding)


def _speeds(key: Any, shape: tuple[int, ...], dtype: Any) -> Any:
    velocities = lax.square(standard_normal(key, (*shape, 3), dtype))
    # A sum of so few would draw its numbers within its loop, one at a time.
    x, y, z = [lax.index_in_dim(velocities, i, -1, keepdims=False) for i in range(3)]
    return lax.sqrt(x + y + z)


@replayed(3)
def double_sided_maxwell(key: Any, loc: Any, scale: Any, shape: Any = (), dtype: Any = None) -> Any:
    """``loc + scale · m``, where m has the Maxwell distribution and either sign.

    Args:
        key: one key.
        loc: where the distribution is centred, an array (...).
        scale: its scale, an array (...).
        shape: how many numbers to draw for each element of the parameters.
        dtype: a floating dtype.

    Returns:
        Array of the shape `shape`, followed by that of the parameters.

    Example:
        >>> import morphax as jax
        >>> jax.random.double_sided_maxwell(jax.random.key(0), 3.0, 1.0, (10_000,)).mean().round(1)
        Array(3., dtype=float32)
    """
    own = lax.broadcast_shapes(aval_of(loc).shape, aval_of(scale).shape)
    sizes = (*drawn_shape("double_sided_maxwell", shape), *own)
    arguments = prepared("double_sided_maxwell", key, sizes, dtype, loc, scale)
    typed, sizes, chosen, loc, scale = arguments
    speed_key, sign_key = keys_from(typed)
    speeds = _speeds(speed_key, sizes, chosen)
    signed = lax.mul(rademacher(sign_key, sizes, chosen), speeds)
    return lax.add(lax.mul(signed, scale), loc)


@replayed(2)
def wald(
    key: Any, mean: Any, shape: Any = None, dtype: Any = None, *, out_sharding: Any = None
) -> Any:
    """When Brownian motion with drift 1/mean first reaches 1: the inverse Gaussian distribution.

    The time solves a quadratic equation, and a coin chooses between its two roots.  Reference:
    Michael, Schucany & Haas, "Generating random variates using transformations with multiple
    roots", The American Statistician 30 (1976).

    Args:
        key: one key.
        mean: the mean of the times, an array (...).
        shape: of the result.
        dtype: a floating dtype.
        out_sharding: layout of the result over devices.

    Example:
        >>> import morphax as jax
        >>> jax.random.wald(jax.random.key(0), 2.0, (10_000,)).mean().round(1)
        Array(2., dtype=float32)
    """
    typed, shape, chosen, mean = prepared("wald", key, shape, dtype, mean)
    normal_key, coin_key = keys_from(typed)
    squares = lax.square(standard_normal(normal_key, shape, chosen))
    coin = unit_interval(coin_key, shape, chosen)
    # The roots are mean · r and mean / r, without the difference that the formula for them has.
    one, half, quarter = chosen.type(1), chosen.type(0.5), chosen.type(0.25)
    t = lax.mul(mean, squares)
    root = lax.mul(lax.sqrt(t), lax.sqrt(lax.add(one, lax.mul(t, quarter))))
    r = lax.add(lax.add(one, lax.mul(t, half)), root)
    is_second = lax.gt(coin, lax.div(mean, lax.add(mean, lax.div(mean, r))))
    # Of a choice between two results XLA would draw the normal numbers for each.
    return placed(lax.mul(mean, lax.select(is_second, r, lax.div(one, r))), out_sharding)
