"""Branches: values, derivatives, batched predicates, captured tracers, errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp
from morphax import lax
from morphax.core import check_jaxpr


def piecewise(x: Any) -> Any:
    return lax.cond(x < 1.0, jnp.sin, lambda x: x * x, x)


@pytest.mark.parametrize("x", [0.5, 2.0])
def test_value_and_derivatives_of_the_branch_taken(x: float) -> None:
    value, slope = (np.sin(x), np.cos(x)) if x < 1 else (x * x, 2 * x)
    curvature = -np.sin(x) if x < 1 else 2.0
    for f in (piecewise, jax.jit(piecewise)):
        assert np.allclose(f(x), value)
        assert np.allclose(jax.grad(f)(x), slope)
        assert np.allclose(jax.jacfwd(f)(x), slope)
        assert np.allclose(jax.hessian(f)(x), curvature)
    check_jaxpr(jax.make_jaxpr(jax.grad(piecewise))(x))


def test_batched_predicate_selects() -> None:
    xs = np.array([0.5, 2.0], np.float32)
    np.testing.assert_allclose(jax.vmap(piecewise)(xs), [np.sin(0.5), 4.0], rtol=1e-6)
    given = jax.jit(jax.vmap(jax.grad(piecewise)))(xs)
    np.testing.assert_allclose(given, [np.cos(0.5), 4.0], rtol=1e-6)


def test_batched_operand_with_one_predicate_keeps_the_branch() -> None:
    f = jax.vmap(lambda p, x: lax.cond(p, jnp.sin, jnp.cos, x), (None, 0))
    np.testing.assert_allclose(f(True, np.zeros(3, np.float32)), np.zeros(3))
    assert "cond" in str(jax.make_jaxpr(f)(True, np.zeros(3, np.float32)))


def test_branches_close_over_traced_values() -> None:
    def f(x: Any, y: Any) -> Any:
        return lax.cond(x > 0, lambda: x * y, lambda: y)

    assert jax.grad(jax.jit(f), 1)(2.0, 3.0) == 2.0
    assert jax.grad(f, (0, 1))(-2.0, 3.0) == (0.0, 1.0)


@pytest.mark.parametrize(("index", "value"), [(-3, 1.0), (0, 1.0), (1, 2.0), (2, 3.0), (9, 3.0)])
def test_switch_clamps(index: int, value: float) -> None:
    branches = [lambda: 1.0, lambda: 2.0, lambda: 3.0]
    assert lax.switch(index, branches) == value
    assert jax.jit(lambda i: lax.switch(i, branches))(index) == value


@pytest.mark.parametrize("disable_jit", [False, True])
@pytest.mark.parametrize("index", [np.int64(2**62), np.uint32(2**32 - 1), np.int8(127)])
def test_switch_clamps_in_the_dtype_of_the_index(index: Any, disable_jit: bool) -> None:
    branches = [lambda i=i: i for i in range(300)]
    with jax.enable_x64(True), jax.disable_jit(disable_jit):
        assert lax.switch(index, branches) == min(int(index), 299)


def test_branches_with_different_residuals() -> None:
    def f(i: Any, x: Any) -> Any:
        return lax.switch(i, [jnp.exp, lambda x: jnp.sin(x) * jnp.cos(x), lambda x: x], x).sum()

    x = np.array([0.3, 0.6], np.float32)
    for i, slope in enumerate([np.exp(x), np.cos(2 * x), np.ones(2)]):
        np.testing.assert_allclose(jax.jit(jax.grad(f, 1))(i, x), slope, rtol=1e-5)


ERRORS = [
    pytest.param(
        lambda: lax.cond(True, lambda x: x, lambda x: (x,), 1.0),
        TypeError,
        "results of one structure",
        id="structure",
    ),
    pytest.param(
        lambda: lax.cond(True, lambda x: {"a": x}, lambda x: {"a": jnp.ones(2)}, 1.0),
        TypeError,
        r"result\['a'\](.|\n)*equal shapes",
        id="shape",
    ),
    pytest.param(
        lambda: lax.cond(jnp.ones(2), lambda: 1, lambda: 2), TypeError, "argument pred", id="pred"
    ),
    pytest.param(lambda: lax.cond(True, 1, 2), TypeError, "callables", id="callables"),
    pytest.param(lambda: lax.switch(0, []), ValueError, "at least one branch", id="no branches"),
    pytest.param(lambda: lax.switch(0.5, [abs]), TypeError, "integer dtype", id="index dtype"),
]


@pytest.mark.parametrize(("call", "error", "text"), ERRORS)
def test_errors(call: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text) as caught:
        call()
    assert "fix:" in str(caught.value)


@pytest.mark.parametrize(("pred", "expected"), [(True, 2.0), (False, 6.0)])
def test_an_operand_for_each_branch(pred: bool, expected: float) -> None:
    call = lambda p: lax.cond(p, 1.0, lambda x: x + 1, {"y": 2.0}, lambda t: t["y"] * 3)  # noqa: E731
    assert call(pred) == jax.jit(call)(pred) == expected


# The first branch (of cond: false_fun) says how weakly the result is typed, as in JAX.
WEAK_RESULTS = [
    (lambda x: lax.cond(True, lambda x: x + jnp.float32(1), lambda x: x, x), 0.0, True),
    (lambda x: lax.cond(True, lambda x: x, lambda x: x + jnp.float32(1), x), 0.0, False),
    (lambda x: lax.switch(1, [lambda x: x, lambda x: x + jnp.float32(1)], x), 0.0, True),
    (lambda x: lax.switch(0, [lambda x: x + jnp.int32(1), lambda x: x], x), 0, False),
]


@pytest.mark.parametrize(("choose", "x", "weak"), WEAK_RESULTS)
def test_weak_types_of_results(choose: Any, x: Any, weak: bool) -> None:
    for result in (choose(x), jax.jit(lambda: choose(x))()):
        assert result.weak_type is weak


def test_a_function_that_is_given_twice_is_called_once() -> None:
    calls = []

    def f(x: Any) -> Any:
        calls.append(x)
        return 2.0 * x

    def program(i: Any, x: Any) -> Any:
        return lax.switch(i, [f, lambda x: x, f, f], x)

    compiled = jax.jit(program)
    assert [compiled(i, 3.0).item() for i in range(4)] == [6.0, 3.0, 6.0, 6.0]
    assert len(calls) == 1
    slopes = jax.vmap(jax.grad(program, 1), (0, None))(np.arange(4), 3.0)
    np.testing.assert_array_equal(slopes, [2.0, 1.0, 2.0, 2.0])


def test_branches_that_are_one_function_are_no_choice() -> None:
    def step(x: Any) -> Any:
        return 2.0 * x + 1.0

    def choose(x: Any, function: Any = step) -> Any:
        return lax.cond(x > 0.5, function, function, x)

    def nested(x: Any, depth: int) -> Any:
        return choose(x, lambda x: nested(x, depth - 1)) if depth else step(x)

    assert len(jax.make_jaxpr(nested, static_argnums=1)(1.0, 40).eqns) < 5 * 40
    compiled = jax.jit(nested, static_argnums=1)
    assert compiled(1.0, 40) == 3.0
    np.testing.assert_array_equal(jax.vmap(jax.grad(choose))(np.arange(2.0)), [2.0, 2.0])
    # The number is still checked, and results are arrays.
    assert isinstance(jax.jit(lambda p: lax.switch(p, [step] * 3, 1))(1), jax.Array)
    with pytest.raises(TypeError, match="a boolean scalar"):
        jax.jit(lambda x: lax.cond(x, step, step, 1.0))(np.ones(2))


def test_what_all_branches_pass_on_is_no_result() -> None:
    program = jax.make_jaxpr(
        lambda p, x, y: lax.cond(p, lambda x, y: (x, 2 * y), lambda x, y: (x, y), x, y)
    )(True, 1.0, 2.0)
    (eqn,) = [e for e in program.eqns if e.primitive.name == "cond"]
    assert len(eqn.outvars) == 1
    assert program.outvars[0] is program.invars[1]
    shared, own = jax.vmap(
        lambda p, x: lax.cond(p, lambda x: (1.0 * x, x), lambda x: (-x, x), x)[::-1],
        in_axes=(0, None),
        out_axes=(None, 0),
    )(np.array([True, False]), 3.0)
    assert shared == 3.0
    np.testing.assert_array_equal(own, [3.0, -3.0])


def test_operands_may_be_callable() -> None:
    @jax.tree_util.register_pytree_node_class
    class Module:
        def __init__(self, weight: Any) -> None:
            self.weight = weight

        def __call__(self, x: Any) -> Any:
            return self.weight * x

        def tree_flatten(self) -> Any:
            return (self.weight,), None

        @classmethod
        def tree_unflatten(cls, aux: Any, children: Any) -> Any:
            return cls(*children)

    pair = Module(2.0), Module(3.0)
    assert lax.cond(True, lambda a, b: a(1.0), lambda a, b: b(1.0), *pair) == 2.0
