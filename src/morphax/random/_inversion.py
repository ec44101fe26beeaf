"""Distributions whose distribution function has an elementary inverse.

If u is uniform on (0, 1) and F a distribution function, then F⁻¹(u) has the distribution F.  Where
a logarithm would meet 0, u starts at the smallest normal number of its dtype.
"""

from __future__ import annotations

import math
from typing import Any

from .. import dtypes, lax
from ..config import current as current_config
from ..engines.reference.replay import replayed
from ..lax.ground.kinds import INTEGER
from ._arguments import placed, prepared, requested_dtype
from ._ranges import check_probability
from ._uniform import check_mode, two_digits, uniform_between, unit_interval


def _open_uniform(key: Any, shape: tuple[int, ...], dtype: Any, low: Any) -> Any:
    return uniform_between(key, shape, dtype, dtype.type(low), dtype.type(1))


@replayed(1)
def exponential(key: Any, shape: Any = (), dtype: Any = None, *, out_sharding: Any = None) -> Any:
    """Numbers with density e⁻ˣ for x ≥ 0.

    Example:
        >>> import morphax as jax
        >>> jax.random.exponential(jax.random.key(0), (2,))
        Array([2.950128 , 3.8434246], dtype=float32)
    """
    typed, shape, chosen = prepared("exponential", key, shape, dtype)
    return placed(exponential_of(unit_interval(typed, shape, chosen)), out_sharding)


def exponential_of(u: Any) -> Any:
    """Exponential numbers made of uniform ones in [0, 1)."""
    return lax.neg(lax.log1p(lax.neg(u)))


@replayed(1)
def gumbel(
    key: Any, shape: Any = (), dtype: Any = None, mode: Any = None, *, out_sharding: Any = None
) -> Any:
    """Numbers with distribution function e^(−e⁻ˣ).

    Args:
        key: one key.
        shape: of the result.
        dtype: a floating dtype.
        mode: ``"low"`` draws one uniform number per result, ``"high"`` two, for a longer tail;
            `None` leaves the choice to ``jax_high_dynamic_range_gumbel``.
        out_sharding: layout of the result over devices.

    Example:
        >>> import morphax as jax
        >>> jax.random.gumbel(jax.random.key(0), (2,))
        Array([2.9233725, 3.8326175], dtype=float32)
    """
    typed, shape, chosen = prepared("gumbel", key, shape, dtype)
    return placed(gumbel_numbers("gumbel", typed, shape, chosen, mode), out_sharding)


def gumbel_numbers(function: str, key: Any, shape: tuple[int, ...], dtype: Any, mode: Any) -> Any:
    """Gumbel numbers, for a typed key."""
    if mode is None:
        mode = "high" if current_config().high_dynamic_range_gumbel else "low"
    check_mode(function, mode)
    tiny = dtypes.finfo(dtype).tiny
    if mode == "low":
        waiting = lax.neg(lax.log(_open_uniform(key, shape, dtype, tiny)))
    else:
        first, rest = two_digits(key, shape, dtype)
        # Below ½ the digits that follow matter; above, adding them could round to 1.
        refined = lax.add(lax.add(first, rest), dtype.type(tiny))
        u = lax.select_n(lax.ge(first, dtype.type(0.5)), refined, first)
        waiting = exponential_of(u)
    return lax.neg(lax.log(waiting))


@replayed(1)
def laplace(key: Any, shape: Any = (), dtype: Any = None, *, out_sharding: Any = None) -> Any:
    """Numbers with density ½ e^(−|x|).

    Args:
        key: one key.
        shape: of the result; () for one number.
        dtype: of the numbers, floating; the default one without it.
        out_sharding: how the result is split over a mesh.

    Raises:
        TypeError: `key` is no key.

    Example:
        >>> import morphax as jax
        >>> jax.random.laplace(jax.random.key(0), (3,)).shape
        (3,)
    """
    typed, shape, chosen = prepared("laplace", key, shape, dtype)
    u = _open_uniform(typed, shape, chosen, dtypes.finfo(chosen).epsneg - 1)
    return placed(lax.mul(lax.sign(u), lax.log1p(lax.neg(lax.abs(u)))), out_sharding)


