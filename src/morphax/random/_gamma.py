"""Gamma numbers and what is made of them."""

from __future__ import annotations

import math
from typing import Any

from .. import lax
from ..core import aval_of
from ..engines.reference.replay import replayed
from ..errors import ShapeError
from ..lax.ground.axes import counted
from ..util.messages import message
from ._approximations import computed_in, is_approximate, log_gamma_number
from ._arguments import drawn_shape, parameter, placed, prepared, repeated
from ._gamma_numbers import random_gamma_p
from ._inversion import exponential_of
from ._keys import keys_from
from ._normal import standard_normal
from ._uniform import rademacher, unit_interval


def _gamma(
    key: Any,
    a: Any,
    shape: tuple[int, ...],
    dtype: Any,
    *,
    log_space: bool,
    approximate: bool = False,
) -> Any:
    """Gamma numbers, or their logarithms, for a typed key and a parameter made by `parameter`."""
    if not math.prod(shape):
        return lax.full(shape, 0, dtype)
    if approximate:
        number = log_gamma_number(key, a, shape, dtype)
        return lax.convert_element_type(number if log_space else lax.exp(number), dtype)
    return random_gamma_p.drawn(key, repeated(a, shape), log_space=log_space)


@replayed(2)
def gamma(
    key: Any,
    a: Any,
    shape: Any = None,
    dtype: Any = None,
    *,
    method: str = "exact",
    out_sharding: Any = None,
) -> Any:
    """Numbers with density x^(a−1) e⁻ˣ / Γ(a) for x > 0; use `loggamma` for a much below 1.

    Args:
        key: one key.
        a: the parameter of shape, an array (...).
        shape: of the result.
        dtype: a floating dtype.
        method: ``"exact"``, by rejection, or ``"approximate"``: by a formula without loops, with a
            small bias, and with another derivative with respect to `a`.
        out_sharding: layout of the result over devices.

    Example:
        >>> import morphax as jax
        >>> jax.random.gamma(jax.random.key(0), 2.0, (3,)).shape
        (3,)
    """
    numbers = _numbers("gamma", key, a, shape, dtype, method, log_space=False)
    return placed(numbers, out_sharding)


@replayed(2)
def loggamma(
    key: Any,
    a: Any,
    shape: Any = None,
    dtype: Any = None,
    *,
    method: str = "exact",
    out_sharding: Any = None,
) -> Any:
    """Logarithms of numbers with the density of `gamma`, also where these would underflow.

    `method` is as in `gamma`.

    Example:
        >>> import morphax as jax
        >>> bool(jax.random.loggamma(jax.random.key(0), 1e-4) < -100)
        True
    """
    numbers = _numbers("loggamma", key, a, shape, dtype, method, log_space=True)
    return placed(numbers, out_sharding)


def _numbers(
    name: str, key: Any, a: Any, shape: Any, dtype: Any, method: Any, *, log_space: bool
) -> Any:
    approximate = is_approximate(name, method)
    typed, shape, chosen, own = prepared(name, key, shape, dtype, a)
    if approximate:
        own = parameter(a, computed_in(chosen), shape)
    return _gamma(typed, own, shape, chosen, log_space=log_space, approximate=approximate)


@replayed(3)
def beta(
    key: Any,
    a: Any,
    b: Any,
    shape: Any = None,
    dtype: Any = None,
    *,
    method: str = "exact",
    out_sharding: Any = None,
) -> Any:
    """Numbers with density x^(a−1) (1−x)^(b−1) Γ(a+b) / Γ(a)Γ(b) on [0, 1].

    `method` is as in `gamma`.

    Example:
        >>> import morphax as jax
        >>> jax.random.beta(jax.random.key(0), 2.0, 2.0, (10_000,)).mean().round(2)
        Array(0.5, dtype=float32)
    """
    approximate = is_approximate("beta", method)
    typed, shape, chosen, a, b = prepared("beta", key, shape, dtype, a, b)
    return placed(_beta(typed, a, b, shape, chosen, approximate), out_sharding)


