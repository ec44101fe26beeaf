"""Symmetric products of a matrix with its transpose."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, final

import numpy as np

from ...core import Jaxpr, aval_of, is_zero, stage_closed
from ...core.dims import Shape
from ...engines.xla.stablehlo import Builder, Value
from ...errors import ShapeError
from ...util.memo import memoize
from ...util.messages import message
from ..contraction.dot import dot_general_p
from ..contraction.precision import Precision
from ..elementwise.arithmetic import add, mul
from ..elementwise.convert import convert
from ..ground.linear_structure import add_tangents
from ..ground.narrow import COMPUTED_IN
from ..shape.filling import full_like
from .matrix_stacks import MatrixOperation, Result, product, swapped
from .triangular import triangle


@final
class SymmetricProduct(MatrixOperation):
    """α A Aᵀ + β C; C, symmetric, is not read if β = 0."""

    name = "symmetric_product"
    ranks = (2, 2)

    def results(self, dtype: Any, *shapes: Shape, **_: Any) -> list[Result]:
        a, c = shapes
        if c != (a[0], a[0]):
            raise ShapeError(
                message(
                    "lax.linalg.symmetric_product, argument c_matrix",
                    given=f"matrices of shape {c} for matrices of shape {a}",
                    expected=f"shape {(a[0], a[0])}",
                    fix="Pass a symmetric matrix of as many rows as a_matrix has.",
                )
            )
        return [(c, dtype)]

    def kernel(self, *avals: Any, alpha: float, beta: float) -> Callable[..., Any]:
        def of_stacks(a: Any, c: Any) -> Any:
            found = np.matmul(a, a.swapaxes(-1, -2)) * a.dtype.type(alpha)
            return found + c.dtype.type(beta) * c if beta else found

        return of_stacks

    def lower(self, b: Builder, out: Any, *values: Value, alpha: float, beta: float) -> Value:
        a, c = values
        stack = tuple(range(out.ndim - 2))
        found = dot_general_p.lower(
            b,
            out,
            a,
            a,
            dimension_numbers=(((out.ndim - 1,), (out.ndim - 1,)), (stack, stack)),
            precision=(Precision.HIGHEST, Precision.HIGHEST),
        )
        found = b.elementwise("stablehlo.multiply", out, found, b.full(alpha, out))
        if not beta:
            return found
        scaled = b.elementwise("stablehlo.multiply", out, c, b.full(beta, out))
        return b.elementwise("stablehlo.add", out, found, scaled)

    def program_in_place(self, a: Any, c: Any, *, alpha: float, beta: float) -> Jaxpr | None:
        """A product and what is added to it."""
        if not (a.is_static and c.is_static):
            return None
        return _program(a.strip_weak_type(), c.strip_weak_type(), alpha, beta)

    def jvp(
        self, primals: Sequence[Any], tangents: Sequence[Any], *, alpha: float, beta: float
    ) -> tuple[Any, Any]:
        """α (dA Aᵀ + A dAᵀ) + β dC."""
        a, c = primals
        out = self.bind(a, c, alpha=alpha, beta=beta)
        a_dot, c_dot = tangents
        dtype = aval_of(a).dtype
        moved = None if is_zero(c_dot) else mul(c_dot, np.asarray(beta, dtype))
        if not is_zero(a_dot):
            half = mul(product(a_dot, swapped(a)), np.asarray(alpha, dtype))
            both = add(half, swapped(half))
            moved = both if moved is None else add_tangents(both, moved)
        return out, moved


symmetric_product_p = SymmetricProduct()


@memoize
def _program(a: Any, c: Any, alpha: float, beta: float) -> Jaxpr:
    def of_stacks(a: Any, c: Any) -> list[Any]:
        found = product(a, swapped(a))
        if alpha != 1:
            found = mul(found, full_like(found, alpha))
        return [add(found, mul(c, full_like(c, beta))) if beta else found]

    return stage_closed(of_stacks, [a, c])


def symmetric_product(
    a_matrix: Any,
    c_matrix: Any,
    *,
    alpha: float = 1.0,
    beta: float = 0.0,
    symmetrize_output: bool = False,
) -> Any:
    """The symmetric matrices α A Aᵀ + β C.

    Args:
        a_matrix: matrices of shape `(..., m, n)`.
        c_matrix: symmetric matrices of shape `(..., m, m)`; not read if `beta` is 0.
        alpha: factor of the product.
        beta: factor of C.
        symmetrize_output: whether the lower triangle also gives the upper one.

    Raises:
        ShapeError: if the operands do not fit.

    Reference:
        BLAS, syrk.

    Example:
        >>> import morphax.numpy as jnp
        >>> from morphax import lax
        >>> a = jnp.array([[1.0], [2.0]])
        >>> lax.linalg.symmetric_product(a, jnp.zeros((2, 2)))
        Array([[1., 2.],
               [2., 4.]], dtype=float32)
    """
    dtype = aval_of(a_matrix).dtype
    if dtype in COMPUTED_IN and aval_of(c_matrix).dtype == dtype:
        a_matrix, c_matrix = [convert(x, COMPUTED_IN[dtype]) for x in (a_matrix, c_matrix)]
    found = symmetric_product_p.bind(a_matrix, c_matrix, alpha=float(alpha), beta=float(beta))
    if symmetrize_output:
        upper = swapped(triangle(found, lower=True, diagonal=False))
        found = add(triangle(found, lower=True), upper)
    return convert(found, dtype)
