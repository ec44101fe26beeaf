"""Calls of numbers alone under derivatives and batches of eager calls: as outside of these."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp
from benchmarks.groups import function_calls
from morphax import lax
from morphax.config import override
from morphax.engines.reference.replay import replayed
from tests.descriptions import described

X = jnp.arange(1.0, 4.0)
SPECIAL = np.array([0, -0.0, np.nan, np.inf, -np.inf, 1, -1, 0.5, 2, 1e-40, 3e38, -2.5], np.float32)


def gradient(run: Callable[[Any], Any]) -> Any:
    return jax.grad(lambda x: jnp.sum(x * x) + 0.0 * (run(x) is None))(X)


def tangents(run: Callable[[Any], Any]) -> Any:
    return jax.jvp(lambda x: (run(x), x * 2)[1], (X,), (X,))


def members(run: Callable[[Any], Any]) -> Any:
    return jax.vmap(lambda x: (run(x), x * 2)[1])(X)


def gradients_of_members(run: Callable[[Any], Any]) -> Any:
    return jax.vmap(jax.grad(lambda x: (run(x), x * 2)[1]))(X)


def second_derivatives(run: Callable[[Any], Any]) -> Any:
    return jax.hessian(lambda x: (run(x), jnp.sum(x**3))[1])(X)


def named_members(run: Callable[[Any], Any]) -> Any:
    return jax.vmap(lambda x: (run(x), x * 2)[1], axis_name="i")(X)


def at_compile_time(run: Callable[[Any], Any]) -> Any:
    def traced(x: Any) -> Any:
        with jax.ensure_compile_time_eval():
            run(x)
        return x

    return jax.jit(traced)(X)


WAYS = [gradient, tangents, members, gradients_of_members, second_derivatives, named_members]
WAYS += [at_compile_time]


def inside(way: Callable[..., Any], call: Callable[[], Any]) -> list[Any]:
    """What a call gives within a transformation, each time that it is made."""
    found: list[Any] = []
    way(lambda _: found.append(described(call())))
    return found


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
def test_results_of_each_public_function_are_those_outside(way: Callable[..., Any]) -> None:
    names = function_calls.namespace(jax, 54, 7)
    for name, x in function_calls.operands(54, 7).items():
        special = np.resize(SPECIAL, x.shape) if name in ("x", "y") else x
        names[name] = jnp.asarray(np.roll(special, len(name)))
    for text in function_calls.calls()[WAYS.index(way) :: len(WAYS)]:
        if "rng_uniform" in text:
            continue  # It gives other numbers each time.
        call = eval(f"lambda: {text}", names)
        outside = described(call())
        for _ in range(2):
            found = inside(way, call)
            assert found
            assert all(x == outside for x in found), text


@pytest.mark.parametrize("way", WAYS[:-2], ids=lambda way: way.__name__)
def test_calls_are_known_after_the_first(way: Callable[..., Any]) -> None:
    runs: list[Any] = []

    @replayed(1)
    def shifted(x: Any, by: Any = 1.0) -> Any:
        runs.append(x)
        return jnp.add(x, by) * 2.0

    with override(replay_first_calls=False):
        for _ in range(4):
            way(lambda _: shifted(X))
    assert len(runs) == 2  # Once by itself, once to be staged.


def test_tracers_are_seen_wherever_they_are() -> None:
    def of_list(x: Any) -> Any:
        return jnp.sum(jnp.stack([X, x]))

    def of_argument_by_name(x: Any) -> Any:
        return jnp.sum(jnp.clip(X, max=x))

    def of_function(x: Any) -> Any:
        return jnp.sum(jnp.apply_along_axis(lambda row: row * x, 0, X))

    def of_condition(x: Any) -> Any:
        return jnp.sum(jnp.piecewise(X, [X > 2], [lambda y: y * x[0], lambda y: y + x[1]]))

    for function in (of_list, of_argument_by_name, of_function, of_condition):
        compiled = jax.jit(jax.grad(function))(X)
        for _ in range(3):
            assert jax.grad(function)(X).tolist() == compiled.tolist()
            assert jax.jvp(function, (X,), (X,))[1] == jnp.dot(compiled, X)
    batch = jnp.stack([X, X + 1])
    for function in (of_list, of_argument_by_name, of_function, of_condition):
        assert jax.vmap(function)(batch).tolist() == [function(x).tolist() for x in batch]


def test_what_tracers_stand_for_decides_nothing() -> None:
    """Within a transformation of another one operands may be tracers of the outer one."""

    def outer(x: Any) -> Any:
        return jnp.sum(jax.vmap(lambda y: y * jnp.mean(x) + jnp.mean(X))(X))

    assert jax.grad(outer)(X).tolist() == jax.jit(jax.grad(outer))(X).tolist()
    nested = jax.vmap(jax.grad(outer))(jnp.stack([X, X]))
    assert nested.tolist() == [jax.grad(outer)(X).tolist()] * 2


def test_named_axes_are_known() -> None:
    def member(x: Any) -> Any:
        return lax.psum(jnp.mean(X), "i") + lax.axis_index("i") + jnp.mean(X) + x

    assert jax.vmap(member, axis_name="i")(X).tolist() == [9.0, 11.0, 13.0]


def test_traced_programs_have_the_operations() -> None:
    """What is differentiated under `jit` is a program, and numbers in it are its constants."""
    text = str(jax.make_jaxpr(jax.grad(lambda x: jnp.sum(x * jnp.mean(X))))(X))
    assert "reduce_sum" in text


@pytest.mark.parametrize("side", ["left", "right"])
def test_places_in_sorted_vectors(side: str) -> None:
    """They have no derivatives: eager ones find them as outside, members step by step."""
    rng = np.random.default_rng(1)
    edges = np.sort(np.append(rng.normal(size=97), [0, 0, np.inf, np.nan])).astype(np.float32)
    values = np.append(rng.normal(size=(3, 97)), np.resize(SPECIAL, (3, 12)), 1).astype(np.float32)
    expected = np.searchsorted(edges, values, side)

    def weighted(edges: Any, values: Any) -> Any:
        places = jnp.searchsorted(edges, values, side)
        np.testing.assert_array_equal(lax.stop_gradient(places), expected)
        return jnp.sum(jnp.where(jnp.isfinite(values), values, 0.0) * places)

    e, v = jnp.asarray(edges), jnp.asarray(values)
    by_edges, by_values = jax.grad(weighted, (0, 1))(e, v)
    assert not by_edges.any()
    np.testing.assert_array_equal(by_values, np.where(np.isfinite(values), expected, 0))
    for function in (jax.vmap, jax.jit, lambda f: jax.jit(jax.vmap(f))):
        np.testing.assert_array_equal(
            function(lambda x: jnp.searchsorted(e, x, side))(v), expected, str(function)
        )
