"""Pseudo-inverses, least squares, and the rank on which both depend.

Both come from singular values, of which those that count as 0 are left out.  Their derivatives are
those of matrices of the same rank, and need neither gaps nor reciprocals of small values:

    dA⁺ = −A⁺ dA A⁺ + A⁺ A⁺ᴴ dAᴴ (1 − A A⁺) + (1 − A⁺ A) dAᴴ A⁺ᴴ A⁺.

Where the rank changes, A⁺ jumps.

Reference: G. H. Golub and V. Pereyra, "The differentiation of pseudo-inverses and nonlinear least
squares problems whose variables separate", SIAM J. Numer. Anal. 10 (1973).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ... import dtypes, lax
from ...control.custom.custom_jvp import custom_jvp
from ...core import aval_of
from ...engines.reference.replay import replayed
from ...errors import ShapeError
from ...lax.linalg.matrix_stacks import adjoint, product, symmetrized
from ...lax.linalg.spectra import scaled_columns
from ...util.messages import message
from ..operands import as_array
from ..reductions import any as any_
from ..reductions import max as max_
from ..reductions import sum as sum_
from ..shaping import broadcast_to
from .operands import inexact_arrays, matrices, square_matrices


@replayed(1)
def pinv(a: Any, rtol: Any = None, hermitian: bool = False, *, rcond: Any = None) -> Any:
    """The pseudo-inverses A⁺ of Moore and Penrose: A⁺ b is the least x of those of least |A x − b|.

    Args:
        a: matrices `(..., m, n)`; integers become floating.
        rtol: singular values up to this share of the largest count as 0: a number, or one for
            each matrix.  By default 10 ε max(m, n).
        hermitian: whether the matrices are Hermitian; then eigenvalues are computed, which is
            faster.
        rcond: another name of `rtol`.

    Returns:
        Array `(..., n, m)`; NaN for matrices that are not finite.

    Raises:
        ShapeError: if `a` has fewer than two axes, or `hermitian` and it is not square.
        ValueError: if both `rtol` and `rcond` are given.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.linalg.pinv(jnp.array([[2.0, 0.0], [0.0, 0.0]]))
        Array([[0.5, 0. ],
               [0. , 0. ]], dtype=float32)
    """
    share = _one_of("pinv", rtol=rtol, rcond=rcond)
    if hermitian:
        x = symmetrized("pinv", square_matrices("pinv", a))
        u, s = lax.linalg.eigh(lax.stop_gradient(x), symmetrize_input=False)
        vh = adjoint(u)
    else:
        x = matrices("pinv", a)
        u, s, vh = lax.linalg.svd(lax.stop_gradient(x), full_matrices=False)
    counted = _counted("pinv", lax.abs(s), share, 10 * max(aval_of(x).shape[-2:]))
    return _pseudo_inverse(x, u, _inverses(s, counted), vh)


def lstsq(
    a: Any, b: Any, rcond: float | None = None, *, numpy_resid: bool = False
) -> tuple[Any, Any, Any, Any]:
    """The least x of those with the least |A x − b|.

    Args:
        a: matrix `(m, n)`; integers become floating.
        b: vector `(m,)`, or several as columns `(m, k)`.
        rcond: singular values below this share of the largest count as 0; by default ε max(m, n),
            and ε if it is negative.
        numpy_resid: whether the sums of squares are computed, as NumPy does, only where the rank is
            n < m; this asks for the rank, and cannot be traced.

    Returns:
        The tuple of x, `(n,)` or `(n, k)`; the sums of squares |A x − b|², `(1,)` or `(k,)`; the
        rank of the matrix; its singular values, `(min(m, n),)`.

    Raises:
        ShapeError: if the operands do not fit.

    Example:
        >>> import morphax.numpy as jnp
        >>> a = jnp.array([[1.0, 0.0], [0.0, 2.0], [0.0, 0.0]])
        >>> x, squares, rank, s = jnp.linalg.lstsq(a, jnp.array([1.0, 2.0, 3.0]))
        >>> x
        Array([1., 1.], dtype=float32)
    """
    a, b = inexact_arrays("lstsq", a, b)
    m, n = _checked_system(a, b)
    columns = b if b.aval.ndim == 2 else lax.expand_dims(b, (1,))
    u, s, vh = lax.linalg.svd(a, full_matrices=False)
    epsilon = float(dtypes.finfo(s.aval.dtype).eps)
    share = epsilon * max(m, n) if rcond is None else rcond
    counted = _counted("lstsq", s, epsilon if share < 0 else share, 0, strictly=False)
    factors = [lax.stop_gradient(v) for v in (u, _inverses(s, counted), vh)]
    found = _least_squares(a, *factors, columns)
    rank = sum_(counted)
    if numpy_resid and not (int(rank) == n < m):
        squares = lax.full((0,), 0, s.aval.dtype)
    else:
        missed = lax.abs(lax.sub(columns, product(a, found)))
        squares = sum_(lax.mul(missed, missed), axis=0)
    return found if b.aval.ndim == 2 else lax.squeeze(found, (1,)), squares, rank, s


def _checked_system(a: Any, b: Any) -> tuple[int, int]:
    if a.aval.ndim != 2 or b.aval.ndim not in (1, 2) or b.aval.shape[0] != a.aval.shape[0]:
        raise ShapeError(
            message(
                "jnp.linalg.lstsq",
                given=f"{a.aval} and {b.aval}",
                expected="a matrix (m, n), and a vector (m,) or several as columns (m, k)",
                fix="Use jax.vmap for stacks of systems.",
            )
        )
    m, n = a.aval.shape
    return m, n


@replayed(1)
def matrix_rank(M: Any, rtol: Any = None, *, hermitian: bool = False, tol: Any = None) -> Any:
    """The number of singular values that are not 0.

    Args:
        M: matrices `(..., m, n)`, or a vector or number, whose rank is 0 if it is 0, else 1.
        rtol: singular values up to this share of the largest count as 0: a number, or one for
            each matrix.  By default ε max(m, n).
        hermitian: whether the matrices are Hermitian; then eigenvalues are computed, which is
            faster.
        tol: singular values up to this count as 0, in place of `rtol`.

    Returns:
        Integers `(...)`; 0 for matrices that are not finite.

    Raises:
        ShapeError: if `hermitian` and the matrices are not square.
        ValueError: if both `rtol` and `tol` are given.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.linalg.matrix_rank(jnp.array([[1.0, 2.0], [2.0, 4.0]]))
        Array(1, dtype=int32)
    """
    _one_of("matrix_rank", rtol=rtol, tol=tol)
    (x,) = inexact_arrays("matrix_rank", M)
    if x.aval.ndim < 2:
        return sum_(any_(lax.ne(x, lax.full_like(x, 0)), keepdims=True))
    if hermitian:
        s = lax.abs(lax.linalg.eigh(square_matrices("matrix_rank", x))[1])
    else:
        s = lax.linalg.svd(x, compute_uv=False)
    if tol is not None:
        counted = lax.gt(s, _bound("matrix_rank", lax.full_like(s, 1), tol))
    else:
        counted = _counted("matrix_rank", s, rtol, max(x.aval.shape[-2:]))
    return sum_(counted, axis=-1)


def _one_of(name: str, **shares: Any) -> Any:
    """The one argument of two that is given, or `None`."""
    given = [value for value in shares.values() if value is not None]
    if len(given) > 1:
        raise ValueError(
            message(
                f"jnp.linalg.{name}, arguments {' and '.join(shares)}",
                given="both",
                expected="one of them",
                fix="Pass rtol alone.",
            )
        )
    return given[0] if given else None


def _counted(name: str, s: Any, share: Any, epsilons: int, *, strictly: bool = True) -> Any:
    """Which singular values count: those above a share of the largest, or not below it."""
    s = lax.stop_gradient(s)
    if share is None:
        share = epsilons * float(dtypes.finfo(aval_of(s).dtype).eps)
    largest = broadcast_to(max_(s, axis=-1, keepdims=True, initial=0), aval_of(s).shape)
    bound = _bound(name, largest, share)
    if strictly:
        return lax.gt(s, bound)
    return lax.bitwise_and(lax.ge(s, bound), lax.gt(s, lax.full_like(s, 0)))


def _bound(name: str, s: Any, share: Any) -> Any:
    """`s` times a number, or one for each matrix."""
    share = lax.convert_element_type(as_array(f"linalg.{name}", share), aval_of(s).dtype)
    if aval_of(share).ndim:
        share = broadcast_to(lax.expand_dims(share, (aval_of(share).ndim,)), aval_of(s).shape)
    return lax.mul(s, lax.stop_gradient(share))


def _inverses(s: Any, counted: Any) -> Any:
    """1 / s where it counts, else 0."""
    one = lax.full_like(s, 1)
    return lax.select(counted, lax.div(one, lax.select(counted, s, one)), lax.full_like(s, 0))


@custom_jvp
def _pseudo_inverse(a: Any, u: Any, inverses: Any, vh: Any) -> Any:
    """A⁺ from the factors of A = U diag(s) Vᴴ and what s is divided by."""
    return product(scaled_columns(adjoint(vh), inverses), adjoint(u))


@_pseudo_inverse.defjvp
def _pseudo_inverse_jvp(primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
    a, change = primals[0], tangents[0]
    found = _pseudo_inverse(*primals)
    back = adjoint(change)
    left = product(found, product(adjoint(found), back))
    right = product(product(back, adjoint(found)), found)
    moved = lax.sub(left, product(product(left, a), found))
    moved = lax.add(moved, lax.sub(right, product(found, product(a, right))))
    return found, lax.sub(moved, product(found, product(change, found)))


@custom_jvp
def _least_squares(a: Any, u: Any, inverses: Any, vh: Any, b: Any) -> Any:
    """A⁺ b, which is more exact than the product of the two."""
    turned = product(adjoint(u), b)
    aval = aval_of(turned)
    scale = lax.broadcast_in_dim(inverses, aval.shape, (0,))
    return product(adjoint(vh), lax.mul(turned, lax.convert_element_type(scale, aval.dtype)))


@_least_squares.defjvp
def _least_squares_jvp(primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
    (a, *factors, b), (change, *_, b_dot) = primals, tangents
    found = _least_squares(*primals)
    inverse, back = _pseudo_inverse(a, *factors), adjoint(change)
    missed = lax.sub(b, product(a, found))
    along = product(inverse, product(adjoint(inverse), product(back, missed)))
    across = product(back, product(adjoint(inverse), found))
    moved = lax.add(along, lax.sub(across, product(inverse, product(a, across))))
    return found, lax.add(moved, product(inverse, lax.sub(b_dot, product(change, found))))
