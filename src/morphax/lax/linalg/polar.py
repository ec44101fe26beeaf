"""The polar decomposition A = U H by Halley's iteration with dynamic weights.

A rational function of odd degree maps the singular values of X towards 1, and leaves its vectors.
Its weights depend on a lower bound of the values alone, so they are numbers, known while tracing:
from ε to 1 takes six steps in double precision.  The first ones, whose weights are large, go
through QR factors, which lose no digits; the others through Cholesky factors, which are faster.

Reference: Y. Nakatsukasa, Z. Bai and F. Gygi, "Optimizing Halley's iteration for computing the
matrix polar decomposition", SIAM J. Matrix Anal. Appl. 31 (2010).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from ...array import Array
from ...core import aval_of
from ...engines.reference.replay import replayed
from ...errors import ShapeError
from ...util.messages import message
from ..elementwise.arithmetic import add, div, mul, sub
from ..elementwise.bitwise import bitwise_and, bitwise_or
from ..elementwise.comparison import eq, le, lt
from ..elementwise.complex import real_dtype
from ..elementwise.convert import convert
from ..elementwise.magnitude import abs as abs_
from ..elementwise.powers import sqrt
from ..elementwise.selection import select
from ..ground.linear_structure import reduce_sum, zeros
from ..reduction.reductions import reduce_max
from ..shape.filling import broadcasted_iota, full
from ..shape.shape_operations import broadcast_in_dim
from .blocks import above, block
from .cholesky import cholesky_p
from .matrix_stacks import FACTORED, adjoint, product, symmetrized
from .qr import qr
from .triangular import triangular_solve

# Beyond this weight the products of a step through Cholesky factors lose too many digits.
_LARGE = 100.0
# For singular values below the bound, which are the noise of others.
_FURTHER_STEPS = 4


def qdwh(
    x: Any,
    *,
    is_hermitian: bool = False,
    max_iterations: int | None = None,
    eps: float | None = None,
    dynamic_shape: tuple[int, int] | None = None,
) -> tuple[Any, Any, Any, Any]:
    """The polar decomposition A = U H: orthonormal columns times a positive semidefinite matrix.

    Args:
        x: matrix `(m, n)`, m ≥ n: float32, float64, complex64 or complex128.
        is_hermitian: without meaning.
        max_iterations: limit of the number of steps.
        eps: singular values above this share of the largest are mapped to 1, with this error; the
            precision of the dtype by default.
        dynamic_shape: numbers of rows and columns that count, if not all do: U and H are 0 beyond.

    Returns:
        The tuple of U `(m, n)`, H `(n, n)`, the number of steps, and whether they converged.
        Singular values that are 0 stay so, and U is no isometry then.

    Raises:
        ShapeError: unless `x` is one matrix with m ≥ n.

    Example:
        >>> import morphax.numpy as jnp
        >>> from morphax import lax
        >>> u, h, steps, converged = lax.linalg.qdwh(jnp.array([[0.0, 2.0], [-3.0, 0.0]]))
        >>> bool(jnp.allclose(h, jnp.array([[3.0, 0.0], [0.0, 2.0]]), atol=1e-5))
        True
    """
    aval = aval_of(x)
    FACTORED.check("linalg.qdwh", 0, aval)
    if aval.ndim != 2 or aval.shape[0] < aval.shape[1]:
        raise ShapeError(
            message(
                "lax.linalg.qdwh",
                given=aval.str_short(short_dtypes=False),
                expected="one matrix with at least as many rows as columns",
                fix="Pass the adjoint of a wide matrix, or use jax.vmap for stacks.",
            )
        )
    if dynamic_shape is not None:
        x = _inside(x, dynamic_shape)
    tolerance = float(np.finfo(aval.dtype).eps) if eps is None else float(eps)
    steps = tuple(_weights(tolerance))
    # The weights of the first steps change the numbers however near they are.
    told = len(steps) - _FURTHER_STEPS - 1
    chosen = steps[:max_iterations]
    state = _begun(x, chosen[:told])
    for weights in chosen[told:]:
        # Numbers that are known need no step that changes nothing.
        if isinstance(state[2], Array) and state[2]:
            break
        state = _stepped(*state, weights, (4 * tolerance) ** (1 / 3))
    u, count, converged = state
    return u, _stretch(u, x), count, converged


@replayed(2)
def _stretch(u: Any, x: Any) -> Any:
    return symmetrized("qdwh", product(adjoint(u), x))


def _inside(x: Any, shape: tuple[Any, Any]) -> Any:
    """`x` within a number of rows and columns, 0 beyond."""
    sizes = aval_of(x).shape
    kept = [
        lt(broadcasted_iota(np.int32, sizes, axis), convert(n, np.dtype(np.int32)))
        for axis, n in enumerate(shape)
    ]
    return select(bitwise_and(*kept), x, zeros(aval_of(x)))


def _weights(bound: float) -> Iterator[tuple[float, float, float]]:
    """The weights a, b, c of each step, for singular values between a lower bound and 1."""
    tolerance = bound
    while abs(1 - bound) > 10 * tolerance and bound < 1:
        square = bound * bound
        root = math.sqrt(1 + (4 * (1 - square) / square**2) ** (1 / 3))
        inner = 8 - 4 * (root**2 - 1) + 8 * (2 - square) / (square * root)
        a = root + math.sqrt(inner) / 2
        b = (a - 1) ** 2 / 4
        yield a, b, a + b - 1
        bound = min(bound * (a + b * square) / (1 + (a + b - 1) * square), 1.0)
    for _ in range(_FURTHER_STEPS):
        yield 3.0, 1.0, 3.0


@replayed(1)
def _begun(x: Any, steps: tuple[tuple[float, float, float], ...]) -> tuple[Any, Any, Any]:
    """U after steps of which none can be the last, how many they are, and False: it is not done.

    Args:
        x: the matrix.
        steps: weights.
    """
    part = np.dtype(real_dtype(aval_of(x).dtype))
    u = mul(x, _repeated(div(part.type(1), _bound_of_norm(x)), x))
    for weights in steps:
        u = _moved(u, weights)
    return u, full((), len(steps), np.int32), full((), False, bool)


@replayed(3)
def _stepped(
    u: Any, count: Any, done: Any, weights: tuple[float, float, float], tolerance: float
) -> tuple[Any, Any, Any]:
    """The same after one step more, unless it is done, which it is where a step changes little."""
    part = np.dtype(real_dtype(aval_of(u).dtype))
    moved = _moved(u, weights)
    change, size = _frobenius(sub(moved, u)), _frobenius(moved)
    u = select(broadcast_in_dim(done, aval_of(u).shape, ()), u, moved)
    count = add(count, select(done, np.int32(0), np.int32(1)))
    return u, count, bitwise_or(done, le(change, mul(size, part.type(tolerance))))


def _moved(u: Any, weights: tuple[float, float, float]) -> Any:
    return (_through_qr if weights[2] > _LARGE else _through_cholesky)(u, *weights)


def _bound_of_norm(x: Any) -> Any:
    """√(|A|₁ |A|∞), which is not less than the largest singular value; 1 if that is 0."""
    sizes = abs_(x)
    if not aval_of(x).size:
        return full((), 1, aval_of(sizes).dtype)
    columns, rows = [reduce_max(reduce_sum(sizes, (axis,)), (0,)) for axis in (0, 1)]
    bound = mul(sqrt(columns), sqrt(rows))
    one = full((), 1, aval_of(sizes).dtype)
    return select(eq(bound, zeros(aval_of(bound))), one, bound)


def _frobenius(x: Any) -> Any:
    size = abs_(x)
    return sqrt(reduce_sum(mul(size, size), (0, 1)))


def _repeated(scale: Any, x: Any) -> Any:
    return broadcast_in_dim(convert(scale, aval_of(x).dtype), aval_of(x).shape, ())


def _times(x: Any, factor: float) -> Any:
    return mul(x, np.asarray(factor, aval_of(x).dtype))


def _through_qr(u: Any, a: float, b: float, c: float) -> Any:
    """(b/c) X + (a − b/c) Q₁ Q₂ᴴ / √c from the QR factors of √c X over the identity."""
    rows, columns = aval_of(u).shape
    q, _ = qr(above(_times(u, math.sqrt(c)), _identity(u)), full_matrices=False)
    first = block(q, (0, rows), (0, columns))
    second = block(q, (rows, rows + columns), (0, columns))
    turned = _times(product(first, adjoint(second)), (a - b / c) / math.sqrt(c))
    return add(_times(u, b / c), turned)


def _through_cholesky(u: Any, a: float, b: float, c: float) -> Any:
    """(b/c) X + (a − b/c) X (1 + c Xᴴ X)⁻¹."""
    factor = cholesky_p.bind(add(_times(product(adjoint(u), u), c), _identity(u)))
    is_complex = aval_of(u).dtype.kind == "c"
    found = triangular_solve(factor, u, lower=True, transpose_a=True, conjugate_a=is_complex)
    found = triangular_solve(factor, found, lower=True)
    return add(_times(u, b / c), _times(found, a - b / c))


def _identity(u: Any) -> Any:
    size = aval_of(u).shape[1]
    places = [broadcasted_iota(np.int32, (size, size), axis) for axis in (0, 1)]
    return convert(eq(*places), aval_of(u).dtype)
