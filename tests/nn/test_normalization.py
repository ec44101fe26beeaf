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


@pytest.mark.parametrize("dtype", [jnp.float16, jnp.bfloat16])
def test_standardize_of_half_precision_does_not_leave_its_range(dtype: Any) -> None:
    x = jnp.array([[1e4, 1e4, 1e4, 0], [-1e4, -2e4, 1, 0]], dtype)
    for run in (jax.nn.standardize, jax.jit(jax.nn.standardize)):
        found = run(x)
        assert found.dtype == dtype
        expected = jax.nn.standardize(x.astype(jnp.float32))
        np.testing.assert_allclose(np.float32(found), expected, float(jnp.finfo(dtype).eps))
    moments = [np.asarray(v) for v in (jnp.ones((2, 1), dtype), jnp.full((2, 1), 2, dtype))]
    assert jax.nn.standardize(x, mean=moments[0], variance=moments[1]).dtype == dtype


@pytest.mark.parametrize("axis", [-1, 0, (0, -1), None])
def test_the_rule_of_standardize(axis: Any) -> None:
    def by_parts(x: Any) -> Any:
        mean, variance = (f(x, axis, keepdims=True) for f in (jnp.mean, jnp.var))
        return jax.nn.standardize(x, axis, mean, variance)

    weights = jnp.arange(12.0).reshape(3, 4)
    slopes = [
        jax.value_and_grad(lambda x, f=f: (f(x) ** 3 * weights).sum())
        for f in (lambda x: jax.nn.standardize(x, axis), by_parts)
    ]
    for found, expected in zip(*[jax.tree.leaves(slope(X)) for slope in slopes], strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)
    check_grads(lambda x: jax.nn.standardize(x, axis), (X,), order=2, atol=2e-2, rtol=2e-2)
    assert jnp.isnan(
        jax.grad(lambda x: jax.nn.standardize(x, axis).sum())(X.at[1, 1].set(jnp.nan))[1]
    ).any()


@pytest.mark.parametrize("dtype", [np.uint8, np.int8, jnp.bfloat16, np.bool_])
def test_one_hot_of_more_classes_than_a_dtype_can_count(dtype: Any) -> None:
    # JAX counts the classes in the dtype, and finds 256 to be 0 in uint8.
    x = np.array([0, 1, 1]).astype(dtype)
    for run in (lambda x: jax.nn.one_hot(x, 600), jax.jit(lambda x: jax.nn.one_hot(x, 600))):
        np.testing.assert_array_equal(run(x), np.eye(600)[[0, 1, 1]])


def test_one_hot_of_a_negative_number_of_classes_is_refused() -> None:
    with pytest.raises(ValueError, match="num_classes"):
        jax.nn.one_hot(np.array([1]), -1)


def test_one_hot_over_a_mesh_that_is_not_there() -> None:
    with pytest.raises(ValueError, match=r"one_hot, argument out_sharding"):
        jax.nn.one_hot(np.array([1]), 4, out_sharding=jax.P("x", None))


def test_the_sign_of_a_sum_of_complex_exponentials_is_its_phase() -> None:
    terms = np.array([[0.5 + 1j, 2 - 1j, -1 + 3j], [400 + 1j, 1, 2j]], np.complex64)
    size, sign = jax.nn.logsumexp(terms, axis=1, return_sign=True)
    assert size.dtype == np.float32
    first = np.exp(terms[0]).sum()
    np.testing.assert_allclose(size, [np.log(np.abs(first)), 400], rtol=1e-6)
    np.testing.assert_allclose(sign, [first / np.abs(first), np.exp(1j)], rtol=1e-5)


def test_weights_may_have_more_axes_than_the_exponents() -> None:
    weights = np.array([[1, 2, 3], [0, 1, 0]], np.float32)
    exponents = np.array([0.25, 1, 2], np.float32)
    expected = np.log((weights * np.exp(exponents)).sum(1))
    np.testing.assert_allclose(jax.nn.logsumexp(exponents, 1, weights), expected, rtol=1e-6)
    np.testing.assert_allclose(jax.nn.logsumexp(2, b=weights), 2 + np.log(7), rtol=1e-6)
