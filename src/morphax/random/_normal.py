"""Normal numbers and what is made of them.

If u is uniform on (−1, 1), then √2 erf⁻¹ u is normal: the inverse of the distribution function.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .. import dtypes, lax
from ..lax.complex import real_dtype
from ..lax.kinds import COMPLEX, FLOATING, INEXACT
from ._arguments import drawn_shape, parameter, placed, requested_dtype
from ._keys import single_key, two_keys
from ._uniform import uniform_between


def normal(key: Any, shape: Any = (), dtype: Any = None, *, out_sharding: Any = None) -> Any:
    """Normal numbers of mean 0 and variance 1.

    Args:
        dtype: a floating or complex dtype; the parts of complex numbers are independent and have
            variance ½.

    Example:
        >>> import morphax as jax
        >>> jax.random.normal(jax.random.key(0), (3,))
        Array([ 1.6226422 ,  2.0252647 , -0.43359444], dtype=float32)
    """
    typed = single_key("normal", key)
    chosen = requested_dtype("normal", dtype, INEXACT)
    shape = drawn_shape("normal", shape)
    if chosen in COMPLEX:
        parts = [erf_inv_of_uniform(k, shape, real_dtype(chosen)) for k in two_keys(typed)]
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
        lower: lower bound, an array that can be broadcast to `shape`.
        upper: upper bound, likewise.
        shape: of the result; the one that the bounds share if `None`.
        dtype: a floating dtype.

    Example:
        >>> import morphax as jax
        >>> jax.random.truncated_normal(jax.random.key(0), -1.0, 1.0, (3,))
        Array([ 0.8743158 ,  0.94563836, -0.2908443 ], dtype=float32)
    """
    typed = single_key("truncated_normal", key)
    chosen = requested_dtype("truncated_normal", dtype, FLOATING)
    shape = drawn_shape("truncated_normal", shape, lower, upper)
    bounds = [parameter(bound, chosen, shape) for bound in (lower, upper)]
    root = chosen.type(math.sqrt(2))
    ends = [lax.erf(lax.div(bound, root)) for bound in bounds]
    uniform = uniform_between(typed, shape, chosen, *ends)
    numbers = lax.mul(root, lax.erf_inv(uniform))
    # Rounding must not move a number out of the open interval.
    infinity = chosen.type(np.inf)
    first = lax.nextafter(lax.stop_gradient(bounds[0]), infinity)
    last = lax.nextafter(lax.stop_gradient(bounds[1]), -infinity)
    return placed(lax.min(last, lax.max(first, numbers)), out_sharding)


def lognormal(
    key: Any, sigma: Any = 1.0, shape: Any = None, dtype: Any = None, *, out_sharding: Any = None
) -> Any:
    """Numbers whose logarithm is normal, of mean 0 and standard deviation `sigma`."""
    typed = single_key("lognormal", key)
    chosen = requested_dtype("lognormal", dtype, FLOATING)
    shape = drawn_shape("lognormal", shape, sigma)
    exponents = lax.mul(standard_normal(typed, shape, chosen), parameter(sigma, chosen, shape))
    return placed(lax.exp(exponents), out_sharding)
