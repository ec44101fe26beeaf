"""How counts are drawn, and the operations `random_poisson` and `random_binomial` that draw them.

Small expected counts are simulated event by event.  Larger ones are drawn by rejection: a
transformed pair of uniform numbers (u, v) gives a candidate k and its acceptance.  All numbers of
one key share the keys of the rounds, and a number that is accepted again in a later round of the
others is replaced; so a number depends on all that are drawn with it, as in JAX.

References: Hörmann, "The transformed rejection method for generating Poisson random variables",
Insurance: Mathematics and Economics 12 (1993); Hörmann, "The generation of binomial random
variates", Journal of Statistical Computation and Simulation 46 (1993); Devroye, "Non-uniform random
variate generation", Springer (1986), X.4.3.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any, final

import numpy as np

from .. import lax
from ..control.loops.while_loops import while_loop
from ..core import aval_of, not_differentiable
from ..lax.elementwise.special import lgamma_of_draws_p
from ..lax.random.key_use import random_clone_p
from ._generators import mapped
from ._keys import keys_from
from ._loop_draws import LoopDraw, any_of, for_keys
from ._uniform import unit_interval

_SMALL_COUNT = 10
"""Expected counts up to which events are simulated one by one."""


def _is_invalid(x: Any) -> Any:
    """Whether a parameter is NaN or negative."""
    return lax.bitwise_or(lax.ne(x, x), lax.lt(x, x.aval.dtype.type(0)))


def _transformed_rejection(
    key: Any,
    hat: tuple[Any, Any, Any, Any],
    like: Any,
    is_accepted: Callable[[Any, Any, Any], Any],
) -> Any:
    """Candidates of the first round in which all have been accepted, each the last accepted.

    Args:
        key: one typed key.
        hat: (a, b, c, vᵣ) of Hörmann: k = ⌊(2a / s + b) u + c⌋ with s = ½ − |u|, which is accepted
            at once if s ≥ 0.07 and v ≤ vᵣ.
        like: array of the shape and dtype of the result.
        is_accepted: the exact test, of k, s and v.
    """
    a, b, c, v_at_once = hat
    shape, dtype = like.aval.shape, like.aval.dtype
    number = dtype.type

    def draw(state: Any) -> Any:
        key, result, done = state
        key, *subkeys = keys_from(key, 3)
        u, v = [unit_interval(k, shape, dtype) for k in subkeys]
        u = lax.sub(u, number(0.5))
        s = lax.sub(number(0.5), lax.abs(u))
        k = lax.floor(lax.add(lax.mul(lax.add(lax.div(lax.mul(number(2), a), s), b), u), c))
        at_once = lax.bitwise_and(lax.ge(s, number(0.07)), lax.le(v, v_at_once))
        accepted = lax.bitwise_or(at_once, is_accepted(k, s, v))
        return key, lax.select(accepted, k, result), lax.bitwise_or(done, accepted)

    start = key, lax.full_like(like, -1), lax.full_like(like, False, bool)
    return while_loop(lambda state: any_of(lax.bitwise_not(state[2])), draw, start)[1]


def poisson_numbers(key: Any, lam: Any) -> Any:
    """The program: as many Poisson numbers of one key as there are rates."""
    number = lam.aval.dtype.type
    is_few = lax.bitwise_or(lax.ne(lam, lam), lax.lt(lam, number(_SMALL_COUNT)))
    few = lax.select(is_few, lam, lax.full_like(lam, 0))
    many = lax.select(is_few, lax.full_like(lam, 1e5), lam)
    # A number comes from one of two methods, so both may use the key.
    again = random_clone_p.bind(key)
    counts = lax.select(is_few, _events(again, few), _poisson_by_rejection(key, many))
    return lax.select(lax.eq(lam, number(0)), lax.full_like(counts, 0), counts)


def _events(key: Any, lam: Any) -> Any:
    """How many exponential waiting times fit into `lam`."""
    shape, dtype = lam.aval.shape, lam.aval.dtype
    end = lax.neg(lam)

    def wait(state: Any) -> Any:
        key, count, log_product = state
        key, subkey = keys_from(key)
        is_open = lax.gt(log_product, end)
        count = lax.select(is_open, lax.add(count, dtype.type(1)), count)
        return key, count, lax.add(log_product, lax.log(unit_interval(subkey, shape, dtype)))

    start = key, lax.full_like(lam, 0), lax.full_like(lam, 0)
    _, count, _ = while_loop(lambda state: any_of(lax.gt(state[2], end)), wait, start)
    return lax.sub(count, dtype.type(1))


def _poisson_by_rejection(key: Any, lam: Any) -> Any:
    number = lam.aval.dtype.type
    log_lam = lax.log(lam)
    b = lax.add(number(0.931), lax.mul(number(2.53), lax.sqrt(lam)))
    a = lax.add(number(-0.059), lax.mul(number(0.02483), b))
    inverse_alpha = lax.add(number(1.1239), lax.div(number(1.1328), lax.sub(b, number(3.4))))
    v_at_once = lax.sub(number(0.9277), lax.div(number(3.6224), lax.sub(b, number(2))))

    def is_accepted(k: Any, s: Any, v: Any) -> Any:
        height = lax.add(lax.div(a, lax.mul(s, s)), b)
        log_ratio = lax.log(lax.div(lax.mul(v, inverse_alpha), height))
        log_density = lax.sub(
            lax.add(lax.neg(lam), lax.mul(k, log_lam)),
            lgamma_of_draws_p.bind(lax.add(k, number(1))),
        )
        is_wrong = lax.bitwise_or(
            lax.lt(k, number(0)), lax.bitwise_and(lax.lt(s, number(0.013)), lax.gt(v, s))
        )
        return lax.bitwise_and(lax.bitwise_not(is_wrong), lax.le(log_ratio, log_density))

    hat = a, b, lax.add(lam, number(0.43)), v_at_once
    return _transformed_rejection(key, hat, lam, is_accepted)


def binomial_numbers(key: Any, n: Any, p: Any) -> Any:
    """The program: as many binomial numbers of one key as there are parameters."""
    number = n.aval.dtype.type
    full = lax.full_like
    is_rare = lax.lt(p, number(0.5))
    q = lax.select(is_rare, p, lax.sub(number(1), p))
    wrong_n, wrong_q = _is_invalid(n), _is_invalid(q)
    is_infinite = lax.eq(lax.abs(n), number(np.inf))
    q = lax.select(wrong_q, full(q, 0.01), q)
    # Where nothing can happen, not even trials without end wait for it.
    is_idle = lax.bitwise_and(is_infinite, lax.eq(q, number(0)))
    n = lax.select(is_idle, full(n, 0), n)
    is_few = lax.bitwise_or(wrong_n, lax.le(lax.mul(n, q), number(_SMALL_COUNT)))
    trials = lax.floor(n)
    # A number comes from one of two methods, so both may use the key.
    again, none = random_clone_p.bind(key), full(n, 0)
    few = _trials_to_successes(again, lax.select(is_few, trials, none), lax.log1p(lax.neg(q)))
    many = _binomial_by_rejection(
        key, lax.select(is_few, full(n, 1e4), trials), lax.select(is_few, full(q, 0.5), q)
    )
    counts = lax.select(is_few, few, many)
    is_wrong = lax.bitwise_or(wrong_n, wrong_q)
    counts = lax.select(is_wrong, full(n, np.nan), counts)
    is_possible = lax.bitwise_not(lax.bitwise_or(is_wrong, lax.eq(p, number(0))))
    too_many = lax.bitwise_and(is_infinite, is_possible)
    counts = lax.select(too_many, full(n, np.inf), counts)
    keep = lax.bitwise_or(lax.bitwise_or(is_rare, is_wrong), is_infinite)
    return lax.select(keep, counts, lax.sub(trials, counts))


def _trials_to_successes(key: Any, n: Any, log_failure: Any) -> Any:
    """How many geometric numbers of trials fit into `n`."""
    shape, dtype = n.aval.shape, n.aval.dtype

    def wait(state: Any) -> Any:
        key, count, total = state
        subkey, key = keys_from(key)
        count = lax.select(lax.le(total, n), lax.add(count, dtype.type(1)), count)
        trials = lax.ceil(lax.div(lax.log(unit_interval(subkey, shape, dtype)), log_failure))
        return key, count, lax.add(total, trials)

    start = key, lax.full_like(n, 0), lax.full_like(n, 0)
    _, count, _ = while_loop(lambda state: any_of(lax.le(state[2], n)), wait, start)
    return lax.sub(count, dtype.type(1))


def _binomial_by_rejection(key: Any, n: Any, p: Any) -> Any:
    number = n.aval.dtype.type
    one, half = number(1), number(0.5)
    rest = lax.sub(one, p)
    deviation = lax.sqrt(lax.mul(lax.mul(n, p), rest))
    b = lax.add(number(1.15), lax.mul(number(2.53), deviation))
    a = lax.add(lax.add(number(-0.0873), lax.mul(number(0.0248), b)), lax.mul(number(0.01), p))
    odds = lax.div(p, rest)
    alpha = lax.mul(lax.add(number(2.83), lax.div(number(5.1), b)), deviation)
    mode = lax.floor(lax.mul(lax.add(n, one), p))

    def log_odds(k: Any, others: Any) -> Any:
        return lax.log(lax.div(lax.mul(odds, lax.add(others, one)), lax.add(k, one)))

    at_mode = lax.mul(lax.add(mode, half), lax.neg(log_odds(mode, lax.sub(n, mode))))
    corrections_at_mode = lax.add(_stirling_rest(mode), _stirling_rest(lax.sub(n, mode)))

    def is_accepted(k: Any, s: Any, v: Any) -> Any:
        height = lax.add(lax.div(a, lax.mul(s, s)), b)
        log_ratio = lax.log(lax.div(lax.mul(v, alpha), height))
        others, others_at_mode = lax.sub(n, k), lax.sub(n, mode)
        ratio = lax.div(lax.add(others_at_mode, one), lax.add(others, one))
        log_density = lax.add(
            lax.add(at_mode, lax.mul(lax.add(n, one), lax.log(ratio))),
            lax.mul(lax.add(k, half), log_odds(k, others)),
        )
        rests = lax.sub(lax.sub(corrections_at_mode, _stirling_rest(k)), _stirling_rest(others))
        is_inside = lax.bitwise_and(lax.ge(k, number(0)), lax.le(k, n))
        return lax.bitwise_and(is_inside, lax.le(log_ratio, lax.add(log_density, rests)))

    v_at_once = lax.sub(number(0.92), lax.div(number(4.2), b))
    hat = a, b, lax.add(lax.mul(n, p), half), v_at_once
    return _transformed_rejection(key, hat, n, is_accepted)


# log k! minus Stirling's (k + ½) log(k + 1) − (k + 1) + ½ log 2π, for k = 0, 1, …, 9.
_STIRLING_RESTS = tuple(
    math.lgamma(k + 1) - (k + 0.5) * math.log(k + 1) + (k + 1) - 0.5 * math.log(2 * math.pi)
    for k in range(10)
)


def _stirling_rest(k: Any) -> Any:
    """What Stirling's formula for log k! leaves out; beyond 9, as in JAX, its value near 9."""
    dtype = k.aval.dtype
    x = 10.0
    beyond = (1 / 12 - (1 / 360 - 1 / 1260 / x**2) / x**2) / x
    rest = lax.full_like(k, beyond)
    for i, value in enumerate(_STIRLING_RESTS):
        rest = lax.select(lax.eq(k, dtype.type(i)), lax.full_like(k, value), rest)
    return rest


