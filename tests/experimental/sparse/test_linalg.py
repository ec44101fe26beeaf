"""Sparse systems and eigenvalues, against dense ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp
from morphax.experimental import sparse
from morphax.experimental.sparse.linalg import lobpcg_standard, spsolve
from morphax.test_util import check_grads

TOLERANCE = {"float32": 2e-5, "float64": 1e-12, "complex64": 2e-5, "float16": 1e-2}


@pytest.fixture(autouse=True)
def _wide_dtypes() -> Iterator[None]:
    with jax.enable_x64(True):
        yield


def system(n: int, dtype: Any = "float64", nse: int | None = None) -> tuple[Any, Any, Any]:
    """A dense matrix, its parts in CSR format, and a right-hand side."""
    rng = np.random.default_rng(n)
    dense = rng.normal(size=(n, n)) * (rng.random((n, n)) < 0.5) + 3 * np.eye(n)
    matrix = sparse.CSR.fromdense(jnp.asarray(dense).astype(dtype), nse=nse)
    parts = matrix.data, matrix.indices, matrix.indptr
    return dense, parts, jnp.asarray(rng.normal(size=n)).astype(dtype)


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("n", [0, 1, 6])
def test_solution(n: int, dtype: str) -> None:
    dense, parts, b = system(n, dtype)
    expected = np.linalg.solve(dense, np.asarray(b.astype("complex128")))
    for given in (spsolve(*parts, b), jax.jit(spsolve)(*parts, b)):
        assert given.dtype == b.dtype
        wide = np.asarray(given.astype("complex128"))
        np.testing.assert_allclose(wide, expected, rtol=0, atol=TOLERANCE[dtype])


@pytest.mark.parametrize("reorder", range(4))
def test_orders_and_padding(reorder: int) -> None:
    dense, parts, b = system(6, nse=36)
    given = spsolve(*parts, b, reorder=reorder)
    np.testing.assert_allclose(given, np.linalg.solve(dense, b), rtol=1e-12)


def test_elements_in_one_place_are_added() -> None:
    data, indices = jnp.array([1.0, 4.0, 3.0, 2.0, 5.0]), jnp.array([1, 0, 1, 0, 0])
    indptr, b = jnp.array([0, 3, 5]), jnp.array([1.0, 2.0])
    given = spsolve(data, indices, indptr, b)
    np.testing.assert_allclose(given, np.linalg.solve([[4.0, 4.0], [7.0, 0.0]], b), rtol=1e-12)


def test_derivatives_of_solutions() -> None:
    dense, (data, *places), b = system(5, nse=20)
    check_grads(lambda d, b: spsolve(d, *places, b), (data, b), order=2, rtol=1e-5)
    count = np.count_nonzero(dense)
    rows, columns = np.nonzero(dense)

    def of_dense(d: Any) -> Any:
        full = jnp.zeros((5, 5)).at[rows, columns].set(d[:count])
        return jnp.sum(jnp.linalg.solve(full, b) ** 2)

    def of_sparse(d: Any) -> Any:
        return jnp.sum(spsolve(d, *places, b) ** 2)

    np.testing.assert_allclose(jax.grad(of_sparse)(data), jax.grad(of_dense)(data), rtol=1e-9)
    given, expected = (jax.hessian(f)(data) for f in (of_sparse, of_dense))
    np.testing.assert_allclose(given, expected, rtol=1e-8, atol=1e-10)


def test_batches_of_systems() -> None:
    dense, (data, *places), b = system(5)
    bs, datas = jnp.stack([b, 2 * b]), jnp.stack([data, 3 * data], 1)
    given = jax.vmap(lambda d, b: spsolve(d, *places, b), in_axes=(1, 0))(datas, bs)
    x = np.linalg.solve(dense, b)
    np.testing.assert_allclose(given, [x, 2 * x / 3], rtol=1e-12)


def test_singular_matrices_give_nan() -> None:
    assert np.isnan(spsolve(jnp.ones(2), [0, 1], [0, 1, 2, 2], jnp.ones(3))).all()


def matrix_of(values: Any, dtype: Any = np.float64) -> np.ndarray[Any, Any]:
    """A matrix with these eigenvalues."""
    n = len(values)
    rng = np.random.default_rng(n)
    q, _ = np.linalg.qr(rng.normal(size=(n, n)) + (1j * rng.normal(size=(n, n))))
    if not np.issubdtype(dtype, np.complexfloating):
        q, _ = np.linalg.qr(q.real)
    full = (q * np.asarray(values)) @ q.conj().T
    return ((full + full.conj().T) / 2).astype(dtype)


SPECTRA: dict[str, Any] = {
    "spread": np.arange(40.0),
    "negative": -np.arange(1.0, 41.0),
    "clustered": np.concatenate([np.zeros(36), [1, 1, 1, 2]]),
    "steep": np.arange(40.0) ** 4,
    "zero": np.zeros(40),
    "identity": np.ones(40),
}


@pytest.mark.parametrize("name", SPECTRA)
@pytest.mark.parametrize("dtype", [np.float64, np.complex128], ids=["real", "complex"])
def test_eigenvalues(name: str, dtype: Any) -> None:
    a = matrix_of(SPECTRA[name], dtype)
    start = np.random.default_rng(1).normal(size=(40, 3)).astype(dtype)
    for times in (a, lambda x: jnp.asarray(a) @ x):
        theta, u, _ = lobpcg_standard(times, start)
        largest = np.abs(SPECTRA[name]).max()
        np.testing.assert_allclose(theta, np.sort(SPECTRA[name])[::-1][:3], atol=1e-9 * largest)
        np.testing.assert_allclose(np.conj(u).T @ u, np.eye(3), atol=1e-12)
        np.testing.assert_allclose(a @ u, u * theta, atol=1e-5 * max(largest, 1e-3))


def test_starts_that_are_no_basis_and_limits() -> None:
    a = matrix_of(np.arange(40.0))
    for start in (np.zeros((40, 3)), np.ones((40, 3))):
        np.testing.assert_allclose(lobpcg_standard(a, start)[0], [39, 38, 37], rtol=1e-9)
    start = np.random.default_rng(1).normal(size=(40, 3))
    assert int(lobpcg_standard(a, start, m=2)[2]) == 2
    assert int(lobpcg_standard(a, start, tol=1e-2)[2]) < int(lobpcg_standard(a, start)[2]) < 100
    assert np.isnan(lobpcg_standard(a * np.nan, start)[0]).all()
    jitted = jax.jit(lambda a: lobpcg_standard(a, start)[0])(a)
    np.testing.assert_allclose(jitted, [39, 38, 37], rtol=1e-9)


_, _parts, _b = system(4, "float32")
REFUSALS: dict[str, tuple[Callable[[], Any], type[Exception], str]] = {
    "two axes": (lambda: spsolve(*_parts, jnp.ones((4, 2))), ValueError, "shapes"),
    "size": (lambda: spsolve(*_parts, _b[:3]), ValueError, "n \\+ 1"),
    "dtypes": (lambda: spsolve(*_parts, jnp.ones(4, jnp.int32)), ValueError, "dtypes"),
    "order": (lambda: spsolve(*_parts, _b, reorder=7), ValueError, "argument reorder"),
    "places": (
        lambda: spsolve(jnp.ones(2), [0, 5], [0, 1, 2], jnp.ones(2)),
        ValueError,
        "columns from 0 to 1",
    ),
    "no vectors": (lambda: lobpcg_standard(np.eye(9), np.zeros((9, 0))), ValueError, "0 < 5 k"),
    "many vectors": (lambda: lobpcg_standard(np.eye(9), np.eye(9)), ValueError, "0 < 5 k"),
    "integers": (
        lambda: lobpcg_standard(np.eye(9, dtype=int), np.ones((9, 1), int)),
        ValueError,
        "floating or complex",
    ),
    "product": (
        lambda: lobpcg_standard(lambda x: x[:3], np.ones((9, 1))),
        ValueError,
        "size and the dtype of X",
    ),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_refusals(name: str) -> None:
    call, kind, text = REFUSALS[name]
    with pytest.raises(kind, match=text):
        call()
