"""Triangles of matrices, and linear systems with triangular matrices."""

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
from ..elementwise.comparison import ge, gt
from ..elementwise.complex import conj
from ..elementwise.convert import convert
from ..elementwise.selection import select
from ..ground.linear_structure import moved_axis, zeros
from ..ground.narrow import COMPUTED_IN
from ..shape.filling import broadcasted_iota
from ..shape.shape_operations import expand_dims, reshape, squeeze
from .lapack import Memory, Plan, lapack
from .matrix_stacks import MatrixOperation, Result, product, real_products, square, swapped

_FEW_UNKNOWNS = 4


def triangle(x: Any, *, lower: bool, diagonal: bool = True) -> Any:
    """One triangle of each matrix, zero elsewhere; with or without the diagonal."""
    aval = aval_of(x)
    rows, columns = [broadcasted_iota(np.int32, aval.shape, aval.ndim - i) for i in (2, 1)]
    larger, smaller = (rows, columns) if lower else (columns, rows)
    kept = ge(larger, smaller) if diagonal else gt(larger, smaller)
    return select(kept, x, zeros(aval))


def trsm(a: Any, b: Any, *, left: bool, lower: bool, op: int, unit: bool) -> Any:
    """X of op(A) X = B, or of X op(A) = B, by BLAS; op is 1 for Aᵀ, 2 for Aᴴ."""
    # BLAS sees transposes, as it reads by columns: it solves the transposed system.
    return lapack("trsm", a.dtype)(1, a.T, b.T, left, not lower, op, unit).T


def plan_trsm(
    plan: Plan, a: Memory, x: Memory, *, left: bool, lower: bool, op: int, unit: bool
) -> None:
    """The same by native code; `x` is B, which becomes X."""
    rows, columns = x.shape
    sides = ("R" if left else "L", "U" if lower else "L", "NTC"[op], "U" if unit else "N")
    one = np.ones((), a.dtype)
    plan.call("trsm", a.dtype, *sides, columns, rows, one, a, a.shape[1], x, columns)


@final
class TriangularSolve(MatrixOperation):
    """X of op(A) X = B, or of X op(A) = B; op(A) may be Aᵀ, conj(A) or Aᴴ.

    Only one triangle of A is read; its diagonal is taken for 1 where `unit_diagonal`.

    Reference: of the derivatives, M. B. Giles, "Collected matrix derivative results for forward
    and reverse mode algorithmic differentiation", 2008.
    """

    name = "triangular_solve"
    most_by_loops = 20**3
    complex_in_loops = True
    ranks = (2, 2)

    def size_by_loops(self, *avals: Any) -> int:
        """The multiplications of one system, about; of few unknowns, those for so many columns.

        However many columns there are then, loops go along them by vectors, and take no longer.
        """
        size = avals[0].shape[-1]
        products = size**3 if size <= _FEW_UNKNOWNS else math.prod(avals[-1].shape[-2:]) * size
        return real_products(avals[0]) * products

    def results(self, dtype: Any, *shapes: Shape, left_side: bool, **_: Any) -> list[Result]:
        a, b = shapes
        if square(self.name, a) != b[0 if left_side else 1]:
            raise ShapeError(
                message(
                    "lax.linalg.triangular_solve, argument b",
                    given=f"matrices of shape {b} for triangular matrices of shape {a}",
                    expected=f"{a[0]} {'rows' if left_side else 'columns'}",
                    fix="left_side=True solves A X = B, left_side=False solves X A = B.",
                )
            )
        return [(b, dtype)]

    def evaluate_one(
        self,
        *matrices: Any,
        left_side: bool,
        lower: bool,
        transpose_a: bool,
        conjugate_a: bool,
        unit_diagonal: bool,
    ) -> Any:
        a, b = matrices
        if not b.size:
            return np.empty_like(b)
        if conjugate_a and not transpose_a:
            a = a.conj()
        op = (2 if conjugate_a else 1) if transpose_a else 0
        return trsm(a, b, left=left_side, lower=lower, op=op, unit=unit_diagonal)

    def plan(
        self,
        plan: Plan,
        *operands: Memory,
        left_side: bool,
        lower: bool,
        transpose_a: bool,
        conjugate_a: bool,
        unit_diagonal: bool,
    ) -> list[Memory] | None:
        a, b = operands
        op = (2 if conjugate_a else 1) if transpose_a else 0
        # conj(A) X = B says that A conj(X) = conj(B).
        conjugated = conjugate_a and not transpose_a and a.dtype.kind == "c"
        x = plan.copied(b)
        if conjugated:
            plan.conjugate(x)
        plan_trsm(plan, a, x, left=left_side, lower=lower, op=op, unit=unit_diagonal)
        if conjugated:
            plan.conjugate(x)
        return [x]

    def lower(
        self,
        b: Builder,
        out: Any,
        *values: Value,
        left_side: bool,
        lower: bool,
        transpose_a: bool,
        conjugate_a: bool,
        unit_diagonal: bool,
    ) -> Value:
        matrix, right = values
        if not out.size:
            return b.full(0, out)
        if conjugate_a and not transpose_a:
            matrix = b.op("chlo.conj", matrix.aval, matrix)
        found = call_trsm(
            b,
            transposed(b, matrix),
            transposed(b, right),
            left=not left_side,
            lower=not lower,
            op=("C" if conjugate_a else "T") if transpose_a else "N",
            unit=unit_diagonal,
        )
        return transposed(b, found)

    def to_loops(
        self,
        b: loops.Builder,
        out: Any,
        a: loops.Value,
        right: loops.Value,
        *,
        left_side: bool,
        lower: bool,
        transpose_a: bool,
        conjugate_a: bool,
        unit_diagonal: bool,
    ) -> loops.Value:
        is_conjugated = conjugate_a and b.dtype_of(out).kind == "c"
        how = loops.linalg.Triangular(left_side, lower, transpose_a, unit_diagonal, is_conjugated)
        return loops.linalg.triangular_solved(b, out, a, right, how)

    def jvp(
        self, primals: Sequence[Any], tangents: Sequence[Any], **params: Any
    ) -> tuple[Any, Any]:
        """dX = op(A)⁻¹ (dB − op(dA) X), and likewise on the other side."""
        a, _ = primals
        x = self.bind(*primals, **params)
        a_dot, b_dot = tangents
        right = None if is_zero(b_dot) else b_dot
        if not is_zero(a_dot):
            change = triangle(a_dot, lower=params["lower"], diagonal=not params["unit_diagonal"])
            if params["transpose_a"]:
                change = swapped(change)
            if params["conjugate_a"]:
                change = conj(change)
            moved = product(change, x) if params["left_side"] else product(x, change)
            right = neg(moved) if right is None else sub(right, moved)
        return x, self.bind(a, right, **params)

    def transpose(self, ct: Any, a: Any, b: Any, *, transpose_a: bool, **params: Any) -> list[Any]:
        """op(A)⁻ᵀ applied to the cotangent."""
        if is_undefined_primal(a):
            raise TypeError(
                message(
                    "transposition of triangular_solve",
                    given="a program that is to be transposed with respect to the matrix",
                    expected="one that is linear: in the right-hand side",
                    fix="Differentiate it with jax.vjp.",
                )
            )
        return [None, self.bind(a, ct, transpose_a=not transpose_a, **params)]

    def batch(
        self, axes: BatchAxes, operands: Sequence[Any], dims: Sequence[Any], **params: Any
    ) -> tuple[Any, Any]:
        (a, b), (a_dim, b_dim) = operands, dims
        if a_dim is not None:
            return super().batch(axes, operands, dims, **params)
        # One matrix: the members are further right-hand sides of it.
        side = 1 if params["left_side"] else 2
        ndim = aval_of(a).ndim
        b = moved_axis(b, b_dim, ndim - side)
        shape = aval_of(b).shape
        merged = shape[ndim - side] * shape[ndim - side + 1]
        flat = reshape(b, (*shape[: ndim - side], merged, *shape[ndim - side + 2 :]))
        return reshape(self.bind(a, flat, **params), shape), ndim - side