@replayed(1)
def logistic(key: Any, shape: Any = (), dtype: Any = None, *, out_sharding: Any = None) -> Any:
    """Numbers with distribution function 1 / (1 + e⁻ˣ).

    Args:
        key: one key.
        shape: of the result; () for one number.
        dtype: of the numbers, floating; the default one without it.
        out_sharding: how the result is split over a mesh.

    Raises:
        TypeError: `key` is no key.

    Example:
        >>> import morphax as jax
        >>> jax.random.logistic(jax.random.key(0), (3,)).shape
        (3,)
    """
    typed, shape, chosen = prepared("logistic", key, shape, dtype)
    u = _open_uniform(typed, shape, chosen, dtypes.finfo(chosen).tiny)
    return placed(lax.sub(lax.log(u), lax.log1p(lax.neg(u))), out_sharding)


@replayed(1)
def cauchy(key: Any, shape: Any = (), dtype: Any = None, *, out_sharding: Any = None) -> Any:
    """Numbers with density 1 / (π (1 + x²)).

    Args:
        key: one key.
        shape: of the result; () for one number.
        dtype: of the numbers, floating; the default one without it.
        out_sharding: how the result is split over a mesh.

    Raises:
        TypeError: `key` is no key.

    Example:
        >>> import morphax as jax
        >>> jax.random.cauchy(jax.random.key(0), (3,)).shape
        (3,)
    """
    typed, shape, chosen = prepared("cauchy", key, shape, dtype)
    u = _open_uniform(typed, shape, chosen, dtypes.finfo(chosen).eps)
    angle = lax.mul(chosen.type(math.pi), lax.sub(u, chosen.type(0.5)))
    return placed(lax.tan(angle), out_sharding)


@replayed(2)
def pareto(
    key: Any, b: Any, shape: Any = None, dtype: Any = None, *, out_sharding: Any = None
) -> Any:
    """Numbers with density b x^(−b−1) for x ≥ 1.

    Args:
        key: one key.
        b: how fast the density falls, an array.
        shape: of the result; that of the parameters without it.
        dtype: of the numbers, floating; the default one without it.
        out_sharding: how the result is split over a mesh.

    Raises:
        TypeError: `key` is no key.
        ValueError: the parameters do not broadcast to `shape`.

    Example:
        >>> import morphax as jax
        >>> jax.random.pareto(jax.random.key(0), 2.0, (3,)).min() >= 1
        Array(True, dtype=bool)
    """
    typed, shape, chosen, b = prepared("pareto", key, shape, dtype, b)
    exponents = lax.div(exponential_of(unit_interval(typed, shape, chosen)), b)
    return placed(lax.exp(exponents), out_sharding)


@replayed(2)
def rayleigh(
    key: Any, scale: Any, shape: Any = None, dtype: Any = None, *, out_sharding: Any = None
) -> Any:
    """Numbers with density x/s² e^(−x²/2s²) for x ≥ 0 and s = `scale`.

    Args:
        key: one key.
        scale: the place s of the largest density, an array.
        shape: of the result; that of the parameters without it.
        dtype: of the numbers, floating; the default one without it.
        out_sharding: how the result is split over a mesh.

    Raises:
        TypeError: `key` is no key.
        ValueError: the parameters do not broadcast to `shape`.

    Example:
        >>> import morphax as jax
        >>> jax.random.rayleigh(jax.random.key(0), 2.0, (3,)).shape
        (3,)
    """
    typed, shape, chosen, scale = prepared("rayleigh", key, shape, dtype, scale)
    squares = lax.mul(lax.log(unit_interval(typed, shape, chosen)), chosen.type(-2))
    return placed(lax.mul(scale, lax.sqrt(squares)), out_sharding)


