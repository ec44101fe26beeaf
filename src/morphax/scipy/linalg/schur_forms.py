"""The complex Schur form A = Q T Qᴴ, T triangular, and equations that it solves.

An equation goes through the columns of its unknown from the left.  Column j follows from those
before it by one triangular system, whose matrix is T, shifted.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from ... import lax
from ... import numpy as jnp
from ...control.jit.jit import jit
from ...engines.reference.replay import replayed
from ...errors import ShapeError
from ...lax.linalg.matrix_stacks import adjoint
from ...numpy.linalg.operands import inexact_arrays, square_matrices
from ...util.messages import message
from .operands import of_one_stack


def complex_schur(x: Any) -> tuple[Any, Any]:
    """T, upper triangular, and Q, unitary, of A = Q T Qᴴ; both complex.

    Real eigenvalues of a real matrix are exactly so: a negative one lies on the cut of many a
    function, and which side of it the last digit chose would be chance.
    """
    t, q = lax.linalg.schur(x)
    return (t, q) if x.aval.dtype.kind == "c" else _triangularized(t, q)


@replayed(2)
def turned_back(t: Any, q: Any) -> Any:
    """Q T Qᴴ."""
    return q @ t @ adjoint(q)


def by_columns(column: Callable[..., Any], like: Any, *given: Any) -> Any:
    """The matrices X of columns column(j, X, *given), X having zeros from column j on.

    Args:
        column: function that reads nothing else, so that a program of it can be kept.
        like: matrices `(..., m, n)` of the shape and dtype of X.
        *given: arrays.
    """
    shape = like.aval.shape
    numbers = np.arange(shape[-1])

    def step(j: Any, state: tuple[Any, ...]) -> tuple[Any, ...]:
        found, *given = state
        return jnp.where(numbers == j, column(j, found, *given), found), *given

    return lax.fori_loop(0, shape[-1], step, (jnp.zeros_like(like), *given))[0]


def column_at(x: Any, j: Any) -> Any:
    """Column j of matrices, as matrices of one column."""
    return lax.dynamic_index_in_dim(x, j, x.aval.ndim - 1)


def shifted(t: Any, shift: Any) -> tuple[Any, Any]:
    """T + s, with ones for the zeros on its diagonal, and where there are such: `(..., n, 1)`.

    Args:
        t: upper triangular matrices `(..., n, n)`.
        shift: numbers `(..., 1, 1)`.
    """
    size = t.aval.shape[-1]
    diagonal = jnp.diagonal(t, axis1=-2, axis2=-1)[..., None] + shift
    is_zero = diagonal == 0
    change = jnp.where(is_zero, 1 + shift - diagonal, shift)
    return t + change * np.eye(size, dtype=t.aval.dtype), is_zero


def solved_upper(t: Any, b: Any) -> Any:
    """X of T X = B, T upper triangular."""
    t, b = of_one_stack(t, b)
    return lax.linalg.triangular_solve(t, b, left_side=True, lower=False)


def rsf2csf(T: Any, Z: Any, check_finite: bool = True) -> tuple[Any, Any]:
    """From the real Schur form to the complex one: A = Z T Zᴴ with T triangular.

    A rotation for each block of size 2 makes it triangular.

    Args:
        T: quasi-triangular matrices `(..., n, n)`, as of `schur`.
        Z: orthogonal matrices `(..., n, n)`; leading axes broadcast.
        check_finite: without meaning.

    Returns:
        `(T, Z)`, complex, of the shape that both have together.

    Raises:
        ShapeError: if the matrices are not square, or of different sizes.

    Reference:
        G. H. Golub and C. F. Van Loan, "Matrix Computations", 4th edition, section 7.4.

    Example:
        >>> import morphax as jax, morphax.numpy as jnp
        >>> T, Z = jax.scipy.linalg.rsf2csf(jnp.array([[1.0, 2.0], [-2.0, 1.0]]), jnp.eye(2))
        >>> T.round(4) + 0
        Array([[1.+2.j, 0.+0.j],
               [0.+0.j, 1.-2.j]], dtype=complex64)
    """
    t, z = inexact_arrays("scipy.linalg.rsf2csf", T, Z)
    for x in (t, z):
        square_matrices("scipy.linalg.rsf2csf", x)
    size = t.aval.shape[-1]
    if z.aval.shape[-1] != size:
        raise ShapeError(
            message(
                "scipy.linalg.rsf2csf",
                given=f"{t.aval} and {z.aval}",
                expected="square matrices of one size",
                fix="Pass both of what scipy.linalg.schur returned.",
            )
        )
    return _triangularized(t, z)


# One program, of which eager calls would make many.
@partial(jit, inline=True)
def _triangularized(t: Any, z: Any) -> tuple[Any, Any]:
    """The complex Schur form of a real one.

    No two blocks have a row in common, so that their rotations are one unitary matrix G, of three
    diagonals: T becomes G T Gᴴ, and Z becomes Z Gᴴ.
    """
    t, z = of_one_stack(t, z)
    if t.aval.shape[-1] > 1:
        g = _rotations(t)
        t = jnp.triu(adjoint(_turned(g, adjoint(_turned(g, t)))))
        z = adjoint(_turned(g, adjoint(z)))
    kind = jnp.result_type(t, jnp.complex64)
    return t.astype(kind), z.astype(kind)


def _turned(g: Sequence[Any], x: Any) -> Any:
    """G X, G being given by its diagonal, that above and that below it, both of its length."""
    own, above, below = [v[..., None] for v in g]
    return own * x + above * jnp.roll(x, -1, -2) + below * jnp.roll(x, 1, -2)


def _rotations(t: Any) -> list[Any]:
    """The three diagonals of G."""
    above, diagonal, below = [jnp.diagonal(t, k, axis1=-2, axis2=-1) for k in (1, 0, -1)]
    u, v = _rotation(diagonal[..., :-1], above, below, diagonal[..., 1:])
    begin, end = [[(0, 0)] * (t.aval.ndim - 2) + [ends] for ends in ((1, 0), (0, 1))]
    own = jnp.pad(u.conj(), end, constant_values=1) * jnp.pad(u, begin, constant_values=1)
    return [own, jnp.pad(v.conj(), end), jnp.pad(-v, begin)]


def _rotation(a: Any, b: Any, c: Any, d: Any) -> tuple[Any, Any]:
    """u and v of (ū, v̄; −v, u), which makes blocks (a, b; c, d) upper triangular; 1 and 0 if so."""
    is_block = jnp.abs(c) > np.finfo(c.aval.dtype).eps * (jnp.abs(a) + jnp.abs(d))
    half = (a - d) / 2
    scale = lax.stop_gradient(jnp.where(is_block, jnp.abs(half) + jnp.abs(b) + jnp.abs(c), 1))
    # Others are replaced before the root, so that no derivative of it is infinite.
    half, b, c = [
        jnp.where(is_block, x / scale, other) for x, other in ((half, 0), (b, -1), (c, 1))
    ]
    root = half * half + b * c
    if c.aval.dtype.kind == "c":
        root = jnp.sqrt(root)
        parts = [root.real, root.imag]
    else:
        size = jnp.sqrt(jnp.abs(root))
        parts = [jnp.where(root > 0, size, 0), jnp.where(root < 0, size, 0)]
    # (distance, c) is an eigenvector, the distance that of its eigenvalue from d.
    real, imaginary = half.real + parts[0], half.imag + parts[1]
    factor = lax.rsqrt(real**2 + imaginary**2 + jnp.abs(c) ** 2)
    u = lax.complex(real * factor, imaginary * factor)
    return jnp.where(is_block, u, 1), jnp.where(is_block, c * factor, 0)


def solve_sylvester(A: Any, B: Any, C: Any, *, method: str = "schur", tol: float = 1e-8) -> Any:
    """X of Sylvester's equation A X + X B = C.

    Derivatives, forward and backward, are solutions of equations with the same factors.

    Args:
        A: matrices `(..., m, m)`.
        B: matrices `(..., n, n)`.
        C: matrices `(..., m, n)`; leading axes broadcast.
        method: ``"schur"``, by the Schur forms of A and B, or ``"eigen"``, by their eigenvectors,
            which is quicker, and inexact where these are nearly dependent.
        tol: no sum of an eigenvalue of A and one of B may be this close to 0: then X is NaN.

    Returns:
        Matrices `(..., m, n)`.

    Raises:
        ShapeError: if the matrices do not fit.
        ValueError: if the method is unknown.

    Reference:
        R. H. Bartels and G. W. Stewart, "Solution of the matrix equation AX + XB = C",
        Communications of the ACM 15 (1972).

    Example:
        >>> import morphax as jax, morphax.numpy as jnp
        >>> a, b = jnp.array([[1.0, 1.0], [0.0, 2.0]]), jnp.array([[3.0]])
        >>> jax.scipy.linalg.solve_sylvester(a, b, jnp.array([[9.0], [10.0]]))
        Array([[1.75],
               [2.  ]], dtype=float32)
    """
    if method not in ("schur", "eigen"):
        raise ValueError(
            message(
                "scipy.linalg.solve_sylvester, argument method",
                given=f"{method!r}",
                expected="'schur' or 'eigen'",
                fix="Choose one of them.",
            )
        )
    a, b, c = inexact_arrays("scipy.linalg.solve_sylvester", A, B, C)
    shapes = [x.aval.shape[-2:] for x in (a, b, c)]
    if shapes != [(m := shapes[-1][:1]) * 2, (n := shapes[-1][1:]) * 2, m + n]:
        raise ShapeError(
            message(
                "scipy.linalg.solve_sylvester",
                given=f"{a.aval}, {b.aval} and {c.aval}",
                expected="matrices (..., m, m), (..., n, n) and (..., m, n)",
                fix="The unknown X has the shape of C.",
            )
        )
    return sylvester(a, b, c, by_vectors=method == "eigen", tol=tol)


# Column by column, eager calls would cost many times what a compiled one does.
@partial(jit, static_argnames="by_vectors", inline=True)
def sylvester(a: Any, b: Any, c: Any, *, by_vectors: bool = False, tol: Any = 0.0) -> Any:
    """X of A X + X B = C for matrices of one dtype; NaN where eigenvalues add up to ≤ `tol`."""
    stack = jnp.broadcast_shapes(*[x.aval.shape[:-2] for x in (a, b, c)])
    c = jnp.broadcast_to(c, (*stack, *c.aval.shape[-2:]))
    if not c.aval.size:
        return c
    left, right = [_factors(lax.stop_gradient(x), by_vectors) for x in (a, b)]

    def solve(_: Any, c: Any) -> Any:
        return _by_factors(left, right, c, by_vectors, tol)

    def transpose_solve(_: Any, c: Any) -> Any:
        # Transposed, Aᵀ Y + Y Bᵀ = C is B Yᵀ + Yᵀ A = Cᵀ: the factors are those that we have.
        c = jnp.matrix_transpose(c)
        return jnp.matrix_transpose(_by_factors(right, left, c, by_vectors, tol))

    return lax.custom_linear_solve(lambda x: a @ x + x @ b, c, solve, transpose_solve)


_Factors = tuple[Any, Any, Any]


def _factors(x: Any, by_vectors: bool) -> _Factors:
    """D, V and V⁻¹ of A = V D V⁻¹, D being diagonal if `by_vectors`, else triangular; complex."""
    if not by_vectors:
        t, q = lax.linalg.schur(x.astype(jnp.result_type(x, jnp.complex64)))
        return t, q, adjoint(q)
    w, v = jnp.linalg.eig(x)
    return w[..., None] * np.eye(w.aval.shape[-1], dtype=w.aval.dtype), v, jnp.linalg.inv(v)


def _by_factors(left: _Factors, right: _Factors, c: Any, by_vectors: bool, tol: Any) -> Any:
    """X = U Y V⁻¹ where D Y + Y E = U⁻¹ C V, for A = U D U⁻¹ and B = V E V⁻¹."""
    (d, u, u_inverse), (e, v, v_inverse) = left, right
    moved = u_inverse @ c.astype(d.aval.dtype) @ v
    w, z = [jnp.diagonal(x, axis1=-2, axis2=-1) for x in (d, e)]
    sums = w[..., :, None] + z[..., None, :]
    if by_vectors:
        y = moved / sums
    else:
        y = by_columns(_sylvester_column, moved, moved, d, e)
    is_regular = jnp.min(jnp.abs(sums), axis=(-2, -1), keepdims=True) > tol
    y = u @ jnp.where(is_regular, y, np.nan) @ v_inverse
    return y if c.aval.dtype.kind == "c" else y.real.astype(c.aval.dtype)


def _sylvester_column(j: Any, y: Any, c: Any, d: Any, e: Any) -> Any:
    """Column j of D Y + Y E = C: (D + eⱼⱼ) yⱼ = cⱼ − Y eⱼ, of which Y has the columns before."""
    column = column_at(e, j)
    number = lax.dynamic_index_in_dim(column, j, column.aval.ndim - 2)
    matrix, _ = shifted(d, number)
    return solved_upper(matrix, column_at(c, j) - y @ column)
