"""General matrices: LU and QR factors, systems, inverses, determinants, with SciPy's arguments."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import lax
from ... import numpy as jnp
from ...core.dims import min_dim
from ...engines.reference.replay import replayed
from ...errors import ShapeError
from ...lax.linalg.blocks import rows_at
from ...lax.linalg.linear_systems import solved_with_factors
from ...lax.linalg.matrix_stacks import adjoint, product
from ...numpy.linalg.operands import (
    check_matrices,
    inexact_arrays,
    linear_system,
    matrices,
    square_matrices,
)
from ...numpy.operands import as_array
from ...util.messages import message
from .operands import how_transposed, of_one_stack, pair, system, without_column
from .triangular import cholesky


@replayed(1)
def lu(
    a: Any, permute_l: bool = False, overwrite_a: bool = False, check_finite: bool = True
) -> tuple[Any, ...]:
    """The factors P, L and U of A = P L U.

    Args:
        a: matrix `(m, n)`.
        permute_l: whether P L is returned for P and L.
        overwrite_a, check_finite: without meaning.

    Returns:
        `(P, L, U)` of shapes `(m, m)`, `(m, k)` and `(k, n)`, k = min(m, n), P being real; or
        `(P L, U)`.

    Raises:
        ShapeError: if `a` is no matrix.

    Example:
        >>> import morphax as jax, morphax.numpy as jnp
        >>> P, L, U = jax.scipy.linalg.lu(jnp.array([[1.0, 2.0], [2.0, 6.0]]))
        >>> U
        Array([[ 2.,  6.],
               [ 0., -1.]], dtype=float32)
    """
    x = matrices("scipy.linalg.lu", jnp.asarray(a))
    if x.aval.ndim != 2:
        raise ShapeError(
            message(
                "scipy.linalg.lu",
                given=f"{x.aval}",
                expected="one matrix",
                fix="Use jax.vmap for stacks, or jax.lax.linalg.lu.",
            )
        )
    factors, _, permutation = lax.linalg.lu(x)
    size = min_dim(*x.aval.shape)
    lower = jnp.tril(factors[:, :size], -1) + jnp.eye(x.aval.shape[0], size, dtype=x.aval.dtype)
    upper = jnp.triu(factors[:size, :])
    places = jnp.arange(x.aval.shape[0], dtype=permutation.aval.dtype)
    if permute_l:
        back = jnp.zeros_like(permutation).at[permutation].set(places)
        return rows_at(lower, back), upper
    real = np.real(np.zeros((), x.aval.dtype)).dtype
    return jnp.equal(places[:, None], permutation[None, :]).astype(real), lower, upper


@replayed(1)
def lu_factor(a: Any, overwrite_a: bool = False, check_finite: bool = True) -> tuple[Any, Any]:
    """LU factors for `lu_solve`: L and U in one array, and the row exchanges.

    Args:
        a: matrices `(..., m, n)`.
        overwrite_a, check_finite: without meaning.

    Returns:
        `(factors, pivots)`, as of `jax.lax.linalg.lu`.

    Example:
        >>> import morphax as jax, morphax.numpy as jnp
        >>> factors = jax.scipy.linalg.lu_factor(jnp.array([[0.0, 2.0], [4.0, 0.0]]))
        >>> jax.scipy.linalg.lu_solve(factors, jnp.array([2.0, 4.0]))
        Array([1., 1.], dtype=float32)
    """
    factors, pivots, _ = lax.linalg.lu(matrices("scipy.linalg.lu_factor", jnp.asarray(a)))
    return factors, pivots


def lu_solve(
    lu_and_piv: tuple[Any, Any],
    b: Any,
    trans: int = 0,
    overwrite_b: bool = False,
    check_finite: bool = True,
) -> Any:
    """X of op(A) X = B, from the LU factors of A.

    Args:
        lu_and_piv: factors `(..., n, n)` and int32 row exchanges `(..., n)`: what `lu_factor`
            returns.
        b: one vector `(n,)`, or right-hand sides as columns `(..., n, k)`.
        trans: what op does: 0 nothing, 1 transpose, 2 transpose and conjugate.
        overwrite_b, check_finite: without meaning.

    Raises:
        ShapeError: if the operands do not fit.
        ValueError: if `trans` is none of these.
        TypeError: if the row exchanges are not int32.

    Example:
        >>> import morphax.numpy as jnp
        >>> from morphax.scipy import linalg
        >>> factors = linalg.lu_factor(jnp.array([[0.0, 2.0], [1.0, 0.0]]))
        >>> linalg.lu_solve(factors, jnp.array([4.0, 3.0]))
        Array([3., 2.], dtype=float32)
    """
    factors, pivots = pair("scipy.linalg.lu_solve, argument lu_and_piv", lu_and_piv)
    how = how_transposed("lu_solve", trans)
    factors, columns, is_vector = system("lu_solve", *map(jnp.asarray, (factors, b)))
    pivots = as_array("scipy.linalg.lu_solve", pivots)
    if pivots.aval.shape != factors.aval.shape[:-1]:
        raise ShapeError(
            message(
                "scipy.linalg.lu_solve, argument lu_and_piv",
                given=f"factors {factors.aval}, row exchanges {pivots.aval}",
                expected="row exchanges (..., n) for factors (..., n, n)",
                fix="Pass on what lu_factor returned.",
            )
        )
    return _by_lu_factors(factors, pivots, columns, how, is_vector)


@replayed(3)
def _by_lu_factors(factors: Any, pivots: Any, columns: Any, how: int, is_vector: bool) -> Any:
    size = factors.aval.shape[-1]
    permutation = lax.linalg.lu_pivots_to_permutation(pivots, size)
    stack = lax.broadcast_shapes(factors.aval.shape[:-2], columns.aval.shape[:-2])
    factors = jnp.broadcast_to(factors, (*stack, size, size))
    columns = jnp.broadcast_to(columns, (*stack, *columns.aval.shape[-2:]))
    permutation = jnp.broadcast_to(permutation, (*stack, size))
    return without_column(_by_factors(factors, permutation, columns, how), is_vector)


def _by_factors(factors: Any, permutation: Any, b: Any, how: int) -> Any:
    """By triangular systems, which depend on the factors as functions should."""

    def solved(x: Any, *, lower: bool) -> Any:
        return lax.linalg.triangular_solve(
            factors,
            x,
            left_side=True,
            lower=lower,
            transpose_a=how > 0,
            conjugate_a=how == 2,
            unit_diagonal=lower,
        )

    if not how:
        return solved(solved(rows_at(b, permutation), lower=True), lower=False)
    places = lax.broadcasted_iota(np.int32, permutation.aval.shape, permutation.aval.ndim - 1)
    _, back = lax.sort([permutation, places], dimension=-1, num_keys=1)
    return rows_at(solved(solved(b, lower=False), lower=True), back)


def solve(
    a: Any,
    b: Any,
    lower: bool = False,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    debug: bool = False,
    check_finite: bool = True,
    assume_a: str = "gen",
) -> Any:
    """The solutions X of linear systems A X = B.

    Args:
        a: matrices `(..., n, n)`.
        b: one vector `(n,)`, or right-hand sides as columns `(..., n, k)`; leading axes broadcast.
        lower: which triangle is read if ``assume_a="pos"``.
        overwrite_a, overwrite_b, debug, check_finite: without meaning.
        assume_a: ``"gen"``; ``"pos"`` for Hermitian positive definite matrices, which are solved by
            Cholesky factors; ``"sym"`` and ``"her"``, as ``"gen"``.

    Raises:
        ShapeError: if the operands do not fit.
        ValueError: if `assume_a` is unknown.

    Example:
        >>> import morphax as jax, morphax.numpy as jnp
        >>> a = jnp.array([[4.0, 2.0], [2.0, 5.0]])
        >>> jax.scipy.linalg.solve(a, jnp.array([8.0, 12.0]), assume_a="pos")
        Array([1., 2.], dtype=float32)
    """
    if assume_a not in ("gen", "sym", "her", "pos"):
        raise ValueError(
            message(
                "scipy.linalg.solve, argument assume_a",
                given=f"{assume_a!r}",
                expected="'gen', 'sym', 'her' or 'pos'",
                fix="Triangular systems are solved by solve_triangular.",
            )
        )
    if assume_a != "pos":
        return _solve_general(a, b)
    return _solve_positive_definite(a, b, bool(lower))


@replayed(2)
def _solve_general(a: Any, b: Any) -> Any:
    return jnp.linalg.solve(*linear_system("scipy.linalg.solve", a, b))


@replayed(2)
def _solve_positive_definite(a: Any, b: Any, lower: bool) -> Any:
    """Derivatives are those of any system, and use the factor again."""
    a, columns, is_vector = system("solve", a, b)
    a, columns = of_one_stack(a, columns)
    factor = cholesky(lax.stop_gradient(a), lower=lower)
    factors, rows = _lu_of_cholesky(factor if lower else adjoint(factor))
    x = solved_with_factors(a, factors, rows, columns, transpose_a=False)
    return without_column(x, is_vector)


def _lu_of_cholesky(below: Any) -> tuple[Any, Any]:
    """The factors L D⁻¹ and D Lᴴ of L Lᴴ in one matrix, where D is L's diagonal, and its rows."""
    *stack, size, _ = below.aval.shape
    diagonal = jnp.diagonal(below, axis1=-2, axis2=-1)
    unit = jnp.tril(below / diagonal[..., None, :], -1)
    rows = lax.broadcasted_iota(np.int32, (*stack, size), len(stack))
    return unit + diagonal[..., None] * adjoint(below), rows