@replayed(3)
def weibull_min(
    key: Any, scale: Any, concentration: Any, shape: Any = (), dtype: Any = None
) -> Any:
    """Numbers with distribution function 1 − e^(−(x/s)^c), for s = `scale`, c = `concentration`.

    Args:
        key: one key.
        scale, concentration: s and c, arrays.
        shape: of the result.
        dtype: of the numbers, floating; the default one without it.

    Raises:
        TypeError: `key` is no key.
        ValueError: the parameters do not broadcast to `shape`.

    Example:
        >>> import morphax as jax
        >>> jax.random.weibull_min(jax.random.key(0), 1.0, 2.0, (3,)).shape
        (3,)
    """
    parameters = scale, concentration
    typed, shape, chosen, s, c = prepared("weibull_min", key, shape, dtype, *parameters)
    powers = exponential_of(unit_interval(typed, shape, chosen))
    return lax.mul(lax.pow(powers, lax.div(chosen.type(1), c)), s)


@replayed(4)
def triangular(
    key: Any,
    left: Any,
    mode: Any,
    right: Any,
    shape: Any = None,
    dtype: Any = None,
    *,
    out_sharding: Any = None,
) -> Any:
    """Numbers whose density rises evenly from 0 at `left` to `mode` and falls to 0 at `right`.

    Args:
        key: one key.
        left, mode, right: the ends and the summit, arrays.
        shape: of the result; that of the parameters without it.
        dtype: of the numbers, floating; the default one without it.
        out_sharding: how the result is split over a mesh.

    Raises:
        TypeError: `key` is no key.
        ValueError: the parameters do not broadcast to `shape`.

    Example:
        >>> import morphax as jax
        >>> jax.random.triangular(jax.random.key(0), 0.0, 1.0, 3.0, (3,)).shape
        (3,)
    """
    ends = left, mode, right
    typed, shape, chosen, left, mode, right = prepared("triangular", key, shape, dtype, *ends)
    width = lax.sub(right, left)
    u = unit_interval(typed, shape, chosen)
    rest = lax.sub(chosen.type(1), u)
    rising = lax.sqrt(lax.mul(lax.mul(u, width), lax.sub(mode, left)))
    falling = lax.sqrt(lax.mul(lax.mul(rest, width), lax.sub(right, mode)))
    is_rising = lax.lt(u, lax.div(lax.sub(mode, left), width))
    numbers = lax.select(is_rising, lax.add(left, rising), lax.sub(right, falling))
    return placed(numbers, out_sharding)


def geometric(
    key: Any, p: Any, shape: Any = None, dtype: Any = None, *, out_sharding: Any = None
) -> Any:
    """How many trials it takes to the first success, if each succeeds with probability `p`.

    Args:
        key: one key.
        p: the probability, an array (...).
        shape: of the result.
        dtype: an integer dtype, by default that of Python integers.
        out_sharding: layout of the result over devices.

    Raises:
        ValueError: `p` is known and not in [0, 1].

    Example:
        >>> import morphax as jax
        >>> jax.random.geometric(jax.random.key(0), 0.25, (10_000,)).mean().round(1)
        Array(4., dtype=float32)
    """
    check_probability("geometric", p)
    return _trials(key, p, shape, dtype, out_sharding=out_sharding)


@replayed(2)
def _trials(key: Any, p: Any, shape: Any, dtype: Any, *, out_sharding: Any) -> Any:
    integer = requested_dtype("geometric", dtype, INTEGER, default=int)
    typed, shape, chosen, p = prepared("geometric", key, shape, None, p)
    u = unit_interval(typed, shape, chosen)
    failures = lax.floor(lax.div(lax.log(u), lax.log1p(lax.neg(p))))
    trials = lax.add(failures, chosen.type(1))
    return placed(lax.convert_element_type(trials, integer), out_sharding)
