"""The hook `partition` of operations with bodies, asked by rematerialisation and by dead code."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp
from morphax import lax
from morphax.core import Equation, check_jaxpr
from morphax.core.partition import Demand, Partition, split
from morphax.experimental import checkify
from morphax.experimental.jet import jet
from morphax.extend.core.call_primitive import call_p
from morphax.extend.linear_util import wrap_init

X = np.float32(0.5)


def sin_and_exp(x: Any) -> Any:
    return jnp.sin(x), jnp.exp(jnp.cos(x))


def scanned(x: Any) -> Any:
    return lax.scan(lambda c, k: (jnp.sin(c) * k, jnp.exp(c)), x, np.ones(3, np.float32))


OPERATIONS = {
    "jit": jax.jit(sin_and_exp),
    "checkpoint": jax.checkpoint(sin_and_exp),
    "scan": scanned,
    "cond": lambda x: lax.cond(x > 0, sin_and_exp, lambda x: (x, x * x), x),
}


def equation(name: str) -> Equation:
    return jax.make_jaxpr(OPERATIONS[name])(X).eqns[-1]


def save_cos(eqn: Equation) -> bool:
    return eqn.primitive.name == "cos"


def applied(part: Partition, eqn: Equation) -> list[Any]:
    """The results of an equation: of the first pass, and where that has none, of the second."""
    jaxpr = jax.make_jaxpr(lambda: None)()
    outs = [v for e in (*part.first, *part.second) for v in e.outvars]
    wanted = tuple([v for v in eqn.outvars if v in outs])
    whole = jaxpr.replace(
        invars=tuple(dict.fromkeys(eqn.invars)),
        outvars=wanted,
        eqns=(*part.first, *part.second),
    )
    check_jaxpr(whole)
    return [len(part.first), len(part.second), len(part.saved)]


@pytest.mark.parametrize("name", OPERATIONS)
@pytest.mark.parametrize("saves", [None, save_cos])
def test_results_of_the_second_pass_are_computed_from_what_is_saved(name: str, saves: Any) -> None:
    eqn = equation(name)
    part = split(eqn, Demand((True, False), (False, True), saves))
    # A call saves the cosine; the scan has none, and repeats.
    expected = int(saves is not None and name != "scan")
    assert applied(part, eqn) == [1, 1, expected]
    assert {e.primitive for e in (*part.first, *part.second)} == {eqn.primitive}


@pytest.mark.parametrize("name", OPERATIONS)
def test_bodies_keep_their_dead_code(name: str) -> None:
    eqn = equation(name)
    assert split(eqn, Demand((True, False))) == Partition((eqn,))
    assert split(eqn, Demand((False, False))) == Partition(())


@pytest.mark.parametrize("name", OPERATIONS)
def test_what_depends_on_unknown_operands_waits_as_a_whole(name: str) -> None:
    eqn = equation(name)
    unknown = [True] * len(eqn.invars)
    assert split(eqn, Demand(unknown=unknown)) == Partition((), (eqn,))


def test_what_a_call_says_of_its_operands() -> None:
    donating = jax.jit(lambda x, y: (jnp.sin(x), jnp.sin(y)), donate_argnums=0)
    eqn = jax.make_jaxpr(donating)(X, X).eqns[-1]
    (known,) = split(eqn, Demand(unknown=(False, True))).first
    # The whole reads the operand too.
    assert known.params["donated_invars"] == (False,)
    pushed = jax.make_jaxpr(lambda x, y: jax.jvp(donating, (x, y), (x, y)))(X, X).eqns[-1]
    assert pushed.params["donated_invars"] == (True, False, False, False)
    guarded = jax.checkpoint(lambda x, y: (jnp.sin(x), jnp.sin(y)), prevent_cse=(False, True))
    eqn = jax.make_jaxpr(guarded)(X, X).eqns[-1]
    (known,) = split(eqn, Demand(unknown=(True, False))).first
    assert known.params["prevent_cse"] == (True,)


def called(x: Any) -> Any:
    def checked(x: Any) -> list[Any]:
        checkify.check(x < 1, "{} is too large", x)
        return [jnp.exp(jnp.cos(x))]

    return call_p.bind(x, subfuns=(wrap_init(checked),))[0]


def test_calls_of_other_people_are_lifted_too() -> None:
    error, _ = checkify.checkify(called)(np.float32(2))
    assert "2.0 is too large" in error.get()

    def plain(x: Any) -> Any:
        return call_p.bind(x, subfuns=(wrap_init(lambda x: [jnp.exp(jnp.cos(x))]),))[0]

    given = jet(plain, (X,), ([np.float32(1), np.float32(0)],))
    expected = jet(lambda x: jnp.exp(jnp.cos(x)), (X,), ([np.float32(1), np.float32(0)],))
    np.testing.assert_allclose(jax.tree.leaves(given), jax.tree.leaves(expected), rtol=1e-6)
    saving = jax.checkpoint(plain, policy=lambda prim, *_, **__: prim.name == "cos")
    slope = jax.grad(saving)(X)
    np.testing.assert_allclose(slope, -np.sin(X) * np.exp(np.cos(X)), rtol=1e-6)
