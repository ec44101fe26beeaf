"""Pseudo-inverses, least squares, and the rank on which both depend.

Both come from singular values, of which those that count as 0 are left out.  With A⁺, what is left
out is B = A − A A⁺ A.  The derivative needs no gaps among values that are kept: it is

    −A⁺ dA A⁺ + A⁺ A⁺ᴴ dAᴴ (1 − A A⁺) + (1 − A⁺ A) dAᴴ A⁺ᴴ A⁺

where B = 0 and A changes so that its rank stays, which is the theorem of Golub and Pereyra; to
first order in B there come A⁺ A⁺ᴴ A⁺ dA Bᴴ + Bᴴ dA A⁺ A⁺ᴴ A⁺, and the rest of `_remainder`.  So
first derivatives are right whatever is left out, and second ones where that is as small as rounding
errors, else NaN; those of higher order where the rank stays.  Where it changes, A⁺ jumps.

Reference: G. H. Golub and V. Pereyra, "The differentiation of pseudo-inverses and nonlinear least
squares problems whose variables separate", SIAM J. Numer. Anal. 10 (1973).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ... import dtypes, lax
from ...control.custom.custom_jvp import custom_jvp
from ...core import aval_of
from ...core.dims import max_dim
from ...engines.reference.replay import replayed
from ...errors import ShapeError
from ...lax.elementwise.complex import real_dtype
from ...lax.elementwise.convert import convert
from ...lax.linalg.eigh import hermitian_eigenvalues
from ...lax.linalg.matrix_stacks import adjoint, product, symmetrized
from ...lax.linalg.spectra import real_part, scaled_columns, weighted
from ...util.messages import message
from ..operands import as_array
from ..reductions import any as any_
from ..reductions import max as max_
from ..reductions import min as min_
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
    counted = _counted("pinv", lax.abs(s), share, 10 * max_dim(*aval_of(x).shape[-2:]))
    return _pseudo_inverse(x, u, s, _as_numbers(counted, s), vh)


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
    x, squares, rank, s = _least_squares_of(a, b, rcond)
    if numpy_resid and not (int(rank) == a.shape[1] < a.shape[0]):
        squares = lax.full((0,), 0, squares.dtype)
    return x, squares, rank, s


@replayed(2)
def _least_squares_of(a: Any, b: Any, rcond: float | None) -> tuple[Any, Any, Any, Any]:
    a, b = inexact_arrays("lstsq", a, b)
    m, n = _checked_system(a, b)
    columns = b if b.aval.ndim == 2 else lax.expand_dims(b, (1,))
    u, s, vh = lax.linalg.svd(a, full_matrices=False)
    epsilon = float(dtypes.finfo(s.aval.dtype).eps)
    if rcond is None:
        share = epsilon * max_dim(m, n)
    else:
        share = epsilon if rcond < 0 else rcond
    counted = _counted("lstsq", s, share, 0, strictly=False)
    factors = [lax.stop_gradient(v) for v in (u, s, _as_numbers(counted, s), vh)]
    found = _least_squares(a, *factors, columns)
    missed = lax.abs(lax.sub(columns, product(a, found)))
    squares = sum_(lax.mul(missed, missed), axis=0)
    x = found if b.aval.ndim == 2 else lax.squeeze(found, (1,))
    return x, squares, sum_(counted), s


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
        return sum_(any_(lax.ne(x, 0), keepdims=True))
    if hermitian:
        s = lax.abs(hermitian_eigenvalues(square_matrices("matrix_rank", x)))
    else:
        s = lax.linalg.svd(x, compute_uv=False)
    if tol is not None:
        counted = lax.gt(s, _bound("matrix_rank", lax.full_like(s, 1), tol))
    else:
        counted = _counted("matrix_rank", s, rtol, max_dim(*x.aval.shape[-2:]))
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
    return lax.bitwise_and(lax.ge(s, bound), lax.gt(s, 0))


def _bound(name: str, s: Any, share: Any) -> Any:
    """`s` times a number, or one for each matrix."""
    share = convert(as_array(f"linalg.{name}", share), aval_of(s).dtype)
    if aval_of(share).ndim:
        share = broadcast_to(lax.expand_dims(share, (aval_of(share).ndim,)), aval_of(s).shape)
    return lax.mul(s, lax.stop_gradient(share))


def _as_numbers(counted: Any, s: Any) -> Any:
    return lax.convert_element_type(counted, aval_of(s).dtype)


def _inverses(s: Any, kept: Any) -> Any:
    """1 / s where it is kept, else 0."""
    counted = lax.ne(kept, 0)
    return lax.div(kept, lax.select(counted, s, lax.full_like(s, 1)))


@custom_jvp
def _pseudo_inverse(a: Any, u: Any, s: Any, kept: Any, vh: Any) -> Any:
    """A⁺ from the factors of A = U diag(s) Vᴴ, where `kept` is 1 for values that count, else 0."""
    return product(scaled_columns(adjoint(vh), _inverses(s, kept)), adjoint(u))


@_pseudo_inverse.defjvp
def _pseudo_inverse_jvp(primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
    found = _pseudo_inverse(*primals)
    return found, _moved(found, primals, tangents[0])


@custom_jvp
def _least_squares(a: Any, u: Any, s: Any, kept: Any, vh: Any, b: Any) -> Any:
    """A⁺ b, which is more exact than the product of the two."""
    turned = product(adjoint(u), b)
    scale = lax.broadcast_in_dim(_inverses(s, kept), aval_of(turned).shape, (0,))
    scaled = lax.mul(turned, lax.convert_element_type(scale, aval_of(turned).dtype))
    return product(adjoint(vh), scaled)


@_least_squares.defjvp
def _least_squares_jvp(primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
    (*factors, b), (change, *_, b_dot) = primals, tangents
    inverse = _pseudo_inverse(*factors)
    moved = product(_moved(inverse, factors, change), b)
    return _least_squares(*primals), lax.add(moved, product(inverse, b_dot))


def _moved(found: Any, factors: Sequence[Any], change: Any) -> Any:
    """The tangent of A⁺ = `found`."""
    a, back, across = factors[0], adjoint(change), adjoint(found)
    left = product(found, product(across, back))
    right = product(product(back, across), found)
    moved = lax.sub(left, product(product(left, a), found))
    moved = lax.add(moved, lax.sub(right, product(found, product(a, right))))
    moved = lax.sub(moved, product(found, product(change, found)))
    dropped = adjoint(lax.sub(a, product(a, product(found, a))))
    cube = product(found, product(across, found))
    moved = lax.add(moved, product(cube, product(change, dropped)))
    moved = lax.add(moved, product(dropped, product(change, cube)))
    return lax.add(moved, _remainder(factors, change))


def _remainder(factors: Sequence[Any], change: Any) -> Any:
    """What is of second and higher order in the values that are left out: V Y Uᴴ.

    With X = Uᴴ dA V, Y[i, j] is (X[i, j] d/k + Xᴴ[i, j]) d² / (k² (k² − d²)) where one of the
    two values is kept, k, and one is left out, d.
    """
    a, u, s, kept, vh = factors
    shape = (*aval_of(s).shape, aval_of(s).shape[-1])
    stack = tuple(range(len(shape) - 2))
    rows, columns = [
        [lax.broadcast_in_dim(x, shape, (*stack, axis)) for x in (s, kept)]
        for axis in (len(stack), len(stack) + 1)
    ]
    is_mixed = lax.ne(rows[1], columns[1])
    row_kept = lax.gt(rows[1], columns[1])
    one = lax.full(shape, 1, aval_of(s).dtype)
    k = lax.select(is_mixed, lax.select(row_kept, rows[0], columns[0]), one)
    d = lax.select(is_mixed, lax.select(row_kept, columns[0], rows[0]), lax.full_like(one, 0))
    ratio = lax.div(d, k)
    squared = lax.mul(ratio, ratio)
    scale = lax.div(squared, lax.mul(lax.sub(one, squared), lax.mul(k, k)))
    scale = lax.mul(scale, _differentiable_once(a, _is_rounding_error(s, kept), shape))
    inner = product(adjoint(u), product(change, adjoint(vh)))
    both = lax.add(weighted(inner, ratio), adjoint(inner))
    return product(adjoint(vh), product(weighted(both, scale), adjoint(u)))


def _is_rounding_error(s: Any, kept: Any) -> Any:
    """For each matrix, whether the values left out are tiny beside those that are kept."""
    size, nothing = lax.abs(s), lax.full_like(s, 0)
    counted = lax.ne(kept, nothing)
    least = min_(lax.select(counted, size, lax.full_like(s, np.inf)), axis=-1, initial=np.inf)
    dropped = max_(lax.select(counted, nothing, size), axis=-1, initial=0)
    share = float(dtypes.finfo(aval_of(s).dtype).eps) ** 0.5
    return lax.le(dropped, lax.mul(least, lax.full_like(least, share)))


def _differentiable_once(a: Any, may_be: Any, shape: Any) -> Any:
    """Ones, whose derivatives are NaN for the matrices that may not be differentiated again."""
    aval = aval_of(may_be)
    zero = lax.full(aval.shape, 0, real_dtype(aval_of(a).dtype))
    factor = _one_with_slope(a, lax.select(may_be, zero, lax.full_like(zero, np.nan)))
    return lax.broadcast_in_dim(factor, shape, tuple(range(aval.ndim)))


@custom_jvp
def _one_with_slope(a: Any, slope: Any) -> Any:
    return lax.full_like(slope, 1)


@_one_with_slope.defjvp
def _one_with_slope_jvp(primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
    total = sum_(real_part(tangents[0]), axis=(-2, -1))
    return _one_with_slope(*primals), lax.mul(primals[1], total)
