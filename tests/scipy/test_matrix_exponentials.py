"""The exponential of matrices, against SciPy."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
import scipy.linalg as reference

import morphax as jax
from morphax import enable_x64
from morphax.errors import ShapeError
from morphax.scipy.linalg import expm, expm_frechet
from morphax.test_util import check_grads

RNG = np.random.default_rng(0)
MATRIX, DIRECTION = RNG.normal(size=(2, 4, 4))


@pytest.fixture(autouse=True)
def _wide_dtypes() -> Iterator[None]:
    with enable_x64(True):
        yield


@pytest.mark.parametrize("size", [1e-9, 0.1, 1.0, 10.0, 60.0])
@pytest.mark.parametrize("turn", [1, 1j])
def test_exponentials(size: float, turn: complex) -> None:
    x = size * turn * MATRIX
    expected = reference.expm(x)
    found = jax.jit(expm)(x)
    np.testing.assert_allclose(found, expected, 1e-11, 1e-12 * abs(expected).max())
    # A nilpotent matrix has a finite series; a skew one gives a rotation.
    upper = np.triu(x, 1)
    found = expm(upper, upper_triangular=True)
    assert not np.tril(found, -1).any()
    np.testing.assert_allclose(found, reference.expm(upper), 1e-11, 1e-12 * abs(found).max())


def test_stacks_of_different_sizes() -> None:
    stack = np.stack([MATRIX * 1e-3, MATRIX, MATRIX * 40, MATRIX * 0])
    expected = np.stack([reference.expm(x) for x in stack])
    for run in (expm, jax.vmap(expm)):
        for found, e in zip(run(stack), expected, strict=True):
            np.testing.assert_allclose(found, e, 1e-11, 1e-12 * abs(e).max())


def test_what_is_not_known_has_no_derivative() -> None:
    for x in (np.full((2, 2), np.nan), 1e9 * np.eye(2)):
        assert np.isnan(expm_frechet(x, np.ones((2, 2)))).all()


@pytest.mark.parametrize("size", [0.0, 1.0, 5.0])
def test_derivatives(size: float) -> None:
    primal, tangent = expm_frechet(size * MATRIX, DIRECTION)
    expected = reference.expm_frechet(size * MATRIX, DIRECTION)
    scale = abs(expected[1]).max()
    np.testing.assert_allclose(primal, expected[0], 1e-10, 1e-12 * scale)
    np.testing.assert_allclose(tangent, expected[1], 1e-10, 1e-12 * scale)
    np.testing.assert_array_equal(
        expm_frechet(size * MATRIX, DIRECTION, compute_expm=False), tangent
    )
    if size == 1:
        check_grads(expm, (MATRIX[:2, :2] * 0.5,), order=2, atol=1e-4, rtol=1e-4)


def test_exponentials_at_the_edges() -> None:
    assert expm(np.zeros((2, 0, 0))).shape == (2, 0, 0)
    assert expm(np.array([[0]])).dtype == np.float64
    assert np.isnan(expm(np.full((2, 2), 1e9))).all()
    assert np.isnan(expm(np.full((2, 2), np.nan))).all()
    # The derivative of one that needs no squaring, beside one that needs many.
    stack = np.stack([np.eye(2), 300 * np.eye(2)])
    slopes = jax.grad(lambda x: expm(x)[0].sum())(stack)
    assert np.isfinite(slopes).all()
    for x in (np.ones((2, 3)), np.ones(2)):
        with pytest.raises(ShapeError, match="expm"):
            expm(x)
    with pytest.raises(ShapeError, match="one shape"):
        expm_frechet(MATRIX, DIRECTION[:2, :2])


@pytest.mark.parametrize("x", [np.zeros((2, 2)), np.zeros((3, 0, 0)), 1e-30 * MATRIX, 9 * MATRIX])
def test_nothing_on_the_way_is_infinite(x: np.ndarray) -> None:
    expected = expm(x)
    with jax.debug_infs(True), jax.debug_nans(True):
        np.testing.assert_allclose(expm(x), expected, rtol=1e-12)
        np.testing.assert_allclose(jax.jit(expm)(x), expected, rtol=1e-12)
        assert np.isfinite(jax.grad(lambda x: expm(x).sum())(x)).all()
