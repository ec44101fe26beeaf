"""Functions of matrices by the Schur form: f(A) = Q f(T) Qᴴ."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from ... import numpy as jnp
from ...control.custom.custom_jvp import custom_jvp
from ...control.jit.jit import jit
from ...engines.reference.replay import replayed
from ...errors import ShapeError
from ...numpy.linalg.operands import square_matrices
from ...transforms.vmap import vmap
from ...util.messages import described, message
from .diagonals import Diagonals, by_diagonals, inner
from .schur_forms import complex_schur, sylvester, turned_back


def sqrtm(A: Any, blocksize: int = 1) -> Any:
    """The principal square roots of matrices: X X = A, with eigenvalues of real part ≥ 0.

    The derivative solves X dX + dX X = dA; it is NaN where two eigenvalues of X add up to 0.

    Args:
        A: matrices `(..., n, n)`; integers become floating.
        blocksize: must be 1.

    Returns:
        Matrices `(..., n, n)`, complex; NaN for a singular matrix without a root.

    Raises:
        ShapeError: if the matrices are not square.
        NotImplementedError: if `blocksize` is not 1.

    Reference:
        Å. Björck and S. Hammarling, "A Schur method for the square root of a matrix", Linear
        Algebra and its Applications 52/53 (1983).

    Example:
        >>> import morphax as jax, morphax.numpy as jnp
        >>> jax.scipy.linalg.sqrtm(jnp.array([[4.0, 5.0], [0.0, 9.0]]))
        Array([[2.+0.j, 1.+0.j],
               [0.+0.j, 3.+0.j]], dtype=complex64)
    """
    if blocksize > 1:
        raise NotImplementedError(
            message(
                "scipy.linalg.sqrtm, argument blocksize",
                given=f"{blocksize!r}",
                expected="1: roots are found column by column",
                fix="Leave the argument out.",
            )
        )
    x = _wide_matrices(A)
    return _square_root(x) if x.aval.size else x.astype(jnp.result_type(x, jnp.complex64))


@replayed(1)
def _wide_matrices(a: Any) -> Any:
    x = square_matrices("scipy.linalg.sqrtm", a)
    # There are factorisations of 32 bits and more only.
    return x.astype(jnp.promote_types(x.aval.dtype, np.float32))


@custom_jvp
def _square_root(x: Any) -> Any:
    t, q = complex_schur(x)
    return turned_back(_root_of_triangular(t), q)


# Diagonal by diagonal, eager calls would cost many times what a compiled one does.
@partial(jit, inline=True)
def _root_of_triangular(t: Any) -> Any:
    root = _root_of_one
    for _ in t.aval.shape[:-2]:
        root = vmap(root)
    return root(t)


def _root_of_one(t: Any) -> Any:
    # A zero of negative sign would choose the other root of a negative number.
    return by_diagonals(_root_element, jnp.sqrt(jnp.diagonal(t) + 0), t)


def _root_element(
    k: Any, here: Any, ends: tuple[Any, Any], _: Any, x: Diagonals, t: Diagonals
) -> Any:
    """Of X X = T: xᵢⱼ (xᵢᵢ + xⱼⱼ) = tᵢⱼ − Σ xᵢₗ xₗⱼ."""
    rest, total = here - inner(x, x, k), ends[0] + ends[1]
    is_zero = total == 0
    # 0 x = t has no solution unless t is 0.
    return jnp.where(is_zero, jnp.where(rest == 0, 0, np.nan), rest / jnp.where(is_zero, 1, total))


@_square_root.defjvp
def _(primals: Any, tangents: Any) -> Any:
    root = _square_root(*primals)
    return root, sylvester(root, root, tangents[0].astype(root.aval.dtype))


def funm(A: Any, func: Callable[[Any], Any], disp: bool = True) -> Any:
    """The function of a matrix that `func` is of its eigenvalues.

    Digits are lost where eigenvalues are close, as divided differences are formed.

    Args:
        A: matrix `(n, n)`; integers become floating.
        func: function of the eigenvalues, which it is given as a complex vector `(n,)`, element by
            element.
        disp: whether the result is returned alone.

    Returns:
        Matrix `(n, n)`, complex, or the pair of it and an estimate of its relative error.  It is
        NaN if eigenvalues are equal and their vectors not independent: derivatives of `func` would
        be needed.

    Raises:
        ShapeError: if `A` is no square matrix, or `func` changes the shape.
        NotImplementedError: under differentiation.

    Reference:
        B. N. Parlett, "A recurrence among the elements of functions of triangular matrices", Linear
        Algebra and its Applications 14 (1976).

    Example:
        >>> import morphax as jax, morphax.numpy as jnp
        >>> jax.scipy.linalg.funm(jnp.array([[1.0, 1.0], [0.0, 2.0]]), lambda x: x**2)
        Array([[1.+0.j, 3.+0.j],
               [0.+0.j, 4.+0.j]], dtype=complex64)
    """
    if not callable(func):
        raise TypeError(
            message(
                "scipy.linalg.funm, argument func",
                given=described(func),
                expected="a function of the eigenvalues",
                fix="Pass a function of arrays, such as jnp.exp.",
            )
        )
    x = square_matrices("scipy.linalg.funm", jnp.asarray(A))
    if x.aval.ndim != 2:
        raise _unfit("argument A", x.aval, "one square matrix", "Use jax.vmap for stacks.")
    t, q = complex_schur(x)
    eigenvalues = jnp.diagonal(t)
    values = jnp.asarray(func(eigenvalues)).astype(t.aval.dtype)
    if values.aval.shape != eigenvalues.aval.shape:
        expected = f"values of the shape {eigenvalues.aval.shape} of the eigenvalues"
        fix = "Return a number for each; jax.vmap makes a function of vectors from one of numbers."
        raise _unfit("result of func", values.aval, expected, fix)
    found = t
    if x.aval.size:
        found = turned_back(_of_triangular(t, values), q)
    return found if disp else (found, _relative_error(t, found))


@partial(jit, inline=True)
def _of_triangular(t: Any, values: Any) -> Any:
    return by_diagonals(_parlett_element, values, t)


def _parlett_element(
    k: Any,
    here: Any,
    values: tuple[Any, Any],
    eigenvalues: tuple[Any, Any],
    f: Diagonals,
    t: Diagonals,
) -> Any:
    """Of F T = T F: fᵢⱼ (tⱼⱼ − tᵢᵢ) = tᵢⱼ (fⱼⱼ − fᵢᵢ) + Σ (tᵢₗ fₗⱼ − fᵢₗ tₗⱼ)."""
    gap = eigenvalues[1] - eigenvalues[0]
    is_zero = gap == 0
    sums = here * (values[1] - values[0]) + inner(t, f, k) - inner(f, t, k)
    # Where the two eigenvalues are equal, only an element without any coupling is known: it is 0.
    size_of_f, size_of_t = [Diagonals(*map(jnp.abs, x)) for x in (f, t)]
    coupled = jnp.abs(here) + inner(size_of_t, size_of_f, k) + inner(size_of_f, size_of_t, k)
    unknown = jnp.where(coupled > 0, np.nan, 0)
    return jnp.where(is_zero, unknown, sums / jnp.where(is_zero, 1, gap))


def _relative_error(t: Any, found: Any) -> Any:
    """Rounding, amplified by the smallest gap between eigenvalues; ∞ if elements are not finite."""
    precision = np.finfo(t.aval.dtype).eps
    size = t.aval.shape[-1]
    if size < 2:
        return jnp.asarray(precision)
    w = jnp.diagonal(t)
    gaps = jnp.abs(w[:, None] - w[None, :])
    smallest = jnp.min(jnp.where(np.eye(size, dtype=bool) | (gaps == 0), np.inf, gaps))
    smallest = jnp.minimum(jnp.where(jnp.isinf(smallest), precision, smallest), 1)
    rest = jnp.max(jnp.sum(jnp.abs(jnp.triu(t, 1)), axis=0))
    error = jnp.clip(precision / smallest * rest, precision, 1)
    return jnp.where(jnp.all(jnp.isfinite(found)), error, np.inf)


def _unfit(what: str, given: Any, expected: str, fix: str) -> ShapeError:
    where = f"scipy.linalg.funm, {what}"
    return ShapeError(message(where, given=f"{given}", expected=expected, fix=fix))
