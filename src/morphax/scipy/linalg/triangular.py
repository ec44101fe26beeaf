"""Cholesky factors, and systems with triangular matrices, with SciPy's names and arguments."""

from __future__ import annotations

from typing import Any

from ... import lax
from ... import numpy as jnp
from ...engines.reference.replay import replayed
from ...lax.linalg.matrix_stacks import adjoint
from ...numpy.linalg.operands import square_matrices
from .operands import how_transposed, of_one_stack, pair, system, without_column


@replayed(1)
def cholesky(
    a: Any, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True
) -> Any:
    """The Cholesky factors of Hermitian positive definite matrices: A = Uᴴ U, or A = L Lᴴ.

    Args:
        a: matrices `(..., n, n)`, of which the upper triangle is read, or the lower if `lower`.
        lower: whether L is returned, and not U.
        overwrite_a, check_finite: without meaning.

    Returns:
        Triangular matrices `(..., n, n)`; NaN for a matrix that is not positive definite.

    Raises:
        ShapeError: if the matrices are not square.

    Example:
        >>> import morphax as jax, morphax.numpy as jnp
        >>> jax.scipy.linalg.cholesky(jnp.array([[4.0, 2.0], [2.0, 5.0]]))
        Array([[2., 1.],
               [0., 2.]], dtype=float32)
    """
    x = square_matrices("scipy.linalg.cholesky", jnp.asarray(a))
    factor = lax.linalg.cholesky(x if lower else adjoint(x), symmetrize_input=False)
    return factor if lower else adjoint(factor)


def cho_factor(
    a: Any, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True
) -> tuple[Any, bool]:
    """A Cholesky factor for `cho_solve`, with `lower`.

    Example:
        >>> import morphax as jax, morphax.numpy as jnp
        >>> factor = jax.scipy.linalg.cho_factor(jnp.array([[4.0, 2.0], [2.0, 5.0]]))
        >>> jax.scipy.linalg.cho_solve(factor, jnp.array([8.0, 12.0]))
        Array([1., 2.], dtype=float32)
    """
    return cholesky(a, lower=lower), lower


def cho_solve(
    c_and_lower: tuple[Any, bool], b: Any, overwrite_b: bool = False, check_finite: bool = True
) -> Any:
    """X of A X = B, from a Cholesky factor of A.

    Args:
        c_and_lower: the factor `(..., n, n)`, of which one triangle is read, and which: what
            `cho_factor` returns.
        b: one vector `(n,)`, or right-hand sides as columns `(..., n, k)`.
        overwrite_b, check_finite: without meaning.

    Raises:
        ShapeError: if the operands do not fit.

    Example:
        >>> import morphax.numpy as jnp
        >>> from morphax.scipy import linalg
        >>> a = jnp.diag(jnp.array([4.0, 9.0]))
        >>> linalg.cho_solve(linalg.cho_factor(a), jnp.array([8.0, 9.0]))
        Array([2., 1.], dtype=float32)
    """
    c, lower = pair("scipy.linalg.cho_solve, argument c_and_lower", c_and_lower)
    return _cho_solve(c, b, bool(lower))


@replayed(2)
def _cho_solve(c: Any, b: Any, lower: bool) -> Any:
    """X of C Cᴴ X = B, or of Cᴴ C X = B, in columns of which there may be one vector."""
    c, columns, is_vector = system("cho_solve", *map(jnp.asarray, (c, b)))
    c, columns = of_one_stack(c, columns)
    for transposed in (False, True) if lower else (True, False):
        columns = _triangular(c, columns, lower, transposed, conjugated=transposed)
    return without_column(columns, is_vector)


@replayed(2)
def solve_triangular(
    a: Any,
    b: Any,
    trans: int | str = 0,
    lower: bool = False,
    unit_diagonal: bool = False,
    overwrite_b: bool = False,
    debug: Any = None,
    check_finite: bool = True,
) -> Any:
    """X of op(A) X = B for triangular matrices.

    Args:
        a: matrices `(..., n, n)`, of which one triangle is read.
        b: one vector `(n,)`, or right-hand sides as columns `(..., n, k)`.
        trans: what op does: 0 or ``"N"`` nothing, 1 or ``"T"`` transpose, 2 or ``"C"`` transpose
            and conjugate.
        lower: whether the lower triangle is read.
        unit_diagonal: whether the diagonal is taken for ones.
        overwrite_b, debug, check_finite: without meaning.

    Raises:
        ShapeError: if the operands do not fit.
        ValueError: if `trans` is none of these.

    Example:
        >>> import morphax as jax, morphax.numpy as jnp
        >>> a = jnp.array([[2.0, 0.0], [1.0, 4.0]])
        >>> jax.scipy.linalg.solve_triangular(a, jnp.array([4.0, 10.0]), lower=True)
        Array([2., 2.], dtype=float32)
    """
    how = how_transposed("solve_triangular", trans)
    a, columns, is_vector = system("solve_triangular", *map(jnp.asarray, (a, b)))
    a, columns = of_one_stack(a, columns)
    found = _triangular(a, columns, lower, how > 0, conjugated=how == 2, unit=unit_diagonal)
    return without_column(found, is_vector)


def _triangular(
    a: Any, b: Any, lower: Any, transposed: bool, *, conjugated: bool, unit: bool = False
) -> Any:
    return lax.linalg.triangular_solve(
        a,
        b,
        left_side=True,
        lower=bool(lower),
        transpose_a=transposed,
        conjugate_a=conjugated,
        unit_diagonal=bool(unit),
    )
