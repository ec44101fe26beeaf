"""Factorisations of small matrices by rows: as exact as the library, and its results otherwise."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import morphax as jax
from morphax import lax
from morphax.lax.linalg import lapack

linalg = lax.linalg

pytestmark = pytest.mark.skipif(lapack.compiled is None, reason="the compiled module is not used")

SIZES = [(1, 1), (1, 5), (5, 1), (2, 3), (7, 7), (16, 17), (33, 9), (30, 30), (64, 64), (90, 80)]


def _matrices(rows: int, columns: int, dtype: str) -> Iterator[Any]:
    """Matrices that are ordinary, and such as are left to the library."""
    rng, limits = np.random.default_rng(rows + columns), np.finfo(dtype)
    x = rng.normal(size=(rows, columns))
    yield x
    yield np.round(2 * x)
    yield np.outer(x[:, 0], x[0])
    yield np.triu(x)
    yield np.tril(x)
    yield np.where(np.arange(columns) == columns // 2, 0, x)
    yield np.zeros_like(x)
    yield x * 10.0 ** rng.integers(-9, 9, (rows, 1))
    yield x * 10.0 ** rng.integers(-9, 9, (1, columns))
    yield x * float(limits.max) ** 0.75
    yield x / float(limits.max) ** 0.75


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape", SIZES)
def test_lu_is_exact_but_for_rounding(shape: tuple[int, int], dtype: str) -> None:
    size, eps = min(shape), float(np.finfo(dtype).eps)
    for given in _matrices(*shape, dtype):
        a = given.astype(dtype)
        with jax.enable_x64(True):
            factors, pivots, order = map(np.asarray, linalg.lu(jax.numpy.asarray(a)))
        exact = np.longdouble if dtype == "float64" else np.float64
        lower = np.tril(factors[:, :size].astype(exact), -1) + np.eye(*shape)[:, :size]
        upper = np.triu(factors[:size].astype(exact))
        assert np.abs(lower).max() <= 1
        error = np.abs(lower @ upper - a[order])
        assert (error <= size * eps * (np.abs(lower) @ np.abs(upper))).all()
        np.testing.assert_array_equal(order, linalg.lu_pivots_to_permutation(pivots, shape[0]))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("size", [1, 2, 3, 8, 9, 17, 30, 64, 80, 91])
def test_cholesky_is_exact_but_for_rounding(size: int, dtype: str) -> None:
    eps = float(np.finfo(dtype).eps)
    x = np.random.default_rng(size).normal(size=(size, size))
    scales = 10.0 ** np.random.default_rng(1).integers(-6, 6, size)
    for definite in (x @ x.T + np.eye(size), scales[:, None] * (x @ x.T + np.eye(size)) * scales):
        # The other triangle is not read.
        a = np.where(np.tri(size, dtype=bool), definite, np.nan).astype(dtype)
        with jax.enable_x64(True):
            factor = np.asarray(linalg.cholesky(jax.numpy.asarray(a), symmetrize_input=False))
        assert not np.triu(factor, 1).any()
        exact = factor.astype(np.longdouble if dtype == "float64" else np.float64)
        error = np.tril(np.abs(exact @ exact.T - a))
        assert (np.nan_to_num(error) <= (size + 1) * eps * (np.abs(exact) @ np.abs(exact.T))).all()
        assert np.isfinite(factor).all()


@pytest.mark.parametrize("full_matrices", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape", SIZES)
def test_qr_is_exact_but_for_rounding(
    shape: tuple[int, int], dtype: str, full_matrices: bool
) -> None:
    tolerance = 4 * max(shape) * float(np.finfo(dtype).eps)
    for given in _matrices(*shape, dtype):
        a = given.astype(dtype)
        with jax.enable_x64(True):
            found = linalg.qr(jax.numpy.asarray(a), full_matrices=full_matrices)
        q, r = (np.asarray(x).astype(np.float64) for x in found)
        assert not np.tril(r, -1).any()
        np.testing.assert_allclose(q.T @ q, np.eye(q.shape[1]), rtol=0, atol=tolerance)
        # In units of the largest, for squares of these may be out of range.
        unit = max(float(np.abs(a).max()), float(np.finfo(dtype).tiny))
        columns = np.linalg.norm(a / unit, axis=0)
        assert (np.abs(q @ (r / unit) - a / unit) <= tolerance * columns).all()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("value", [np.nan, np.inf, 1e-40, 3e38])
def test_one_matrix_leaves_the_others_of_a_stack(value: float, dtype: str) -> None:
    stack = np.random.default_rng(0).normal(size=(4, 9, 9)).astype(dtype)
    other = stack.copy()
    other[2, 3:, 4] = value
    with jax.enable_x64(True):
        for function in (linalg.lu, linalg.qr):
            for mine, whole in zip(function(stack), function(other), strict=True):
                kept = np.array([0, 1, 3])
                np.testing.assert_array_equal(np.asarray(mine)[kept], np.asarray(whole)[kept])
