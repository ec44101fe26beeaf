"""Conjugate gradients, BiCGSTAB and GMRES for trees of arrays, with derivatives.

The derivative of the solution is that of the system, not of the iteration: it is found by solving
systems with the same operator, or with its transpose, to the same tolerance.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from .... import dtypes, lax, tree
from .... import numpy as jnp
from ....control.jit.jit import jit
from ....core import is_value
from ....lax.elementwise.convert import convert
from ....transforms.derivatives import linear_transpose
from ....util.messages import message
from .krylov import (
    Limits,
    Operator,
    conjugate_gradients,
    minimal_residuals,
    stabilized_biconjugate_gradients,
)
from .operators import operator_of, vectors_of


def cg(
    A: Any,
    b: Any,
    x0: Any = None,
    *,
    tol: Any = 1e-05,
    atol: Any = 0.0,
    maxiter: Any = None,
    M: Any = None,
) -> tuple[Any, Any]:
    """Solve A x = b by conjugate gradients, for a Hermitian positive definite A.

    Args:
        A: matrix (n, n), or a linear function of trees like `b`.
        b: right-hand side: array, or tree of arrays, of any shape.
        x0: a first guess, like `b`; zeros by default.
        tol, atol: the iteration ends when ‖b − A x‖ ≤ max(tol ‖b‖, atol).
        maxiter: the most steps, by default ten for each element of `b`.
        M: a preconditioner, near the inverse of A, as `A` is given; Hermitian positive definite.

    Returns:
        `(x, info)`: the solution, like `b`, and an integer: 0 if it is as exact as was asked for,
        the number of steps if they were not enough, −1 if there was none (a tolerance of NaN, or
        ``maxiter=0``), and if the iteration broke down, in which case x is NaN.

    Raises:
        TypeError: if `A` or `M` is no operator, or maps `b` to another structure.
        ValueError: if a matrix is not square, or shapes do not agree.

    Example:
        >>> import morphax as jax, morphax.numpy as jnp
        >>> A = jnp.array([[4.0, 1.0], [1.0, 3.0]])
        >>> x, info = jax.scipy.sparse.linalg.cg(A, jnp.array([6.0, 7.0]))
        >>> x.round(4), int(info)
        (Array([1., 2.], dtype=float32), 0)
    """
    return _solved("cg", conjugate_gradients, A, b, x0, tol, atol, maxiter, M)


def bicgstab(
    A: Any,
    b: Any,
    x0: Any = None,
    *,
    tol: Any = 1e-05,
    atol: Any = 0.0,
    maxiter: Any = None,
    M: Any = None,
) -> tuple[Any, Any]:
    """Solve A x = b by BiCGSTAB, for any invertible A; see `cg` for arguments and results.

    Example:
        >>> import morphax as jax, morphax.numpy as jnp
        >>> A = jnp.array([[4.0, 1.0], [0.0, 3.0]])
        >>> jax.scipy.sparse.linalg.bicgstab(A, jnp.array([6.0, 6.0]))[0].round(4)
        Array([1., 2.], dtype=float32)
    """
    method = stabilized_biconjugate_gradients
    return _solved("bicgstab", method, A, b, x0, tol, atol, maxiter, M)


def gmres(
    A: Any,
    b: Any,
    x0: Any = None,
    *,
    tol: Any = 1e-05,
    atol: Any = 0.0,
    restart: int = 20,
    maxiter: Any = None,
    M: Any = None,
    solve_method: str = "batched",
) -> tuple[Any, Any]:
    """Solve A x = b by GMRES, for any invertible A: least residuals in spaces that grow.

    See `cg` for what is not said here.

    Args:
        A, b, x0, tol, atol, M: see `cg`.
        restart: the largest dimension of a space; then the next one starts from the solution.
        maxiter: the most spaces, by default ten for each element of `b`.
        solve_method: ``"incremental"`` ends within a space as soon as the residual is small
            enough, ``"batched"`` looks at it between spaces only.

    Raises:
        TypeError: if `A` or `M` is no operator, or maps `b` to another structure.
        ValueError: if `restart` is not positive, there is no such method, a matrix is not square,
            or shapes do not agree.

    Example:
        >>> import morphax as jax, morphax.numpy as jnp
        >>> A = jnp.array([[0.0, 1.0], [2.0, 3.0]])
        >>> jax.scipy.sparse.linalg.gmres(A, jnp.array([2.0, 8.0]))[0].round(4)
        Array([1., 2.], dtype=float32)
    """
    where = "scipy.sparse.linalg.gmres"
    if solve_method not in ("batched", "incremental"):
        raise ValueError(
            message(
                f"{where}, argument solve_method",
                given=f"{solve_method!r}",
                expected="'batched' or 'incremental'",
                fix="Choose one of them.",
            )
        )
    try:
        size = operator.index(restart)
    except TypeError:
        size = 0
    if size < 1:
        raise ValueError(
            message(
                f"{where}, argument restart",
                given=f"{restart!r}",
                expected="a positive integer",
                fix="Leave it out for 20.",
            )
        )

    method = _incremental_residuals if solve_method == "incremental" else _batched_residuals
    return _solved("gmres", method, A, b, x0, tol, atol, maxiter, M, size)


def _batched_residuals(
    a: Operator, b: Any, x: Any, m: Operator, limits: Limits, restart: int
) -> tuple[Any, Any]:
    return minimal_residuals(a, b, x, m, limits, restart, is_incremental=False)


def _incremental_residuals(
    a: Operator, b: Any, x: Any, m: Operator, limits: Limits, restart: int
) -> tuple[Any, Any]:
    return minimal_residuals(a, b, x, m, limits, restart, is_incremental=True)


def _solved(
    name: str,
    method: Callable[..., tuple[Any, Any]],
    given: Any,
    b: Any,
    x0: Any,
    tol: Any,
    atol: Any,
    maxiter: Any,
    preconditioner: Any,
    restart: int | None = None,
) -> tuple[Any, Any]:
    operators = [given] if preconditioner is None else [given, preconditioner]
    numbers = [*operators, *tree.leaves((b, x0, tol, atol, maxiter))]
    is_known = all([is_value(x) for x in numbers])
    run = _solved_with_matrices if is_known else _iterated
    return run(name, method, restart, given, b, x0, tol, atol, maxiter, preconditioner)


def _iterated(
    name: str,
    method: Callable[..., tuple[Any, Any]],
    restart: int | None,
    given: Any,
    b: Any,
    x0: Any,
    tol: Any,
    atol: Any,
    maxiter: Any,
    preconditioner: Any,
) -> tuple[Any, Any]:
    where = f"scipy.sparse.linalg.{name}"
    function = operator_of(where, "A", given, b)
    vectors = vectors_of(where, function, b, x0)
    right = vectors.flat("b", b)
    start = jnp.zeros_like(right) if x0 is None else vectors.flat("x0", x0)
    start = lax.stop_gradient(start)
    a = vectors.operator("A", function)
    size = right.aval.shape[0]
    if not size:
        return vectors.as_tree(right), jnp.zeros((), int)
    steps = 10 * size if maxiter is None else maxiter
    m: Operator = _unchanged
    transposed_m: Operator = _unchanged
    options = {} if restart is None else {"restart": min(restart, size)}
    if preconditioner is not None:
        m = vectors.operator("M", operator_of(where, "M", preconditioner, b))
        transposed_m = _transpose_of(m, right)

    def solve(matvec: Any, right: Any) -> tuple[Any, Any]:
        return scaled(matvec, right, start, m)

    def transpose_solve(matvec: Any, right: Any) -> tuple[Any, Any]:
        return scaled(matvec, right, jnp.zeros_like(right), transposed_m)

    def scaled(matvec: Any, right: Any, start: Any, m: Operator) -> tuple[Any, Any]:
        scale = _scale_of(right)
        limits = Limits(tol, atol / scale.real, steps)
        found, info = method(matvec, right / scale, start / scale, m, limits, **options)
        return found * scale, info

    found, info = lax.custom_linear_solve(a, right, solve, transpose_solve, has_aux=True)
    return vectors.as_tree(found), info


# The program of an iteration with arrays is kept; one with a function is the function's.
_solved_with_matrices = jit(_iterated, static_argnums=(0, 1, 2), inline=True)


def _scale_of(x: Any) -> Any:
    """The largest element of vectors whose squares might overflow, or vanish; 1 for others."""
    limits = dtypes.finfo(x.aval.dtype)
    least, most = float(limits.tiny) ** 0.25, float(limits.max) ** 0.25
    largest = jnp.max(jnp.abs(x))
    is_usual = (largest == 0) | ((largest > least) & (largest < most)) | ~jnp.isfinite(largest)
    return convert(jnp.where(is_usual, 1, largest), x.aval.dtype)


def _unchanged(x: Any) -> Any:
    return x


def _transpose_of(function: Callable[[Any], Any], sample: Any) -> Callable[[Any], Any]:
    """The transpose of a linear function of vectors like `sample`, made when it is needed."""
    return lambda x: linear_transpose(function, sample)(x)[0]
