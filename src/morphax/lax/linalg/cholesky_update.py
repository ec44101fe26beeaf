"""The Cholesky factor of a matrix to which w wᵀ is added."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, final

import numpy as np

from ...core import aval_of, is_zero
from ...core.dims import Shape
from ...engines.xla.stablehlo import Builder, Value
from ...errors import ShapeError
from ...util.compiled import part
from ...util.messages import message
from ..elementwise.arithmetic import add
from ..elementwise.convert import convert
from ..ground.families import compare, sum_of_tangents
from ..ground.kinds import FLOATING
from ..ground.narrow import COMPUTED_IN
from ..shape.shape_operations import expand_dims
from .cholesky import lower_half
from .lowered import BOOL, INT32, counted_loop, numbered, upper_triangle
from .matrix_stacks import MatrixOperation, Result, product, square, swapped
from .triangular import solved, triangle

native: Any = part("sequential")

# A number of Python's is computed in less time than a call of NumPy takes.
_FEW_ROWS = 12


@final
class CholeskyUpdate(MatrixOperation):
    """The upper triangle S of Sᵀ S = Rᵀ R + w wᵀ, for real R and w, by rotations of rows.

    A rotation takes element k of w into row k of R, for all k in order; where it is zero already
    there is nothing to do.  Of R the upper triangle alone is read.

    References:
        G. H. Golub and C. F. Van Loan, "Matrix Computations", 4th ed., 2013, §6.5.4; of the
        derivative, I. Murray, "Differentiation of the Cholesky decomposition", arXiv:1602.07527.
    """

    name = "cholesky_update"
    ranks = (2, 1)

    def results(self, dtype: Any, *shapes: Shape, **_: Any) -> list[Result]:
        matrix, vector = shapes
        if square(self.name, matrix) != vector[0]:
            raise ShapeError(
                message(
                    "lax.linalg.cholesky_update, argument w_vector",
                    given=f"a vector of size {vector[0]} for a matrix of shape {matrix}",
                    expected=f"size {matrix[0]}",
                    fix="Pass one number for each row.",
                )
            )
        return [(matrix, dtype)]

    def evaluate_one(self, *matrices: Any, **_: Any) -> Any:
        rows, w = np.triu(matrices[0]), matrices[1].copy()
        if native is not None:
            rows = np.ascontiguousarray(rows)
            native.cholesky_update(rows, np.ascontiguousarray(w))
            return rows
        if 0 < len(rows) <= _FEW_ROWS:
            return np.array(_rotated_numbers(rows.tolist(), w.tolist()), rows.dtype)
        for k, row in enumerate(rows):
            if w[k] == 0:
                continue
            length = np.hypot(row[k], w[k])
            c, s = row[k] / length, w[k] / length
            rows[k, k:], w[k:] = c * row[k:] + s * w[k:], c * w[k:] - s * row[k:]
        return rows

    def lower(self, b: Builder, out: Any, *values: Value, **_: Any) -> Value:
        """A loop over the rows."""
        matrix, vector = values
        if not out.size:
            return b.full(0, out)
        start = upper_triangle(b, matrix), vector
        return counted_loop(b, out.shape[-1], _rotated, *start)[0]

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any], **_: Any) -> tuple[Any, Any]:
        """dS = Φ(S⁻ᵀ d(Rᵀ R + w wᵀ) S⁻¹)ᵀ S, where Φ takes the lower triangle, half the diagonal.

        d(Rᵀ R + w wᵀ) is a matrix plus its transpose.
        """
        (r, w), (r_dot, w_dot) = primals, tangents
        factor = self.bind(r, w)
        terms = []
        if not is_zero(r_dot):
            upper, moved = [triangle(x, lower=False) for x in (r, r_dot)]
            terms.append(product(swapped(upper), moved))
        if not is_zero(w_dot):
            row, moved = [expand_dims(x, (aval_of(w).ndim - 1,)) for x in (w, w_dot)]
            terms.append(product(swapped(row), moved))
        half = sum_of_tangents(terms, aval_of(factor))
        change = add(half, swapped(half))
        inner = _solved(factor, _solved(factor, change, left_side=True), left_side=False)
        return factor, product(swapped(lower_half(inner)), factor)


def _solved(factor: Any, x: Any, *, left_side: bool) -> Any:
    """S⁻ᵀ x, or x S⁻¹."""
    return solved(factor, x, left_side=left_side, lower=False, transpose_a=left_side)


def _rotated_numbers(rows: list[list[float]], w: list[float]) -> list[list[float]]:
    """The rows of a matrix after all rotations, in place; `w` is used up."""
    for k, row in enumerate(rows):
        if w[k] == 0:
            continue
        length = math.hypot(row[k], w[k])
        c, s = row[k] / length, w[k] / length
        for j in range(k, len(w)):
            row[j], w[j] = c * row[j] + s * w[j], c * w[j] - s * row[j]
    return rows


def _rotated(b: Builder, k: Value, rows: Value, w: Value) -> tuple[Value, Value]:
    """The matrix and w after the rotation of row k."""
    matrix, vector = rows.aval, w.aval
    one, ndim = vector.update(shape=(*vector.shape[:-1], 1)), vector.ndim
    line = matrix.update(shape=(*vector.shape[:-1], 1, vector.shape[-1]))
    zero = b.constant(0, k.aval)
    stack = [zero] * (ndim - 1)

    def at(x: Value, out: Any, *start: Value) -> Value:
        return b.dynamic_slice(x, out, [*stack, *start], out.shape)

    row = b.reshape(at(rows, line, k, zero), vector)
    x, y = at(row, one, k), at(w, one, k)
    # The larger of both is taken out, lest squares overflow or vanish.
    sizes = [b.op("stablehlo.abs", one, value) for value in (x, y)]
    scale = b.op("stablehlo.maximum", one, *sizes)
    squares = []
    for value in (x, y):
        part = b.op("stablehlo.divide", one, value, scale)
        squares.append(b.op("stablehlo.multiply", one, part, part))
    root = b.op("stablehlo.sqrt", one, b.op("stablehlo.add", one, *squares))
    length = b.op("stablehlo.multiply", one, scale, root)
    is_done = compare(b, one.update(dtype=BOOL), "EQ", y, b.full(0, one))
    c, s = [
        b.broadcast(
            b.op(
                "stablehlo.select",
                one,
                is_done,
                b.full(resting, one),
                b.op("stablehlo.divide", one, value, length),
            ),
            vector,
            range(ndim),
        )
        for value, resting in ((x, 1), (y, 0))
    ]

    def turned(operation: str, x: Value, y: Value) -> Value:
        terms = [b.op("stablehlo.multiply", vector, *pair) for pair in ((c, x), (s, y))]
        return b.op(operation, vector, *terms)

    new_row, new_w = turned("stablehlo.add", row, w), turned("stablehlo.subtract", w, row)
    # Rounding must not leave anything before the diagonal of the rows to come.
    places = vector.update(dtype=INT32)
    columns = numbered(b, places, ndim - 1)
    rest = compare(b, vector.update(dtype=BOOL), "GT", columns, b.broadcast(k, places, ()))
    new_w = b.op("stablehlo.select", vector, rest, new_w, b.full(0, vector))
    updated = b.reshape(new_row, line)
    rows = b.op("stablehlo.dynamic_update_slice", matrix, rows, updated, *stack, k, zero)
    return rows, new_w


cholesky_update_p = CholeskyUpdate()


def cholesky_update(r_matrix: Any, w_vector: Any) -> Any:
    """The Cholesky factor of Rᵀ R + w wᵀ from that of Rᵀ R, in O(n²) steps.

    Args:
        r_matrix: upper triangular matrices R of shape `(..., n, n)`, floating.
        w_vector: vectors w `(..., n)` of the same dtype.

    Returns:
        Upper triangular matrices S, `(..., n, n)`, with Sᵀ S = Rᵀ R + w wᵀ.

    Raises:
        TypeError: if the dtypes differ or are not floating.
        ShapeError: if the operands do not fit.

    Reference:
        G. H. Golub and C. F. Van Loan, "Matrix Computations", 4th ed., 2013, §6.5.4.

    Example:
        >>> import morphax.numpy as jnp
        >>> from morphax import lax
        >>> lax.linalg.cholesky_update(jnp.array([[3.0, 0.0], [0.0, 1.0]]), jnp.array([4.0, 0.0]))
        Array([[5., 0.],
               [0., 1.]], dtype=float32)
    """
    dtype = aval_of(r_matrix).dtype
    for position, x in enumerate((r_matrix, w_vector)):
        FLOATING.check("linalg.cholesky_update", position, aval_of(x))
    if dtype not in COMPUTED_IN:
        return cholesky_update_p.bind(r_matrix, w_vector)
    wide = [
        convert(x, COMPUTED_IN[dtype]) if aval_of(x).dtype == dtype else x
        for x in (r_matrix, w_vector)
    ]
    return convert(cholesky_update_p.bind(*wide), dtype)
