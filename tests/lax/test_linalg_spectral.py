"""Spectral factorisations where tables do not reach: hard matrices, NaN, equal values, misuse."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp
from morphax import enable_x64, lax

EPS = np.finfo(np.float64).eps
SIZE = 12


def _matrices() -> dict[str, np.ndarray[Any, Any]]:
    """Matrices on which careless algorithms fail."""
    rng = np.random.default_rng(0)
    q, _ = np.linalg.qr(rng.normal(size=(SIZE, SIZE)))
    p, _ = np.linalg.qr(rng.normal(size=(SIZE, SIZE)))
    falling = 10.0 ** -np.arange(SIZE)
    low = rng.normal(size=(SIZE, 3))
    return {
        "random": rng.normal(size=(SIZE, SIZE)),
        "clustered": (q * (1 + 1e-12 * np.arange(SIZE))) @ p,
        "degenerate": (q * np.repeat([1.0, 2.0, 3.0], SIZE // 3)) @ q.T,
        "rank-deficient": low @ low.T,
        "graded": falling[:, None] * rng.normal(size=(SIZE, SIZE)) * falling,
        "defective": np.eye(SIZE) + np.eye(SIZE, k=1),
        "zero": np.zeros((SIZE, SIZE)),
        "orthogonal": q,
        "huge": 1e300 * rng.normal(size=(SIZE, SIZE)),
        "tiny": 1e-300 * rng.normal(size=(SIZE, SIZE)),
        "complex": rng.normal(size=(SIZE, SIZE)) + 1j * rng.normal(size=(SIZE, SIZE)),
    }


MATRICES = _matrices()


def _engines(function: Callable[..., Any], *operands: Any) -> list[list[Any]]:
    """The results of both engines, as NumPy arrays."""
    with enable_x64(True):
        return [[np.asarray(r) for r in f(*operands)] for f in (function, jax.jit(function))]


def _assert_small(error: Any, scale: Any) -> None:
    assert np.linalg.norm(error) <= 10 * SIZE * EPS * scale


def _assert_unitary(q: Any) -> None:
    _assert_small(q.conj().T @ q - np.eye(q.shape[1]), 1.0)


@pytest.mark.parametrize("name", MATRICES)
@pytest.mark.parametrize("algorithm", [None, lax.linalg.SvdAlgorithm.QR])
def test_svd_is_backward_stable(name: str, algorithm: Any) -> None:
    # Products of huge numbers overflow: the test scales them first.
    a = MATRICES[name]
    unit = np.abs(a).max() or 1.0
    for u, s, vh in _engines(lambda x: lax.linalg.svd(x, algorithm=algorithm), a):
        _assert_unitary(u)
        _assert_unitary(vh)
        assert (np.diff(s) <= 0).all()
        assert (s >= 0).all()
        _assert_small((u * (s / unit)) @ vh - a / unit, np.linalg.norm(a / unit))


@pytest.mark.parametrize("name", MATRICES)
def test_eigh_is_backward_stable(name: str) -> None:
    half = MATRICES[name] / 2
    a = half + half.conj().T
    unit = np.abs(a).max() or 1.0
    for v, w in _engines(lax.linalg.eigh, a):
        _assert_unitary(v)
        assert (np.diff(w) >= 0).all()
        _assert_small((v * (w / unit)) @ v.conj().T - a / unit, np.linalg.norm(a / unit))


@pytest.mark.parametrize("name", MATRICES)
def test_eig_has_small_residuals(name: str) -> None:
    a = MATRICES[name]
    unit = np.abs(a).max() or 1.0
    for w, left, right in _engines(lax.linalg.eig, a):
        _assert_small((a / unit) @ right - right * (w / unit), np.linalg.norm(a / unit))
        adjoint = left.conj().T
        _assert_small(
            adjoint @ (a / unit) - (w / unit)[:, None] * adjoint, np.linalg.norm(a / unit)
        )
        np.testing.assert_allclose(np.linalg.norm(right, axis=0), 1, rtol=1e-14)


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
@pytest.mark.parametrize("power", [-1, 1])
def test_eigenvalues_of_extreme_matrices_keep_their_scale(dtype: str, power: int) -> None:
    # SciPy's geev returns those of the matrix that it has scaled.
    ordinary = MATRICES["complex" if "complex" in dtype else "random"]
    scale = (1e30 if dtype in ("float32", "complex64") else 1e300) ** power
    for stack in ((ordinary * scale)[None], ordinary * scale):
        for (w,) in _engines(lambda x: [jnp.linalg.eigvals(x)], stack.astype(dtype)):
            found = w.reshape(-1) / scale
            expected = np.linalg.eigvals(ordinary)
            gaps = np.abs(found[:, None] - expected).min(1)
            assert gaps.max() < (1e-4 if "32" in dtype or dtype == "complex64" else 1e-11)


@pytest.mark.parametrize("name", MATRICES)
def test_schur_is_backward_stable(name: str) -> None:
    a = MATRICES[name]
    unit = np.abs(a).max() or 1.0
    for t, q in _engines(lax.linalg.schur, a):
        _assert_unitary(q)
        _assert_small(q @ (t / unit) @ q.conj().T - a / unit, np.linalg.norm(a / unit))
        assert not np.tril(t, -2).any()


# The program is a process of its own: on NaN some of LAPACK's functions never end.
NOT_FINITE = """
import numpy as np
import morphax as jax
from morphax import lax

