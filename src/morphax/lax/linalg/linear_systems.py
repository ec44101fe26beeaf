"""Linear systems A X = B with a square matrix, by its LU factors.

`solve_with_factors` gets A beside its factors, as `custom_linear_solve` would: the value comes from
the factors, the derivative from A, and both use the same factors again.  So a system, its tangents
and its cotangents, of any order, cost one factorisation.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, final

import numpy as np

from ...core import BatchAxes, aval_of, is_undefined_primal, is_zero
from ...core.dims import Shape
from ...engines import loops
from ...engines.xla.library_calls import call_trsm, transposed
from ...engines.xla.stablehlo import Builder, Value
from ...errors import ShapeError
from ...util.messages import message
from ..elementwise.arithmetic import neg, sub
from ..elementwise.complex import conj
from ..ground.families import compare
from ..ground.linear_structure import moved_axis
from ..ground.sums import reduce_with
from ..shape.shape_operations import reshape
from ..shape.stop_gradient import stop_gradient
from .lapack import Memory, Plan
from .lowered import BOOL, numbered
from .lu import lu_p
from .matrix_stacks import MatrixOperation, Result, product, real_products, square, swapped
from .triangular import plan_trsm, trsm


@final
class SolveWithFactors(MatrixOperation):
    """X of op(A) X = B, from the LU factors of A and their permutation; op may transpose.

    Derivatives are those of A and B; the factors are taken for what belongs to A.

    Reference: M. B. Giles, "Collected matrix derivative results for forward and reverse mode
    algorithmic differentiation", 2008.
    """

    name = "solve_with_factors"
    most_by_loops = 20**3
    complex_in_loops = True
    ranks = (2, 2, 1, 2)
    places = (2,)

    def size_by_loops(self, *avals: Any) -> int:
        """The multiplications of one system, about."""
        products = math.prod(avals[-1].shape[-2:]) * avals[0].shape[-1]
        return real_products(avals[0]) * products

    def results(self, dtype: Any, *shapes: Shape, **_: Any) -> list[Result]:
        matrix, right = shapes[0], shapes[-1]
        if square("solve", matrix) != right[0]:
            raise ShapeError(
                message(
                    "the solution of a linear system",
                    given=f"right-hand sides of shape {right} for a matrix of shape {matrix}",
                    expected=f"{matrix[0]} rows",
                    fix="Pass right-hand sides as columns.",
                )
            )
        return [(right, dtype)]

    def evaluate_one(self, *matrices: Any, transpose_a: bool) -> Any:
        _, factors, permutation, right = matrices
        if not right.size:
            return np.empty_like(right)
        # LAPACK's getrs would wake its threads for the smallest systems.
        if not transpose_a:
            half = trsm(factors, right[permutation], left=True, lower=True, op=0, unit=True)
            return trsm(factors, half, left=True, lower=False, op=0, unit=False)
        half = trsm(factors, right, left=True, lower=False, op=1, unit=False)
        found = np.empty_like(right)
        found[permutation] = trsm(factors, half, left=True, lower=True, op=1, unit=True)
        return found

    def plan(self, plan: Plan, *operands: Memory, transpose_a: bool) -> list[Memory]:
        _, factors, permutation, right = operands
        op = int(transpose_a)
        x = plan.copied(right) if transpose_a else plan.rows_taken(right, permutation)
        for lower in (False, True) if transpose_a else (True, False):
            plan_trsm(plan, factors, x, left=True, lower=lower, op=op, unit=lower)
        return [plan.rows_placed(x, permutation) if transpose_a else x]

    def lower(self, b: Builder, out: Any, *values: Value, transpose_a: bool) -> Value:
        _, factors, permutation, right = values
        if not out.size:
            return b.full(0, out)
        if not transpose_a:
            right = _rows_at(b, right, permutation)
        # LAPACK sees Xᵀ of Xᵀ op(LU)ᵀ = Bᵀ: what XLA keeps by rows it reads by columns.
        x = transposed(b, right)
        for lower in (True, False) if not transpose_a else (False, True):
            x = call_trsm(
                b,
                factors,
                x,
                left=False,
                lower=lower,
                op="N" if transpose_a else "T",
                unit=lower,
            )
        found = transposed(b, x)
        return _rows_at(b, found, _inverse(b, permutation)) if transpose_a else found

    def to_loops(
        self, b: loops.Builder, out: Any, *operands: loops.Value, transpose_a: bool
    ) -> loops.Value:
        return loops.linalg.solved_with_factors(b, out, *operands[1:], transpose=transpose_a)

    def jvp(
        self, primals: Sequence[Any], tangents: Sequence[Any], *, transpose_a: bool
    ) -> tuple[Any, Any]:
        """dX = op(A)⁻¹ (dB − op(dA) X)."""
        a, factors, permutation, _ = primals
        x = self.bind(*primals, transpose_a=transpose_a)
        a_dot, _, _, b_dot = tangents
        right = None if is_zero(b_dot) else b_dot
        if not is_zero(a_dot):
            moved = product(swapped(a_dot) if transpose_a else a_dot, x)
            right = neg(moved) if right is None else sub(right, moved)
        if right is None:
            return x, b_dot
        return x, self.bind(a, factors, permutation, right, transpose_a=transpose_a)

    def transpose(
        self, ct: Any, a: Any, factors: Any, permutation: Any, b: Any, *, transpose_a: bool
    ) -> list[Any]:
        """op(A)⁻ᵀ applied to the cotangent."""
        if is_undefined_primal(a) or is_undefined_primal(factors):
            raise TypeError(
                message(
                    "transposition of a linear system",
                    given="a program that is to be transposed with respect to the matrix",
                    expected="one that is linear: in the right-hand side",
                    fix="Differentiate it with jax.vjp.",
                )
            )
        found = self.bind(a, factors, permutation, ct, transpose_a=not transpose_a)
        return [None, None, None, found]

    def batch(
        self, axes: BatchAxes, operands: Sequence[Any], dims: Sequence[Any], **params: Any
    ) -> tuple[Any, Any]:
        *matrix, b = operands
        if any([dim is not None for dim in dims[:-1]]):
            return super().batch(axes, operands, dims, **params)
        # One matrix: the members are further right-hand sides of it.
        last = aval_of(b).ndim - 1
        b = moved_axis(b, dims[-1], last)
        shape = aval_of(b).shape
        flat = reshape(b, (*shape[:-2], shape[-2] * shape[-1]))
        return reshape(self.bind(*matrix, flat, **params), shape), last


def _rows_at(b: Builder, x: Value, places: Value) -> Value:
    """Row i of the result is row ``places[i]``."""
    rank = x.aval.ndim
    stack = list(range(rank - 2))
    column = places.aval.update(shape=(*places.aval.shape, 1))
    sizes = [*[1 for _ in stack], 1, x.aval.shape[-1]]
    return b.gather(
        x,
        x.aval,
        b.reshape(places, column),
        sizes,
        dimension_numbers=(
            f"#stablehlo.gather<offset_dims = [{rank - 1}], "
            f"collapsed_slice_dims = [{rank - 2}], operand_batching_dims = {stack}, "
            f"start_indices_batching_dims = {stack}, start_index_map = [{rank - 2}], "
            f"index_vector_dim = {rank - 1}>"
        ),
    )


def _inverse(b: Builder, permutation: Value) -> Value:
    """The inverse permutation: for each i the place where `permutation` has i."""
    places = permutation.aval
    size = places.shape[-1]
    pairs = places.update(shape=(*places.shape, size))
    stack = range(places.ndim - 1)
    columns = numbered(b, pairs, places.ndim)
    rows = numbered(b, pairs, places.ndim - 1)
    found = b.broadcast(permutation, pairs, (*stack, places.ndim - 1))
    is_here = compare(b, pairs.update(dtype=BOOL), "EQ", found, columns)
    chosen = b.op("stablehlo.select", pairs, is_here, rows, b.full(0, pairs))
    return reduce_with(b, "stablehlo.add", 0, places, chosen, (places.ndim - 1,))


solve_with_factors_p = SolveWithFactors()


def solved(a: Any, b: Any) -> Any:
    """X of A X = B, for matrices A `(..., n, n)` and B `(..., n, k)` with the same leading axes.

    Where A alone has leading axes missing, all right-hand sides are solved with its one
    factorisation.
    """
    factors, _, permutation = lu_p.bind(stop_gradient(a))
    return solved_with_factors(a, factors, permutation, b, transpose_a=False)


def solved_with_factors(
    a: Any, factors: Any, permutation: Any, b: Any, *, transpose_a: bool, conjugate_a: bool = False
) -> Any:
    """X of op(A) X = B for A of known factors; leading axes of A are those of B, or none."""
    if conjugate_a:
        return conj(solved_with_factors(a, factors, permutation, conj(b), transpose_a=transpose_a))
    stack = aval_of(b).ndim - 2
    if aval_of(a).ndim - 2 == stack:
        return solve_with_factors_p.bind(a, factors, permutation, b, transpose_a=transpose_a)
    moved = moved_axis(b, stack, 0)
    shape = aval_of(moved).shape
    flat = reshape(moved, (shape[0], int(np.prod(shape[1:]))))
    found = solve_with_factors_p.bind(a, factors, permutation, flat, transpose_a=transpose_a)
    return moved_axis(reshape(found, shape), 0, stack)
