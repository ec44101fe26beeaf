"""Eigenvalues of tridiagonal matrices by bisection, against those of dense matrices."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp
from morphax import enable_x64
from morphax.scipy.linalg import eigh_tridiagonal
from morphax.test_util import check_grads

RNG = np.random.default_rng(0)


@pytest.fixture(autouse=True)
def _wide_dtypes() -> Iterator[None]:
    with enable_x64(True):
        yield


def _dense(d: Any, e: Any) -> Any:
    return np.diag(d) + np.diag(e, 1) + np.diag(np.conj(e), -1)


def _matrices(dtype: Any) -> Iterator[tuple[Any, Any]]:
    """Of all sizes, with equal elements, zeros, blocks, and elements far apart."""
    for n in (1, 2, 3, 7, 20, 65):
        d, e = RNG.normal(size=n), RNG.normal(size=n - 1)
        scales = 10.0 ** RNG.uniform(-12, 2, n)
        for pair in (
            (d, e),
            (d * scales, e * np.sqrt(scales[1:] * scales[:-1])),
            (np.abs(np.arange(n) - n // 2), np.ones(n - 1)),  # Wilkinson's
            (np.full(n, 2.0), np.full(n - 1, -1.0)),
            (np.zeros(n), e),
            (d, e * (RNG.random(n - 1) < 0.5)),
            (d.round(), np.zeros(n - 1)),
            (np.zeros(n), np.zeros(n - 1)),
        ):
            yield tuple([x.astype(dtype) for x in pair])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("scale", [1.0, 1e-30, 1e30])
def test_values(dtype: Any, scale: float) -> None:
    compiled = jax.jit(lambda d, e: eigh_tridiagonal(d, e, eigvals_only=True))
    for d, e in _matrices(dtype):
        d, e = (d * dtype(scale)).astype(dtype), (e * dtype(scale)).astype(dtype)
        found = eigh_tridiagonal(d, e, eigvals_only=True)
        assert found.dtype == dtype
        expected = np.linalg.eigvalsh(_dense(d.astype(float), e.astype(float)))
        norm = max(np.abs(expected).max(), 0)
        limit = (2 if dtype == np.float32 else 40) * np.finfo(dtype).eps * norm
        limit += 8 * float(np.finfo(dtype).tiny)  # Subnormal numbers count as 0.
        np.testing.assert_allclose(found, expected, rtol=0, atol=limit)
        np.testing.assert_array_equal(compiled(d, e), found)
        assert (np.diff(found) >= 0).all()
        if not e.any():
            # They are the elements, to the last bit, however small they are beside others.
            least = 8 * float(np.finfo(dtype).tiny) * max(norm, 1)
            np.testing.assert_allclose(found, np.sort(d), rtol=0, atol=least)


def test_places_stacks_and_complex_matrices() -> None:
    d, e = RNG.normal(size=(2, 3, 6)), RNG.normal(size=(2, 3, 5)) + 1j * RNG.normal(size=(2, 3, 5))
    found = eigh_tridiagonal(d + 0j, e, eigvals_only=True, select="i", select_range=(1, 3))
    assert found.shape == (2, 3, 3)
    assert found.dtype == np.float64
    mapped = jax.vmap(jax.vmap(lambda d, e: eigh_tridiagonal(d, e, eigvals_only=True)))(d + 0j, e)
    for i in np.ndindex(2, 3):
        expected = np.linalg.eigvalsh(_dense(d[i], e[i]))
        np.testing.assert_allclose(found[i], expected[1:4], atol=1e-13)
        np.testing.assert_allclose(mapped[i], expected, atol=1e-13)
    np.testing.assert_allclose(
        eigh_tridiagonal(np.arange(3), np.ones(2, int), eigvals_only=True),
        np.linalg.eigvalsh(_dense(np.arange(3.0), np.ones(2))),
        atol=1e-14,
    )


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_matrices_that_are_not_finite(bad: float) -> None:
    good = np.ones((2, 3)), np.ones((2, 2))
    for which in (0, 1):
        d, e = [x.copy() for x in good]
        (d, e)[which][1, 1] = bad
        found = eigh_tridiagonal(d, e, eigvals_only=True)
        assert np.isfinite(found[0]).all()
        assert np.isnan(found[1]).all()


def test_extreme_numbers() -> None:
    for dtype in (np.float32, np.float64):
        limits = np.finfo(dtype)
        for x in (limits.max, limits.tiny):
            d = np.full(3, x, dtype) / 4
            found = eigh_tridiagonal(d, d[1:], eigvals_only=True)
            expected = (1 + np.sqrt(2) * np.array([-1, 0, 1])) * (float(x) / 4)
            np.testing.assert_allclose(found, expected, rtol=1e-6, atol=float(limits.tiny))


def test_derivatives_are_those_of_the_values_with_vectors() -> None:
    d, e = RNG.normal(size=5), RNG.normal(size=4)

    def values(d: Any, e: Any) -> Any:
        return eigh_tridiagonal(d, e, eigvals_only=True)

    check_grads(values, (d, e), order=2, modes=("fwd", "rev"), atol=1e-4, rtol=1e-4)
    with_vectors = jax.jacobian(lambda d: eigh_tridiagonal(d, e)[0])(d)
    np.testing.assert_allclose(jax.jacobian(values)(d, e), with_vectors, atol=1e-12)


def test_values_alone_take_no_dense_matrix() -> None:
    jaxpr = jax.make_jaxpr(lambda d, e: eigh_tridiagonal(d, e, eigvals_only=True))(
        jnp.ones(50), jnp.ones(49)
    )
    assert "50,50" not in str(jaxpr)
