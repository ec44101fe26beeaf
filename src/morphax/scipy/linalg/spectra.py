"""Spectral factorisations with SciPy's names and arguments."""

from __future__ import annotations

from typing import Any

from ... import dtypes, lax
from ... import numpy as jnp
from ...engines.reference.replay import replayed
from ...errors import ShapeError
from ...lax.linalg.blocks import block
from ...lax.linalg.eigh import hermitian_eigenvalues
from ...numpy.linalg.operands import inexact_arrays, matrices, square_matrices
from ...util.messages import message
from . import tridiagonal_values


@replayed(1)
def svd(
    a: Any,
    full_matrices: bool = True,
    compute_uv: bool = True,
    overwrite_a: bool = False,
    check_finite: bool = True,
    lapack_driver: str = "gesdd",
) -> Any:
    """Singular value decompositions: U, s and Vᴴ of A = U diag(s) Vᴴ.

    Args:
        a: matrices `(..., m, n)`.
        full_matrices: whether U and Vᴴ are square; otherwise they have k = min(m, n) columns and
            rows.
        compute_uv: whether vectors are returned.
        overwrite_a, check_finite, lapack_driver: without meaning.

    Returns:
        `(U, s, Vᴴ)` of shapes `(..., m, k)`, `(..., k)` and `(..., k, n)`, or s alone.

    Raises:
        ShapeError: if `a` has fewer than two axes.

    Example:
        >>> import morphax as jax, morphax.numpy as jnp
        >>> jax.scipy.linalg.svd(jnp.array([[3.0, 0.0], [4.0, 0.0]]), compute_uv=False)
        Array([5., 0.], dtype=float32)
    """
    return lax.linalg.svd(
        matrices("scipy.linalg.svd", jnp.asarray(a)),
        full_matrices=full_matrices,
        compute_uv=compute_uv,
    )


@replayed(2)
def eigh(
    a: Any,
    b: Any = None,
    lower: bool = True,
    eigvals_only: bool = False,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    turbo: bool = True,
    eigvals: None = None,
    type: int = 1,
    check_finite: bool = True,
) -> Any:
    """Eigenvalues and eigenvectors of Hermitian matrices: A V = V diag(w).

    Args:
        a: matrices `(..., n, n)`, of which (A + Aᴴ) / 2 counts.
        b: must be `None`.
        lower: which triangle of (A + Aᴴ) / 2 is read.
        eigvals_only: whether w alone is returned.
        overwrite_a, overwrite_b, turbo, check_finite: without meaning.
        eigvals: must be `None`.
        type: must be 1.

    Returns:
        `(w, V)`, of shapes `(..., n)` and `(..., n, n)`, or w.

    Raises:
        ShapeError: if the matrices are not square.
        NotImplementedError: for generalised problems.

    Example:
        >>> import morphax as jax, morphax.numpy as jnp
        >>> jax.scipy.linalg.eigh(jnp.array([[2.0, 1.0], [1.0, 2.0]]), eigvals_only=True)
        Array([1., 3.], dtype=float32)
    """
    for name, value, expected in (("b", b, None), ("eigvals", eigvals, None), ("type", type, 1)):
        if value is not expected and not (name == "type" and value == 1):
            raise NotImplementedError(
                message(
                    f"scipy.linalg.eigh, argument {name}",
                    given=f"{name} that is not {expected}",
                    expected="the ordinary problem A v = w v, and all of its eigenvalues",
                    fix="Leave the argument out.",
                )
            )
    a = square_matrices("scipy.linalg.eigh", jnp.asarray(a))
    if eigvals_only:
        return hermitian_eigenvalues(a, lower=lower)
    v, w = lax.linalg.eigh(a, lower=lower)
    return w, v


@replayed(1)
def schur(a: Any, output: str = "real") -> list[Any]:
    """Schur decompositions: T and Q, unitary, of A = Q T Qᴴ.

    Args:
        a: matrices `(..., n, n)`.
        output: ``"real"``, where T of a real matrix is real and has a block of size 2 for each pair
            of conjugate eigenvalues, or ``"complex"``, where T is triangular.

    Returns:
        `[T, Q]`.

    Raises:
        ShapeError: if the matrices are not square.
        ValueError: if `output` is neither.

    Example:
        >>> import morphax as jax, morphax.numpy as jnp
        >>> T, Q = jax.scipy.linalg.schur(jnp.array([[1.0, 2.0], [0.0, 3.0]]))
        >>> T
        Array([[1., 2.],
               [0., 3.]], dtype=float32)
    """
    if output not in ("real", "complex"):
        raise ValueError(
            message(
                "scipy.linalg.schur, argument output",
                given=f"{output!r}",
                expected="'real' or 'complex'",
                fix="Choose one of them.",
            )
        )
    x = square_matrices("scipy.linalg.schur", a)
    if output == "complex":
        x = x.astype(jnp.result_type(x, jnp.complex64))
    return lax.linalg.schur(x)


