"""Products of Householder reflections H = 1 − τ v vᴴ: how LAPACK keeps orthogonal matrices.

The reflections of a matrix of n columns are k ≤ n columns v below its diagonal, each with a one on
the diagonal which is not stored, and their scalars τ.
"""

from __future__ import annotations

from typing import Any, final

import numpy as np

from ...core import NoRule
from ...core.dims import Shape, min_dim
from ...engines import loops
from ...engines.xla.library_calls import call_lapack
from ...engines.xla.stablehlo import Builder, Value
from ...errors import ShapeError
from ...util.messages import message
from . import nan_spread
from .lapack import BLOCK, Memory, Plan, lapack
from .matrix_stacks import MatrixOperation, Result

_NO_DERIVATIVE: Any = NoRule(
    "jvp",
    "derivatives of reflections are not defined; lax.linalg.qr has derivatives",
    error=NotImplementedError,
)


@final
class Geqrf(MatrixOperation):
    """The reflections of the QR factorisation: R on and above the diagonal, v below it; and τ."""

    name = "geqrf"
    most_by_loops = 20 * 20
    multiple_results = True
    jvp = _NO_DERIVATIVE

    def results(self, dtype: Any, *shapes: Shape, **_: Any) -> list[Result]:
        return [(shapes[0], dtype), ((min_dim(*shapes[0]),), dtype)]

    def evaluate_one(self, *matrices: Any, **_: Any) -> list[Any]:
        (a,) = matrices
        if not a.size:
            return [a, np.empty(0, a.dtype)]
        reflections, taus, _, _ = lapack("geqrf", a.dtype)(a, lwork=BLOCK * a.shape[1])
        spread_nan(reflections, taus)
        return [reflections, taus]

    def plan(self, plan: Plan, *operands: Memory, **_: Any) -> list[Memory]:
        (a,) = operands
        rows, columns = a.shape
        reflections, taus = plan.transposed(a), plan.memory(a.dtype, min(rows, columns))
        work = plan.memory(a.dtype, BLOCK * columns)
        found = (reflections, rows, taus, work, work.size, plan.info())
        plan.call("geqrf", a.dtype, rows, columns, *found)
        plan.nan_after_reflection(reflections, columns, taus)
        return [plan.transposed(reflections), taus]

    def lower(self, b: Builder, outs: Any, *values: Value, **_: Any) -> list[Value]:
        return lower_geqrf(b, outs, values[0])

    def to_loops(self, b: loops.Builder, outs: Any, a: loops.Value, **_: Any) -> list[loops.Value]:
        return loops.householder.geqrf(b, outs, a)


@final
class HouseholderProduct(MatrixOperation):
    """The first n columns of the product of k reflections of size m."""

    name = "householder_product"
    most_by_loops = 20 * 20
    ranks = (2, 1)
    jvp = _NO_DERIVATIVE

    def results(self, dtype: Any, *shapes: Shape, **_: Any) -> list[Result]:
        matrix, taus = shapes
        if matrix[0] < matrix[1] or matrix[1] < taus[0]:
            raise ShapeError(
                message(
                    "lax.linalg.householder_product",
                    given=f"reflections of shape {matrix} with {taus[0]} scalars",
                    expected="at least as many rows as columns, and columns as scalars",
                    fix="Pass reflections as columns, as LAPACK's geqrf gives them.",
                )
            )
        return [(matrix, dtype)]

    def evaluate_one(self, *matrices: Any, **_: Any) -> Any:
        a, taus = matrices
        if not a.size:
            return a
        if not taus.size:
            return np.eye(*a.shape, dtype=a.dtype)
        found = lapack("orgqr", a.dtype)(a, taus, lwork=BLOCK * a.shape[1])
        return found[0]

    def plan(self, plan: Plan, *operands: Memory, **_: Any) -> list[Memory]:
        a, taus = operands
        rows, columns = a.shape
        found, work = plan.transposed(a), plan.memory(a.dtype, BLOCK * columns)
        rest = (found, rows, taus, work, work.size, plan.info())
        plan.call("orgqr", a.dtype, rows, columns, taus.size, *rest)
        return [plan.transposed(found)]

    def lower(self, b: Builder, out: Any, *values: Value, **_: Any) -> Value:
        return lower_product(b, out, *values)

    def to_loops(
        self, b: loops.Builder, out: Any, vectors: loops.Value, taus: loops.Value, **_: Any
    ) -> loops.Value:
        return loops.householder.product(b, out, vectors, taus)


