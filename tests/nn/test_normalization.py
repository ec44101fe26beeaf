"""Softmax with the derivative rule of its own, ``jax_softmax_custom_jvp``."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp
from morphax.test_util import check_grads

X = jnp.asarray(np.random.default_rng(0).normal(size=(3, 4)).astype(np.float32))
WHERE = jnp.asarray(np.arange(12).reshape(3, 4) % 3 > 0)


@pytest.mark.parametrize("where", [None, WHERE], ids=["all", "where"])
@pytest.mark.parametrize("axis", [-1, 0, (0, 1), None])
def test_the_rule_of_softmax(axis: Any, where: Any) -> None:
    def weighted(x: Any) -> Any:
        return (jax.nn.softmax(x, axis, where) * jnp.arange(4.0)).sum()

    value, gradient = jax.value_and_grad(weighted)(X)
    with jax.softmax_custom_jvp(True):
        by_rule, gradient_by_rule = jax.jit(jax.value_and_grad(weighted))(X)
        check_grads(weighted, (X,), order=2, atol=1e-2, rtol=1e-2)
        batched = jax.vmap(jax.grad(weighted))(jnp.stack([X, X]))
    np.testing.assert_allclose(by_rule, value, rtol=1e-6)
    np.testing.assert_allclose(gradient_by_rule, gradient, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(batched[1], gradient, rtol=1e-4, atol=1e-6)


def test_the_rule_is_part_of_the_program_on_request_only() -> None:
    assert "custom_jvp_call" not in str(jax.make_jaxpr(jax.nn.softmax)(X))
    with jax.softmax_custom_jvp(True):
        assert "custom_jvp_call" in str(jax.make_jaxpr(jax.nn.softmax)(X))