triangular_solve_p = TriangularSolve()


def solved(
    a: Any,
    b: Any,
    *,
    left_side: bool,
    lower: bool,
    transpose_a: bool = False,
    conjugate_a: bool = False,
    unit_diagonal: bool = False,
) -> Any:
    """`triangular_solve` of stacks that fit each other, for the rules of factorisations."""
    return triangular_solve_p.bind(
        a,
        b,
        left_side=left_side,
        lower=lower,
        transpose_a=transpose_a,
        conjugate_a=conjugate_a,
        unit_diagonal=unit_diagonal,
    )


def triangular_solve(
    a: Any,
    b: Any,
    *,
    left_side: bool = False,
    lower: bool = False,
    transpose_a: bool = False,
    conjugate_a: bool = False,
    unit_diagonal: bool = False,
) -> Any:
    """Solve linear systems with a triangular matrix: ``op(A) X = B`` or ``X op(A) = B``.

    Args:
        a: triangular matrices of shape `(..., m, m)`; the other triangle is not read.
        b: right-hand sides of shape `(..., m, n)` if `left_side`, else `(..., n, m)`; of one dtype
            with `a`: float32, float64, complex64 or complex128.  Of shape `(..., m)`, with one axis
            less than `a`, they are single vectors.
        left_side: whether the matrix is on the left of X.
        lower: whether `a` is lower triangular.
        transpose_a: whether op transposes.
        conjugate_a: whether op conjugates.
        unit_diagonal: whether the diagonal is taken for ones, and not read.

    Raises:
        ShapeError: if the operands do not fit.

    Reference:
        BLAS, trsm.

    Example:
        >>> import morphax.numpy as jnp
        >>> from morphax import lax
        >>> a = jnp.array([[2.0, 0.0], [1.0, 4.0]])
        >>> lax.linalg.triangular_solve(a, jnp.array([4.0, 10.0]), left_side=True, lower=True)
        Array([2., 2.], dtype=float32)
    """
    dtype = aval_of(b).dtype
    if dtype in COMPUTED_IN:
        a, b = [convert(x, COMPUTED_IN[dtype]) if aval_of(x).dtype == dtype else x for x in (a, b)]
    params = {
        "left_side": bool(left_side),
        "lower": bool(lower),
        "transpose_a": bool(transpose_a),
        "conjugate_a": bool(conjugate_a) and aval_of(a).dtype.kind == "c",
        "unit_diagonal": bool(unit_diagonal),
    }
    ndim = aval_of(b).ndim
    if ndim == 0 or ndim != aval_of(a).ndim - 1:
        return convert(triangular_solve_p.bind(a, b, **params), dtype)
    axis = ndim if left_side else ndim - 1
    found = triangular_solve_p.bind(a, expand_dims(b, (axis,)), **params)
    return convert(squeeze(found, (axis,)), dtype)
