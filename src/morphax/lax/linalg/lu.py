"""The LU factorisation P A = L U of matrices of any shape, with its row exchanges."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, final

import numpy as np

from ...core import Zero, aval_of, not_differentiable
from ...core.dims import Shape, min_dim
from ...engines import loops
from ...engines.xla.library_calls import call_lapack, call_library
from ...engines.xla.row_order_calls import call_row_orders, may_call_row_orders
from ...engines.xla.stablehlo import Builder, Value
from ...errors import ShapeError
from ...util.messages import message
from ..elementwise.arithmetic import add, sub
from ..ground.axes import integer
from ..ground.families import compare
from ..ground.sums import reduce_with
from . import nan_spread
from .blocks import above, beside, block, rows_at
from .lapack import Memory, Plan, lapack, permutations
from .lowered import BOOL, INT32, counted_loop, numbered
from .matrix_stacks import MatrixOperation, Result, product
from .triangular import solved, triangle


@final
class Lu(MatrixOperation):
    """L and U of P A = L U in one matrix, the row exchanges, and P as a permutation of the rows.

    L has a diagonal of ones, which is not stored.  A matrix of deficient rank has zeros on the
    diagonal of U, where the derivative divides by zero; its last zero alone does no harm, and so a
    matrix of m ≠ n has a derivative if its leading square part (after the exchanges) is regular.
    Where two rows compete for a pivot the factors jump.

    References:
        M. B. Giles, "Collected matrix derivative results for forward and reverse mode algorithmic
        differentiation", 2008; M. Seeger et al., "Auto-differentiating linear algebra",
        arXiv:1710.08717, 2017.
    """

    name = "lu"
    most_by_loops = 32 * 32
    complex_in_loops = True
    multiple_results = True

    def results(self, dtype: Any, *shapes: Shape, **_: Any) -> list[Result]:
        ((rows, columns),) = shapes
        return [
            ((rows, columns), dtype),
            ((min_dim(rows, columns),), INT32),
            ((rows,), INT32),
        ]

    def evaluate_one(self, *matrices: Any, **_: Any) -> list[Any]:
        (a,) = matrices
        if not a.size:
            return [a, np.empty(0, INT32), np.arange(len(a), dtype=INT32)]
        factors, pivots, _ = lapack("getrf", a.dtype)(a)
        # The library does not divide by a pivot that is NaN, nor by a subnormal one, of which it
        # leaves the row where it is, too.
        is_nan = np.isnan(factors.diagonal())
        end = int(is_nan.argmax()) if is_nan.any() else len(is_nan)
        for k in range(end):
            if _is_undivided(factors[k:, k]):
                factors[k:, k:] = np.nan
                break
        else:
            factors[end + 1 :, end:] = np.nan
        return [factors, pivots, permutations(pivots[None], len(a), 0)[0]]

    def plan(self, plan: Plan, *operands: Memory, **_: Any) -> list[Memory]:
        (a,) = operands
        rows, columns = a.shape
        pivots, order = plan.memory(INT32, min(rows, columns)), plan.memory(INT32, rows)
        found = plan.memory(a.dtype, rows, columns)

        def by_library() -> None:
            factors = plan.transposed(a)
            plan.call("getrf", a.dtype, rows, columns, factors, rows, pivots, plan.info())
            plan.nan_after_pivot(factors)
            plan.order(pivots, rows, 1, order)
            plan.less_one(pivots)
            plan.transposed_to(found, factors, columns, rows)

        if plan.is_small(a):
            plan.small_lu(a, [found, pivots, order], by_library)
        else:
            by_library()
        return [found, pivots, order]

    def lower(self, b: Builder, outs: Any, *values: Value, **_: Any) -> list[Value]:
        (a,) = values
        factors, pivots, permutation = outs
        if not factors.size:
            return [
                b.full(0, factors),
                b.full(0, pivots),
                numbered(b, permutation, permutation.ndim - 1),
            ]
        info = pivots.update(shape=pivots.shape[:-1])
        # LAPACK's last result says only that a pivot is zero, which U shows.
        found, places, *_rest = call_lapack(
            b, "getrf", [factors, pivots, info], a, ranks=(2, 2, 1, 0), aliases={0: 0}
        )
        found, places = nan_spread.of_lu(b, found, places)
        from_zero = b.op("stablehlo.subtract", pivots, places, b.full(1, pivots))
        return [
            found,
            from_zero,
            lower_permutation(b, permutation, from_zero),
        ]

    def to_loops(self, b: loops.Builder, outs: Any, a: loops.Value, **_: Any) -> list[loops.Value]:
        return loops.linalg.lu(b, outs, a)

    def jvp(
        self, primals: Sequence[Any], tangents: Sequence[Any], **_: Any
    ) -> tuple[list[Any], list[Any]]:
        """With M = L⁻¹ P dA U⁻¹: dL = L Λ(M) and dU = Υ(M) U.

        Λ takes what is below the diagonal, Υ the rest.  The blocks below and beside the leading
        square part follow from dL U + L dU = P dA.
        """
        factors, pivots, permutation = self.bind(*primals)
        change = rows_at(tangents[0], permutation)
        rows, columns = aval_of(factors).shape[-2:]
        size = min_dim(rows, columns)
        first = (0, size)
        leading = block(factors, first, first)
        inner = _over_lower(leading, _over_upper(leading, block(change, first, first)))
        below, rest = triangle(inner, lower=True, diagonal=False), triangle(inner, lower=False)
        moved = add(
            add(product(triangle(leading, lower=True, diagonal=False), below), below),
            product(rest, triangle(leading, lower=False)),
        )
        if rows > size:
            last = (size, rows)
            lower = sub(
                _over_upper(leading, block(change, last, first)),
                product(block(factors, last, first), rest),
            )
            moved = above(moved, lower)
        if columns > size:
            last = (size, columns)
            right = sub(
                _over_lower(leading, block(change, first, last)),
                product(below, block(factors, first, last)),
            )
            moved = beside(moved, right)
        still = [Zero(aval_of(x).to_tangent_aval()) for x in (pivots, permutation)]
        return [factors, pivots, permutation], [moved, *still]


def _is_undivided(column: Any) -> bool:
    """Whether what is below a pivot was left as it is: quotients of such numbers are larger."""
    pieces = column.view(column.real.dtype).reshape(len(column), -1)
    is_small = abs(pieces) < np.finfo(column.dtype).tiny
    return bool(is_small[0].all() and (is_small & (pieces != 0))[1:].any())


def _over_lower(factors: Any, x: Any) -> Any:
    """L⁻¹ x."""
    return solved(factors, x, left_side=True, lower=True, unit_diagonal=True)


def _over_upper(factors: Any, x: Any) -> Any:
    """x U⁻¹."""
    return solved(factors, x, left_side=False, lower=False)


@final
class LuPivotsToPermutation(MatrixOperation):
    """The permutation that exchanges of row i with row ``pivots[i]``, one after another, amount to.

    Places beyond the last row, or before the first, count as these.
    """

    name = "lu_pivots_to_permutation"
    ranks = (1,)
    places = (0,)
    jvp = not_differentiable("its operand and its result are integers")

    def results(self, dtype: Any, *shapes: Shape, permutation_size: int, **_: Any) -> list[Result]:
        if shapes[0][0] > permutation_size:
            raise ShapeError(
                message(
                    "lax.linalg.lu_pivots_to_permutation, argument permutation_size",
                    given=f"{permutation_size} for {shapes[0][0]} exchanges",
                    expected="at least as many rows as exchanges",
                    fix="Pass the number of rows of the matrix.",
                )
            )
        return [((permutation_size,), INT32)]

    def evaluate_one(self, *matrices: Any, permutation_size: int, **_: Any) -> Any:
        inside = np.minimum(np.maximum(matrices[0], 0), permutation_size - 1)
        return permutations(inside[None], permutation_size, 0)[0]

    def plan(self, plan: Plan, *operands: Memory, permutation_size: int, **_: Any) -> list[Memory]:
        return [plan.order(operands[0], permutation_size, 0)]

    def lower(self, b: Builder, out: Any, *values: Value, **_: Any) -> Value:
        return lower_permutation(b, out, values[0])

    def to_loops(self, b: loops.Builder, out: Any, pivots: loops.Value, **_: Any) -> loops.Value:
        return loops.linalg.permutation_of(b, out, pivots)


def lower_permutation(b: Builder, out: Any, pivots: Value) -> Value:
    """Native code, or a loop over the exchanges; a row is found by comparing all of them there."""
    numbers = numbered(b, out, out.ndim - 1)
    count = pivots.aval.shape[-1]
    if not (count and out.size):
        return numbers
    if may_call_row_orders(b, pivots.aval, out):
        return call_row_orders(b, out, pivots)
    scalar = pivots.aval.update(shape=())
    last = b.broadcast(b.size(out.shape[-1] - 1, scalar), pivots.aval, ())
    kept = b.op("stablehlo.clamp", pivots.aval, b.full(0, pivots.aval), pivots, last)
    if b.module.platform == "cuda":
        (found,) = call_library(b, "cu_lu_pivots_to_permutation", [out], kept, ranks=(1, 1))
        return found
    return counted_loop(b, count, _exchange, numbers, kept, numbers)[0]


def _exchange(b: Builder, i: Value, order: Value, pivots: Value, numbers: Value) -> list[Value]:
    """The order after rows i and ``pivots[i]`` change places."""
    out = order.aval
    stack, every = range(out.ndim - 1), range(out.ndim)
    column, sums = out.update(shape=(*out.shape[:-1], 1)), out.update(shape=out.shape[:-1])
    start = [*[b.constant(0, i.aval) for _ in stack], i]
    here, other = [
        b.broadcast(b.dynamic_slice(x, column, start, column.shape), out, every)
        for x in (order, pivots)
    ]
    is_other = compare(b, out.update(dtype=BOOL), "EQ", numbers, other)
    chosen = b.op("stablehlo.select", out, is_other, order, b.full(0, out))
    found = reduce_with(b, "stablehlo.add", 0, sums, chosen, (out.ndim - 1,))
    moved = b.op("stablehlo.select", out, is_other, here, order)
    placed = b.broadcast(found, column, stack)
    order = b.op("stablehlo.dynamic_update_slice", out, moved, placed, *start)
    return [order, pivots, numbers]


lu_p = Lu()
lu_pivots_to_permutation_p = LuPivotsToPermutation()


def lu(x: Any) -> list[Any]:
    """The LU factorisation with partial pivoting: P A = L U, that is ``A[permutation] = L U``.

    Args:
        x: matrices of shape `(..., m, n)`: float32, float64, complex64 or complex128.

    Returns:
        `[factors, pivots, permutation]`: L (below the diagonal, whose ones are not stored) and U
        (on and above it) in one array `(..., m, n)`; int32 `(..., min(m, n))`: row i was exchanged
        with row ``pivots[i]``, in this order; int32 `(..., m)`.

    Raises:
        ShapeError: if `x` has fewer than two axes.

    Reference:
        LAPACK, getrf.

    Example:
        >>> import morphax.numpy as jnp
        >>> from morphax import lax
        >>> factors, pivots, permutation = lax.linalg.lu(jnp.array([[1.0, 2.0], [2.0, 6.0]]))
        >>> factors
        Array([[ 2. ,  6. ],
               [ 0.5, -1. ]], dtype=float32)
        >>> permutation
        Array([1, 0], dtype=int32)
    """
    return lu_p.bind(x)


def lu_pivots_to_permutation(pivots: Any, permutation_size: int) -> Any:
    """The permutation that row exchanges amount to.

    Args:
        pivots: int32 of shape `(..., k)`: row i is exchanged with row ``pivots[i]``, one after
            another.
        permutation_size: number m of rows, at least k.

    Returns:
        int32 `(..., m)`: row i is finally row ``permutation[i]`` of the matrix.

    Raises:
        TypeError: if `pivots` is not int32.
        ShapeError: if there are more exchanges than rows.

    Example:
        >>> import morphax.numpy as jnp
        >>> from morphax import lax
        >>> lax.linalg.lu_pivots_to_permutation(jnp.array([2, 2], "int32"), 3)
        Array([2, 0, 1], dtype=int32)
    """
    size = integer(
        "lax.linalg.lu_pivots_to_permutation, argument permutation_size", permutation_size
    )
    return lu_pivots_to_permutation_p.bind(pivots, permutation_size=size)
