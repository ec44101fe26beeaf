"""Singular values, eigenvalues, and their vectors."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ... import lax
from ...core import aval_of
from ...engines.reference.replay import replayed
from ...lax.linalg.blocks import columns_at
from ...lax.linalg.eigh import hermitian_eigenvalues
from ...lax.linalg.matrix_stacks import adjoint
from ...lax.linalg.spectra import checked_subset, part, scaled_columns
from ...util.messages import message
from .operands import matrices, square_matrices


class SVDResult(NamedTuple):
    """Left singular vectors, singular values, and the adjoint of the right singular vectors."""

    U: Any
    S: Any
    Vh: Any


class EighResult(NamedTuple):
    """Eigenvalues and eigenvectors of Hermitian matrices."""

    eigenvalues: Any
    eigenvectors: Any


class EigResult(NamedTuple):
    """Eigenvalues and right eigenvectors."""

    eigenvalues: Any
    eigenvectors: Any


@replayed(1)
def svd(
    a: Any,
    full_matrices: bool = True,
    compute_uv: bool = True,
    hermitian: bool = False,
    subset_by_index: tuple[int, int] | None = None,
) -> Any:
    """Singular value decompositions: U, s and Vᴴ of A = U diag(s) Vᴴ.

    See `lax.linalg.svd` for derivatives.

    Args:
        a: matrices `(..., m, n)`; integers become floating.
        full_matrices: whether U and Vᴴ are square; otherwise they have k = min(m, n) columns and
            rows.
        compute_uv: whether vectors are returned.
        hermitian: whether the matrices are Hermitian; then eigenvalues are computed, which is
            faster.
        subset_by_index: range (start, stop) of the places of the singular values that are wanted.

    Returns:
        `SVDResult(U, S, Vh)` of shapes `(..., m, k)`, `(..., k)` and `(..., k, n)`, or S alone; S
        falls.  NaN for matrices that are not finite.

    Raises:
        ShapeError: if `a` has fewer than two axes, or `hermitian` and it is not square.
        ValueError: if the subset is no range, or is wanted with full matrices.

    Reference:
        LAPACK, gesdd.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.linalg.svd(jnp.array([[3.0, 0.0], [4.0, 0.0]]), compute_uv=False)
        Array([5., 0.], dtype=float32)
    """
    if hermitian:
        found = _of_hermitian(square_matrices("svd", a), subset_by_index)
        return found if compute_uv else found.S
    found = lax.linalg.svd(
        matrices("svd", a),
        full_matrices=full_matrices,
        compute_uv=compute_uv,
        subset_by_index=subset_by_index,
    )
    return SVDResult(*found) if compute_uv else found


def _of_hermitian(a: Any, subset_by_index: tuple[int, int] | None) -> SVDResult:
    """The decomposition of Hermitian matrices, from their eigenvalues sorted by absolute value."""
    v, w = lax.linalg.eigh(a)
    places = lax.broadcasted_iota(np.int32, aval_of(w).shape, aval_of(w).ndim - 1)
    negative, w, order = lax.sort([lax.neg(lax.abs(w)), w, places], dimension=-1, num_keys=1)
    u = columns_at(v, order)
    one = lax.full_like(w, 1)
    signs = lax.select(lax.lt(w, 0), lax.neg(one), one)
    size = aval_of(w).shape[-1]
    subset = (0, size)
    if subset_by_index is not None:
        subset = checked_subset("jnp.linalg.svd", subset_by_index, size)
    vectors = part(u, subset, -1), part(scaled_columns(u, signs), subset, -1)
    return SVDResult(vectors[0], part(lax.neg(negative), subset, -1), adjoint(vectors[1]))


@replayed(1)
def svdvals(x: Any, /) -> Any:
    """The singular values of matrices, which fall.

    Args:
        x: matrices `(..., m, n)`; integers become floating.

    Returns:
        Real array `(..., min(m, n))`; NaN for matrices that are not finite.

    Raises:
        ShapeError: if `x` has fewer than two axes.

    Reference:
        LAPACK, gesdd.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.linalg.svdvals(jnp.array([[3.0, 0.0], [4.0, 0.0]]))
        Array([5., 0.], dtype=float32)
    """
    return lax.linalg.svd(matrices("svdvals", x), compute_uv=False)


@replayed(1)
def eigh(a: Any, UPLO: str | None = None, symmetrize_input: bool = True) -> EighResult:
    """Eigenvalues w and eigenvectors of Hermitian matrices: A V = V diag(w).

    See `lax.linalg.eigh` for derivatives.

    Args:
        a: matrices `(..., n, n)`; integers become floating.
        UPLO: which triangle is read unless `symmetrize_input`: ``"L"``, the lower one, which is
            the default, or ``"U"``.
        symmetrize_input: whether (A + Aᴴ) / 2 is meant.

    Returns:
        `EighResult(eigenvalues, eigenvectors)`: real `(..., n)`, which rise, and `(..., n, n)`,
        vectors as columns.  NaN for matrices that are not finite.

    Raises:
        ShapeError: if the matrices are not square.
        ValueError: if `UPLO` names no triangle.

    Reference:
        LAPACK, syevd and heevd.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.linalg.eigh(jnp.array([[2.0, 1.0], [1.0, 2.0]])).eigenvalues
        Array([1., 3.], dtype=float32)
    """
    lower = _is_lower("eigh", UPLO)
    a = square_matrices("eigh", a)
    v, w = lax.linalg.eigh(a, lower=lower, symmetrize_input=symmetrize_input)
    return EighResult(w, v)


@replayed(1)
def eigvalsh(a: Any, UPLO: str | None = "L", *, symmetrize_input: bool = True) -> Any:
    """The eigenvalues of Hermitian matrices, which rise.

    Args:
        a: matrices `(..., n, n)`; integers become floating.
        UPLO: which triangle is read unless `symmetrize_input`: ``"L"`` or ``"U"``.
        symmetrize_input: whether (A + Aᴴ) / 2 is meant.

    Returns:
        Real array `(..., n)`; NaN for matrices that are not finite.

    Raises:
        ShapeError: if the matrices are not square.
        ValueError: if `UPLO` names no triangle.

    Reference:
        LAPACK, syevd and heevd.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.linalg.eigvalsh(jnp.array([[2.0, 1.0], [1.0, 2.0]]))
        Array([1., 3.], dtype=float32)
    """
    lower = _is_lower("eigvalsh", UPLO)
    a = square_matrices("eigvalsh", a)
    return hermitian_eigenvalues(a, lower=lower, symmetrize_input=symmetrize_input)


def _is_lower(name: str, triangle: str | None) -> bool:
    if triangle not in (None, "L", "U"):
        raise ValueError(
            message(
                f"jnp.linalg.{name}, argument UPLO",
                given=repr(triangle),
                expected="None, 'L' or 'U'",
                fix="Name the triangle that is read.",
            )
        )
    return triangle != "U"


@replayed(1)
def eig(a: Any) -> EigResult:
    """Eigenvalues w and right eigenvectors of matrices of no special form: A V = V diag(w).

    Vectors have no derivatives here; `lax.linalg.eig` has, where they are defined.

    Args:
        a: matrices `(..., n, n)`; integers become floating.

    Returns:
        `EigResult(eigenvalues, eigenvectors)`, complex: `(..., n)`, and `(..., n, n)`, vectors as
        columns of norm 1.  NaN for matrices that are not finite.

    Raises:
        ShapeError: if the matrices are not square.
        NotImplementedError: for derivatives.

    Reference:
        LAPACK, geev.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.linalg.eig(jnp.array([[0.0, 1.0], [-1.0, 0.0]])).eigenvalues
        Array([0.+1.j, 0.-1.j], dtype=complex64)
    """
    w, v = lax.linalg.eig(square_matrices("eig", a), compute_left_eigenvectors=False)
    return EigResult(w, v)


@replayed(1)
def eigvals(a: Any) -> Any:
    """The eigenvalues of matrices of no special form, in no order.

    Args:
        a: matrices `(..., n, n)`; integers become floating.

    Returns:
        Complex array `(..., n)`; NaN for matrices that are not finite.

    Raises:
        ShapeError: if the matrices are not square.

    Reference:
        LAPACK, geev.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.linalg.eigvals(jnp.array([[0.0, 1.0], [-1.0, 0.0]]))
        Array([0.+1.j, 0.-1.j], dtype=complex64)
    """
    x = square_matrices("eigvals", a)
    return lax.linalg.eig(x, compute_left_eigenvectors=False, compute_right_eigenvectors=False)[0]
