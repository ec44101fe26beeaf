"""Normal vectors and orthogonal matrices: moments, limits, derivatives and error text."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest

import morphax as jax
from morphax.test_util import check_grads

random, jnp = jax.random, jax.numpy
KEY = random.key(0)
METHODS = ("cholesky", "eigh", "svd")
COV = np.array([[2.0, 0.5, 0.0], [0.5, 1.0, -0.3], [0.0, -0.3, 0.5]], np.float32)


@pytest.mark.parametrize("method", METHODS)
def test_moments(method: str) -> None:
    mean = np.array([1.0, -2.0, 3.0], np.float32)
    x = np.asarray(random.multivariate_normal(KEY, mean, COV, (20_000,), method=method))
    np.testing.assert_allclose(x.mean(0), mean, atol=0.05)
    np.testing.assert_allclose(np.cov(x.T), COV, atol=0.05)


@pytest.mark.parametrize("method", METHODS)
def test_empty(method: str) -> None:
    def shape(*args: Any) -> Any:
        return random.multivariate_normal(KEY, *args, method=method).shape

    assert shape(np.zeros(3), COV, (0,)) == (0, 3)
    assert shape(np.zeros(0), np.zeros((0, 0))) == (0,)
    assert shape(np.zeros((2, 0)), np.zeros((0, 0)), (4, 2)) == (4, 2, 0)


def test_singular_and_indefinite_covariances() -> None:
    for method in ("eigh", "svd"):
        x = np.asarray(
            random.multivariate_normal(KEY, jnp.zeros(3), jnp.ones((3, 3)), (50,), method=method)
        )
        np.testing.assert_allclose(x, np.broadcast_to(x[:, :1], x.shape), rtol=1e-3, atol=1e-3)
    for method in ("cholesky", "eigh"):
        draw = functools.partial(random.multivariate_normal, method=method)
        assert np.isnan(jax.jit(draw)(KEY, jnp.zeros(3), -jnp.eye(3))).all()


def test_dtypes() -> None:
    half = random.multivariate_normal(KEY, np.zeros(3), COV, (2,), "float16")
    whole = random.multivariate_normal(KEY, np.zeros(3, int), np.eye(3, dtype=int))
    assert half.dtype == whole.dtype == np.float32
    np.testing.assert_array_equal(whole, random.normal(KEY, (3,)))


def test_derivatives_and_batches() -> None:
    mean = np.zeros((4, 3), np.float32)
    with jax.enable_x64(True):
        scales = np.array([1.0, 2.0])
        draw = lambda s: random.multivariate_normal(KEY, s[0] * np.ones(3), s[1] * COV)  # noqa: E731
        check_grads(draw, (scales,), order=2)
    keys = random.split(KEY, 4)
    batch = jax.vmap(lambda k, m: random.multivariate_normal(k, m, COV))(keys, mean)
    one = random.multivariate_normal(keys[2], mean[2], COV)
    np.testing.assert_allclose(batch[2], one, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("dtype", ["float32", "complex64"])
@pytest.mark.parametrize(("n", "m"), [(4, None), (3, 5), (5, 3), (1, 1), (0, 2), (2, 0)])
def test_orthonormal(dtype: str, n: int, m: int | None) -> None:
    q = np.asarray(random.orthogonal(KEY, n, (2, 3), dtype, m))
    assert q.shape == (2, 3, n, n if m is None else m)
    other = q.conj().swapaxes(-1, -2)
    product = q @ other if n <= q.shape[-1] else other @ q
    np.testing.assert_allclose(
        product, np.broadcast_to(np.eye(product.shape[-1]), product.shape), atol=1e-5
    )


def test_errors() -> None:
    draw = random.multivariate_normal
    with pytest.raises(ValueError, match="argument method"):
        draw(KEY, np.zeros(3), COV, method="lu")
    for mean, cov in ((0.0, COV), (np.zeros(3), np.ones(3)), (np.zeros(2), COV)):
        with pytest.raises(ValueError, match="with the same n"):
            draw(KEY, mean, cov)
    with pytest.raises(ValueError, match="argument shape"):
        draw(KEY, np.zeros((2, 3)), COV, ())
    with pytest.raises(ValueError, match="argument dtype"):
        draw(KEY, np.zeros(3), COV, dtype=int)
    with pytest.raises(ValueError, match="argument n"):
        random.orthogonal(KEY, -1)
    with pytest.raises(TypeError, match="argument m"):
        random.orthogonal(KEY, 2, m=2.5)


def test_a_covariance_that_is_known_and_not_positive_definite_is_refused() -> None:
    cov, mean = jnp.array([[1.0, 2.0], [2.0, 1.0]]), jnp.zeros(2)
    for method in ("cholesky", "eigh"):
        with pytest.raises(ValueError, match=r"argument cov(.|\n)*positive definite(.|\n)*fix:"):
            random.multivariate_normal(KEY, mean, cov, method=method)
    compiled = jax.jit(lambda cov: random.multivariate_normal(KEY, mean, cov))
    assert np.isnan(compiled(cov)).all()
    assert np.isnan(random.multivariate_normal(KEY, mean * np.nan, jnp.eye(2))).all()
