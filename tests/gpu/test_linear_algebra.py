"""Factorisations by the libraries for CUDA: what they satisfy, special matrices, derivatives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp
from morphax import lax

DTYPES = ("float32", "float64", "complex64", "complex128")
SHAPES = ((5, 5), (7, 4), (4, 7), (3, 6, 6), (2, 3, 8, 5), (40, 33), (1, 1))
SQUARE = tuple(shape for shape in SHAPES if shape[-1] == shape[-2])


@pytest.fixture(autouse=True)
def _wide_dtypes() -> Any:
    with jax.enable_x64(True):
        yield


def drawn(shape: tuple[int, ...], dtype: str, seed: int = 0) -> Any:
    rng = np.random.default_rng([seed, *shape])
    values = rng.normal(size=shape)
    if dtype.startswith("complex"):
        values = values + 1j * rng.normal(size=shape)
    return jnp.asarray(values.astype(dtype))


def close(given: Any, wanted: Any, factor: float = 1.0) -> None:
    """Equal up to rounding of matrices of this size."""
    given, wanted = np.asarray(given), np.asarray(wanted)
    eps = np.finfo(given.dtype).eps
    scale = max(np.abs(wanted).max(initial=0.0), 1.0)
    bound = 60 * factor * eps * scale * max(given.shape[-2:], default=1)
    np.testing.assert_allclose(given, wanted, rtol=0, atol=bound)


def adjoint(x: Any) -> Any:
    return jnp.conj(jnp.swapaxes(x, -1, -2))


def hermitian(shape: tuple[int, ...], dtype: str) -> Any:
    x = drawn(shape, dtype)
    return (x + adjoint(x)) / 2


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("full", [False, True])
@pytest.mark.parametrize("algorithm", [None, "QR", "JACOBI", "POLAR"])
def test_svd(shape: tuple[int, ...], dtype: str, full: bool, algorithm: str | None) -> None:
    chosen = algorithm and lax.linalg.SvdAlgorithm[algorithm]
    x = drawn(shape, dtype)
    u, s, vh = jax.jit(lambda x: lax.linalg.svd(x, full_matrices=full, algorithm=chosen))(x)
    rank = min(shape[-2:])
    close((u[..., :rank] * s[..., None, :]) @ vh[..., :rank, :], x)
    close(
        adjoint(u) @ u,
        np.broadcast_to(np.eye(u.shape[-1]), adjoint(u).shape[:-2] + 2 * u.shape[-1:]),
    )
    close(
        vh @ adjoint(vh), np.broadcast_to(np.eye(vh.shape[-2]), vh.shape[:-2] + 2 * vh.shape[-2:-1])
    )
    close(s, np.linalg.svd(np.asarray(x), compute_uv=False))
    close(jax.jit(lambda x: lax.linalg.svd(x, compute_uv=False, algorithm=chosen))(x), s)


@pytest.mark.parametrize("shape", [(1500, 20), (20, 1500), (1100, 1100)])
def test_svd_of_large_matrices(shape: tuple[int, ...]) -> None:
    x = drawn(shape, "float32")
    u, s, vh = lax.linalg.svd(x, full_matrices=False)
    close((u * s) @ vh, x)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SQUARE)
@pytest.mark.parametrize("lower", [False, True])
def test_eigh(shape: tuple[int, ...], dtype: str, lower: bool) -> None:
    x = hermitian(shape, dtype)
    junk = jnp.triu(x, 1) if lower else jnp.tril(x, -1)
    v, w = jax.jit(lambda x: lax.linalg.eigh(x, lower=lower, symmetrize_input=False))(x + junk)
    close(x @ v, v * w[..., None, :])
    close(w, np.linalg.eigvalsh(np.asarray(x)))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SQUARE)
def test_eig(shape: tuple[int, ...], dtype: str) -> None:
    x = drawn(shape, dtype)
    w, left, right = jax.jit(lax.linalg.eig)(x)
    close(x @ right, right * w[..., None, :], 20)
    close(adjoint(left) @ x, w[..., :, None] * adjoint(left), 20)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("full", [False, True])
@pytest.mark.parametrize("pivoting", [False, True])
def test_qr(shape: tuple[int, ...], dtype: str, full: bool, pivoting: bool) -> None:
    x = drawn(shape, dtype)
    found = jax.jit(lambda x: lax.linalg.qr(x, full_matrices=full, pivoting=pivoting))(x)
    q, r, *order = found
    moved = jnp.take_along_axis(x, order[0][..., None, :], -1) if order else x
    close(q @ r, moved)
    close(r, jnp.triu(r))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES)
def test_lu(shape: tuple[int, ...], dtype: str) -> None:
    x = drawn(shape, dtype)
    factors, pivots, order = jax.jit(lax.linalg.lu)(x)
    rank = min(shape[-2:])
    lower = jnp.tril(factors, -1)[..., :rank] + jnp.eye(shape[-2], rank, dtype=dtype)
    close(lower @ jnp.triu(factors)[..., :rank, :], jnp.take_along_axis(x, order[..., None], -2))
    np.testing.assert_array_equal(lax.linalg.lu_pivots_to_permutation(pivots, shape[-2]), order)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SQUARE)
def test_systems(shape: tuple[int, ...], dtype: str) -> None:
    x, right = drawn(shape, dtype), drawn(shape, dtype, 1)
    close(x @ jnp.linalg.solve(x, right), right, 50)
    close(x @ jnp.linalg.inv(x), jnp.broadcast_to(jnp.eye(shape[-1]), shape), 50)
    close(jnp.linalg.det(x), np.linalg.det(np.asarray(x)), 5)
    positive = x @ adjoint(x) + jnp.eye(shape[-1], dtype=dtype)
    factor = jnp.linalg.cholesky(positive)
    close(factor @ adjoint(factor), positive)
    close(factor, jnp.tril(factor))
    for lower in (False, True):
        triangle = (jnp.tril if lower else jnp.triu)(x) + 3 * jnp.eye(shape[-1], dtype=dtype)
        for left in (False, True):
            found = lax.linalg.triangular_solve(triangle, right, left_side=left, lower=lower)
            close(triangle @ found if left else found @ triangle, right, 5)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(6,), (3, 6), (1,)])
def test_tridiagonal(shape: tuple[int, ...], dtype: str) -> None:
    lower, diagonal, upper = [drawn(shape, dtype, seed) for seed in range(3)]
    diagonal = diagonal + 4
    right = drawn((*shape, 2), dtype, 3)
    x = lax.linalg.tridiagonal_solve(lower, diagonal, upper, right)
    dense = jnp.zeros((*shape, shape[-1]), dtype)
    i = np.arange(shape[-1])
    dense = dense.at[..., i, i].set(diagonal)
    dense = dense.at[..., i[1:], i[:-1]].set(lower[..., 1:])
    dense = dense.at[..., i[:-1], i[1:]].set(upper[..., :-1])
    close(dense @ x, right)
    matrix = hermitian((*shape, shape[-1]), dtype)
    _, d, e, _ = lax.linalg.tridiagonal(matrix, lower=True)
    rebuilt = jnp.zeros(matrix.shape, d.dtype).at[..., i, i].set(d)
    rebuilt = rebuilt.at[..., i[1:], i[:-1]].set(e).at[..., i[:-1], i[1:]].set(e)
    values = np.linalg.eigvalsh(np.asarray(matrix))
    close(np.linalg.eigvalsh(np.asarray(rebuilt)), values)


@pytest.mark.parametrize("name", ["svd", "eigh", "eig", "qr", "lu", "cholesky", "inv"])
def test_nan_and_empty(name: str) -> None:
    """A matrix that is not finite makes its own results NaN, those of its neighbours stay."""
    functions: dict[str, Any] = {
        "svd": lambda x: lax.linalg.svd(x, compute_uv=False),
        "eigh": lambda x: lax.linalg.eigh(x)[1],
        "eig": lambda x: lax.linalg.eig(x)[0],
        "qr": lambda x: lax.linalg.qr(x)[1],
        "lu": lambda x: lax.linalg.lu(x)[0],
        "cholesky": lax.linalg.cholesky,
        "inv": jnp.linalg.inv,
    }
    function = jax.jit(functions[name])
    stack = np.stack([3 * np.eye(3), np.full((3, 3), np.nan)])
    found = np.asarray(function(jnp.asarray(stack)))
    assert np.isfinite(found[0]).all()
    assert np.isnan(found[1]).any()
    for shape in ((0, 0), (0, 3, 3), (2, 0, 0)):
        assert np.asarray(function(jnp.zeros(shape))).size == 0


@pytest.mark.parametrize(
    "function",
    [
        jnp.linalg.inv,
        jnp.linalg.det,
        lambda x: lax.linalg.svd(x, compute_uv=False),
        lambda x: jnp.linalg.qr(x)[1],
        lambda x: jnp.linalg.eigvalsh(x + x.T),
        lambda x: jnp.linalg.cholesky(x @ x.T + 1),
        lambda x: jnp.linalg.pinv(x[:, :2]),
        lambda x: jnp.linalg.lstsq(x[:, :2], x[:, 2])[0],
        jax.scipy.linalg.expm,
    ],
)
def test_derivatives_are_those_of_the_cpu(function: Any) -> None:
    x = drawn((4, 4), "float64")
    here = jax.jacrev(function)(x)
    with jax.default_device(jax.devices("cpu")[0]):
        there = jax.jacrev(function)(jnp.asarray(np.asarray(x)))
    np.testing.assert_allclose(here, np.asarray(there), rtol=1e-8, atol=1e-8)
