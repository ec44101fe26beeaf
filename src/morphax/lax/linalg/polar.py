"""The polar decomposition A = U H by Halley's iteration with dynamic weights.

A rational function of odd degree maps the singular values of X towards 1, and leaves its vectors.
Its weights depend on a lower bound of the values alone, so they are numbers, known while tracing,
and so is the number of steps: five in single precision, six in double.  The first ones, whose
weights are large, go through QR factors, which lose no digits; the others through Cholesky factors,
which are faster.

Values below the bound ε are the noise of others, where the rank is not full.  They are to become 1
as well, and the first step takes them along, as many times as small as they were.  So from the
second step on the bound is lower, and the weights larger, than the first would ask for: by ε to the
power 0.4 that is no step more, and noise of ε to the power 1.4 becomes 1.  To begin with a lower
bound would cost digits, for the larger the weight is, the less is the identity below the matrix
worth in the QR factors.

References: Y. Nakatsukasa, Z. Bai and F. Gygi, "Optimizing Halley's iteration for computing the
matrix polar decomposition", SIAM J. Matrix Anal. Appl. 31 (2010); Y. Nakatsukasa and N. J. Higham,
"Backward stability of iterations for computing the polar decomposition", ibid. 33 (2012).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ...core import aval_of
from ...engines.reference.replay import replayed
from ...errors import ShapeError
from ...util.messages import message
from ..elementwise.arithmetic import add, div, mul, sub
from ..elementwise.bitwise import bitwise_and
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
# The power of ε by which the bound is lowered after the first step.
_OF_NOISE = 0.4


@replayed(1)
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
    steps = list(_weights(tolerance))
    taken = steps[:max_iterations]
    u, change = _iterated(x, taken)
    converged = full((), False, bool)
    # The weights of other steps change the numbers however near they are.
    if taken and len(taken) == len(steps):
        near = change.aval.dtype.type(_near(tolerance))
        converged = le(change, mul(_frobenius(u), near))
    count = full((), len(taken), np.int32)
    return u, symmetrized("qdwh", product(adjoint(u), x)), count, converged


def _inside(x: Any, shape: tuple[Any, Any]) -> Any:
    """`x` within a number of rows and columns, 0 beyond."""
    sizes = aval_of(x).shape
    kept = [
        lt(broadcasted_iota(np.int32, sizes, axis), convert(n, np.dtype(np.int32)))
        for axis, n in enumerate(shape)
    ]
    return select(bitwise_and(*kept), x, zeros(aval_of(x)))


def _near(tolerance: float) -> float:
    """How far from 1 values may be that the next step maps to 1, with an error of `tolerance`."""
    return (4 * tolerance) ** (1 / 3)


def _weights(tolerance: float) -> Iterator[tuple[float, float, float]]:
    """The weights a, b, c of each step, for singular values between a lower bound and 1.

    Before the last step all of these are near 1, so that it tells by its change whether others
    are.
    """
    bound, lowered = min(tolerance, 1.0), tolerance**_OF_NOISE
    while True:
        square = bound * bound
        root = math.sqrt(1 + (4 * (1 - square) / square**2) ** (1 / 3))
        inner = 8 - 4 * (root**2 - 1) + 8 * (2 - square) / (square * root)
        a = root + math.sqrt(inner) / 2
        b = (a - 1) ** 2 / 4
        yield a, b, a + b - 1
        if 1 - bound <= _near(tolerance):
            return
        grown = bound * (a + b * square) / (1 + (a + b - 1) * square)
        bound, lowered = min(grown * lowered, 1.0), 1.0


def _iterated(x: Any, steps: Sequence[tuple[float, float, float]]) -> tuple[Any, Any]:
    """U after some steps, and the size of the change by the last one; before all of them 0."""
    u = before = _over(x, _bound_of_norm(x))
    for a, b, c in steps:
        before = u
        u = _through_qr(u, a, b, c) if c > _LARGE else _through_cholesky(u, a, b, c)
    return u, _frobenius(sub(u, before))


def _over(x: Any, bound: Any) -> Any:
    """`x` over a bound of its norm, also where the inverse of that would be infinite."""
    part = np.dtype(real_dtype(aval_of(x).dtype))
    is_tiny = lt(bound, part.type(np.finfo(part).tiny))
    scale = select(is_tiny, *[np.asarray(n, part) for n in (2.0**60, 1.0)])
    inverse = div(part.type(1), mul(bound, scale))
    return mul(mul(x, _repeated(scale, x)), _repeated(inverse, x))


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
