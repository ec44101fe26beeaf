"""Gamma numbers and what is made of them.

With d = a − ⅓ and c = ⅓ / √d, a normal number z gives the candidate d v, where v = (1 + c z)³,
which is accepted with a probability that makes d v a gamma number.  For a < 1, a gamma number of
parameter a + 1 is multiplied by u^(1/a).  Each result has a key of its own, so that how often one
is rejected does not touch the others.

Reference: Marsaglia & Tsang, "A simple method for generating gamma variables", ACM Transactions on
Mathematical Software 26 (2000).

A gamma number moves with its parameter `a` at constant P(a, x), the value of its distribution
function: that is its derivative, whichever way it was drawn.

Reference: Figurnov, Mohamed & Mnih, "Implicit reparameterization gradients", NeurIPS 2018.
"""

from __future__ import annotations

import functools
import math
from typing import Any

from .. import lax
from ..control.custom.custom_jvp import custom_jvp
from ..control.loops.loops import while_loop
from ..core import aval_of
from ..errors import ShapeError
from ..lax.ground.axes import counted
from ..util.messages import message
from ._arguments import drawn_shape, placed, prepared, repeated
from ._compiled import compiled
from ._generators import split_keys
from ._inversion import exponential_of
from ._keys import keys_from
from ._normal import standard_normal
from ._uniform import rademacher, unit_interval


def any_of(flags: Any) -> Any:
    """Whether any of an array of booleans is true."""
    return lax.reduce_or(flags, range(aval_of(flags).ndim))


def _positive_candidates(keys: Any, c: Any) -> tuple[Any, Any]:
    """Normal numbers z with 1 + c z > 0, and these sums; one of each for each key."""
    dtype = c.aval.dtype
    zero, one = dtype.type(0), dtype.type(1)

    def draw(state: Any) -> Any:
        keys, z, sums = state
        next_keys, subkeys = keys_from(keys)
        is_open = lax.le(sums, zero)
        drawn = standard_normal(subkeys, (), dtype)
        return (
            lax.select(is_open, next_keys, keys),
            lax.select(is_open, drawn, z),
            lax.select(is_open, lax.add(one, lax.mul(drawn, c)), sums),
        )

    start = keys, lax.full_like(c, 0), lax.full_like(c, -1)
    _, z, sums = while_loop(lambda state: any_of(lax.le(state[2], zero)), draw, start)
    return z, sums


def _accepted_cubes(keys: Any, d: Any, c: Any) -> Any:
    """The v of the first accepted candidate, for each key."""
    dtype = d.aval.dtype
    number = dtype.type

    def is_rejected(state: Any) -> Any:
        _, square, cube, u = state
        squeeze = lax.sub(number(1), lax.mul(number(0.0331), lax.mul(square, square)))
        log_density = lax.add(
            lax.mul(square, number(0.5)),
            lax.mul(d, lax.add(lax.sub(number(1), cube), lax.log(cube))),
        )
        return lax.bitwise_and(lax.ge(u, squeeze), lax.ge(lax.log(u), log_density))

    def draw(state: Any) -> Any:
        next_keys, candidate_keys, uniform_keys = keys_from(state[0], 3)
        z, root = _positive_candidates(candidate_keys, c)
        cube = lax.mul(lax.mul(root, root), root)
        u = unit_interval(uniform_keys, (), dtype)
        drawn = next_keys, lax.mul(z, z), cube, u
        is_open = is_rejected(state)
        return tuple([lax.select(is_open, a, b) for a, b in zip(drawn, state, strict=True)])

    start = keys, *[lax.full_like(d, n) for n in (0, 1, 2)]
    _, _, cube, _ = while_loop(lambda state: any_of(is_rejected(state)), draw, start)
    return cube


