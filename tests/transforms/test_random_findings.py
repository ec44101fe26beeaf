"""What random programs have brought to light, each finding reduced to a minimal program."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp
from morphax import lax
from morphax.custom_batching import sequential_vmap

TABLE = np.arange(200.0, dtype=np.float32).reshape(2, 100)
BOTH = pytest.mark.parametrize("engine", [lambda f: f, jax.jit], ids=["eager", "compiled"])
Engine = Callable[[Callable[..., Any]], Callable[..., Any]]

INDICES: dict[str, tuple[Any, Any]] = {
    "int32 and int64": (np.int32(1), np.int64(3)),
    "int32 and uint32": (np.int32(1), np.uint32(3)),
    "int8 and uint8": (np.int8(-1), np.uint8(99)),
    "int64 and int8": (np.array([0, 1, -1]), np.array([5, -6, 7], np.int8)),
}


@pytest.mark.parametrize("index", INDICES.values(), ids=list(INDICES))
@pytest.mark.parametrize("wide", [False, True])
def test_traced_indices_of_different_dtypes(index: tuple[Any, Any], wide: bool) -> None:
    i, j = index
    expected = TABLE.copy()
    expected[i, j] = 0.5
    with jax.enable_x64(wide):
        np.testing.assert_array_equal(jax.jit(lambda x, i, j: x[i, j])(TABLE, i, j), TABLE[i, j])
        updated = jax.jit(lambda x, i, j: x.at[i, j].set(0.5))(TABLE, i, j)
        np.testing.assert_array_equal(updated, expected)


@BOTH
@pytest.mark.parametrize("dtype", ["int8", "int32", "int64", "uint32"])
def test_a_traced_index_beside_a_static_one(engine: Engine, dtype: str) -> None:
    with jax.enable_x64(True):
        i = np.asarray(1, dtype)
        np.testing.assert_array_equal(engine(lambda x, i: x[i, -1])(jnp.asarray(TABLE), i), 199.0)
        updated = engine(lambda x, i: x.at[i, -1].add(1.0))(jnp.asarray(TABLE), i)
        np.testing.assert_array_equal(updated[1, -1], 200.0)


@BOTH
def test_a_narrow_index_counts_from_the_end_of_a_long_axis(engine: Engine) -> None:
    x = jnp.arange(200.0)
    np.testing.assert_array_equal(engine(lambda i: x[i])(jnp.int8(-1)), 199.0)


@BOTH
def test_nothing_is_repeated(engine: Engine) -> None:
    np.testing.assert_array_equal(
        engine(jax.vmap(lambda x: jnp.ones((0,))))(jnp.ones(3)), np.zeros((3, 0))
    )


def doubled(x: Any) -> Any:
    ref = jax.new_ref(x)
    ref[...] = ref[...] * 2.0
    return jax.freeze(ref)


def converted(x: Any) -> Any:
    f, values = jax.closure_convert(lambda y: doubled(y * x), x)
    return f(1.0, *values)


@jax.custom_gradient
def with_pullback(x: Any) -> Any:
    return doubled(x), lambda ct: doubled(ct)


USERS_OF_REFERENCES: dict[str, Callable[[Any], Any]] = {
    "closure_convert": converted,
    "custom_gradient": with_pullback,
    "sequential_vmap": sequential_vmap(doubled),
    "custom_linear_solve": lambda x: lax.custom_linear_solve(
        doubled, 4.0 * x, lambda _, b: doubled(b) / 4.0, lambda _, b: doubled(b) / 4.0
    ),
    "custom_root": lambda x: lax.custom_root(
        lambda y: doubled(y) - 4.0 * x, x, lambda f, y: y - f(y) / 2.0, lambda g, y: y / g(1.0)
    ),
}


@BOTH
@pytest.mark.parametrize("f", USERS_OF_REFERENCES.values(), ids=list(USERS_OF_REFERENCES))
def test_references_inside_functions_that_are_kept(engine: Engine, f: Callable[[Any], Any]) -> None:
    np.testing.assert_allclose(engine(f)(3.0), 6.0)
    np.testing.assert_allclose(engine(jax.grad(f))(3.0), 2.0)
    xs = jnp.array([3.0, 4.0])
    np.testing.assert_allclose(engine(jax.vmap(f))(xs), 2.0 * xs)
    np.testing.assert_allclose(engine(jax.grad(lambda x: jnp.sum(jax.vmap(f)(x))))(xs), [2.0, 2.0])


BRANCHING: dict[str, Callable[[Any], Any]] = {
    "cond": lambda x: lax.cond(x > 0, jnp.sin, jnp.cos, x),
    "switch": lambda x: lax.switch(jnp.int32(x), [jnp.cos, jnp.sin], x),
    "while_loop": lambda x: lax.while_loop(lambda c: c < 3.0, lambda c: c + 1.0, x),
    "while_loop that becomes traced": lambda x: lax.while_loop(
        lambda c: c[0] < 3.0, lambda c: (c[0] + jnp.abs(x), c[1] + 1.0), (0.0, 0.0)
    )[1],
    "scan of nothing": lambda x: lax.scan(lambda c, _: (c, c), x, None, 0)[1],
}


@pytest.mark.parametrize("f", BRANCHING.values(), ids=list(BRANCHING))
def test_without_jit_what_is_not_known_is_traced(f: Callable[[Any], Any]) -> None:
    xs = jnp.array([1.0, -1.0])
    expected = jax.vmap(f)(xs)
    with jax.disable_jit():
        np.testing.assert_allclose(jax.vmap(f)(xs), expected, rtol=1e-6)
        np.testing.assert_allclose(jnp.stack([f(x) for x in xs]), expected, rtol=1e-6)
        assert str(jax.make_jaxpr(f)(1.0))


def test_without_jit_a_known_branch_runs_as_it_is() -> None:
    def chosen(x: Any) -> Any:
        return x if int(x) > 0 else -x

    def fails(x: Any) -> Any:
        raise AssertionError("the other branch runs")

    with jax.disable_jit():
        np.testing.assert_array_equal(lax.switch(1, [fails, chosen], -2.0), 2.0)
        np.testing.assert_array_equal(lax.switch(9, [fails, chosen], -2.0), 2.0)
        np.testing.assert_array_equal(jax.grad(lambda x: lax.switch(1, [fails, chosen], x))(2.0), 1)