@replayed(1)
def hessenberg(
    a: Any, *, calc_q: bool = False, overwrite_a: bool = False, check_finite: bool = True
) -> Any:
    """Hessenberg decompositions: H, zero below its subdiagonal, and Q, unitary, of A = Q H Qᴴ.

    Args:
        a: matrices `(..., n, n)`.
        calc_q: whether Q is returned.
        overwrite_a, check_finite: without meaning.

    Returns:
        H, or `(H, Q)`.

    Raises:
        ShapeError: if the matrices are not square.

    Example:
        >>> import morphax as jax, morphax.numpy as jnp
        >>> jax.scipy.linalg.hessenberg(jnp.array([[1.0, 2.0], [3.0, 4.0]]))
        Array([[1., 2.],
               [3., 4.]], dtype=float32)
    """
    x = square_matrices("scipy.linalg.hessenberg", a)
    size = x.aval.shape[-1]
    reduced, taus = lax.linalg.hessenberg(x)
    h = jnp.triu(reduced, -1)
    if not calc_q:
        return h
    q = jnp.broadcast_to(jnp.eye(size, dtype=x.aval.dtype), x.aval.shape)
    if size > 1:
        # The first row and column stay: reflections begin below them.
        below = block(reduced, (1, size), (0, size - 1))
        inner = lax.linalg.householder_product(below, taus)
        axes = [*[(0, 0)] * (x.aval.ndim - 2), (1, 0), (1, 0)]
        first = jnp.zeros((size,), x.aval.dtype).at[0].set(1)
        q = jnp.pad(inner, axes) + jnp.diag(first)
    return h, q


@replayed(2)
def eigh_tridiagonal(
    d: Any,
    e: Any,
    *,
    eigvals_only: bool = False,
    select: str = "a",
    select_range: tuple[float, float] | None = None,
    tol: float | None = None,
    key: Any = None,
) -> Any:
    """Eigenvalues and eigenvectors of Hermitian tridiagonal matrices: A V = V diag(w).

    Args:
        d: diagonals `(..., n)`, of which the real part counts.
        e: what stands above them, `(..., n - 1)`.
        eigvals_only: whether w alone is returned.
        select: ``"a"`` for all eigenvalues, ``"i"`` for those of a range of places.
        select_range: first and last place, if ``select="i"``; the eigenvalues increase.
        tol, key: without meaning: the results are as exact as their dtype allows.

    Returns:
        `(w, V)`, of shapes `(..., k)` and `(..., n, k)`, or w; NaN for matrices that are not
        finite.

    Raises:
        ShapeError: if the shapes do not fit.
        ValueError: if the selection is none.
        NotImplementedError: if ``select="v"``, as the values would decide the shape.

    Example:
        >>> import morphax as jax, morphax.numpy as jnp
        >>> d, e = jnp.array([2.0, 2.0]), jnp.array([1.0])
        >>> jax.scipy.linalg.eigh_tridiagonal(d, e, eigvals_only=True).round(6)
        Array([1., 3.], dtype=float32)
    """
    d, e = inexact_arrays("scipy.linalg.eigh_tridiagonal", d, e)
    size = d.aval.shape[-1] if d.aval.ndim else 0
    if not d.aval.ndim or e.aval.shape != (*d.aval.shape[:-1], max(size - 1, 0)):
        raise ShapeError(
            message(
                "scipy.linalg.eigh_tridiagonal",
                given=f"{d.aval} and {e.aval}",
                expected="diagonals (..., n), and (..., n - 1)",
                fix="e stands above the diagonal d, and has one number less.",
            )
        )
    subset = _selected(select, select_range, size)
    if eigvals_only and size and dtypes.finfo(d.aval.dtype).dtype.itemsize >= 4:
        return tridiagonal_values.eigenvalues(d, e, subset)
    w, v = tridiagonal_values.with_vectors(d, e, subset)
    return w if eigvals_only else (w, v)


def _selected(select: str, chosen: tuple[float, float] | None, size: int) -> tuple[int, int]:
    """The range of places (start, stop) of the eigenvalues that are wanted."""
    if select == "v":
        raise NotImplementedError(
            message(
                "scipy.linalg.eigh_tridiagonal, argument select",
                given="'v', a range of values",
                expected="'a' or 'i': the number of results is known while tracing",
                fix="Choose among all eigenvalues, or give a range of places.",
            )
        )
    if select == "a":
        return 0, size
    if select == "i" and chosen is not None:
        first, last = map(int, chosen)
        if 0 <= first <= last < size:
            return first, last + 1
    raise ValueError(
        message(
            "scipy.linalg.eigh_tridiagonal, argument select",
            given=f"select={select!r}, select_range={chosen!r}",
            expected=f"'a', or 'i' and a range (first, last) among the places 0 to {size - 1}",
            fix="Leave both out for all eigenvalues.",
        )
    )
