"""The QR factorisation A = Q R, with exchanges of columns if asked for."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, final

import numpy as np

from ...core import Zero, aval_of
from ...core.dims import Shape, min_dim
from ...engines import loops
from ...engines.xla.library_calls import call_lapack
from ...engines.xla.stablehlo import Builder, Value
from ..elementwise.arithmetic import add, mul, sub
from ..elementwise.comparison import eq
from ..elementwise.complex import conj
from ..elementwise.selection import select
from ..ground.linear_structure import zeros
from ..shape.filling import broadcasted_iota
from .blocks import above, beside, block, columns_at
from .householder import lower_geqrf, lower_product, spread_nan
from .lapack import BLOCK, Memory, Plan, lapack
from .linear_systems import solved_with_factors
from .lowered import INT32, identity, numbered, upper_triangle
from .lu import lu_p
from .matrix_stacks import MatrixOperation, Result, adjoint, product
from .triangular import solved, triangle


@final
class Qr(MatrixOperation):
    """Q and R of A = Q R (and the permutation p of A[:, p] = Q R, by falling diagonal of R).

    The derivative exists where the first min(m, n) columns are independent (of A[:, p], while p
    stays), and divides by zero elsewhere.  The columns of a full Q beyond those follow from the
    representation by reflections that LAPACK uses, Q₂ = E₂ + (Q₁ − E₁) X.

    References:
        S. F. Walter and L. Lehmann, "Algorithmic differentiation of linear algebra functions with
        application in optimum experimental design", arXiv:1001.1654, 2010; D. A. O. Roberts and
        L. R. Roberts, "QR and LQ decomposition matrix backpropagation algorithms for square, wide,
        and deep matrices", arXiv:2009.10071, 2020; X. Sun and C. Bischof, "A basis-kernel
        representation of orthogonal matrices", SIAM J. Matrix Anal. Appl. 16, 1995.
    """

    name = "qr"
    most_by_loops = 20 * 20
    multiple_results = True

    def results(
        self, dtype: Any, *shapes: Shape, pivoting: bool, full_matrices: bool
    ) -> list[Result]:
        ((rows, columns),) = shapes
        inner = rows if full_matrices else min_dim(rows, columns)
        factors: list[Result] = [((rows, inner), dtype), ((inner, columns), dtype)]
        return [*factors, ((columns,), INT32)] if pivoting else factors

    def evaluate_one(self, *matrices: Any, pivoting: bool, full_matrices: bool) -> list[Any]:
        (a,) = matrices
        rows, columns = a.shape
        inner = rows if full_matrices else min_dim(rows, columns)
        order = [np.arange(columns, dtype=INT32)] if pivoting else []
        if not a.size:
            return [np.eye(rows, inner, dtype=a.dtype), np.zeros((inner, columns), a.dtype), *order]
        work = {"lwork": BLOCK * (columns + 1)}
        if pivoting:
            reflections, places, taus, _, _ = lapack("geqp3", a.dtype)(a, **work)
            order = [places - np.int32(1)]
        else:
            reflections, taus, _, _ = lapack("geqrf", a.dtype)(a, **work)
            spread_nan(reflections, taus)
        r = _upper_triangle(reflections[:inner])
        if inner > columns:  # reflections beyond those of the matrix are 1
            wide = np.zeros((rows, inner), a.dtype, order="F")
            wide[:, :columns] = reflections
            reflections = wide
        q = lapack("orgqr", a.dtype)(reflections[:, :inner], taus, lwork=BLOCK * inner)[0]
        return [q, r, *order]

    def plan(
        self, plan: Plan, *operands: Memory, pivoting: bool, full_matrices: bool
    ) -> list[Memory] | None:
        if pivoting:
            return None
        (a,) = operands
        dtype, (rows, columns) = a.dtype, a.shape
        rank = min(rows, columns)
        inner = rows if full_matrices else rank
        q, r = plan.memory(dtype, rows, inner), plan.memory(dtype, inner, columns)

        def by_library() -> None:
            reflections = plan.memory(dtype, max(inner, columns), rows)
            plan.transposed_to(reflections, a, rows, columns)
            taus, work = plan.memory(dtype, rank), plan.memory(dtype, BLOCK * max(inner, columns))
            found = (reflections, rows, taus, work, work.size, plan.info())
            plan.call("geqrf", dtype, rows, columns, *found)
            plan.nan_after_reflection(reflections, columns, taus)
            plan.transposed_to(r, reflections, columns, inner)
            plan.zero_below(r)
            plan.call("orgqr", dtype, rows, inner, rank, *found)
            plan.transposed_to(q, reflections, inner, rows)

        if plan.is_small(a, q):
            plan.small_qr(a, [q, r], by_library)
        else:
            by_library()
        return [q, r]

    def lower(
        self, b: Builder, outs: Any, *values: Value, pivoting: bool, full_matrices: bool
    ) -> list[Value]:
        (a,) = values
        q, r, *order = outs
        if not a.aval.size:
            return [
                identity(b, q),
                b.full(0, r),
                *[numbered(b, out, out.ndim - 1) for out in order],
            ]
        taus = a.aval.update(shape=(*a.aval.shape[:-2], min_dim(*a.aval.shape[-2:])))
        places: list[Value] = []
        if pivoting:
            (out,) = order
            reflections, found, scalars = call_lapack(
                b,
                "geqp3",
                [a.aval, out, taus],
                a,
                b.full(0, out),
                ranks=(2, 1, 2, 1, 1),
                aliases={0: 0, 1: 1},
                **({"magma": '"auto"'} if b.module.platform == "cuda" else {}),
            )
            places = [b.op("stablehlo.subtract", out, found, b.full(1, out))]
        else:
            reflections, scalars = lower_geqrf(b, [a.aval, taus], a)
        upper = upper_triangle(b, _resized(b, reflections, r))
        return [lower_product(b, q, _resized(b, reflections, q), scalars), upper, *places]

    def to_loops(
        self, b: loops.Builder, outs: Any, a: loops.Value, *, pivoting: bool, full_matrices: bool
    ) -> list[loops.Value]:
        if pivoting:
            b.refuse("with exchanges of columns it has no form of loops")
        return loops.householder.qr(b, outs, a)

    def jvp(
        self, primals: Sequence[Any], tangents: Sequence[Any], **params: Any
    ) -> tuple[list[Any], list[Any]]:
        """With M = Qᴴ dA R⁻¹: dQ = dA R⁻¹ + Q (Ω − M) and dR = (M − Ω) R.

        Ω = −Ωᴴ is M below its diagonal.  Of further columns, dR₂ = d(Qᴴ A₂).
        """
        (a,), (change,) = primals, tangents
        q, r, *order = self.bind(a, **params)
        if order:
            a, change = columns_at(a, order[0]), columns_at(change, order[0])
        rows, columns = aval_of(a).shape[-2:]
        size = min_dim(rows, columns)
        every, first = (0, rows), (0, size)
        thin, leading = block(q, every, first), block(r, first, first)
        moved = solved(leading, block(change, every, first), left_side=False, lower=False)
        inner = product(adjoint(thin), moved)
        turned = _skew(inner)
        q_dot = add(moved, product(thin, sub(turned, inner)))
        r_dot = product(sub(inner, turned), leading)
        if columns > size:
            last = (size, columns)
            right = add(
                product(adjoint(q_dot), block(a, every, last)),
                product(adjoint(thin), block(change, every, last)),
            )
            r_dot = beside(r_dot, right)
        if aval_of(q).shape[-1] > size:
            rest = aval_of(r).shape
            r_dot = above(r_dot, zeros(aval_of(r).update(shape=(*rest[:-2], rows - size, columns))))
            q_dot = beside(q_dot, _complement_tangent(thin, q_dot))
        still = [Zero(aval_of(x).to_tangent_aval()) for x in order]
        return [q, r, *order], [q_dot, r_dot, *still]


def _upper_triangle(x: Any) -> Any:
    """What is on and above the diagonal of one matrix, or of each of a stack."""
    return np.where(_on_and_above(*x.shape[-2:]), x, x.dtype.type(0))


@lru_cache(64)
def _on_and_above(rows: int, columns: int) -> Any:
    return np.triu(np.ones((rows, columns), bool))


def _skew(x: Any) -> Any:
    """The skew-Hermitian matrix that is `x` below its diagonal, and imaginary as `x` on it."""
    below = triangle(x, lower=True, diagonal=False)
    skew = sub(below, adjoint(below))
    if aval_of(x).dtype.kind != "c":
        return skew
    half = mul(sub(x, conj(x)), np.asarray(0.5, aval_of(x).dtype))
    return add(skew, select(_is_diagonal(aval_of(x)), half, zeros(aval_of(x))))


def _is_diagonal(aval: Any) -> Any:
    return eq(*[broadcasted_iota(np.int32, aval.shape, aval.ndim - i) for i in (2, 1)])


def _less_identity(x: Any) -> Any:
    """`x` with 1 subtracted from its diagonal."""
    aval = aval_of(x)
    one = zeros(aval)
    return sub(x, select(_is_diagonal(aval), add(one, np.asarray(1, aval.dtype)), one))


def _complement_tangent(q: Any, q_dot: Any) -> Any:
    """dQ₂ of the columns Q₂ = E₂ + (Q₁ − E₁) X that make Q₁, of n columns, square.

    With Q₁ = [C; S], orthogonality says (1 − Cᴴ) X = −Sᴴ, and so (1 − Cᴴ) dX = dCᴴ X − dSᴴ.
    """
    rows, columns = aval_of(q).shape[-2:]
    first, last = (0, columns), (columns, rows)
    reflected = _less_identity(q)
    matrix = adjoint(block(reflected, first, first))
    factors, _, permutation = lu_p.bind(matrix)

    def solved(right: Any) -> Any:
        return solved_with_factors(matrix, factors, permutation, right, transpose_a=False)

    x = solved(adjoint(block(q, last, first)))
    c_dot, s_dot = [adjoint(block(q_dot, rows_, first)) for rows_ in (first, last)]
    x_dot = solved(sub(s_dot, product(c_dot, x)))
    return add(product(q_dot, x), product(reflected, x_dot))


def _resized(b: Builder, x: Value, like: Any) -> Value:
    """`x` cut, or extended by zeros, to the sizes of `like`."""
    sizes = zip(x.aval.shape, like.shape, strict=True)
    shape = tuple([min_dim(*pair) for pair in sizes])
    if shape != x.aval.shape:
        x = b.slice(x, like.update(shape=shape), [0] * like.ndim, shape)
    if shape == like.shape:
        return x
    missing = [(0, n - m, 0) for n, m in zip(like.shape, shape, strict=True)]
    return b.pad(x, like, b.constant(0, like.update(shape=())), missing)


qr_p = Qr()


def qr(
    x: Any,
    *,
    pivoting: bool = False,
    full_matrices: bool = True,
    use_magma: bool | None = None,
) -> tuple[Any, ...]:
    """The QR factorisation A = Q R: orthonormal columns times an upper triangle.

    Args:
        x: matrices of shape `(..., m, n)`: float32, float64, complex64 or complex128.
        pivoting: whether columns are exchanged: A[:, p] = Q R with a diagonal of R that falls.
        full_matrices: whether Q is square, `(..., m, m)`, and R `(..., m, n)`; otherwise they are
            `(..., m, k)` and `(..., k, n)`, k = min(m, n).
        use_magma: whether a GPU uses the library MAGMA; without meaning elsewhere.

    Returns:
        `(Q, R)`, or `(Q, R, p)` with int32 p `(..., n)` if `pivoting`.

    Raises:
        ShapeError: if `x` has fewer than two axes.

    Reference:
        LAPACK, geqrf, geqp3 and orgqr.

    Example:
        >>> import morphax.numpy as jnp
        >>> from morphax import lax
        >>> q, r = lax.linalg.qr(jnp.array([[3.0, 1.0], [4.0, 2.0]]))
        >>> r.round(4)
        Array([[-5. , -2.2],
               [ 0. ,  0.4]], dtype=float32)
    """
    found = qr_p.bind(x, pivoting=bool(pivoting), full_matrices=bool(full_matrices))
    return tuple(found)
