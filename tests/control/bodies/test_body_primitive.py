"""An operation with bodies of its own: what follows from its wiring."""

from __future__ import annotations

from typing import final

import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp
from morphax import core, lax
from morphax.control.bodies.body_primitive import HasBodies
from morphax.control.bodies.fixpoint import fixpoint
from morphax.control.bodies.wiring import Body, Role, Wiring
from morphax.control.program_call import ProgramCall
from morphax.experimental import checkify
from morphax.experimental.jet import jet
from morphax.transforms.known_parts import known_equation


@final
class Repeat(HasBodies):
    """Apply a program to a carry, `times` times."""

    name = "repeat_for_tests"
    wiring = Wiring(
        roles=(Role("consts", "num_consts"), Role("carry")),
        bodies=(Body("jaxpr", takes=("consts", "carry"), gives=("carry",)),),
        carried="carry",
    )
    transpose = core.not_linear("it is for tests")

    def interpret(self, *operands, jaxpr, times, **params):
        consts, carry = self.wiring.parts(operands, params).values()
        for _ in range(times):
            carry = core.apply_jaxpr(core.without_references(jaxpr), *consts, *carry)
        return carry

    execute = ProgramCall.execute

    def lower(self, b, outs, *operands, **params):
        program = core.stage_closed(
            lambda *x: self.interpret(*x, **params), [v.aval for v in operands]
        )
        return b.inline(program, *operands)


repeat_p = Repeat()


def repeat(function, times, *carry):
    avals = [core.aval_of(x) for x in carry]
    jaxpr, consts = core.stage_with_operands(function, avals)
    sizes = {"jaxpr": jaxpr, "times": times, "num_consts": len(consts)}
    return repeat_p.bind(*consts, *carry, **sizes)


def powers(k, x):
    """The second component gets its derivative from the first; the last one has it at first."""
    one, n = jnp.float32(1), np.int32(0)
    return repeat(lambda a, b, n, c: (a * k, b + jnp.sin(a), n + 1, one + 1), 3, x, one, n, x)


def by_hand(k, x):
    a, b = x, jnp.float32(1)
    for _ in range(3):
        a, b = a * k, b + jnp.sin(a)
    return [a, b, jnp.int32(3), jnp.float32(2)]


def floats(outs):
    return [outs[0], outs[1], outs[3]]


K, X = jnp.float32(1.5), jnp.float32(0.4)


def check(function, *operands):
    wanted = function(by_hand)(*operands)
    for apply in (function(powers), jax.jit(function(powers))):
        got = apply(*operands)
        for a, b in zip(jax.tree.leaves(got), jax.tree.leaves(wanted), strict=True):
            np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=1e-6)


def test_results():
    check(lambda f: f, K, X)


@pytest.mark.parametrize("argument", [0, 1])
def test_jvp(argument):
    def pushed(f):
        return jax.jacfwd(lambda k, x: floats(f(k, x)), argument)

    check(pushed, K, X)
    check(lambda f: jax.jacfwd(pushed(f), argument), K, X)


@pytest.mark.parametrize("axes", [(None, 0), (0, None), (0, 0)])
def test_vmap(axes):
    batch = [
        jnp.linspace(0.1, 1, 3) if axis == 0 else x for axis, x in zip(axes, (K, X), strict=True)
    ]
    check(lambda f: jax.vmap(lambda k, x: floats(f(k, x)), axes), *batch)
    jaxpr = jax.make_jaxpr(jax.vmap(powers, axes))(*batch)
    # The counter is the same for all members.
    (eqn,) = [eqn for eqn in jaxpr.eqns if eqn.primitive is repeat_p]
    assert [v.aval.shape for v in eqn.outvars[:3]] == [(3,), (3,), ()]


def test_jet():
    check(lambda f: lambda k, x: jet(lambda x: floats(f(k, x)), (x,), ([X, X, X],)), K, X)


def test_known_part():
    eqn = jax.make_jaxpr(powers)(K, X).eqns[-1]
    part = known_equation(eqn, (False, False, True, False, False))
    assert part.invars == (*eqn.invars[:2], *eqn.invars[3:])
    assert part.outvars == (eqn.outvars[0], *eqn.outvars[2:])
    part = known_equation(eqn, (False, True, False, False, True))
    assert part.outvars == (eqn.outvars[2],)


def test_references_are_carried_if_they_change():
    def summed(x, y):
        total, factor = jax.new_ref(y), jax.new_ref(x)

        def step(a):
            total[...] = total[...] + a
            return [a * factor[...]]

        return repeat(step, 3, x)[0], total[...]

    assert np.allclose(summed(jnp.float32(2), jnp.float32(1)), (16, 15))
    assert np.allclose(jax.jit(summed)(jnp.float32(2), jnp.float32(1)), (16, 15))
    # a + a² + a³ at a = 2
    slope = jax.jvp(lambda x: summed(x, jnp.float32(0))[1], (jnp.float32(2),), (jnp.float32(1),))[1]
    assert slope == 1 + 2 * 2 + 3 * 4


def test_checks():
    def checked(x):
        def step(a):
            checkify.check(a < 5, "{a} is too large", a=a)
            return [2 * a]

        return repeat(step, 3, x)[0]

    error, out = checkify.checkify(checked)(jnp.float32(1))
    assert (error.get(), out) == (None, 8)
    error, _ = jax.jit(checkify.checkify(checked))(jnp.float32(2))
    assert "8.0 is too large" in error.get()


def test_fixpoint():
    def shifted(mask):
        return [False, *mask[:-1]]

    assert fixpoint([False, True, False], shifted) == [False, True, True]
    assert fixpoint([False, False, True], shifted) == [False, False, True]
    assert fixpoint([], list) == []


def test_reads_of_a_loop_stay_constants():
    def loop(x):
        limit = jax.new_ref(x)
        return lax.while_loop(lambda i: i < limit[...], lambda i: i + 1, 0.0)

    (eqn,) = [
        e for e in jax.make_jaxpr(jax.vmap(loop))(jnp.ones(2)).eqns if e.primitive is lax.while_p
    ]
    assert eqn.params["cond_nconsts"] == 1
