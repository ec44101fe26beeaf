"""Determinants, also as sign and logarithm.

A determinant is a polynomial of the elements, so it has derivatives where the inverse, of which
formulas like to speak, does not exist.  Up to 3 × 3 the polynomial is computed; above, the value
comes from LU factors and the derivative from `_adjugate`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ... import lax
from ...control.custom.custom_jvp import custom_jvp
from ...core import aval_of
from ...engines.reference.replay import replayed
from ...lax.linalg.blocks import above, beside, block, columns_at, rows_at
from ...lax.linalg.householder import geqrf
from ...lax.linalg.linear_systems import solved_with_factors
from ...lax.linalg.matrix_stacks import adjoint, product, swapped
from ...util.messages import message
from ..reductions import any as any_
from ..reductions import prod
from ..reductions import sum as sum_
from .factorizations import diagonals
from .operands import square_matrices


class SlogdetResult(NamedTuple):
    """The sign of a determinant and the logarithm of its absolute value."""

    sign: Any
    logabsdet: Any


@replayed(1)
def det(a: Any) -> Any:
    """The determinants of square matrices.

    The first and second derivatives are right for singular matrices too; the third where the rank
    is at least n − 2.

    Args:
        a: matrices `(..., n, n)`; integers become floating.

    Returns:
        Array `(...)`.

    Raises:
        ShapeError: if the matrices are not square.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.linalg.det(jnp.array([[2.0, 1.0], [1.0, 3.0]]))
        Array(5., dtype=float32)
    """
    a = square_matrices("det", a)
    size = a.aval.shape[-1]
    return _polynomial(a) if type(size) is int and size <= 3 else _det(a)


def _polynomial(a: Any) -> Any:
    """The determinant of matrices up to 3 × 3, by their first row."""
    size = a.aval.shape[-1]
    if not size:
        return lax.full(a.aval.shape[:-2], 1, a.aval.dtype)
    at = [
        [lax.squeeze(block(a, (i, i + 1), (j, j + 1)), _last_two(a)) for j in range(size)]
        for i in range(size)
    ]
    if size == 1:
        return at[0][0]

    if size == 2:
        return _difference_of_products(at[0][0], at[1][1], at[0][1], at[1][0])

    def minor(j: int, k: int) -> Any:
        return at[-2][j] * at[-1][k] - at[-2][k] * at[-1][j]

    return at[0][0] * minor(1, 2) - at[0][1] * minor(0, 2) + at[0][2] * minor(0, 1)


@custom_jvp
def _difference_of_products(p: Any, s: Any, q: Any, r: Any) -> Any:
    """p s - q r, also where a product alone is too large for the dtype, or has lost digits.

    Factors are multiplied by a power of two then, which changes no digit, and the result is
    divided by its square.
    """
    limits = np.finfo(aval_of(p).dtype)
    digits, most = int(limits.nmant) + 2, int(limits.maxexp)
    sizes = [_largest_part(x) for x in (p, s, q, r)]
    product_size = lax.max(sizes[0] * sizes[1], sizes[2] * sizes[3])
    largest = lax.max(lax.max(sizes[0], sizes[1]), lax.max(sizes[2], sizes[3]))

    def power(exponent: int) -> Any:
        return lax.full_like(product_size, 2.0**exponent)

    # Infinity stays, and a small number that it is multiplied by must not become 0.
    is_large = lax.bitwise_and(
        lax.gt(product_size, power(most - 8)), lax.lt(largest, lax.full_like(largest, np.inf))
    )
    # A number as large as the limit is multiplied by 0, or the product is not small.
    is_small = lax.bitwise_and(
        lax.lt(product_size, power(int(limits.minexp) + digits)),
        lax.lt(largest, power(most - digits - 1)),
    )

    def chosen(large: int, small: int) -> Any:
        unless_large = lax.select(is_small, power(small), power(0))
        return lax.select(is_large, power(large), unless_large)

    unit, inverse = chosen(-(most // 2), digits), chosen(most // 2, -digits)
    p, s, q, r = [_times_real(x, unit) for x in (p, s, q, r)]
    return _times_real(_times_real(p * s - q * r, inverse), inverse)


@_difference_of_products.defjvp
def _difference_of_products_jvp(primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
    (p, s, q, r), (dp, ds, dq, dr) = primals, tangents
    return _difference_of_products(*primals), (s * dp + p * ds) - (r * dq + q * dr)


def _times_real(x: Any, factor: Any) -> Any:
    """Each part times a real number: infinity times a zero that is an imaginary part is NaN."""
    if aval_of(x).dtype.kind != "c":
        return x * factor
    return lax.complex(lax.real(x) * factor, lax.imag(x) * factor)


def _largest_part(x: Any) -> Any:
    """The absolute value, of a complex number that of its larger part."""
    if aval_of(x).dtype.kind != "c":
        return lax.abs(x)
    return lax.max(lax.abs(lax.real(x)), lax.abs(lax.imag(x)))


def _last_two(x: Any) -> tuple[int, int]:
    return aval_of(x).ndim - 2, aval_of(x).ndim - 1


@custom_jvp
def _det(a: Any) -> Any:
    factors, pivots, _ = lax.linalg.lu(a)
    return prod(_turned(factors, pivots), axis=-1)


@_det.defjvp
def _det_jvp(primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
    """d det A = tr(adj(A) dA)."""
    (a,), (change,) = primals, tangents
    return _det(a), sum_(lax.mul(swapped(_adjugate(a)), change), axis=_last_two(a))


def _turned(factors: Any, pivots: Any) -> Any:
    """The diagonal of U, negated where row i was exchanged with another: its product is det A."""
    aval = aval_of(pivots)
    here = lax.broadcasted_iota(aval.dtype, aval.shape, aval.ndim - 1)
    return _negated_where(lax.ne(pivots, here), diagonals(factors))


def _negated_where(chosen: Any, x: Any) -> Any:
    return lax.select(chosen, lax.neg(x), x)


def _adjugate(a: Any) -> Any:
    """adj(A), which is det(A) A⁻¹ wherever this exists, for matrices of size 3 and more.

    In the frame of a factorisation A P = Q R with exchanges of columns, adj(A) is
    det(Q Pᵀ) P adj(Qᴴ A P) Qᴴ.  The frame is constant; in it, the rank of A ends at the bottom
    right, and what is left of each step of the elimination is regular if the rank is at least
    n − 2.  If it is less, adj(A) and its derivative are 0.
    """
    q, r, order = lax.linalg.qr(lax.stop_gradient(a), pivoting=True)
    places = lax.broadcasted_iota(np.int32, aval_of(order).shape, aval_of(order).ndim - 1)
    _, back = lax.sort([order, places], dimension=-1, num_keys=1)
    orientation = _det(columns_at(q, back))
    turned = product(adjoint(q), columns_at(a, order))
    # Of the value R and the derivative of Qᴴ A P: zeros below the diagonal are to be exact.
    inner = _adjugate_by_blocks(r + (turned - lax.stop_gradient(turned)), diagonals(r))
    orientation = lax.expand_dims(orientation, _last_two(a))
    return orientation * rows_at(product(inner, adjoint(q)), back)


def _adjugate_by_blocks(m: Any, pivots: Any) -> Any:
    """adj(M) for M = [[K, C], [B, D]], whose last block is 2 × 2, by the Schur complement of K."""
    size = aval_of(m).shape[-1]
    first, last = (0, size - 2), (size - 2, size)
    least = np.finfo(aval_of(pivots).dtype).smallest_normal
    deficient = any_(lax.abs(lax.slice_in_dim(pivots, 0, size - 2, axis=-1)) < least, axis=-1)
    deficient = lax.expand_dims(deficient, _last_two(m))
    k = block(m, first, first)
    one = lax.broadcast_in_dim(np.eye(size - 2, dtype=aval_of(k).dtype), k.shape, _last_two(k))
    k = lax.select(lax.broadcast_in_dim(deficient, k.shape, range(k.ndim)), one, k)
    b, c, d = [block(m, *place) for place in ((last, first), (first, last), (last, last))]
    factors, pivots_of_k, permutation = lax.linalg.lu(lax.stop_gradient(k))

    def solved(right: Any) -> Any:
        return solved_with_factors(k, factors, permutation, right, transpose_a=False)

    inverse, right = solved(one), solved(c)
    left = product(b, inverse)
    schur = d - product(b, right)
    schur_adj = _adjugate_of_two(schur)
    scale = lax.expand_dims(_det_of_regular(k, factors, pivots_of_k, permutation), _last_two(k))
    scale = lax.select(deficient, lax.full_like(scale, 0), scale)
    schur_det = lax.expand_dims(_polynomial(schur), _last_two(k))
    top = beside(
        schur_det * inverse + product(product(right, schur_adj), left), -product(right, schur_adj)
    )
    return scale * above(top, beside(-product(schur_adj, left), schur_adj))


def _adjugate_of_two(x: Any) -> Any:
    """adj of 2 × 2 matrices."""
    (p, q), (r, s) = [[block(x, (i, i + 1), (j, j + 1)) for j in range(2)] for i in range(2)]
    return above(beside(s, -q), beside(-r, p))


@custom_jvp
def _det_of_regular(a: Any, factors: Any, pivots: Any, permutation: Any) -> Any:
    return prod(_turned(factors, pivots), axis=-1)


@_det_of_regular.defjvp
def _det_of_regular_jvp(primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
    """d det A = det(A) tr(A⁻¹ dA)."""
    value = _det_of_regular(*primals)
    a, factors, _, permutation = primals
    return value, value * _relative_change(a, factors, permutation, tangents[0])


def _relative_change(a: Any, factors: Any, permutation: Any, change: Any) -> Any:
    """tr(A⁻¹ dA)."""
    moved = solved_with_factors(a, factors, permutation, change, transpose_a=False)
    return sum_(diagonals(moved), axis=-1)


@replayed(1)
def slogdet(a: Any, *, method: str | None = None) -> SlogdetResult:
    """The signs of determinants and the logarithms of their absolute values.

    Args:
        a: matrices `(..., n, n)`; integers become floating.
        method: the factorisation: ``"lu"``, the default, or ``"qr"``, for real matrices.

    Returns:
        `SlogdetResult(sign, logabsdet)`, each `(...)`: the determinant is sign · exp(logabsdet).
        Of a singular matrix the sign is 0 and the logarithm −∞; its derivative is not defined.

    Raises:
        ShapeError: if the matrices are not square.
        ValueError: if the method is unknown.
        NotImplementedError: for complex matrices and ``method="qr"``.

    Example:
        >>> import morphax.numpy as jnp
        >>> sign, logabsdet = jnp.linalg.slogdet(jnp.array([[0.0, 2.0], [3.0, 0.0]]))
        >>> print(f"{sign:.1f} {logabsdet:.4f}")
        -1.0 1.7918
    """
    a = square_matrices("slogdet", a)
    if method in (None, "lu"):
        return SlogdetResult(*_slogdet_by_lu(a, *lax.linalg.lu(lax.stop_gradient(a))))
    if method != "qr":
        raise ValueError(
            message(
                "jnp.linalg.slogdet, argument method",
                given=f"{method!r}",
                expected="None, 'lu' or 'qr'",
                fix="Choose one of these factorisations.",
            )
        )
    if a.aval.dtype.kind == "c":
        raise NotImplementedError(
            message(
                "jnp.linalg.slogdet, method 'qr'",
                given=f"{a.aval}",
                expected="real matrices",
                fix="Use method='lu'.",
            )
        )
    return SlogdetResult(*_slogdet_by_qr(a))


def _sign_and_logarithm(factors: Any) -> list[Any]:
    """Of the products of numbers along the last axis."""
    return [prod(lax.sign(factors), axis=-1), sum_(lax.log(lax.abs(factors)), axis=-1)]


@custom_jvp
def _slogdet_by_lu(a: Any, factors: Any, pivots: Any, permutation: Any) -> list[Any]:
    return _sign_and_logarithm(_turned(factors, pivots))


@_slogdet_by_lu.defjvp
def _slogdet_by_lu_jvp(primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
    """With z = tr(A⁻¹ dA), d log |det A| = Re z, and the sign turns by Im z."""
    a, factors, _, permutation = primals
    sign, logarithm = _slogdet_by_lu(*primals)
    change = _relative_change(a, factors, permutation, tangents[0])
    if aval_of(a).dtype.kind != "c":
        return [sign, logarithm], [lax.full_like(sign, 0), change]
    return [sign, logarithm], [sign * 1j * lax.imag(change), lax.real(change)]


@custom_jvp
def _slogdet_by_qr(a: Any) -> list[Any]:
    reflections, taus = geqrf(a)
    return _sign_and_logarithm(_negated_where(lax.ne(taus, 0), diagonals(reflections)))


@_slogdet_by_qr.defjvp
def _slogdet_by_qr_jvp(primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
    (a,) = primals
    factors, _, permutation = lax.linalg.lu(lax.stop_gradient(a))
    sign, logarithm = _slogdet_by_qr(a)
    change = _relative_change(a, factors, permutation, tangents[0])
    return [sign, logarithm], [lax.full_like(sign, 0), change]