@functools.partial(custom_jvp, nondiff_argnums=(2,))
def _drawn(keys: Any, a: Any, log_space: bool) -> Any:
    """Gamma numbers, or their logarithms, for one key each."""
    number = a.aval.dtype.type
    is_large = lax.ge(a, number(1))
    d = lax.sub(lax.select(is_large, a, lax.add(a, number(1))), number(1 / 3))
    c = lax.div(number(1 / 3), lax.sqrt(d))
    cube_keys, boost_keys = keys_from(keys)
    cube = _accepted_cubes(cube_keys, d, c)
    u = unit_interval(boost_keys, (), a.aval.dtype)
    inverse = lax.div(number(1), a)
    if not log_space:
        boost = lax.pow(lax.sub(number(1), u), inverse)
        return lax.mul(lax.mul(d, cube), lax.select(is_large, lax.full_like(a, 1), boost))
    logarithm = lax.neg(exponential_of(u))
    # 0 · ∞ would be NaN where a is 0.
    is_one = lax.bitwise_or(is_large, lax.eq(logarithm, number(0)))
    boost = lax.select(is_one, lax.full_like(a, 0), lax.mul(logarithm, inverse))
    return lax.add(lax.add(lax.log(d), lax.log(cube)), boost)


# Below this the distribution function is xᵃ / Γ(a+1) to all digits.
_LARGEST_OF_POWER = -40.0


@_drawn.defjvp
def _drawn_jvp(log_space: bool, primals: Any, tangents: Any) -> Any:
    keys, a = primals
    drawn = _drawn(keys, a, log_space)
    if not log_space:
        return drawn, lax.mul(tangents[1], lax.random_gamma_grad(a, drawn))
    number = a.aval.dtype.type
    is_tiny = lax.lt(drawn, number(_LARGEST_OF_POWER))
    x = lax.exp(lax.select(is_tiny, lax.full_like(a, 0), drawn))
    slope = lax.div(lax.random_gamma_grad(a, x), x)
    limit = lax.div(lax.sub(lax.digamma(lax.add(a, number(1))), drawn), a)
    return drawn, lax.mul(tangents[1], lax.select(is_tiny, limit, slope))


@compiled
def _gamma(key: Any, a: Any, shape: tuple[int, ...], dtype: Any, *, log_space: bool) -> Any:
    """Gamma numbers, or their logarithms, for a typed key and a parameter made by `parameter`."""
    if not math.prod(shape):
        return lax.full(shape, 0, dtype)
    keys = split_keys(key, shape)
    return _drawn(keys, repeated(a, shape), log_space)


@compiled
def gamma(
    key: Any, a: Any, shape: Any = None, dtype: Any = None, *, out_sharding: Any = None
) -> Any:
    """Numbers with density x^(a−1) e⁻ˣ / Γ(a) for x > 0; use `loggamma` for a much below 1.

    Example:
        >>> import morphax as jax
        >>> jax.random.gamma(jax.random.key(0), 2.0, (3,)).shape
        (3,)
    """
    typed, shape, chosen, a = prepared("gamma", key, shape, dtype, a)
    return placed(_gamma(typed, a, shape, chosen, log_space=False), out_sharding)


@compiled
def loggamma(
    key: Any, a: Any, shape: Any = None, dtype: Any = None, *, out_sharding: Any = None
) -> Any:
    """Logarithms of numbers with the density of `gamma`, also where these would underflow."""
    typed, shape, chosen, a = prepared("loggamma", key, shape, dtype, a)
    return placed(_gamma(typed, a, shape, chosen, log_space=True), out_sharding)


@compiled
def beta(
    key: Any, a: Any, b: Any, shape: Any = None, dtype: Any = None, *, out_sharding: Any = None
) -> Any:
    """Numbers with density x^(a−1) (1−x)^(b−1) Γ(a+b) / Γ(a)Γ(b) on [0, 1]."""
    typed, shape, chosen, a, b = prepared("beta", key, shape, dtype, a, b)
    return placed(_beta(typed, a, b, shape, chosen), out_sharding)


@compiled
def _beta(key: Any, a: Any, b: Any, shape: tuple[int, ...], dtype: Any) -> Any:
    logs = [
        _gamma(k, p, shape, dtype, log_space=True)
        for k, p in zip(keys_from(key), (a, b), strict=True)
    ]
    largest = lax.max(*logs)
    first, second = [lax.exp(lax.sub(x, largest)) for x in logs]
    return lax.div(first, lax.add(first, second))


@compiled
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


