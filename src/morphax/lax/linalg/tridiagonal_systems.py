"""Linear systems A X = B with a tridiagonal matrix, of which three diagonals are kept.

All have length n: A[i, i − 1] = dl[i], A[i, i] = d[i] and A[i, i + 1] = du[i]; dl[0] and du[n − 1]
are not read.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, final

import numpy as np

from ...core import aval_of, is_undefined_primal, is_zero
from ...core.dims import Shape
from ...engines import loops
from ...engines.xla.library_calls import call_lapack, call_library, nan_where_failed
from ...engines.xla.stablehlo import Builder, Value
from ...errors import ShapeError
from ...util.messages import message
from ..elementwise.arithmetic import mul, neg, sub
from ..ground.linear_structure import zeros
from ..shape.joining import concatenate
from ..shape.shape_operations import broadcast_in_dim
from ..shape.slicing import slice_in_dim
from .lapack import lapack
from .matrix_stacks import MatrixOperation, Result


@final
class TridiagonalSolve(MatrixOperation):
    """X of A X = B by elimination with exchanges of rows; NaN where A is singular.

    With `perturb_singular`, a pivot so small that the quotient would overflow is replaced by the
    least ε 2ᵏ max |U| for which it does not, of its sign: what inverse iteration wants.

    Reference: of the perturbation, LAPACK, lagts.
    """

    name = "tridiagonal_solve"
    ranks = (1, 1, 1, 2)

    def results(self, dtype: Any, *shapes: Shape, **_: Any) -> list[Result]:
        *diagonals, right = shapes
        if any([diagonal != right[:1] for diagonal in diagonals]):
            raise ShapeError(
                message(
                    "lax.linalg.tridiagonal_solve",
                    given=f"diagonals of shapes {', '.join(map(str, diagonals))} and right-hand "
                    f"sides of shape {right}",
                    expected="diagonals of one length n, and n rows",
                    fix="Pad the lower diagonal in front, and the upper one behind.",
                )
            )
        return [(right, dtype)]

    def evaluate_one(self, *matrices: Any, perturb_singular: bool) -> Any:
        dl, d, du, b = matrices
        if not b.size:
            return b
        if perturb_singular:
            with np.errstate(all="ignore"):
                return _solved_perturbed(dl, d, du, b)
        if len(d) == 1:
            # SciPy's function does not take diagonals without elements.
            return b / d if d[0] else np.full_like(b, _nan(b.dtype))
        *_, x, failed = lapack("gtsv", d.dtype)(dl[1:], d, du[:-1], b)
        return np.full_like(b, _nan(b.dtype)) if failed else np.ascontiguousarray(x)

    def lower(self, b: Builder, out: Any, *values: Value, perturb_singular: bool) -> Value:
        if not out.size:
            return b.full(0, out)
        ranks = (1, 1, 1, 2)
        if perturb_singular:
            (x,) = call_lapack(b, "tridiagonal_solve_perturbed", [out], *values, ranks=(*ranks, 2))
            return x
        if b.module.platform == "cuda":
            return _by_cusparse(b, out, *values)
        info = out.update(shape=out.shape[:-2], dtype=np.dtype(np.int32))
        *_, x, failed = call_lapack(
            b,
            "gtsv",
            [*[v.aval for v in values], info],
            *values,
            ranks=(*ranks, *ranks, 0),
            aliases={i: i for i in range(4)},
        )
        return nan_where_failed(b, out, x, failed)

    def to_loops(
        self, b: loops.Builder, out: Any, *operands: loops.Value, perturb_singular: bool
    ) -> loops.Value:
        if perturb_singular:
            b.refuse("pivots cannot be perturbed")
        return loops.tridiagonal.tridiagonal_solved(b, out, *operands)

    def jvp(
        self, primals: Sequence[Any], tangents: Sequence[Any], **params: Any
    ) -> tuple[Any, Any]:
        """dX = A⁻¹ (dB − dA X)."""
        *diagonals, _ = primals
        x = self.bind(*primals, **params)
        right = None if is_zero(tangents[3]) else tangents[3]
        for offset, change in zip((-1, 0, 1), tangents[:3], strict=True):
            if not is_zero(change):
                moved = _diagonal_product(change, x, offset)
                right = neg(moved) if right is None else sub(right, moved)
        return x, self.bind(*diagonals, right, **params)

    def transpose(self, ct: Any, *operands: Any, **params: Any) -> list[Any]:
        """A⁻ᵀ applied to the cotangent."""
        dl, d, du, _ = operands
        if any(map(is_undefined_primal, (dl, d, du))):
            raise TypeError(
                message(
                    "transposition of tridiagonal_solve",
                    given="a program that is to be transposed with respect to the matrix",
                    expected="one that is linear: in the right-hand side",
                    fix="Differentiate it with jax.vjp.",
                )
            )
        last = aval_of(d).ndim - 1
        lower, upper = _shifted(du, 1, last), _shifted(dl, -1, last)
        return [None, None, None, self.bind(lower, d, upper, ct, **params)]


_FEWEST_ROWS = 3  # of a system that cuSPARSE solves


def _by_cusparse(b: Builder, out: Any, *values: Value) -> Value:
    """X, beside rows x = 0 that small systems are made larger by.

    The library tells of no failure, and divides by the pivots of a singular matrix.
    """
    rows = out.ndim - 2
    added = max(_FEWEST_ROWS - out.shape[rows], 0) if out.is_static else 0
    lower, diagonal, upper, right = values
    # It wants zeros where diagonals have elements that are not of the matrix.
    lower = _framed(b, _without(b, lower, rows, first=True), rows, 1, added)
    upper = _framed(b, _without(b, upper, rows, first=False), rows, 0, added + 1)
    diagonal = _framed(b, diagonal, rows, 0, added, 1.0)
    right = _framed(b, right, rows, 0, added)
    (x,) = call_library(
        b,
        "cusparse_gtsv2_ffi",
        [right.aval],
        lower,
        diagonal,
        upper,
        right,
        ranks=(1, 1, 1, 2, 2),
        aliases={0: 3},
    )
    return b.slice(x, out, [0] * out.ndim, out.shape) if added else x


def _without(b: Builder, x: Value, axis: int, *, first: bool) -> Value:
    """`x` without its first or last element along an axis."""
    size = x.aval.shape[axis]
    return b.slice_along(x, axis, 1, size) if first else b.slice_along(x, axis, 0, size - 1)


def _framed(
    b: Builder, x: Value, axis: int, before: int, behind: int, number: float = 0.0
) -> Value:
    """`x` between so many equal numbers along an axis."""
    aval = x.aval
    size = aval.shape[axis] + before + behind
    out = aval.update(shape=(*aval.shape[:axis], size, *aval.shape[axis + 1 :]))
    config = [(before, behind, 0) if i == axis else (0, 0, 0) for i in range(aval.ndim)]
    return b.pad(x, out, b.constant(number, aval.update(shape=())), config)


def _nan(dtype: Any) -> Any:
    return complex(np.nan, np.nan) if dtype.kind == "c" else np.nan


def _shifted(x: Any, by: int, axis: int) -> Any:
    """The elements along an axis moved on, or back, by one place; 0 fills the one left free."""
    shape = aval_of(x).shape
    if not aval_of(x).size:
        return x
    empty = zeros(aval_of(x).update(shape=(*shape[:axis], 1, *shape[axis + 1 :])))
    if by > 0:
        return concatenate([empty, slice_in_dim(x, 0, -1, axis=axis)], axis)
    return concatenate([slice_in_dim(x, 1, None, axis=axis), empty], axis)


def _diagonal_product(diagonal: Any, x: Any, offset: int) -> Any:
    """The product with X of the matrix whose one diagonal is `offset` places above the main one."""
    aval = aval_of(x)
    rows = aval.ndim - 2
    scale = broadcast_in_dim(diagonal, aval.shape, tuple(range(rows + 1)))
    return mul(scale, x if offset == 0 else _shifted(x, -offset, rows))


def _solved_perturbed(dl: Any, d: Any, du: Any, b: Any) -> Any:
    """Elimination in NumPy, with pivots made larger in the end where quotients would overflow."""
    size, x = len(d), b.copy()
    # Rows of U: its diagonal, and two more that exchanges of rows may fill.
    upper = np.stack([d, du, np.zeros_like(d)], 1)
    upper[-1, 1] = 0
    for i in range(size - 1):
        here, below = upper[i].copy(), np.array([dl[i + 1], *upper[i + 1, :2]])
        if abs(below[0]) > abs(here[0]):
            here, below = below, here
            x[[i, i + 1]] = x[[i + 1, i]]
        factor = below[0] / here[0] if here[0] else below[0]
        upper[i] = here
        upper[i + 1, :2] = (below - factor * here)[1:]
        x[i + 1] -= factor * x[i]
    return _substituted_back(upper, x)


def _substituted_back(upper: Any, x: Any) -> Any:
    info = np.finfo(x.dtype)
    least = info.eps * np.abs(upper).max() or info.tiny
    for i in reversed(range(len(x))):
        right = x[i] - sum([upper[i, k] * x[i + k] for k in (1, 2) if i + k < len(x)])
        pivots, step = np.full_like(right, upper[i, 0]), np.copysign(least, upper[i, 0].real)
        while (small := _overflows(right, pivots, 1 / info.tiny)).any():
            pivots[small] = step
            step *= 2
        x[i] = right / pivots
    return x


def _overflows(right: Any, pivots: Any, largest: Any) -> Any:
    size = np.abs(pivots)
    return (size < 1) & ((size == 0) | (np.abs(right) > size * largest))


tridiagonal_solve_p = TridiagonalSolve()


def tridiagonal_solve(dl: Any, d: Any, du: Any, b: Any, *, perturb_singular: bool = False) -> Any:
    """Solve linear systems with a tridiagonal matrix: A X = B.

    Args:
        dl: lower diagonals of shape `(..., n)`: ``dl[i] = A[i, i - 1]``; ``dl[0]`` is not read.
        d: main diagonals of shape `(..., n)`.
        du: upper diagonals of shape `(..., n)`: ``du[i] = A[i, i + 1]``; the last is not read.
        b: right-hand sides of shape `(..., n, k)`; all of one dtype: float32, float64, complex64
            or complex128.
        perturb_singular: whether pivots of a singular matrix are changed by the order of ε max |U|,
            so that the result is finite, as inverse iteration wants it.

    Returns:
        Array of the shape and dtype of `b`; NaN where the matrix is singular.

    Raises:
        ShapeError: if the operands do not fit.

    Reference:
        LAPACK, gtsv and lagts.

    Example:
        >>> import morphax.numpy as jnp
        >>> from morphax import lax
        >>> one = jnp.ones(3)
        >>> lax.linalg.tridiagonal_solve(0 * one, 2 * one, 0 * one, jnp.ones((3, 1)))[:, 0]
        Array([0.5, 0.5, 0.5], dtype=float32)
    """
    return tridiagonal_solve_p.bind(dl, d, du, b, perturb_singular=bool(perturb_singular))