@final
class Ormqr(MatrixOperation):
    """The product Q of k reflections, or Qᴴ, times C or C times it, without making Q."""

    name = "ormqr"
    ranks = (2, 1, 2)
    jvp = _NO_DERIVATIVE

    def results(self, dtype: Any, *shapes: Shape, left: bool, transpose: bool) -> list[Result]:
        matrix, taus, c = shapes
        if matrix[1] < taus[0] or c[0 if left else 1] != matrix[0] or taus[0] > matrix[0]:
            raise ShapeError(
                message(
                    "lax.linalg.ormqr",
                    given=f"a {matrix}, taus {taus}, c {c}, left={left}",
                    expected=f"c with {matrix[0]} {'rows' if left else 'columns'}, and no more "
                    "scalars than a has rows or columns",
                    fix="left=True multiplies from the left.",
                )
            )
        return [(c, dtype)]

    def evaluate_one(self, *matrices: Any, left: bool, transpose: bool) -> Any:
        a, taus, c = matrices
        if not (c.size and taus.size):
            return c
        side, kind = "L" if left else "R", "C" if a.dtype.kind == "c" else "T"
        found = lapack("ormqr", a.dtype)(
            side,
            kind if transpose else "N",
            a[:, : len(taus)],
            taus,
            c,
            lwork=BLOCK * max(c.shape),
        )
        return found[0]

    def plan(self, plan: Plan, *operands: Memory, left: bool, transpose: bool) -> list[Memory]:
        a, taus, c = operands
        rows, columns = c.shape
        kind = "C" if c.dtype.kind == "c" else "T"
        sides = ("L" if left else "R", kind if transpose else "N")
        reflections = (plan.transposed(a), a.shape[0], taus)
        found, work = plan.transposed(c), plan.memory(c.dtype, BLOCK * max(rows, columns))
        rest = (found, rows, work, work.size, plan.info())
        plan.call("ormqr", c.dtype, *sides, rows, columns, taus.size, *reflections, *rest)
        return [plan.transposed(found)]

    def lower(self, b: Builder, out: Any, *values: Value, left: bool, transpose: bool) -> Value:
        a, taus, c = values
        if not (c.aval.size and taus.aval.size):
            return c
        name = "unmqr" if out.dtype.kind == "c" else "ormqr"
        (found,) = call_lapack(
            b,
            name,
            [out],
            a,
            taus,
            c,
            ranks=(2, 1, 2, 2),
            aliases={0: 2},
            left=str(left).lower(),
            transpose=str(transpose).lower(),
        )
        return found


def spread_nan(reflections: Any, taus: Any) -> None:
    """NaN in what a reflection whose scalar is NaN has a part in, of one matrix."""
    # The library leaves out the rows where the vector is zero.
    for k in np.flatnonzero(np.isnan(taus))[:1]:
        reflections[k:, k:] = np.nan
        taus[k:] = np.nan


def lower_geqrf(b: Builder, outs: Any, a: Value) -> list[Value]:
    """The reflections of `a` and their scalars."""
    if not a.aval.size:
        return [b.full(0, out) for out in outs]
    found, taus = call_lapack(b, "geqrf", outs, a, ranks=(2, 2, 1), aliases={0: 0})
    return nan_spread.of_reflections(b, found, taus)


def lower_product(b: Builder, out: Any, reflections: Value, taus: Value) -> Value:
    """The first columns of the product of reflections."""
    if not out.size:
        return b.full(0, out)
    name = "ungqr" if out.dtype.kind == "c" else "orgqr"
    ranks = (2, 1, 2)
    (found,) = call_lapack(b, name, [out], reflections, taus, ranks=ranks, aliases={0: 0})
    return found


geqrf_p = Geqrf()
householder_product_p = HouseholderProduct()
ormqr_p = Ormqr()


def geqrf(a: Any) -> list[Any]:
    """The reflections of the QR factorisations of matrices, and their scalars."""
    return geqrf_p.bind(a)


def householder_product(a: Any, taus: Any) -> Any:
    """Products of Householder reflections: the first n columns of H₁ H₂ … Hₖ.

    Args:
        a: reflections as columns, of shape `(..., m, n)`, m ≥ n: below the diagonal; the rest is
            not read.  float32, float64, complex64 or complex128.
        taus: their scalars, `(..., k)`, k ≤ n.

    Returns:
        Array of the shape and dtype of `a`, with orthonormal columns.

    Raises:
        ShapeError: if the operands do not fit.
        NotImplementedError: under differentiation.

    Reference:
        LAPACK, orgqr and ungqr.

    Example:
        >>> import morphax.numpy as jnp
        >>> from morphax import lax
        >>> lax.linalg.householder_product(jnp.array([[0.0], [1.0]]), jnp.array([1.0]))
        Array([[ 0.],
               [-1.]], dtype=float32)
    """
    return householder_product_p.bind(a, taus)


def ormqr(a: Any, taus: Any, c: Any, *, left: bool = True, transpose: bool = False) -> Any:
    """Multiply by the product Q of Householder reflections, or by Qᴴ, without making Q.

    Args:
        a: reflections as columns, `(..., r, k)`, as in `householder_product`.
        taus: their scalars, `(..., k)`.
        c: matrices `(..., r, n)` if `left`, else `(..., n, r)`.
        left: whether Q is on the left: Q C; otherwise C Q.
        transpose: whether Qᴴ is taken for Q.

    Returns:
        Array of the shape and dtype of `c`.

    Raises:
        ShapeError: if the operands do not fit.
        NotImplementedError: under differentiation.

    Reference:
        LAPACK, ormqr and unmqr.

    Example:
        >>> import morphax.numpy as jnp
        >>> from morphax import lax
        >>> a, taus = jnp.array([[0.0], [1.0]]), jnp.array([1.0])
        >>> lax.linalg.ormqr(a, taus, jnp.array([[2.0], [3.0]]))
        Array([[-3.],
               [-2.]], dtype=float32)
    """
    return ormqr_p.bind(a, taus, c, left=bool(left), transpose=bool(transpose))
