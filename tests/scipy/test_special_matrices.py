"""Matrices that have a name, against SciPy."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import scipy.linalg as reference

import morphax as jax
from morphax import enable_x64
from morphax.errors import ShapeError
from morphax.test_util import check_grads

S = jax.scipy.linalg
VECTOR = np.array([1.5, -2.0, 3.0, 0.25])


@pytest.fixture(autouse=True)
def _wide_dtypes() -> Iterator[None]:
    with enable_x64(True):
        yield


@pytest.mark.parametrize("name", ["circulant", "companion", "fiedler", "hankel"])
def test_matrices_of_a_vector(name: str) -> None:
    run, expected = getattr(S, name), getattr(reference, name)
    for x in (VECTOR, VECTOR[:2], np.arange(1, 4), *([] if name == "fiedler" else [VECTOR * 1j])):
        found = run(x)
        np.testing.assert_allclose(found, expected(x), 1e-15)
        assert found.dtype == expected(x).dtype
    stack = np.stack([VECTOR, VECTOR[::-1]])
    np.testing.assert_allclose(run(stack), [expected(x) for x in stack])
    np.testing.assert_allclose(jax.vmap(run)(stack), run(stack))
    check_grads(run, (VECTOR,), order=2)


def test_matrices_of_two_vectors() -> None:
    np.testing.assert_allclose(S.hankel(VECTOR, VECTOR[:2]), reference.hankel(VECTOR, VECTOR[:2]))
    np.testing.assert_allclose(S.leslie(VECTOR, VECTOR[1:]), reference.leslie(VECTOR, VECTOR[1:]))
    check_grads(S.leslie, (VECTOR, VECTOR[1:]), order=2)
    assert S.leslie(np.ones((3, 1, 4)), np.ones((2, 3))).shape == (3, 2, 4, 4)


@pytest.mark.parametrize("n", [0, 1, 2, 5, 12])
def test_matrices_of_a_size(n: int) -> None:
    for name in ("hilbert", "invhilbert", "dft"):
        expected = getattr(reference, name)(n) if n else np.zeros((0, 0))
        np.testing.assert_allclose(getattr(S, name)(n), expected, 1e-13, 1e-14)
    for kind in ("symmetric", "lower", "upper"):
        for name in ("pascal", "invpascal"):
            expected = getattr(reference, name)(n, kind) if n else np.zeros((0, 0))
            np.testing.assert_allclose(getattr(S, name)(n, kind), expected, 1e-15)
    if n:
        for full in (False, True):
            expected = reference.helmert(n, full) if n > 1 or full else np.zeros((0, 1))
            np.testing.assert_allclose(S.helmert(n, full), expected, 1e-14)
        for scale in ("sqrtn", "n"):
            np.testing.assert_allclose(S.dft(n, scale), reference.dft(n, scale), 1e-13, 1e-14)


@pytest.mark.parametrize("mode", ["full", "same", "valid"])
@pytest.mark.parametrize("n", [1, 2, 4, 7])
def test_matrices_that_convolve(mode: str, n: int) -> None:
    found = S.convolution_matrix(VECTOR, n, mode)
    np.testing.assert_array_equal(found, reference.convolution_matrix(VECTOR, n, mode))
    stack = S.convolution_matrix(np.stack([VECTOR, -VECTOR]), n, mode)
    np.testing.assert_array_equal(stack, [found, -found])


def test_hadamard() -> None:
    for n in (1, 2, 8):
        np.testing.assert_array_equal(S.hadamard(n), reference.hadamard(n))
    assert S.hadamard(2, np.float32).dtype == np.float32


def test_empty_vectors() -> None:
    for name in ("circulant", "fiedler", "hankel"):
        assert getattr(S, name)(np.ones((2, 0))).shape == (2, 0, 0)


@pytest.mark.parametrize(
    ("name", "arguments", "text"),
    [
        ("companion", (np.ones(1),), "at least two numbers"),
        ("leslie", (np.ones(1), np.ones(0)), "at least two numbers"),
        ("leslie", (np.ones(3), np.ones(3)), "2 rates"),
        ("dft", (2, "x"), "argument scale"),
        ("dft", (-1,), "argument n"),
        ("hadamard", (3,), "a power of 2"),
        ("hadamard", (0,), "argument n"),
        ("helmert", (0,), "argument n"),
        ("pascal", (3, "x"), "argument kind"),
        ("convolution_matrix", (VECTOR, 0), "argument n"),
        ("convolution_matrix", (VECTOR, 2, "x"), "argument mode"),
        ("convolution_matrix", (VECTOR[:0], 2), "not empty"),
    ],
)
def test_what_makes_no_matrix(name: str, arguments: tuple[Any, ...], text: str) -> None:
    with pytest.raises(ValueError, match=text):
        getattr(S, name)(*arguments)
    with pytest.raises(ValueError, match="a complex dtype"):
        S.dft(2, dtype=np.float32)
    with pytest.raises(ShapeError):
        S.companion(1.0)
    with pytest.raises(TypeError, match="integer"):
        S.hilbert(2.5)