class CountDraw(LoopDraw):
    """Counts, whose program is one for each key; a subclass defines `numbers`."""

    jvp = not_differentiable("counts do not change with their parameters but by jumps")

    def numbers(self, key: Any, *parameters: Any) -> Any:
        """The program for one key."""
        raise AssertionError(f"{self.name} defines numbers")

    def draw(self, keys: Any, *parameters: Any, **params: Any) -> Any:
        return for_keys(partial(_mapped_numbers, self), keys, *parameters)


def _mapped_numbers(primitive: CountDraw, keys: Any, *parameters: Any) -> Any:
    return mapped(primitive.numbers, aval_of(keys).ndim)(keys, *parameters)


@final
class RandomPoisson(CountDraw):
    """Poisson numbers of rates (..., *rest) and keys (...)."""

    name = "random_poisson"
    native_name = "draw_poisson"
    native_dtypes = (np.float32,)

    def numbers(self, key: Any, *parameters: Any) -> Any:
        return poisson_numbers(key, *parameters)


@final
class RandomBinomial(CountDraw):
    """Binomial numbers of trials and probabilities (..., *rest) and keys (...)."""

    name = "random_binomial"
    native_name = "draw_binomial"

    def numbers(self, key: Any, *parameters: Any) -> Any:
        return binomial_numbers(key, *parameters)


random_poisson_p = RandomPoisson()
random_binomial_p = RandomBinomial()
