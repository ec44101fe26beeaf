"""Equations keep the user's line through every transformation."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

import morphax as jax
import morphax.numpy as jnp
from morphax import lax
from morphax.core import (
    Jaxpr,
    attributed_to,
    attributed_to_running_line,
    equation_source,
    jaxprs_in_params,
)
from morphax.util.frames import user_frame


def step(c: Any, x: Any) -> tuple[Any, Any]:
    y = jnp.sin(c)
    return y * x, jnp.exp(c)


@jax.jit
def inner(x: Any) -> Any:
    return jnp.cos(x) * x


def program(x: Any) -> Any:
    y = inner(x)
    y, ys = lax.scan(step, y, jnp.ones(3))
    z = lax.cond(y > 0, lambda a: jnp.tanh(a), lambda a: a / 3.0, y)
    return z + ys.sum()


FIRST = step.__code__.co_firstlineno
LAST = program.__code__.co_firstlineno + 4

TRANSFORMED: dict[str, Callable[[Any], Any]] = {
    "traced": program,
    "jit": jax.jit(program),
    "jvp": lambda x: jax.jvp(program, (x,), (x,)),
    "grad": jax.grad(program),
    "jit grad": jax.jit(jax.grad(program)),
    "grad jit": jax.grad(jax.jit(program)),
    "vmap grad": lambda x: jax.vmap(jax.grad(program))(jnp.stack([x, x])),
    "grad vmap": jax.grad(lambda x: jax.vmap(program)(jnp.stack([x, x])).sum()),
    "hessian": jax.hessian(program),
    "linearize": lambda x: jax.linearize(program, x)[1](x),
    "checkpoint": jax.grad(jax.checkpoint(program)),
}


def sources(jaxpr: Jaxpr) -> Iterator[Any]:
    for eqn in jaxpr.eqns:
        yield eqn.primitive.name, eqn.source
        for sub in jaxprs_in_params(eqn.params):
            yield from sources(sub)


@pytest.mark.parametrize("name", TRANSFORMED)
def test_lines_are_those_of_the_program(name: str) -> None:
    """All lines lie in the functions above, but for what the transformation's caller adds."""
    found = list(sources(jax.make_jaxpr(TRANSFORMED[name])(2.0)))
    lines = [s.line for _, s in found if s is not None and s.file == __file__]
    inside = [line for line in lines if FIRST <= line <= LAST]
    assert len(inside) > 0.8 * len(found)
    assert {line - FIRST for line in inside} >= {1, 2}


@pytest.mark.parametrize("name", ["grad", "jit grad", "grad jit", "hessian"])
def test_the_backward_pass_is_marked(name: str) -> None:
    found = [s for _, s in sources(jax.make_jaxpr(TRANSFORMED[name])(2.0)) if s is not None]
    assert any(s.backward for s in found)
    assert not all(s.backward for s in found)
    assert all(str(s) == str(s.transposed()) for s in found)


def test_a_forward_program_has_no_backward_equation() -> None:
    for name in ("traced", "jit", "jvp", "linearize"):
        found = [s for _, s in sources(jax.make_jaxpr(TRANSFORMED[name])(2.0))]
        assert not any(s.backward for s in found if s is not None), name


def test_rules_of_primitives_do_not_remember_their_first_user() -> None:
    def first(x: Any) -> Any:
        return jnp.arctan(x)

    def second(x: Any) -> Any:
        return jnp.arctan(x)

    for f in (first, second):
        found = [s for _, s in sources(jax.make_jaxpr(jax.grad(f))(2.0)) if s is not None]
        here = f.__code__.co_firstlineno + 1
        assert {s.line for s in found if s.function.endswith(f.__name__)} == {here}


def test_rules_of_the_user_keep_their_lines() -> None:
    @jax.custom_jvp
    def f(x: Any) -> Any:
        return jnp.sin(x)

    @f.defjvp
    def rule(primals: Any, tangents: Any) -> Any:
        return f(primals[0]), jnp.arctan(primals[0]) * tangents[0]

    line = rule.__code__.co_firstlineno + 2
    for g in (jax.grad(f), jax.grad(jax.jit(f)), jax.jit(jax.grad(jax.jit(f)))):
        found = dict(sources(jax.make_jaxpr(g)(2.0)))
        assert found["atan"].line == line


def test_the_place_in_force() -> None:
    here = user_frame()
    assert here is not None
    with attributed_to(here):
        assert equation_source() is here
        with attributed_to(None):
            assert equation_source() is here
        with attributed_to_running_line():
            running = equation_source()
            assert running is not None
            assert running.line == here.line + 7
        assert equation_source() is here
    assert equation_source() is not here
