"""The largest eigenvalues of a matrix that is known by its products: LOBPCG.

A. V. Knyazev, "Toward the optimal preconditioned eigensolver: locally optimal block preconditioned
conjugate gradient method" (2001).  Each step looks for the best vectors in the space of three
blocks: the present vectors X, their residuals, and the directions P in which X has just moved.  As
in Duersch, Shao, Yang & Gu, "A robust and efficient implementation of LOBPCG" (2018), the three are
always an orthonormal basis: Householder's QR gives one even where blocks depend on each other.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ... import dtypes, lax
from ... import numpy as jnp
from ...control.jit.jit import jit
from ...core import aval_of
from ...util.messages import message
from .base import JAXSparse


class _State(NamedTuple):
    """After `step` steps: eigenvectors, eigenvalues, the last directions, residuals."""

    step: Any
    vectors: Any
    values: Any
    directions: Any
    residuals: Any
    converged: Any


def lobpcg_standard(
    A: Any | Callable[[Any], Any], X: Any, m: int = 100, tol: Any = None
) -> tuple[Any, Any, Any]:
    """The k largest eigenvalues of a Hermitian matrix, and their eigenvectors.

    Args:
        A: the matrix, of shape ``(n, n)``, dense or sparse; or a function that multiplies it with
            an array of shape ``(n, j)``.
        X: where to start, of shape ``(n, k)`` with 0 < 5 k < n.
        m: the most steps to take.
        tol: an eigenvector v with eigenvalue λ has converged when ``‖A v − λ v‖`` is less than
            ``10 tol n (|λ| + ‖A v‖)``; by default the rounding unit of the dtype.

    Returns:
        theta, U, i: the eigenvalues, of shape ``(k,)``, from the largest on; orthonormal
        eigenvectors, of shape ``(n, k)``; and how many steps were taken: `m` if some of them have
        not converged.

    Raises:
        ValueError: if shapes or dtypes do not fit, or 5 k is not less than n.

    The derivative in forward mode is that of the steps; there is none in reverse mode.

    Example:
        >>> import morphax.numpy as jnp
        >>> from morphax.experimental.sparse.linalg import lobpcg_standard
        >>> theta, U, i = lobpcg_standard(jnp.diag(jnp.arange(1.0, 9.0)), jnp.ones((8, 1)))
        >>> theta.round(3)
        Array([8.], dtype=float32)
    """
    start = jnp.asarray(X)
    if callable(A):
        return _iterated(A, start, m, tol)
    return _iterated_with_matrix(A if isinstance(A, JAXSparse) else jnp.asarray(A), start, m, tol)


def _iterated(times: Callable[[Any], Any], start: Any, m: Any, tol: Any) -> tuple[Any, Any, Any]:
    _check(start, times)
    dtype = start.dtype
    eps = dtypes.finfo(dtype).eps if tol is None else tol
    bound = jnp.asarray(eps, jnp.real(start).dtype) * 10 * start.shape[0]

    def finished(vectors: Any, step: Any, directions: Any) -> _State:
        moved = times(vectors)
        values = jnp.real(jnp.sum(jnp.conj(vectors) * moved, 0))
        residuals = moved - vectors * values.astype(dtype)
        scale = jnp.abs(values) + _norms(moved)
        converged = _norms(residuals) <= bound * scale
        return _State(step, vectors, values, directions, residuals, converged)

    def goes_on(state: _State) -> Any:
        return (state.step < m) & ~jnp.all(state.converged)

    def step(state: _State) -> _State:
        basis = jnp.concatenate([state.vectors, state.residuals, state.directions], 1)
        basis = _orthonormal(basis)
        vectors, parts = _best(times, basis, start.shape[1])
        # How far it moved: the part outside of the old vectors.
        outside = parts.at[: start.shape[1]].set(0)
        return finished(vectors, state.step + 1, _orthonormal(basis @ outside))

    first, _ = _best(times, _orthonormal(start), start.shape[1])
    state = finished(first, 0, jnp.zeros_like(first))
    state = lax.while_loop(goes_on, step, state)
    return state.values, state.vectors, state.step


# The program of an iteration with arrays is kept; one with a function is the function's.
@partial(jit, inline=True)
def _iterated_with_matrix(matrix: Any, start: Any, m: Any, tol: Any) -> tuple[Any, Any, Any]:
    return _iterated(lambda x: matrix @ x, start, m, tol)


def _best(times: Callable[[Any], Any], basis: Any, count: int) -> tuple[Any, Any]:
    """The Rayleigh–Ritz vectors of the largest values in a space, and their coordinates."""
    small = jnp.conj(basis.T) @ times(basis)
    _, parts = jnp.linalg.eigh((small + jnp.conj(small.T)) / 2)
    chosen = parts[:, ::-1][:, :count]
    return _orthonormal(basis @ chosen), chosen


def _orthonormal(x: Any) -> Any:
    """An orthonormal basis whose first vectors span what the first columns do."""
    norms = _norms(x)
    scaled = x / jnp.where(norms > 0, norms, 1).astype(x.dtype)
    q, r = jnp.linalg.qr(scaled)
    # QR is free in the phases; keep those of the columns.
    phases = jnp.diagonal(r)
    size = jnp.abs(phases)
    return q * jnp.where(size > 0, phases / jnp.where(size > 0, size, 1), 1).astype(x.dtype)


def _norms(x: Any) -> Any:
    return jnp.sqrt(jnp.sum(jnp.real(x * jnp.conj(x)), 0))


def _check(x: Any, times: Callable[[Any], Any]) -> None:
    shape = aval_of(x).shape
    if len(shape) != 2 or not 0 < 5 * shape[1] < shape[0]:
        raise ValueError(
            message(
                "lobpcg_standard, argument X",
                given=f"an array of shape {shape}",
                expected="shape (n, k) with 0 < 5 k < n",
                fix="Use jnp.linalg.eigh for so many eigenvalues of a small matrix.",
            )
        )
    if not dtypes.issubdtype(x.dtype, np.inexact):
        raise ValueError(
            message(
                "lobpcg_standard, argument X",
                given=f"an array of dtype {x.dtype}",
                expected="a floating or complex dtype",
                fix="Convert A and X with astype.",
            )
        )
    result = aval_of(times(x[:, :1]))
    if result.shape != (shape[0], 1) or result.dtype != x.dtype:
        raise ValueError(
            message(
                "lobpcg_standard, argument A",
                given=f"products {result} with vectors of shape {(shape[0], 1)}, dtype {x.dtype}",
                expected="a square matrix of the size and the dtype of X",
                fix="Convert one of them, or look at its shape.",
            )
        )