def _beta(key: Any, a: Any, b: Any, shape: tuple[int, ...], dtype: Any, approximate: bool) -> Any:
    logs = [
        _gamma(k, p, shape, dtype, log_space=True, approximate=approximate)
        for k, p in zip(keys_from(key), (a, b), strict=True)
    ]
    largest = lax.max(*logs)
    first, second = [lax.exp(lax.sub(x, largest)) for x in logs]
    return lax.div(first, lax.add(first, second))


@replayed(2)
def dirichlet(
    key: Any, alpha: Any, shape: Any = None, dtype: Any = None, *, out_sharding: Any = None
) -> Any:
    """Points x ≥ 0 of sum 1 with density proportional to Π xᵢ^(αᵢ−1).

    Args:
        key: one key.
        alpha: the parameters αᵢ, an array (..., n).
        shape: of an array of points; that of `alpha` without its last axis if `None`.
        dtype: a floating dtype.
        out_sharding: layout of the result over devices.

    Returns:
        Array of shape (*shape, n).

    Raises:
        ValueError: `alpha` is a scalar.

    Example:
        >>> import morphax as jax
        >>> weights = jax.random.dirichlet(jax.random.key(0), jax.numpy.ones(3), (5,))
        >>> weights.sum(-1).round(5)
        Array([1., 1., 1., 1., 1.], dtype=float32)
    """
    own = aval_of(alpha).shape
    if not own:
        raise ShapeError(
            message(
                "random.dirichlet, argument alpha",
                given="a scalar",
                expected="an array of rank 1 at least, one parameter per coordinate",
                fix="Pass jnp.full(n, alpha) for n equal parameters.",
            )
        )
    sizes = own[:-1] if shape is None else drawn_shape("dirichlet", shape)
    typed, sizes, chosen, alpha = prepared("dirichlet", key, (*sizes, own[-1]), dtype, alpha)
    return placed(_dirichlet(typed, alpha, sizes, chosen), out_sharding)


def _dirichlet(key: Any, alpha: Any, shape: tuple[int, ...], dtype: Any) -> Any:
    logs = _gamma(key, alpha, shape, dtype, log_space=True)
    last = len(shape) - 1
    largest = lax.reduce_max(logs, (last,))
    weights = lax.exp(lax.sub(logs, lax.expand_dims(largest, (last,))))
    total = lax.expand_dims(lax.reduce_sum(weights, (last,)), (last,))
    return lax.div(weights, total)


@replayed(2)
def chisquare(
    key: Any,
    df: Any,
    shape: Any = None,
    dtype: Any = None,
    *,
    method: str = "exact",
    out_sharding: Any = None,
) -> Any:
    """Sums of the squares of `df` normal numbers; `method` as in `gamma`.

    Example:
        >>> import morphax as jax
        >>> jax.random.chisquare(jax.random.key(0), df=4.0, shape=(10_000,)).mean().round(1)
        Array(4., dtype=float32)
    """
    approximate = is_approximate("chisquare", method)
    typed, shape, chosen, df = prepared("chisquare", key, shape, dtype, df)
    return placed(_chisquare(typed, df, shape, chosen, approximate), out_sharding)


def _chisquare(
    key: Any, df: Any, shape: tuple[int, ...], dtype: Any, approximate: bool = False
) -> Any:
    half = lax.div(df, dtype.type(2))
    logs = _gamma(key, half, shape, dtype, log_space=True, approximate=approximate)
    return lax.mul(lax.exp(logs), dtype.type(2))


@replayed(2)
def t(key: Any, df: Any, shape: Any = None, dtype: Any = None, *, out_sharding: Any = None) -> Any:
    """Student's distribution: z / √(c / df) of a normal z and c from `chisquare`.

    Example:
        >>> import morphax as jax
        >>> jax.random.t(jax.random.key(0), df=5.0, shape=(10_000,)).var().round(1)
        Array(1.7, dtype=float32)
    """
    typed, shape, chosen, df = prepared("t", key, shape, dtype, df)
    return placed(_t(typed, df, shape, chosen), out_sharding)