L = lax.linalg
FUNCTIONS = [
    L.svd, lambda x: L.svd(x, algorithm=L.SvdAlgorithm.QR), lambda x: [L.svd(x, compute_uv=False)],
    L.eigh, L.eig, L.schur, lambda x: L.schur(x, compute_schur_vectors=False),
]
for size, dtypes in ((3, "fdFD"), (40, "dF")):
    for dtype in dtypes:
        with jax.enable_x64(True):
            for bad in (np.nan, np.inf):
                x = np.stack([np.eye(size, dtype=dtype)] * 3)
                x[0, 1, 1] = bad
                x[2, 0, size - 1] = bad
                for function in FUNCTIONS:
                    for f in (function, jax.jit(function)):
                        for found in map(np.asarray, f(x)):
                            assert np.isnan(found[[0, 2]]).all(), (size, dtype, bad)
                            assert np.isfinite(found[1]).all(), (size, dtype, bad)
                        assert all(np.isnan(np.asarray(r)).all() for r in f(x[0]))
print("ended")
"""


def test_matrices_that_are_not_finite_give_nan() -> None:
    done = subprocess.run(
        [sys.executable, "-c", NOT_FINITE], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.stdout.strip() == "ended", done.stderr[-2000:]


def test_finite_numbers_whose_squares_overflow_are_no_infinities() -> None:
    x = np.full((2, 2), 1e30, np.float32)
    for s in (lax.linalg.svd(x, compute_uv=False), jax.jit(lax.linalg.svd)(x)[1]):
        np.testing.assert_allclose(s, [2e30, 0], atol=1e24)


def test_equal_eigenvalues_have_derivatives_where_these_are_defined() -> None:
    eye = jnp.eye(3)
    np.testing.assert_allclose(jax.grad(lambda x: lax.linalg.eigh(x)[1].sum())(eye), eye, atol=1e-6)
    values = jax.grad(lambda x: lax.linalg.svd(x, compute_uv=False).sum())
    np.testing.assert_allclose(values(eye), eye, atol=1e-6)
    traces = jax.grad(lambda x: jnp.linalg.eigvals(x).real.sum())
    np.testing.assert_allclose(traces(eye), eye, atol=1e-6)
    # Vectors of equal values are any basis: no number would be their derivative.
    for vector in (lambda x: lax.linalg.eigh(x)[0], lambda x: lax.linalg.svd(x)[0]):
        assert not np.isfinite(jax.grad(lambda x, f=vector: f(x).sum())(eye)).any()
    # That of the simple eigenvalue keeps its own.
    x, change = jnp.diag(jnp.array([1.0, 2.0, 2.0])), jnp.ones((3, 3))
    _, moved = jax.jvp(lambda x: lax.linalg.eigh(x)[0], (x,), (change,))
    np.testing.assert_allclose(np.abs(moved[:, 0]), [0, 1, 1], atol=1e-6)


def test_singular_values_at_zero_keep_finite_derivatives() -> None:
    zero = jnp.zeros((3, 2))
    found = jax.grad(lambda x: jnp.linalg.norm(x, "nuc"))(zero)
    assert np.isfinite(found).all()
    np.testing.assert_allclose(jnp.linalg.svdvals(found), [1, 1], atol=1e-6)


L = lax.linalg
SQUARE = np.ones((3, 3), np.float32)


@pytest.mark.parametrize(
    ("call", "error", "told"),
    [
        (lambda: L.svd(SQUARE[0]), ValueError, "a matrix"),
        (lambda: L.svd(np.float32(1)), TypeError, "a matrix"),
        (lambda: L.svd(SQUARE.astype(int)), TypeError, "float32"),
        (lambda: L.svd(jnp.ones((2, 2), "bfloat16")), TypeError, "float32"),
        (lambda: L.svd(SQUARE, subset_by_index=(0, 2)), ValueError, "full_matrices=False"),
        (lambda: L.svd(SQUARE, full_matrices=False, subset_by_index=(2, 1)), ValueError, "(2, 1)"),
        (lambda: L.svd(SQUARE, full_matrices=False, subset_by_index=(0, 4)), ValueError, "<= 3"),
        (lambda: L.svd(SQUARE, full_matrices=False, subset_by_index=1), ValueError, "a pair"),
        (lambda: L.svd(SQUARE, algorithm=L.SvdAlgorithm.JACOBI), NotImplementedError, "CPU"),
        (lambda: L.eigh(SQUARE[:2]), ValueError, "square"),
        (lambda: L.eigh(SQUARE[0]), ValueError, "a matrix"),
        (lambda: L.eigh(SQUARE, subset_by_index=(-1, 2)), ValueError, "(-1, 2)"),
        (
            lambda: L.eigh(SQUARE, implementation=L.EighImplementation.QDWH),
            NotImplementedError,
            "CPU",
        ),
        (lambda: L.eig(SQUARE[:2]), ValueError, "square"),
        (lambda: L.eig(SQUARE, implementation=L.EigImplementation.MAGMA), ValueError, "CPU"),
        (lambda: L.eig(SQUARE, use_magma=True), ValueError, "CPU"),
        (lambda: L.schur(SQUARE[:2]), ValueError, "square"),
        (lambda: L.schur(SQUARE, sort_eig_vals=True), NotImplementedError, "order"),
        (lambda: L.hessenberg(SQUARE[:2]), ValueError, "square"),
        (lambda: L.tridiagonal(SQUARE[:2]), ValueError, "square"),
        (lambda: L.tridiagonal_solve(*SQUARE[:, :2], SQUARE), ValueError, "one length"),
        (lambda: L.tridiagonal_solve(*SQUARE, SQUARE[0]), TypeError, "a matrix"),
        (lambda: L.tridiagonal_solve(*SQUARE.astype(int), SQUARE), TypeError, "float32"),
        (lambda: L.qdwh(SQUARE[:2]), ValueError, "as many rows"),
        (lambda: L.qdwh(SQUARE[None]), ValueError, "one matrix"),
        (lambda: L.symmetric_product(SQUARE, SQUARE[:2]), ValueError, "(3, 3)"),
        (lambda: jax.jvp(L.schur, (SQUARE,), (SQUARE,)), NotImplementedError, "schur"),
        (lambda: jax.jvp(L.hessenberg, (SQUARE,), (SQUARE,)), NotImplementedError, "hessenberg"),
        (lambda: jax.jvp(L.tridiagonal, (SQUARE,), (SQUARE,)), NotImplementedError, "tridiagonal"),
        (lambda: jax.jvp(L.eig, (SQUARE,), (SQUARE,)), NotImplementedError, "eigvals"),
        (lambda: jax.jvp(L.svd, (SQUARE[:2],), (SQUARE[:2],)), NotImplementedError, "square"),
        (lambda: jnp.linalg.eigh(SQUARE, UPLO="X"), ValueError, "'L'"),
        (lambda: jnp.linalg.pinv(SQUARE, rtol=0.1, rcond=0.1), ValueError, "rtol"),
        (lambda: jnp.linalg.matrix_rank(SQUARE, 0.1, tol=0.1), ValueError, "rtol"),
        (lambda: jnp.linalg.lstsq(SQUARE, SQUARE[0, :2]), ValueError, "vector"),
        (lambda: jnp.linalg.cond(SQUARE, 3), ValueError, "'nuc'"),
        (lambda: jnp.linalg.cond(SQUARE[:0]), ValueError, "element"),
        (lambda: jnp.linalg.cond(SQUARE[:2], 1), ValueError, "square"),
        (lambda: jnp.linalg.matrix_norm(SQUARE, ord="two"), ValueError, "'nuc'"),
    ],
)
def test_misuse_is_refused(call: Callable[[], Any], error: type, told: str) -> None:
    with pytest.raises(error) as caught:
        call()
    assert told in str(caught.value)


@pytest.mark.parametrize(
    "name", ["random", "clustered", "degenerate", "zero", "orthogonal", "complex"]
)
def test_polar_decompositions(name: str) -> None:
    a = MATRICES[name][:, : SIZE - 2]
    for u, h, _, converged in _engines(L.qdwh, a):
        assert converged
        _assert_small(u @ h - a, np.linalg.norm(a))
        assert np.linalg.eigvalsh(h).min() >= -10 * SIZE * EPS * np.linalg.norm(a)
        if np.linalg.matrix_rank(a) == SIZE - 2:
            _assert_unitary(u)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_values_that_are_noise_become_one(dtype: Any) -> None:
    rng, eps = np.random.default_rng(3), np.finfo(dtype).eps
    sides = [np.linalg.qr(rng.normal(size=(SIZE, SIZE)))[0] for _ in range(2)]
    noise = eps * 10.0 ** -rng.uniform(0, 2, SIZE)
    values = np.where(np.arange(SIZE) < SIZE // 2, 1, noise)
    a = ((sides[0] * values) @ sides[1]).astype(dtype)
    for u, h, steps, converged in _engines(L.qdwh, a):
        assert converged
        assert steps == (5 if dtype == np.float32 else 6)
        wide = u.astype(np.float64)
        assert np.linalg.norm(wide.T @ wide - np.eye(SIZE)) <= 10 * SIZE * eps
        assert np.linalg.norm(wide @ h - a) <= SIZE * eps * np.linalg.norm(a)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_polar_decompositions_of_the_least_numbers(dtype: Any) -> None:
    a = np.random.default_rng(5).normal(size=(5, 3))
    limits = np.finfo(dtype)
    for exponent in (-limits.nmant // 2, -1, 0, 2, limits.maxexp - limits.minexp - 4):
        least = np.ldexp(a, limits.minexp + exponent).astype(dtype)
        for u, h, _, converged in _engines(L.qdwh, least):
            assert converged
            wide = u.astype(np.float64)
            assert np.linalg.norm(wide.T @ wide - np.eye(3)) <= 10 * SIZE * limits.eps
            # Denormal numbers have few digits.
            size = np.abs(least).max()
            lost = 10 * max(limits.eps, float(limits.smallest_subnormal / size))
            np.testing.assert_allclose((wide @ h) / size, least / size, atol=lost)


def test_polar_decompositions_stop_where_they_are_told() -> None:
    a = MATRICES["random"]
    with enable_x64(True):
        found = [L.qdwh(a, max_iterations=k)[2:] for k in (0, 2, 9)]
        steps = [[int(n), bool(done)] for n, done in found]
        assert steps == [[0, False], [2, False], [6, True]]
        u, h, _, _ = L.qdwh(a, dynamic_shape=(5, 4))
        np.testing.assert_allclose((u @ h)[:5, :4], a[:5, :4], atol=1e-13)
        assert not np.any(u[5:])
        assert not np.any(u[:, 4:])


def test_singular_tridiagonal_systems() -> None:
    zero, one = np.zeros(3, np.float32), np.ones((3, 1), np.float32)
    for f in (L.tridiagonal_solve, jax.jit(L.tridiagonal_solve)):
        assert np.isnan(f(zero, zero, zero, one)).all()
    diagonal = np.array([1, 0, 4], np.float32)

    def perturbed(d: Any) -> Any:
        return L.tridiagonal_solve(zero, d, zero, one, perturb_singular=True)[:, 0]

    # The pivot 0 becomes ε times the largest element.
    expected = [1, 1 / (4 * np.finfo(np.float32).eps), 0.25]
    for f in (perturbed, jax.jit(perturbed)):
        np.testing.assert_allclose(f(diagonal), expected, rtol=1e-6)


def test_pseudo_inverses_of_equal_values_and_of_low_rank_have_second_derivatives() -> None:
    with enable_x64(True):
        rng = np.random.default_rng(3)
        u, _, vh = np.linalg.svd(rng.normal(size=(4, 3)), full_matrices=False)
        change = rng.normal(size=(4, 3))
        for values in ([2.0, 2, 2], [2.0, 2, 0], [3.0, 0, 0]):
            x = (u * np.array(values)) @ vh

            def first(x: Any) -> Any:
                return jax.jvp(lambda x: jnp.linalg.pinv(x, rtol=1e-2), (x,), (change,))[1]

            step = 1e-5
            numeric = (first(x + step * change) - first(x - step * change)) / (2 * step)
            second = jax.jvp(first, (x,), (change,))[1]
            np.testing.assert_allclose(second, numeric, atol=1e-6 * np.abs(numeric).max())
        # Values left out that are no rounding errors have first derivatives only.
        x = (u * np.array([2.0, 2, 0.01])) @ vh
        assert np.isfinite(first(x)).all()
        assert np.isnan(jax.jvp(first, (x,), (change,))[1]).all()
