"""Operations of which a part is known: programs that compute primals and tangents in one go."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp
from morphax import lax
from morphax.core import Jaxpr, check_jaxpr
from morphax.custom_batching import custom_vmap
from morphax.transforms.known_parts import known_program

Function = Callable[[Any], Any]


@pytest.fixture(autouse=True)
def _checks() -> Iterator[None]:
    with jax.enable_checks(True):
        yield


@custom_vmap
def mapped(x: Any) -> Any:
    return jnp.sin(x)


@mapped.def_vmap
def _rule(size: int, batched: Any, x: Any) -> Any:
    return jnp.sin(x), batched[0]


def scanned(x: Any) -> Any:
    """A carry that counts, a carry that depends on x, results of both kinds."""

    def step(carry: Any, k: Any) -> Any:
        count, c = carry
        return (count + 1.0, jnp.sin(c) + k), (count * k, c * count)

    (count, c), (known, unknown) = lax.scan(step, (0.0, x), np.array([0.5, 1.0, 2.0], np.float32))
    return count * c + jnp.sum(known * unknown)


PROGRAMS: dict[str, Function] = {
    "jit": lambda x: jnp.sin(jax.jit(jnp.sin)(x)),
    "jit with constants": lambda x: jax.jit(lambda x: jnp.sum(jnp.arange(3.0) * x))(x) ** 2,
    "nested jit": lambda x: jnp.sin(jax.jit(lambda x: jax.jit(jnp.sin)(x) * x)(x)),
    "scan": lambda x: jnp.sin(scanned(x)),
    "scan in reverse": lambda x: jnp.sum(
        lax.scan(lambda c, y: (c * y, c + y), x, jnp.ones(3) * x, reverse=True)[1] ** 2
    ),
    "fori_loop of jit": lambda x: lax.fori_loop(0, 3, lambda _, x: jax.jit(jnp.sin)(x), x),
    "cond": lambda x: jnp.sin(lax.cond(x > 0, jnp.sin, jnp.cos, x)),
    "cond with a constant branch": lambda x: jnp.sin(
        lax.cond(x < 0, lambda x: (x, 1.0), lambda x: (2.0, x), x)[1]
    ),
    "fori_loop": lambda x: jnp.sin(lax.fori_loop(0, 3, lambda i, x: jnp.sin(x) + i, x)),
    "checkpoint": lambda x: jnp.sin(jax.checkpoint(jnp.sin, prevent_cse=(True,))(x)),
    "custom_vmap": lambda x: jnp.sin(mapped(x)),
}


def by_rule(rule: Callable[[Function], Any]) -> Callable[[Function], Function]:
    """A function whose derivative is given by a rule made from it."""

    def made(f: Function) -> Function:
        g = jax.custom_jvp(f)
        g.defjvp(rule(f))
        return g

    return made


def nonlinear_use(f: Function) -> Any:
    """A rule that goes on computing with the primal result."""

    def rule(primals: Any, tangents: Any) -> Any:
        y, t = jax.jvp(f, primals, tangents)
        return jnp.sqrt(y * y) * jnp.sign(y), jnp.exp(y) * t / jnp.exp(y)

    return rule


RULES: dict[str, Callable[[Function], Function]] = {
    "restated": by_rule(lambda f: lambda p, t: jax.jvp(f, p, t)),
    "restated under jit": by_rule(lambda f: jax.jit(lambda p, t: jax.jvp(f, p, t))),
    "used further": by_rule(nonlinear_use),
}


@pytest.mark.parametrize("f", PROGRAMS.values(), ids=list(PROGRAMS))
@pytest.mark.parametrize("restate", RULES.values(), ids=list(RULES))
def test_a_rule_that_restates_the_derivative_changes_nothing(
    f: Function, restate: Callable[[Function], Function]
) -> None:
    g = restate(f)
    expected = jax.jvp(f, (0.7,), (1.0,))
    for make in (lambda h: h, jax.jit):
        np.testing.assert_allclose(make(jax.value_and_grad(g))(0.7), expected, rtol=1e-5)
        np.testing.assert_allclose(
            make(lambda x: jax.linearize(g, x)[1](1.0))(0.7), expected[1], rtol=1e-5
        )
    check_jaxpr(jax.make_jaxpr(jax.grad(g))(0.7))
    xs = np.array([0.7, 0.2], np.float32)
    np.testing.assert_allclose(
        jax.grad(lambda xs: jnp.sum(jax.vmap(g)(xs)))(xs), jax.vmap(jax.grad(f))(xs), rtol=1e-5
    )


@pytest.mark.parametrize("f", PROGRAMS.values(), ids=list(PROGRAMS))
def test_the_derivative_is_transposed_where_it_stands(f: Function) -> None:
    def pulled(x: Any) -> Any:
        return jax.linear_transpose(lambda t: jax.jvp(f, (x,), (t,))[1], x)(1.0)[0]

    expected = jax.grad(f)(0.7)
    np.testing.assert_allclose(pulled(0.7), expected, rtol=1e-5)
    np.testing.assert_allclose(jax.jit(pulled)(0.7), expected, rtol=1e-5)


def test_forward_mode_goes_through_loops_of_unknown_length() -> None:
    def f(x: Any) -> Any:
        return jnp.sin(
            lax.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, c[1] * c[1]), (0, x))[1]
        )

    for bound in (None, 5):
        g = RULES["restated"](f)
        expected = jax.jvp(f, (0.9,), (1.0,))
        if bound is None:
            out, push = jax.linearize(g, 0.9)
        else:
            with jax.reverse_while(bound):
                out, push = jax.linearize(g, 0.9)
        np.testing.assert_allclose((out, push(1.0)), expected, rtol=1e-6)


def test_the_primal_result_of_a_rule_is_concrete() -> None:
    """Python control flow in a rule sees what a jitted function computes from primals."""

    @jax.custom_jvp
    def f(x: Any) -> Any:
        return jnp.sin(x)

    @f.defjvp
    def rule(primals: Any, tangents: Any) -> Any:
        y, t = jax.jit(lambda p, t: jax.jvp(jnp.sin, p, t))(primals, tangents)
        return y, t if y > 0 else 5.0 * t

    np.testing.assert_allclose(jax.grad(f)(0.5), np.cos(0.5), rtol=1e-6)
    np.testing.assert_allclose(jax.grad(f)(-0.5), 5.0 * np.cos(0.5), rtol=1e-6)


def known(f: Callable[..., Any], *unknown: bool) -> tuple[Jaxpr, tuple[bool, ...]]:
    program = known_program(jax.make_jaxpr(f)(*[1.0] * len(unknown)), unknown)
    check_jaxpr(program.jaxpr)
    return program.jaxpr, program.results


def test_the_known_program_drops_what_it_does_not_need() -> None:
    jaxpr, results = known(lambda x, y: (jnp.sin(x), x * y, jnp.cos(y)), False, True)
    assert results == (True, False, False)
    assert [eqn.primitive.name for eqn in jaxpr.eqns] == ["sin"]
    assert len(jaxpr.invars) == 1


def test_the_known_program_keeps_effects_of_known_values() -> None:
    def f(x: Any, y: Any) -> Any:
        jax.debug.print("{}", x)
        jax.debug.print("{}", y)
        return y

    jaxpr, results = known(f, False, True)
    assert results == (False,)
    assert len(jaxpr.eqns) == 1
    assert jaxpr.effects


def test_an_unknown_choice_makes_all_unknown() -> None:
    choose = lambda i, x: lax.cond(i > 0, lambda x: (x, 1.0), lambda x: (2.0 * x, 1.0), x)  # noqa: E731
    assert known(choose, True, False)[1] == (False, False)
    assert known(choose, False, True)[1] == (False, True)
