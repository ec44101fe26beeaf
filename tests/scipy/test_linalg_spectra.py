"""Spectral factorisations of `scipy.linalg`, against SciPy."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import pytest
import scipy.linalg

import morphax as jax
from morphax import enable_x64
from morphax.test_util import check_grads

S = jax.scipy.linalg
RNG = np.random.default_rng(0)
SQUARE = RNG.normal(size=(4, 4))
COMPLEX = SQUARE + 1j * RNG.normal(size=(4, 4))
TALL = RNG.normal(size=(5, 3))


@pytest.fixture(autouse=True)
def _wide_dtypes() -> Iterator[None]:
    with enable_x64(True):
        yield


def _close(found: Any, expected: Any) -> None:
    for f, e in zip(found, expected, strict=True):
        np.testing.assert_allclose(f, e, atol=1e-13)


@pytest.mark.parametrize("x", [SQUARE, COMPLEX, TALL])
@pytest.mark.parametrize("full", [True, False])
def test_svd(x: Any, full: bool) -> None:
    u, s, vh = S.svd(x, full_matrices=full)
    expected = scipy.linalg.svd(x, full_matrices=full)
    assert [u.shape, s.shape, vh.shape] == [v.shape for v in expected]
    _close([s, (u[:, : s.size] * s) @ vh[: s.size]], [expected[1], x])
    _close([S.svd(x, compute_uv=False)], [expected[1]])


@pytest.mark.parametrize("x", [SQUARE, COMPLEX])
def test_eigh(x: Any) -> None:
    hermitian = x + x.conj().T
    w, v = S.eigh(hermitian)
    _close([w, (v * w) @ v.conj().T], [scipy.linalg.eigvalsh(hermitian), hermitian])
    _close([S.eigh(hermitian, eigvals_only=True)], [w])


@pytest.mark.parametrize("x", [SQUARE, COMPLEX])
@pytest.mark.parametrize("output", ["real", "complex"])
def test_schur(x: Any, output: str) -> None:
    t, q = S.schur(x, output)
    assert t.dtype == (np.float64 if output == "real" and x is SQUARE else np.complex128)
    assert not np.tril(t, -2 if t.dtype == np.float64 else -1).any()
    _close([q @ t @ q.conj().T, q.conj().T @ q], [x, np.eye(4)])


@pytest.mark.parametrize("x", [SQUARE, COMPLEX, SQUARE[:2, :2], SQUARE[:1, :1], SQUARE[:0, :0]])
def test_hessenberg(x: Any) -> None:
    expected = scipy.linalg.hessenberg(x, calc_q=True)
    for f in (S.hessenberg, jax.jit(S.hessenberg, static_argnames="calc_q")):
        _close(f(x, calc_q=True), expected)
    _close([S.hessenberg(x)], expected[:1])


def test_hessenberg_of_a_stack() -> None:
    stack = np.stack([SQUARE, SQUARE.T])
    h, q = S.hessenberg(stack, calc_q=True)
    _close([q @ h @ q.swapaxes(-1, -2)], [stack])


@pytest.mark.parametrize("method", ["qdwh", "svd"])
@pytest.mark.parametrize(
    ("x", "side"), [(SQUARE, "right"), (COMPLEX, "left"), (TALL, "right"), (TALL.T, "left")]
)
def test_polar(x: Any, side: str, method: str) -> None:
    _close(S.polar(x, side, method=method), scipy.linalg.polar(x, side))


@pytest.mark.parametrize("method", ["qdwh", "svd"])
def test_polar_of_a_stack(method: str) -> None:
    stack = np.stack([[SQUARE, SQUARE.T]])
    u, p = S.polar(stack, method=method)
    _close([u @ p, p], [stack, np.swapaxes(p, -1, -2)])


@pytest.mark.parametrize("x", [np.eye(3), np.eye(3, 2), np.eye(2) * (3 + 4j)])
@pytest.mark.parametrize("side", ["left", "right"])
def test_polar_has_derivatives_where_singular_values_are_equal(x: Any, side: str) -> None:
    run = partial(S.polar, side=side, method="svd")
    check_grads(run, (x,), order=2, atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize(
    ("call", "error", "told"),
    [
        (lambda: S.eigh(SQUARE, SQUARE), NotImplementedError, "argument b"),
        (lambda: S.eigh(SQUARE, eigvals=(0, 1)), NotImplementedError, "eigvals"),
        (lambda: S.eigh(SQUARE, type=2), NotImplementedError, "type"),
        (lambda: S.eigh(TALL), ValueError, "square"),
        (lambda: S.schur(SQUARE, "both"), ValueError, "'complex'"),
        (lambda: S.schur(TALL), ValueError, "square"),
        (lambda: S.hessenberg(TALL), ValueError, "square"),
        (lambda: S.svd(SQUARE[0]), ValueError, "matrix"),
        (lambda: S.polar(SQUARE, "up"), ValueError, "'left'"),
        (lambda: S.polar(SQUARE, method="newton"), ValueError, "'svd'"),
        (lambda: S.polar(TALL, "left"), NotImplementedError, "method='svd'"),
    ],
)
def test_misuse_is_refused(call: Callable[[], Any], error: type, told: str) -> None:
    with pytest.raises(error) as caught:
        call()
    assert told in str(caught.value)
