"""How gamma numbers are drawn, and the operation `random_gamma` that draws them.

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

from collections.abc import Sequence
from functools import partial
from typing import Any, final

import numpy as np

from .. import lax
from ..control.loops.while_loops import while_loop
from ..core import aval_of
from ..dtypes import bfloat16
from ..runtime.native_calls import DRAW_GENERATORS
from ._generators import generator_of, split_keys
from ._inversion import exponential_of
from ._keys import keys_from
from ._loop_draws import LoopDraw, any_of, for_keys
from ._normal import standard_normal
from ._uniform import unit_interval


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


def drawn_by_rejection(keys: Any, a: Any, *, log_space: bool) -> Any:
    """Gamma numbers, or their logarithms.

    Args:
        keys: typed keys (...).
        a: parameters (..., *rest), of which each takes a key split from those.
        log_space: whether to return logarithms.
    """
    keys = split_keys(keys, a.aval.shape[aval_of(keys).ndim :])
    return for_keys(partial(_one_of_each_key, log_space=log_space), keys, a)


def _one_of_each_key(keys: Any, a: Any, *, log_space: bool) -> Any:
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


def _slope(a: Any, drawn: Any, log_space: bool) -> Any:
    """How a gamma number, or its logarithm, moves with its parameter."""
    if not log_space:
        return lax.random_gamma_grad(a, drawn)
    number = a.aval.dtype.type
    is_tiny = lax.lt(drawn, number(_LARGEST_OF_POWER))
    x = lax.exp(lax.select(is_tiny, lax.full_like(a, 0), drawn))
    slope = lax.div(lax.random_gamma_grad(a, x), x)
    limit = lax.div(lax.sub(lax.digamma(lax.add(a, number(1))), drawn), a)
    return lax.select(is_tiny, limit, slope)


@final
class RandomGamma(LoopDraw):
    """Gamma numbers, or their logarithms, of parameters (..., *rest) and keys (...)."""

    name = "random_gamma"
    native_name = "draw_gamma"
    native_dtypes = (np.float32, np.float64, np.float16, bfloat16)
    native_generators = DRAW_GENERATORS

    def method(self, **params: Any) -> str:
        return "loggamma" if params["log_space"] else "gamma"

    def native_flags(self, keys: Any, **params: Any) -> tuple[Any, ...]:
        return params["log_space"], DRAW_GENERATORS.index(generator_of(keys.dtype).name)

    def draw(self, keys: Any, *parameters: Any, log_space: bool) -> Any:
        return drawn_by_rejection(keys, *parameters, log_space=log_space)

    def jvp(
        self, primals: Sequence[Any], tangents: Sequence[Any], *, log_space: bool, **order: bool
    ) -> tuple[Any, Any]:
        drawn = self.bind(*primals, log_space=log_space, **order)
        return drawn, lax.mul(tangents[1], _slope(primals[1], drawn, log_space))


random_gamma_p = RandomGamma()
