"""The barrier itself: trees, what of it is differentiated, and its StableHLO."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp
from morphax import lax


@pytest.mark.parametrize("wrap", [lambda f: f, jax.jit], ids=["eager", "jit"])
def test_keeps_trees_and_dtypes(wrap: Any) -> None:
    given = {"a": np.arange(3), "b": (np.float32(2.0), np.array([True, False]))}
    out = wrap(lax.optimization_barrier)(given)
    assert jax.tree.structure(out) == jax.tree.structure(given)
    for x, y in zip(jax.tree.leaves(out), jax.tree.leaves(given), strict=True):
        assert x.dtype == jnp.asarray(y).dtype
        np.testing.assert_array_equal(x, y)


@pytest.mark.parametrize("wrap", [lambda f: f, jax.jit], ids=["eager", "jit"])
def test_no_leaves(wrap: Any) -> None:
    assert wrap(lambda x: lax.optimization_barrier(()))(1.0) == ()


def test_keys_pass() -> None:
    key = jax.jit(lax.optimization_barrier)(jax.random.key(3))
    np.testing.assert_array_equal(jax.random.key_data(key), jax.random.key_data(jax.random.key(3)))


def test_only_what_has_a_cotangent_meets_the_barrier_again() -> None:
    def f(x: Any) -> Any:
        first, _, _ = lax.optimization_barrier((jnp.sin(x), 2.0 * x, 3))
        return first

    assert np.allclose(jax.grad(f)(0.5), np.cos(0.5))
    barriers = [
        eqn
        for eqn in jax.make_jaxpr(jax.grad(f))(0.5).eqns
        if eqn.primitive is lax.optimization_barrier_p
    ]
    assert [len(eqn.invars) for eqn in barriers] == [3, 1]


def test_one_operation_for_all_leaves() -> None:
    text = jax.jit(lambda x: lax.optimization_barrier((x, 2.0 * x))).lower(1.0).as_text()
    assert text.count("stablehlo.optimization_barrier") == 1


def test_each_result_keeps_its_batch_axis() -> None:
    xs, ys = np.ones((2, 3), np.float32), np.ones((3, 2), np.float32)
    f = jax.vmap(lambda x, y: lax.optimization_barrier((x, y)), in_axes=(0, 1), out_axes=(0, 1))
    barrier, *_ = jax.make_jaxpr(f)(xs, ys).eqns
    assert [v.aval.shape for v in barrier.outvars] == [(2, 3), (3, 2)]
    np.testing.assert_array_equal(f(xs, ys)[1], ys)