@replayed(1)
def inv(a: Any, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    """The inverses of square matrices, as `jnp.linalg.inv`.

    Example:
        >>> import morphax as jax, morphax.numpy as jnp
        >>> jax.scipy.linalg.inv(jnp.array([[2.0]]))
        Array([[0.5]], dtype=float32)
    """
    return jnp.linalg.inv(square_matrices("scipy.linalg.inv", a))


@replayed(1)
def det(a: Any, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    """The determinants of square matrices, as `jnp.linalg.det`.

    Example:
        >>> import morphax as jax, morphax.numpy as jnp
        >>> jax.scipy.linalg.det(jnp.array([[2.0, 1.0], [1.0, 3.0]]))
        Array(5., dtype=float32)
    """
    return jnp.linalg.det(square_matrices("scipy.linalg.det", a))


@replayed(1)
def qr(
    a: Any,
    overwrite_a: bool = False,
    lwork: Any = None,
    mode: str = "full",
    pivoting: bool = False,
    check_finite: bool = True,
) -> tuple[Any, ...]:
    """The QR factorisation A = Q R, or A[:, p] = Q R.

    Args:
        a: matrices `(..., m, n)`.
        mode: with k = min(m, n), ``"full"`` for Q `(..., m, m)` and R `(..., m, n)`,
            ``"economic"`` for Q `(..., m, k)` and R `(..., k, n)`, ``"r"`` for R `(..., m, n)`
            alone.
        pivoting: whether columns are exchanged, and p is returned too.
        overwrite_a, lwork, check_finite: without meaning.

    Returns:
        `(Q, R)` or `(R,)`, with p, int32 `(..., n)`, at the end if `pivoting`.

    Raises:
        ShapeError: if `a` has fewer than two axes.
        ValueError: if the mode is unknown.

    Example:
        >>> import morphax as jax, morphax.numpy as jnp
        >>> (R,) = jax.scipy.linalg.qr(jnp.array([[3.0, 1.0], [4.0, 2.0]]), mode="r")
        >>> R.round(4)
        Array([[-5. , -2.2],
               [ 0. ,  0.4]], dtype=float32)
    """
    (x,) = inexact_arrays("scipy.linalg.qr", jnp.asarray(a))
    if mode not in ("full", "economic", "r"):
        raise ValueError(
            message(
                "scipy.linalg.qr, argument mode",
                given=f"{mode!r}",
                expected="'full', 'economic' or 'r'",
                fix="Choose one of these modes.",
            )
        )
    found = lax.linalg.qr(x, pivoting=pivoting, full_matrices=mode != "economic")
    return found[1:] if mode == "r" else found


@replayed(2)
def qr_multiply(
    a: Any,
    c: Any,
    mode: str = "right",
    pivoting: bool = False,
    conjugate: bool = False,
    overwrite_a: bool = False,
    overwrite_c: bool = False,
) -> tuple[Any, ...]:
    """The factor R of A = Q R, or of A[:, p] = Q R, and the product of Q with a matrix.

    Args:
        a: matrices `(..., m, n)`; k = min(m, n).
        c: for ``"left"``, matrices `(..., k, l)` or a column `(k,)`; for ``"right"``, matrices
            `(..., l, m)` or a row `(m,)`.  Leading axes broadcast.
        mode: ``"left"`` for Q C, of m rows, or ``"right"`` for C Q, of k columns.
        pivoting: whether columns are exchanged, and p is returned too.
        conjugate: whether the conjugate of Q takes its place.
        overwrite_a, overwrite_c: without meaning.

    Returns:
        `(product, R)`, R being `(..., k, n)`, with p, int32 `(..., n)`, at the end if `pivoting`.
        Of a vector `c` the product is a vector for each matrix.

    Raises:
        ShapeError: if the operands do not fit.
        ValueError: if the mode is unknown.

    Example:
        >>> import morphax as jax, morphax.numpy as jnp
        >>> a, b = jnp.array([[3.0], [4.0]]), jnp.array([5.0, 10.0])
        >>> projected, R = jax.scipy.linalg.qr_multiply(a, b)
        >>> jax.scipy.linalg.solve_triangular(R, projected).round(4)  # Least squares.
        Array([2.2], dtype=float32)
    """
    if mode not in ("right", "left"):
        raise ValueError(
            message(
                "scipy.linalg.qr_multiply, argument mode",
                given=f"{mode!r}",
                expected="'right' or 'left'",
                fix="Say on which side of C the factor Q stands: 'left' is Q C.",
            )
        )
    a, c = inexact_arrays("scipy.linalg.qr_multiply", a, c)
    check_matrices("scipy.linalg.qr_multiply", a)
    on_left, is_vector = mode == "left", c.aval.ndim == 1
    if is_vector:
        c = lax.expand_dims(c, (1 if on_left else 0,))
    size = min(a.aval.shape[-2:]) if on_left else a.aval.shape[-2]
    if not c.aval.ndim or c.aval.shape[-2 if on_left else -1] != size:
        raise ShapeError(
            message(
                f"scipy.linalg.qr_multiply with mode={mode!r}, argument c",
                given=f"{c.aval} for {a.aval}",
                expected=f"matrices of {size} {'rows' if on_left else 'columns'}, or such a vector",
                fix="mode='left' is for Q C, mode='right' for C Q.",
            )
        )
    a, c = of_one_stack(a, c)
    q, *rest = lax.linalg.qr(a, pivoting=pivoting, full_matrices=False)
    q = jnp.conj(q) if conjugate else q
    found = product(q, c) if on_left else product(c, q)
    if is_vector:
        found = lax.squeeze(found, (found.aval.ndim - (1 if on_left else 2),))
    return found, *rest
