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

The program `drawn_by_rejection` says what the numbers are.  Eager mode draws the common ones, of
float32 from keys of threefry, in `native/gamma.cpp`, for to compile the program takes half a
second; others it compiles.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, final

import numpy as np

from .. import lax
from ..array import Array
from ..control.jit.jit import jit
from ..control.loops.loops import while_loop
from ..core import AxisFlow, BatchAxes, Jaxpr, Primitive, ShapedArray, aval_of, like, not_linear
from ..core.staging import stage_closed
from ..engines import loops
from ..engines.xla.stablehlo import Builder, Value
from ..errors import ShapeError
from ..lax.ground.kinds import FLOATING, KEY
from ..lax.ground.linear_structure import moved_axis
from ..lax.random.random_bits import threefry_prng_impl
from ..util.compiled import part
from ..util.messages import message
from ._generators import split_keys
from ._inversion import exponential_of
from ._keys import keys_from
from ._normal import standard_normal
from ._uniform import unit_interval

_native = part("random")


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


def drawn_by_rejection(keys: Any, a: Any, *, log_space: bool) -> Any:
    """Gamma numbers, or their logarithms.

    Args:
        keys: typed keys (...).
        a: parameters (..., *rest), of which each takes a key split from those.
        log_space: whether to return logarithms.
    """
    keys = split_keys(keys, a.aval.shape[aval_of(keys).ndim :])
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


@partial(jit, static_argnames="log_space")
def _compiled(keys: Any, a: Any, log_space: bool) -> Any:
    return drawn_by_rejection(keys, a, log_space=log_space)


@final
class RandomGamma(Primitive):
    """Gamma numbers, or their logarithms, of parameters (..., *rest) and keys (...)."""

    name = "random_gamma"
    lowers_key_data = True
    key_use = "draws"
    transpose = not_linear()

    def abstract_eval(self, keys: Any, a: Any, *, log_space: bool) -> ShapedArray:
        KEY.check(self.name, 0, keys)
        FLOATING.check(self.name, 1, a)
        if keys.shape != a.shape[: keys.ndim]:
            raise ShapeError(
                message(
                    self.name,
                    given=f"keys of shape {keys.shape}, parameters of shape {a.shape}",
                    expected="keys for the leading axes of the parameters",
                    fix="Pass one key, or broadcast the parameters.",
                )
            )
        return like(a)

    def axis_flow(self, keys: Any, a: Any, *, log_space: bool) -> AxisFlow:
        axes = tuple(range(a.ndim))
        return AxisFlow((axes[: keys.ndim], axes), (axes,))

    def kernel(self, keys: Any, a: Any, *, log_space: bool) -> Callable[..., Any]:
        is_common = keys.dtype is threefry_prng_impl.key_dtype and a.dtype == np.float32
        if _native is not None and is_common:
            return partial(_drawn_natively, log_space=log_space)
        avals = keys.update(sharding=None), a.update(sharding=None)

        def draw(*numbers: Any) -> Any:
            keys, a = map(Array, avals, numbers)
            return _compiled(keys, a, log_space).to_host()

        return draw

    def evaluate(self, keys: Any, a: Any, *, log_space: bool) -> Any:
        avals = like(shape=keys.shape, dtype=threefry_prng_impl.key_dtype), aval_of(a)
        return self.kernel(*avals, log_space=log_space)(keys, a)

    def lower(self, b: Builder, out: Any, *operands: Value, log_space: bool) -> Value:
        (drawn,) = b.inline(_program([v.aval for v in operands], log_space), *operands)
        return drawn

    def to_loops(
        self, b: loops.Builder, out: Any, keys: loops.Value, a: loops.Value, *, log_space: bool
    ) -> loops.Value:
        avals = [
            like(shape=keys.shape, dtype=threefry_prng_impl.key_dtype),
            like(shape=a.shape, dtype=a.dtype),
        ]
        (drawn,) = b.inline(_program(avals, log_space), keys, a, places=b.places)
        return drawn

    def jvp(
        self, primals: Sequence[Any], tangents: Sequence[Any], *, log_space: bool
    ) -> tuple[Any, Any]:
        drawn = self.bind(*primals, log_space=log_space)
        return drawn, lax.mul(tangents[1], _slope(primals[1], drawn, log_space))

    def batch(
        self, axes: BatchAxes, operands: Sequence[Any], dims: Sequence[Any], *, log_space: bool
    ) -> tuple[Any, int]:
        keys, a = [
            lax.broadcast(x, (axes.size,)) if dim is None else moved_axis(x, dim, 0)
            for x, dim in zip(operands, dims, strict=True)
        ]
        return self.bind(keys, a, log_space=log_space), 0


def _program(avals: Sequence[Any], log_space: bool) -> Jaxpr:
    """The drawing as a program."""

    def program(keys: Any, a: Any) -> list[Any]:
        return [drawn_by_rejection(keys, a, log_space=log_space)]

    return stage_closed(program, avals)


def _drawn_natively(keys: Any, a: Any, *, log_space: bool) -> Any:
    out = np.empty(a.shape, np.float32)
    rows = max(keys.size, 1), -1 if a.size else 0
    assert _native is not None, "the kernel is chosen where it is compiled"
    _native.draw_gamma(keys.reshape(-1), a.reshape(rows), out.reshape(rows), log_space)
    return out


random_gamma_p = RandomGamma()