def _t(key: Any, df: Any, shape: tuple[int, ...], dtype: Any) -> Any:
    normal_key, gamma_key = keys_from(key)
    z = standard_normal(normal_key, shape, dtype)
    half = lax.div(df, dtype.type(2))
    ratio = lax.div(half, _gamma(gamma_key, half, shape, dtype, log_space=False))
    return lax.mul(z, lax.sqrt(ratio))


@replayed(3)
def f(
    key: Any,
    dfnum: Any,
    dfden: Any,
    shape: Any = None,
    dtype: Any = None,
    *,
    out_sharding: Any = None,
) -> Any:
    """Fisher's distribution: (c₁ / dfnum) / (c₂ / dfden) of two numbers from `chisquare`.

    Example:
        >>> import morphax as jax
        >>> jax.random.f(jax.random.key(0), 3.0, 10.0, (10_000,)).mean().round(1)
        Array(1.3, dtype=float32)
    """
    typed, shape, chosen, dfnum, dfden = prepared("f", key, shape, dtype, dfnum, dfden)
    return placed(_f(typed, dfnum, dfden, shape, chosen), out_sharding)


def _f(key: Any, dfnum: Any, dfden: Any, shape: tuple[int, ...], dtype: Any) -> Any:
    # In this order, as JAX draws them.
    second_key, first_key = keys_from(key)
    first = lax.div(_chisquare(first_key, dfnum, shape, dtype), dfnum)
    return lax.div(first, lax.div(_chisquare(second_key, dfden, shape, dtype), dfden))


@replayed(2)
def generalized_normal(
    key: Any, p: Any, shape: Any = (), dtype: Any = None, *, out_sharding: Any = None
) -> Any:
    """Numbers with density proportional to e^(−|x|ᵖ).

    Example:
        >>> import morphax as jax
        >>> x = jax.random.generalized_normal(jax.random.key(0), p=1.0, shape=(10_000,))
        >>> abs(x).mean().round(1)
        Array(1., dtype=float32)
    """
    typed, shape, chosen, p = prepared("generalized_normal", key, shape, dtype, p)
    return placed(_generalized_normal(typed, p, shape, chosen), out_sharding)


def _generalized_normal(key: Any, p: Any, shape: tuple[int, ...], dtype: Any) -> Any:
    gamma_key, sign_key = keys_from(key)
    inverse = lax.div(dtype.type(1), p)
    powers = _gamma(gamma_key, inverse, shape, dtype, log_space=False)
    return lax.mul(rademacher(sign_key, shape, dtype), lax.pow(powers, inverse))


@replayed(1)
def ball(
    key: Any, d: int, p: Any = 2, shape: Any = (), dtype: Any = None, *, out_sharding: Any = None
) -> Any:
    """Points evenly distributed in the ball Σ |xᵢ|ᵖ ≤ 1.

    Reference: Barthe, Guédon, Mendelson & Naor, "A probabilistic approach to the geometry of the
    ℓₚⁿ-ball", Annals of Probability 33 (2005).

    Args:
        key: one key.
        d: the dimension of the space.
        p: the exponent, a number.
        shape: of an array of points.
        dtype: a floating dtype.
        out_sharding: layout of the result over devices.

    Returns:
        Array of shape (*shape, d).

    Example:
        >>> import morphax as jax
        >>> points = jax.random.ball(jax.random.key(0), d=2, shape=(1000,))
        >>> bool(((points**2).sum(-1) <= 1).all())
        True
    """
    d = counted("random.ball, argument d", d)
    typed, shape, chosen, p = prepared("ball", key, shape, dtype, p)
    return placed(_ball(typed, p, (*shape, d), chosen), out_sharding)


def _ball(key: Any, p: Any, shape: tuple[int, ...], dtype: Any) -> Any:
    direction_key, length_key = keys_from(key)
    points = _generalized_normal(direction_key, p, shape, dtype)
    last = len(shape) - 1
    powers = lax.reduce_sum(lax.pow(lax.abs(points), p), (last,))
    waiting = exponential_of(unit_interval(length_key, shape[:-1], dtype))
    length = lax.pow(lax.add(powers, waiting), lax.div(dtype.type(1), p))
    return lax.div(points, lax.expand_dims(length, (last,)))
