"""Generalised eigenvalue problems of Hermitian matrices, and those of banded ones.

With the Cholesky factor L of B, A v = w B v becomes the ordinary problem of L⁻¹ A L⁻ᴴ, and
A B v = w v and B A v = w v that of Lᴴ A L.

Reference: B. N. Parlett, The Symmetric Eigenvalue Problem, SIAM 1998, ch. 15.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import lax
from ... import numpy as jnp
from ...lax.ground.axes import integer
from ...lax.linalg.matrix_stacks import adjoint, product
from ...numpy.linalg.operands import check_square
from ..arguments import check_choice, inexact, refuse, refuse_shape
from .banded import adjoint_band, check_band, dense_from_band, hermitian_band, inside

_PACKAGE = "science.linalg"


def eigh(
    a: Any,
    b: Any = None,
    *,
    lower: bool = True,
    eigvals_only: bool = False,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    type: int = 1,
    check_finite: bool = True,
    subset_by_index: tuple[int, int] | None = None,
) -> Any:
    """Eigenvalues and eigenvectors of a pair of Hermitian matrices, B positive definite.

    Type 1 is A v = w B v, type 2 is A B v = w v, type 3 is B A v = w v.  Of types 1 and 2,
    Vᴴ B V = 1; of type 3, Vᴴ B⁻¹ V = 1.  Derivatives of eigenvectors exist where eigenvalues are
    distinct.

    Args:
        a: Hermitian matrices (..., n, n).
        b: Hermitian positive definite matrices (..., n, n), by default the identity.
        lower: which triangle of both is read.
        eigvals_only: whether w alone is returned.
        overwrite_a, overwrite_b, check_finite: without meaning.
        type: 1, 2 or 3.
        subset_by_index: the first and the last of the eigenvalues to return, by default all.

    Returns:
        `(w, V)` of shapes (..., m) and (..., n, m), w ascending, or w; NaN where B is not positive
        definite.

    Raises:
        ValueError: if the matrices are not square or not of one shape, or there is no such type or
            subset.

    Example:
        >>> import morphax.numpy as jnp
        >>> from morphax.science.linalg import eigh
        >>> a, b = jnp.array([[2.0, 0.0], [0.0, 3.0]]), jnp.array([[4.0, 0.0], [0.0, 1.0]])
        >>> eigh(a, b, eigvals_only=True)
        Array([0.5, 3. ], dtype=float32)
    """
    where = f"{_PACKAGE}.eigh"
    check_choice(where, "type", type, (1, 2, 3))
    if b is None:
        (a,) = inexact(where, a)
        check_square("eigh", a)
        subset = _subset(where, subset_by_index, a.aval.shape[-1])
        v, w = lax.linalg.eigh(a, lower=lower, symmetrize_input=False, subset_by_index=subset)
        return w if eigvals_only else (w, v)
    a, b = inexact(where, a, b)
    check_square("eigh", a)
    if a.aval.shape[-2:] != b.aval.shape[-2:]:
        refuse_shape(
            where, "b", f"{b.aval} for {a.aval}", "matrices of one size", "Pass a pair that fits."
        )
    a, b = [_from_triangle(x, lower) for x in (a, b)]
    factor = lax.linalg.cholesky(b, symmetrize_input=False)
    if type == 1:
        reduced = _solve(factor, adjoint(_solve(factor, a, False)), False)
    else:
        reduced = product(adjoint(factor), product(a, factor))
    subset = _subset(where, subset_by_index, a.aval.shape[-1])
    v, w = lax.linalg.eigh(reduced, subset_by_index=subset)
    if eigvals_only:
        return w
    return w, product(factor, v) if type == 3 else _solve(factor, v, True)


def _solve(factor: Any, x: Any, is_adjoint: bool) -> Any:
    """L⁻¹ X, or L⁻ᴴ X."""
    return lax.linalg.triangular_solve(
        factor, x, left_side=True, lower=True, transpose_a=is_adjoint, conjugate_a=is_adjoint
    )


def _from_triangle(x: Any, lower: bool) -> Any:
    """The Hermitian matrix of which one triangle is given."""
    strict = jnp.tril(x, -1) if lower else jnp.triu(x, 1)
    diagonal = jnp.diagonal(x, axis1=-2, axis2=-1).real.astype(x.aval.dtype)
    return strict + adjoint(strict) + diagonal[..., None] * np.eye(x.aval.shape[-1], dtype=bool)


def _subset(where: str, given: Any, count: int) -> tuple[int, int] | None:
    """The first eigenvalue and the one behind the last."""
    if given is None:
        return None
    low, high = [integer(f"{where}, argument subset_by_index", i) for i in given]
    if not 0 <= low <= high < count:
        refuse(
            where,
            "subset_by_index",
            f"({low}, {high})",
            f"0 ≤ first ≤ last < {count}",
            "Count the eigenvalues from 0, in ascending order.",
        )
    return low, high + 1


def eig_banded(
    a_band: Any,
    lower: bool = False,
    eigvals_only: bool = False,
    overwrite_a_band: bool = False,
    check_finite: bool = True,
) -> Any:
    """Eigenvalues and eigenvectors of a banded Hermitian matrix: A V = V diag(w).

    The matrix is made dense: time is O(n³).

    Args:
        a_band: one triangle's diagonals (u + 1, n), see `cholesky_banded`.
        lower: which triangle is given.
        eigvals_only: whether w alone is returned.
        overwrite_a_band, check_finite: without meaning.

    Returns:
        `(w, V)` of shapes (n,) and (n, n), w ascending, or w.

    Raises:
        ValueError: if `a_band` is no matrix.

    Example:
        >>> import morphax.numpy as jnp
        >>> from morphax.science.linalg import eig_banded
        >>> eig_banded(jnp.array([[0.0, 1.0], [2.0, 2.0]]), eigvals_only=True)
        Array([1., 3.], dtype=float32)
    """
    where = f"{_PACKAGE}.eig_banded"
    (band,) = inexact(where, a_band)
    check_band(where, "a_band", band, None)
    count = band.aval.shape[0] - 1
    below = inside(band, count, 0) if lower else adjoint_band(band, count, upper=True)
    dense = dense_from_band(hermitian_band(below), count, count)
    v, w = lax.linalg.eigh(dense)
    return w if eigvals_only else (w, v)


def eigvals_banded(
    a_band: Any, lower: bool = False, overwrite_a_band: bool = False, check_finite: bool = True
) -> Any:
    """Eigenvalues of a banded Hermitian matrix, in ascending order; see `eig_banded`.

    Example:
        >>> import morphax.numpy as jnp
        >>> from morphax.science.linalg import eigvals_banded
        >>> eigvals_banded(jnp.array([[2.0, 2.0], [1.0, 0.0]]), lower=True)
        Array([1., 3.], dtype=float32)
    """
    return eig_banded(a_band, lower, True)
