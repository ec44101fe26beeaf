"""Factors of matrices: Cholesky and QR."""

from __future__ import annotations

from typing import Any, NamedTuple

from ... import lax
from ...core import aval_of
from ...core.dims import is_static
from ...engines.reference.replay import replayed
from ...lax.linalg.householder import geqrf
from ...lax.linalg.matrix_stacks import adjoint, swapped
from ...util.messages import message
from ..selection import diagonal
from .operands import matrices, square_matrices


class QRResult(NamedTuple):
    """The factors Q and R."""

    Q: Any
    R: Any


@replayed(1)
def cholesky(a: Any, *, upper: bool = False, symmetrize_input: bool = True) -> Any:
    """The Cholesky factors of Hermitian positive definite matrices: A = L Lᴴ, or A = Uᴴ U.

    Args:
        a: matrices `(..., n, n)`; integers become floating.
        upper: whether U is returned, and not L.
        symmetrize_input: whether (A + Aᴴ) / 2 is factorised; otherwise the lower triangle alone is
            read.

    Returns:
        Triangular matrices `(..., n, n)`; NaN for a matrix that is not positive definite.

    Raises:
        ShapeError: if the matrices are not square.

    Reference:
        LAPACK, potrf.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.linalg.cholesky(jnp.array([[4.0, 2.0], [2.0, 5.0]]))
        Array([[2., 0.],
               [1., 2.]], dtype=float32)
    """
    found = lax.linalg.cholesky(square_matrices("cholesky", a), symmetrize_input=symmetrize_input)
    return adjoint(found) if upper else found


@replayed(1)
def qr(a: Any, mode: str = "reduced") -> Any:
    """The QR factorisation A = Q R: orthonormal columns times an upper triangle.

    Args:
        a: matrices `(..., m, n)`; integers become floating.
        mode: with k = min(m, n), ``"reduced"`` for Q `(..., m, k)` and R `(..., k, n)`,
            ``"complete"`` for Q `(..., m, m)` and R `(..., m, n)`, ``"r"`` for R alone, ``"raw"``
            for the reflections of LAPACK, transposed, `(..., n, m)`, and their scalars `(..., k)`.

    Returns:
        `QRResult(Q, R)`, or R.

    Raises:
        ShapeError: if `a` has fewer than two axes.
        ValueError: if the mode is unknown.

    Reference:
        LAPACK, geqrf and orgqr.

    Example:
        >>> import morphax.numpy as jnp
        >>> Q, R = jnp.linalg.qr(jnp.array([[3.0, 1.0], [4.0, 2.0]]))
        >>> R.round(4)
        Array([[-5. , -2.2],
               [ 0. ,  0.4]], dtype=float32)
    """
    x = matrices("qr", a)
    if mode not in ("reduced", "complete", "r", "raw"):
        raise ValueError(
            message(
                "jnp.linalg.qr, argument mode",
                given=f"{mode!r}",
                expected="'reduced', 'complete', 'r' or 'raw'",
                fix="Choose one of these modes.",
            )
        )
    if mode == "raw":
        reflections, taus = geqrf(x)
        return QRResult(swapped(reflections), taus)
    q, r = lax.linalg.qr(x, full_matrices=mode == "complete")
    return r if mode == "r" else QRResult(q, r)


def diagonals(x: Any) -> Any:
    """The diagonal of each matrix, `(..., min(m, n))`."""
    shape = aval_of(x).shape
    rows, columns = shape[-2:]
    if not is_static(shape[-2:]):
        return diagonal(x, 0, -2, -1)
    size = min(rows, columns)
    if not size:
        return lax.full((*shape[:-2], 0), 0, aval_of(x).dtype)
    # Flattened, elements of the diagonal are one row and one element apart.
    flat = lax.reshape(x, (*shape[:-2], rows * columns))
    return lax.slice_in_dim(flat, 0, (size - 1) * (columns + 1) + 1, columns + 1, axis=-1)
