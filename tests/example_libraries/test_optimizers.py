"""Optimizers: recorded steps, schedules, trees of parameters and their packed state.

`optimizers_golden.json` holds the parameters after four steps that JAX computes.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import morphax as jax
from morphax import numpy as jnp
from morphax.example_libraries import optimizers

GOLDEN = json.loads((Path(__file__).parent / "optimizers_golden.json").read_text())
EXTRA = {"momentum": (0.9,), "nesterov": (0.9,)}
PARAMS = {
    "a": jnp.array([[1.0, -2.0, 3.0], [0.5, 0.0, -1.0]]),
    "b": (jnp.array([2.0]), jnp.array([1.0, 2.0])),
}


def loss(p: Any) -> Any:
    square = p["a"] ** 2 * jnp.array([[1.0, 2.0, 3.0], [0.0, 5.0, 6.0]])
    linear = jnp.outer(jnp.array([0.3, -0.7]), jnp.array([1.0, 2.0, -1.0])) * p["a"]
    return jnp.sum(square + linear) + p["b"][0][0] ** 3 + jnp.sum(jnp.sin(p["b"][1]))


def made(name: str, step_size: Any = 0.1) -> optimizers.Optimizer:
    return getattr(optimizers, name)(step_size, *EXTRA.get(name, ()))  # type: ignore[no-any-return]


@pytest.mark.parametrize("compile", [False, True], ids=["eager", "jit"])
@pytest.mark.parametrize("name", GOLDEN)
def test_steps_as_recorded(name: str, compile: bool) -> None:
    init, update, get_params = made(name, optimizers.exponential_decay(0.1, 2, 0.5))

    def step(i: Any, state: Any) -> Any:
        return update(i, jax.grad(loss)(get_params(state)), state)

    step = jax.jit(step) if compile else step
    state = init(PARAMS)
    for i in range(4):
        state = step(i, state)
    for got, expected in zip(jax.tree.leaves(get_params(state)), GOLDEN[name], strict=True):
        np.testing.assert_allclose(got, expected, rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize("name", GOLDEN)
def test_states_fit_a_loop(name: str) -> None:
    init, update, get_params = made(name)

    def step(i: Any, state: Any) -> Any:
        return update(i, jax.grad(loss)(get_params(state)), state)

    final = get_params(jax.lax.fori_loop(0, 50, step, init(PARAMS)))
    assert float(loss(final)) < float(loss(PARAMS)) or name in ("momentum", "nesterov")


@pytest.mark.parametrize("name", ["adam", "sm3", "adagrad"])
def test_parameters_without_gradient_stay(name: str) -> None:
    init, update, get_params = made(name)
    params = {"scalar": jnp.array(2.0), "matrix": jnp.ones((2, 3)), "none": jnp.zeros((0, 2))}
    state = update(0, jax.tree.map(jnp.zeros_like, params), init(params))
    jax.tree.map(np.testing.assert_array_equal, get_params(state), params)


SCHEDULES: dict[str, tuple[Callable[[Any], Any], dict[int, float]]] = {
    "constant": (optimizers.constant(0.1), {0: 0.1, 9: 0.1}),
    "number": (optimizers.make_schedule(0.3), {0: 0.3, 9: 0.3}),
    "schedule": (optimizers.make_schedule(lambda i: i / 2), {3: 1.5}),
    "exponential": (optimizers.exponential_decay(0.1, 10, 0.5), {0: 0.1, 10: 0.05, 5: 0.0707107}),
    "inverse": (optimizers.inverse_time_decay(0.1, 10, 0.5), {0: 0.1, 10: 0.1 / 1.5, 4: 0.1 / 1.2}),
    "staircase": (
        optimizers.inverse_time_decay(0.1, 10, 0.5, staircase=True),
        {9: 0.1, 10: 0.1 / 1.5, 25: 0.05},
    ),
    "linear": (optimizers.polynomial_decay(0.1, 10, 0.01), {0: 0.1, 5: 0.055, 30: 0.01}),
    "square": (optimizers.polynomial_decay(0.1, 10, 0.01, 2.0), {5: 0.0325, 10: 0.01}),
    "pieces": (
        optimizers.piecewise_constant([3, 12], [1.0, 0.5, 0.1]),
        {0: 1.0, 3: 1.0, 4: 0.5, 12: 0.5, 13: 0.1},
    ),
}


@pytest.mark.parametrize("name", SCHEDULES)
def test_schedules(name: str) -> None:
    schedule, values = SCHEDULES[name]
    for step, expected in values.items():
        assert float(schedule(step)) == pytest.approx(expected, rel=1e-5)
        assert float(jax.jit(schedule)(step)) == pytest.approx(expected, rel=1e-5)


def test_the_state_of_a_tree() -> None:
    state = made("momentum").init_fn(PARAMS)
    assert state.tree_def == jax.tree.structure(PARAMS)
    assert [len(leaves) for leaves in state.packed_state] == [2, 2, 2]
    assert len(jax.tree.leaves(state)) == 6
    doubled = jax.tree.map(lambda x: 2 * x, state)
    assert made("momentum").params_fn(doubled)["b"][0].tolist() == [4.0]


def test_unpacking_and_packing() -> None:
    state = made("adam").init_fn(PARAMS)
    tree = optimizers.unpack_optimizer_state(state)
    assert isinstance(tree["b"][1], optimizers.JoinPoint)
    assert tree["b"][1].subtree[0].tolist() == [1.0, 2.0]
    packed = optimizers.pack_optimizer_state(tree)
    assert jax.tree.structure(packed) == jax.tree.structure(state)
    jax.tree.map(np.testing.assert_array_equal, packed, state)


def test_norms_and_clipping() -> None:
    tree = {"a": jnp.array([3.0, 0.0]), "b": jnp.array(4j)}
    assert float(optimizers.l2_norm(tree)) == 5.0
    clipped = optimizers.clip_grads(tree, 1.0)
    assert float(optimizers.l2_norm(clipped)) == pytest.approx(1.0)
    assert optimizers.clip_grads(tree, 6.0)["a"].tolist() == [3.0, 0.0]
    assert optimizers.clip_grads({"a": jnp.zeros(2)}, 1.0)["a"].tolist() == [0.0, 0.0]


@optimizers.optimizer
def growing() -> Any:
    return lambda x: [x], lambda i, g, state: [*state, g], lambda state: state[0]


REFUSED: dict[str, tuple[Callable[[], Any], type[Exception], str]] = {
    "other gradients": (
        lambda: made("sgd").update_fn(0, {"a": 1.0}, made("sgd").init_fn(PARAMS)),
        TypeError,
        r"gradients of the structure PyTreeDef\(\{'a': \*\}\)[\s\S]*parameters",
    ),
    "other state": (
        lambda: growing().update_fn(0, 1.0, growing().init_fn(2.0)),
        TypeError,
        "a parameter's state of the structure",
    ),
    "no join points": (
        lambda: optimizers.pack_optimizer_state({"a": 1.0}),
        TypeError,
        r"a leaf 1\.0 of type float[\s\S]*unpack_optimizer_state",
    ),
    "vector as step size": (lambda: optimizers.sgd(jnp.ones(3)), TypeError, "make_schedule"),
    "text as step size": (lambda: optimizers.sgd("fast"), TypeError, "'fast' of type str"),
    "pieces": (
        lambda: optimizers.piecewise_constant([1, 2], [1.0]),
        ValueError,
        r"shape \(2,\) and values of shape \(1,\)",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refusals(name: str) -> None:
    call, error, text = REFUSED[name]
    with pytest.raises(error, match=text):
        call()