@compiled
def _dirichlet(key: Any, alpha: Any, shape: tuple[int, ...], dtype: Any) -> Any:
    logs = _gamma(key, alpha, shape, dtype, log_space=True)
    last = len(shape) - 1
    largest = lax.reduce_max(logs, (last,))
    weights = lax.exp(lax.sub(logs, lax.expand_dims(largest, (last,))))
    total = lax.expand_dims(lax.reduce_sum(weights, (last,)), (last,))
    return lax.div(weights, total)


@compiled
def chisquare(
    key: Any, df: Any, shape: Any = None, dtype: Any = None, *, out_sharding: Any = None
) -> Any:
    """Sums of the squares of `df` normal numbers."""
    typed, shape, chosen, df = prepared("chisquare", key, shape, dtype, df)
    return placed(_chisquare(typed, df, shape, chosen), out_sharding)


@compiled
def _chisquare(key: Any, df: Any, shape: tuple[int, ...], dtype: Any) -> Any:
    logs = _gamma(key, lax.div(df, dtype.type(2)), shape, dtype, log_space=True)
    return lax.mul(lax.exp(logs), dtype.type(2))


@compiled
def t(key: Any, df: Any, shape: Any = None, dtype: Any = None, *, out_sharding: Any = None) -> Any:
    """Student's distribution: z / √(c / df) of a normal z and c from `chisquare`."""
    typed, shape, chosen, df = prepared("t", key, shape, dtype, df)
    return placed(_t(typed, df, shape, chosen), out_sharding)


@compiled
def _t(key: Any, df: Any, shape: tuple[int, ...], dtype: Any) -> Any:
    normal_key, gamma_key = keys_from(key)
    z = standard_normal(normal_key, shape, dtype)
    half = lax.div(df, dtype.type(2))
    ratio = lax.div(half, _gamma(gamma_key, half, shape, dtype, log_space=False))
    return lax.mul(z, lax.sqrt(ratio))


@compiled
def f(
    key: Any,
    dfnum: Any,
    dfden: Any,
    shape: Any = None,
    dtype: Any = None,
    *,
    out_sharding: Any = None,
) -> Any:
    """Fisher's distribution: (c₁ / dfnum) / (c₂ / dfden) of two numbers from `chisquare`."""
    typed, shape, chosen, dfnum, dfden = prepared("f", key, shape, dtype, dfnum, dfden)
    return placed(_f(typed, dfnum, dfden, shape, chosen), out_sharding)


@compiled
def _f(key: Any, dfnum: Any, dfden: Any, shape: tuple[int, ...], dtype: Any) -> Any:
    # In this order, as JAX draws them.
    second_key, first_key = keys_from(key)
    first = lax.div(_chisquare(first_key, dfnum, shape, dtype), dfnum)
    return lax.div(first, lax.div(_chisquare(second_key, dfden, shape, dtype), dfden))


@compiled
def generalized_normal(
    key: Any, p: Any, shape: Any = (), dtype: Any = None, *, out_sharding: Any = None
) -> Any:
    """Numbers with density proportional to e^(−|x|ᵖ)."""
    typed, shape, chosen, p = prepared("generalized_normal", key, shape, dtype, p)
    return placed(_generalized_normal(typed, p, shape, chosen), out_sharding)


@compiled
def _generalized_normal(key: Any, p: Any, shape: tuple[int, ...], dtype: Any) -> Any:
    gamma_key, sign_key = keys_from(key)
    inverse = lax.div(dtype.type(1), p)
    powers = _gamma(gamma_key, inverse, shape, dtype, log_space=False)
    return lax.mul(rademacher(sign_key, shape, dtype), lax.pow(powers, inverse))


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
    """
    d = counted("random.ball, argument d", d)
    typed, shape, chosen, p = prepared("ball", key, shape, dtype, p)
    return placed(_ball(typed, p, (*shape, d), chosen), out_sharding)


@compiled
def _ball(key: Any, p: Any, shape: tuple[int, ...], dtype: Any) -> Any:
    direction_key, length_key = keys_from(key)
    points = _generalized_normal(direction_key, p, shape, dtype)
    last = len(shape) - 1
    powers = lax.reduce_sum(lax.pow(lax.abs(points), p), (last,))
    waiting = exponential_of(unit_interval(length_key, shape[:-1], dtype))
    length = lax.pow(lax.add(powers, waiting), lax.div(dtype.type(1), p))
    return lax.div(points, lax.expand_dims(length, (last,)))
