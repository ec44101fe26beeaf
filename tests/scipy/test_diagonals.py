"""Triangular matrices by diagonals, against products of matrices."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import morphax as jax
from morphax.scipy.linalg.diagonals import Diagonals, by_diagonals, inner

RNG = np.random.default_rng(0)


@pytest.fixture(autouse=True)
def _double_precision() -> Iterator[None]:
    with jax.enable_x64(True):
        yield


def _triangle(size: int) -> Any:
    return np.triu(RNG.normal(size=(size, size))) + 0j


@pytest.mark.parametrize("size", [1, 2, 3, 7])
def test_products_along_diagonals(size: int) -> None:
    a, b = _triangle(size), _triangle(size)
    of_a, of_b = Diagonals.of(jax.numpy.asarray(a)), Diagonals.of(jax.numpy.asarray(b))
    np.testing.assert_array_equal(of_a.as_matrix(jax.numpy.diagonal(a)), a)
    expected = np.triu(a, 1) @ np.triu(b, 1)
    for k in range(1, size):
        np.testing.assert_allclose(inner(of_a, of_b, k)[: size - k], np.diagonal(expected, k))


@pytest.mark.parametrize("size", [1, 2, 6])
def test_an_inverse_by_diagonals(size: int) -> None:
    t = _triangle(size) + 3 * np.eye(size)

    def element(k: Any, here: Any, own: Any, given: Any, x: Any, t: Any) -> Any:
        # Of X T = 1: xᵢⱼ tⱼⱼ = −xᵢᵢ tᵢⱼ − Σ xᵢₗ tₗⱼ.
        return -(own[0] * here + inner(x, t, k)) / given[1]

    def inverse(t: Any) -> Any:
        return by_diagonals(element, 1 / jax.numpy.diagonal(t), t)

    np.testing.assert_allclose(jax.jit(inverse)(t), np.linalg.inv(t), rtol=1e-12, atol=1e-14)
    many = jax.vmap(inverse)(np.stack([t, 2 * t]))
    np.testing.assert_allclose(many[1], np.linalg.inv(2 * t), rtol=1e-12, atol=1e-14)
