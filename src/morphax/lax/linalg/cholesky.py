"""The Cholesky factorisation A = L Lᴴ of positive definite matrices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, final

import numpy as np

from ...core import aval_of
from ...core.dims import Shape
from ...engines import loops
from ...engines.xla.library_calls import call_lapack, letter, nan_where_failed, transposed
from ...engines.xla.stablehlo import Builder, Value
from ..elementwise.arithmetic import add, mul
from ..ground.families import compare
from . import nan_spread
from .lapack import Memory, Plan, lapack
from .matrix_stacks import MatrixOperation, Result, product, square, symmetrized
from .triangular import solved, triangle

_SMALL = 32
"""Rows of matrices that are copied sooner than the library factorises an upper triangle."""


@final
class Cholesky(MatrixOperation):
    """L of A = L Lᴴ, lower triangular; only the lower triangle of A is read.

    A matrix that is not positive definite has NaN in its lower triangle.

    Reference: of the derivative, I. Murray, "Differentiation of the Cholesky decomposition",
    arXiv:1602.07527, 2016.
    """

    name = "cholesky"
    most_by_loops = 24 * 24

    def results(self, dtype: Any, *shapes: Shape, **_: Any) -> list[Result]:
        square(self.name, shapes[0])
        return [(shapes[0], dtype)]

    def evaluate_one(self, *matrices: Any, **_: Any) -> Any:
        (a,) = matrices
        if not a.size:
            return a
        # Of the transpose, which LAPACK sees, it factorises the upper triangle: A = (Uᴴ U)ᵀ = L Lᴴ.
        factor, failed = lapack("potrf", a.dtype)(a.T, lower=False, clean=True)
        # The library sees no failure in a pivot that is NaN.
        failed = failed or np.isnan(factor.diagonal()).any()
        return np.tril(np.full_like(a, np.nan)) if failed else factor.T

    def plan(self, plan: Plan, *operands: Memory, **_: Any) -> list[Memory]:
        (a,) = operands
        size, factor = a.shape[0], plan.memory(a.dtype, *a.shape)

        def by_library() -> None:
            plan.copied_to(factor, a)
            info = plan.info()
            plan.call("potrf", a.dtype, "U", size, factor, size, info)
            plan.fail_if_nan(factor, info)
            plan.nan_if(factor, info)
            plan.zero_above(factor)

        if plan.is_small(a):
            plan.small_cholesky(a, factor, by_library)
        else:
            by_library()
        return [factor]

    def lower(self, b: Builder, out: Any, *values: Value, **_: Any) -> Value:
        if not out.size:
            return b.full(0, out)
        # Of the transpose, which LAPACK sees, it factorises the upper triangle: A = (Uᴴ U)ᵀ = L Lᴴ.
        # The lower one takes it a tenth less time, which of small matrices is more than two copies.
        is_turned = not (out.is_static and out.shape[-1] <= _SMALL)
        seen = transposed(b, values[0]) if is_turned else values[0]
        info = out.update(shape=out.shape[:-2], dtype=np.dtype(np.int32))
        factor, failed = call_lapack(
            b,
            "potrf",
            [seen.aval, info],
            seen,
            ranks=(2, 2, 0),
            aliases={0: 0},
            uplo=letter("U" if is_turned else "L"),
        )
        # The library sees no failure in a pivot that is NaN.
        factor, failed = nan_spread.of_cholesky(b, factor, failed)
        factor = transposed(b, factor) if is_turned else factor
        found = nan_where_failed(b, out, factor, failed)
        return _lower_triangle(b, found)

    def to_loops(self, b: loops.Builder, out: Any, a: loops.Value, **_: Any) -> loops.Value:
        return loops.linalg.cholesky(b, out, a)

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any], **_: Any) -> tuple[Any, Any]:
        """dL = L Φ(L⁻¹ dA L⁻ᴴ), where Φ takes the lower triangle and half of the diagonal."""
        factor = self.bind(*primals)
        inner = _solved(factor, _solved(factor, tangents[0], left_side=True), left_side=False)
        return factor, product(factor, lower_half(inner))


def _solved(factor: Any, x: Any, *, left_side: bool) -> Any:
    """L⁻¹ x, or x L⁻ᴴ."""
    return solved(
        factor,
        x,
        left_side=left_side,
        lower=True,
        transpose_a=not left_side,
        conjugate_a=not left_side and aval_of(factor).dtype.kind == "c",
    )


def lower_half(x: Any) -> Any:
    """Φ: the lower triangle with half of the diagonal."""
    both = add(triangle(x, lower=True), triangle(x, lower=True, diagonal=False))
    return mul(both, np.asarray(0.5, aval_of(x).dtype))


def _lower_triangle(b: Builder, x: Value) -> Value:
    out = x.aval
    places, kept = out.update(dtype=np.dtype(np.int32)), out.update(dtype=np.dtype(bool))
    rows, columns = [b.iota(places, out.ndim - i) for i in (2, 1)]
    return b.op("stablehlo.select", out, compare(b, kept, "GE", rows, columns), x, b.full(0, out))


cholesky_p = Cholesky()


def cholesky(x: Any, *, symmetrize_input: bool = True) -> Any:
    """The Cholesky factors of Hermitian positive definite matrices: L, lower, of A = L Lᴴ.

    Args:
        x: matrices of shape `(..., n, n)`: float32, float64, complex64 or complex128.
        symmetrize_input: whether (A + Aᴴ) / 2 is factorised, so that derivatives are those on all
            matrices; otherwise the lower triangle alone is read.

    Returns:
        Array of the shape and dtype of `x`; the lower triangle of a matrix that is not positive
        definite is NaN.

    Raises:
        ShapeError: if the matrices are not square.

    Reference:
        LAPACK, potrf.

    Example:
        >>> import morphax.numpy as jnp
        >>> from morphax import lax
        >>> lax.linalg.cholesky(jnp.array([[4.0, 2.0], [2.0, 5.0]]))
        Array([[2., 0.],
               [1., 2.]], dtype=float32)
    """
    if symmetrize_input:
        x = symmetrized("cholesky", x)
    return cholesky_p.bind(x)
