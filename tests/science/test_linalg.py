"""Banded and Toeplitz systems and generalised eigenvalue problems, against NumPy and SciPy."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import scipy.linalg

import morphax as jax
import morphax.numpy as jnp
from morphax import enable_x64
from morphax.errors import ShapeError
from morphax.science import linalg
from morphax.test_util import check_grads

RNG = np.random.default_rng(2)


@pytest.fixture(autouse=True)
def _wide_dtypes() -> Iterator[None]:
    with enable_x64(True):
        yield


def _numbers(shape: Any, is_complex: bool) -> np.ndarray:
    real = RNG.normal(size=shape)
    return real + 1j * RNG.normal(size=shape) if is_complex else real


def _close(found: Any, expected: Any, tolerance: float = 1e-8) -> None:
    assert np.shape(found) == np.shape(expected)
    np.testing.assert_allclose(found, expected, tolerance, tolerance)


def _dense(ab: np.ndarray, low: int, high: int) -> np.ndarray:
    size = ab.shape[1]
    made = np.zeros((size, size), ab.dtype)
    for i, j in np.ndindex(size, size):
        if -high <= i - j <= low:
            made[i, j] = ab[high + i - j, j]
    return made


@pytest.mark.parametrize(("low", "high"), [(0, 0), (1, 0), (1, 1), (2, 0), (0, 3), (3, 4)])
def test_banded_systems(low: int, high: int) -> None:
    for size, is_complex, shape in ((2, False, (2,)), (7, True, (7, 3))):
        ab, b = _numbers((low + high + 1, size), is_complex), _numbers(shape, False)
        expected = np.linalg.solve(_dense(ab, low, high), b)
        _close(linalg.solve_banded((low, high), ab, b), expected)
    _close(jax.jit(linalg.solve_banded, static_argnums=0)((low, high), ab, b), expected)


@pytest.mark.parametrize("count", [0, 1, 3])
@pytest.mark.parametrize("lower", [False, True])
def test_banded_systems_that_are_positive_definite(count: int, lower: bool) -> None:
    for size, is_complex in ((2, False), (7, True)):
        ab = _numbers((count + 1, size), is_complex)
        ab[0 if lower else count] = np.abs(ab).sum() + 1
        b = RNG.normal(size=(size, 2))
        factor = linalg.cholesky_banded(ab, lower=lower)
        dense = _dense(np.asarray(factor), *((count, 0) if lower else (0, count)))
        whole = _dense(ab, *((count, 0) if lower else (0, count)))
        whole = whole + whole.conj().T - np.diag(np.diag(whole).real)
        product = dense @ dense.conj().T if lower else dense.conj().T @ dense
        _close(product, whole)
        _close(linalg.cho_solve_banded((factor, lower), b), np.linalg.solve(whole, b))
        _close(linalg.solveh_banded(ab, b, lower=lower), np.linalg.solve(whole, b))
        w, v = linalg.eig_banded(ab, lower)
        _close(w, np.linalg.eigvalsh(whole))
        _close(whole @ v, v * w)
        _close(linalg.eigvals_banded(ab, lower), w)


def test_derivatives_of_banded_systems() -> None:
    for is_complex in (False, True):
        ab, b = _numbers((4, 4), is_complex), RNG.normal(size=(4, 1))
        ab[1] += 4
        order = 1 if is_complex else 2
        run = lambda ab, b: linalg.solve_banded((2, 1), ab, b)  # noqa: E731
        check_grads(run, (ab, b), order=order, atol=1e-4, rtol=1e-4)
        ab[0] = 9
        run = lambda ab, b: linalg.solveh_banded(ab, b, lower=True)  # noqa: E731
        check_grads(run, (ab, b), order=1, atol=1e-4, rtol=1e-4)


def test_stacks_of_systems() -> None:
    ab, b = RNG.normal(size=(3, 6, 5)), RNG.normal(size=(3, 5))
    found = jax.vmap(lambda ab, b: linalg.solve_banded((2, 3), ab, b))(ab, b)
    _close(found, np.stack([linalg.solve_banded((2, 3), *pair) for pair in zip(ab, b)]))  # noqa: B905


def test_systems_without_a_solution_or_a_size() -> None:
    for low, high in ((0, 1), (1, 1), (2, 1)):
        ab = np.zeros((low + high + 1, 4))
        assert not np.isfinite(linalg.solve_banded((low, high), ab, np.ones(4))).any()
    assert np.isnan(linalg.cholesky_banded([[1.0, -1.0]])).tolist() == [[False, True]]
    assert np.isnan(linalg.solveh_banded([[-1.0, -1.0]], [1.0, 1.0])).all()
    assert linalg.solve_banded((1, 1), np.ones((3, 0)), np.ones(0)).shape == (0,)
    assert linalg.solve_banded((1, 1), np.ones((3, 2)), np.ones((2, 0))).shape == (2, 0)
    assert linalg.solveh_banded(np.ones((2, 0)), np.ones(0)).shape == (0,)
    assert linalg.solve_toeplitz(np.ones(0), np.ones(0)).shape == (0,)
    # Exchanges of rows: no element of the main diagonal is a pivot.
    ab = np.array([[0, 0, 1, 1.0], [0, 1, 1, 1], [0, 0, 0, 0], [1, 1, 1, 0]])
    _close(
        linalg.solve_banded((1, 2), ab, np.ones(4)), np.linalg.solve(_dense(ab, 1, 2), np.ones(4))
    )


@pytest.mark.parametrize("kind", [1, 2, 3])
@pytest.mark.parametrize("lower", [True, False])
def test_generalised_eigenvalues(kind: int, lower: bool) -> None:
    for size, is_complex in ((1, False), (4, False), (4, True)):
        a, b = [_numbers((size, size), is_complex) for _ in "ab"]
        b = b @ b.conj().T + np.eye(size)
        w, v = linalg.eigh(a, b, lower=lower, type=kind)
        expected, vectors = scipy.linalg.eigh(a, b, lower=lower, type=kind)
        _close(w, expected)
        _close(np.abs(v), np.abs(vectors))
    run = lambda a, b: linalg.eigh(a, b, lower=lower, type=kind)  # noqa: E731
    a, b = a.real, b.real
    check_grads(lambda a, b: run(a, b)[0], (a, b), order=2, atol=1e-3, rtol=1e-3)
    check_grads(lambda a, b: run(a, b)[1] ** 2, (a, b), order=1, atol=1e-3, rtol=1e-3)
    few = linalg.eigh(a, b, lower=lower, type=kind, eigvals_only=True, subset_by_index=(1, 2))
    _close(few, run(a, b)[0][1:3])
    _close(linalg.eigh(a, lower=lower)[0], scipy.linalg.eigh(a, lower=lower)[0])


@pytest.mark.parametrize("size", [1, 2, 9])
def test_toeplitz_systems(size: int) -> None:
    for is_complex in (False, True):
        c, r = _numbers(size, is_complex), _numbers(size, False)
        c[0] = 4 * size**0.5
        for b in (RNG.normal(size=size), RNG.normal(size=(size, 2))):
            for given in (c, (c, r)):
                _close(linalg.solve_toeplitz(given, b), scipy.linalg.solve_toeplitz(given, b))
    run = lambda c, r, b: linalg.solve_toeplitz((c, r), b)  # noqa: E731
    check_grads(run, (c.real, r, b), order=1, atol=1e-4, rtol=1e-4)


def test_narrow_numbers() -> None:
    with enable_x64(False):
        ab = np.array([[0, 0, 1], [4, 4, 4], [1, 1, 0], [0.5, 0, 0]], np.float32)
        found = linalg.solve_banded((2, 1), ab, jnp.ones(3))
        assert found.dtype == np.float32
        _close(found, np.linalg.solve(_dense(ab, 2, 1), np.ones(3)), 1e-5)
        assert linalg.solve_toeplitz([2, 1], [3, 3]).tolist() == [1, 1]


def test_arguments_that_are_refused() -> None:
    with pytest.raises(ShapeError, match="argument ab"):
        linalg.solve_banded((1, 1), np.ones((2, 3)), np.ones(3))
    with pytest.raises(ValueError, match="argument l_and_u"):
        linalg.solve_banded((-1, 1), np.ones((1, 3)), np.ones(3))
    with pytest.raises(ShapeError, match="argument b"):
        linalg.solve_banded((1, 1), np.ones((3, 3)), np.ones(2))
    with pytest.raises(ShapeError, match="argument cb_and_lower"):
        linalg.cho_solve_banded((np.ones(3), True), np.ones(3))
    with pytest.raises(ValueError, match="argument type"):
        linalg.eigh(np.eye(2), np.eye(2), type=4)
    with pytest.raises(ShapeError, match="argument b"):
        linalg.eigh(np.eye(2), np.eye(3))
    with pytest.raises(ShapeError, match="argument c_or_cr"):
        linalg.solve_toeplitz((np.ones(2), np.ones(3)), np.ones(2))
    with pytest.raises(ShapeError, match="argument b"):
        linalg.solve_toeplitz(np.ones(2), np.ones((2, 1, 1)))


@pytest.mark.parametrize("subset", [(2, 1), (0, 3), (-1, 1)])
def test_eigenvalues_that_there_are_not_are_refused(subset: tuple[int, int]) -> None:
    with pytest.raises(ValueError, match="0 ≤ first ≤ last < 3"):
        linalg.eigh(np.eye(3), subset_by_index=subset)
