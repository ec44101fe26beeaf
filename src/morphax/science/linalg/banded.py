"""Linear systems with banded matrices, of which the diagonals are kept.

The diagonals of a matrix with l of them below the main one and u above stand in the rows of
``ab[u + i − j, j] = A[i, j]``.  Elimination moves down the matrix with a window of l + 1 rows and
l + u + 1 columns, so that time is O(n l (l + u)), and memory O(n (l + u)); rows are exchanged in
the window.  Derivatives are solutions of banded systems too.

Reference: G. H. Golub and C. F. Van Loan, Matrix Computations, 4th ed., Johns Hopkins 2013, 4.3.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from ... import lax
from ... import numpy as jnp
from ...control.custom.custom_linear_solve import custom_linear_solve
from ...control.jit.jit import jit
from ...control.loops.scans import scan
from ...lax.elementwise.convert import convert
from ...lax.ground.axes import integer
from ...util.messages import described
from ..arguments import inexact, refuse, refuse_shape

_PACKAGE = "science.linalg"


def solve_banded(
    l_and_u: tuple[int, int],
    ab: Any,
    b: Any,
    overwrite_ab: bool = False,
    overwrite_b: bool = False,
    check_finite: bool = True,
) -> Any:
    """X of A X = B with a banded matrix A, by elimination with exchanges of rows.

    Args:
        l_and_u: how many diagonals A has below the main one, and above.
        ab: the diagonals (l + u + 1, n): ``ab[u + i - j, j] = A[i, j]``; the corners that belong to
            no element are not read.
        b: right-hand sides, (n,) or (n, k).
        overwrite_ab, overwrite_b, check_finite: without meaning.

    Returns:
        Array of the shape of `b`; NaN where A is singular.

    Raises:
        ValueError: if the shapes do not fit.

    Example:
        >>> import morphax.numpy as jnp
        >>> from morphax.science.linalg import solve_banded
        >>> ab = jnp.array([[0.0, 1.0, 1.0], [2.0, 2.0, 2.0]])
        >>> solve_banded((0, 1), ab, jnp.array([3.0, 3.0, 2.0]))
        Array([1., 1., 1.], dtype=float32)
    """
    where = f"{_PACKAGE}.solve_banded"
    counts = tuple(l_and_u) if np.iterable(l_and_u) else ()
    if len(counts) != 2:
        refuse(where, "l_and_u", described(l_and_u), "two numbers ≥ 0", "Count diagonals.")
    low, high = [integer(f"{where}, argument l_and_u", n) for n in counts]
    if low < 0 or high < 0:
        refuse(where, "l_and_u", f"{(low, high)}", "two numbers ≥ 0", "Count diagonals.")
    ab, b = inexact(where, ab, b)
    check_band(where, "ab", ab, low + high + 1)
    ab = inside(ab, low, high)
    columns = _columns(where, ab, b)
    if not columns.aval.size:
        return jnp.zeros_like(b)
    found = custom_linear_solve(
        lambda x: banded_product(ab, x, low, high),
        columns,
        lambda _, y: _solved(ab, y, low, high),
        lambda _, y: _solved(transposed(ab, low, high), y, high, low),
    )
    return jnp.reshape(found, b.aval.shape)


def inside(ab: Any, low: int, high: int) -> Any:
    """The diagonals, with zeros in the corners, whatever stood there."""
    size = ab.aval.shape[-1]
    row = np.arange(low + high + 1)[:, None] - high + np.arange(size)
    return jnp.where((row >= 0) & (row < size), ab, 0)


def transposed(ab: Any, low: int, high: int) -> Any:
    """The diagonals of Aᵀ, which has `high` of them below the main one and `low` above."""
    rows = [_shifted(ab[high - k], k) for k in range(-low, high + 1)]
    return jnp.stack(rows)


def banded_product(ab: Any, x: Any, low: int, high: int) -> Any:
    """A X for the diagonals of A and a matrix X (n, k)."""
    total: Any = 0
    for offset in range(-low, high + 1):
        total = total + _shifted(ab[high - offset][:, None] * x, offset)
    return total


def _shifted(v: Any, offset: int) -> Any:
    """Rows moved up by `offset`, or down, with zeros behind them."""
    size = v.aval.shape[0]
    offset = max(-size, min(offset, size))
    kept = v[offset:] if offset >= 0 else v[:offset]
    return jnp.pad(kept, [_ends(offset), *[(0, 0)] * (v.aval.ndim - 1)])


def _ends(offset: int) -> tuple[int, int]:
    return (0, offset) if offset >= 0 else (-offset, 0)


# Loops, which eager calls would compile each time.
@partial(jit, static_argnames=("low", "high"), inline=True)
def _solved(ab: Any, b: Any, low: int, high: int) -> Any:
    """X of A X = B for B (n, k)."""
    size = ab.aval.shape[-1]
    if low == high == 0:
        return b / ab[0][:, None]
    if low <= 1 and high <= 1:
        zero = jnp.zeros((size,), ab.aval.dtype)
        lower = _shifted(ab[high + 1], -1) if low else zero
        upper = _shifted(ab[high - 1], 1) if high else zero
        return tridiagonal_solution(lower, ab[high], upper, b)
    width, count = low + high + 1, b.aval.shape[1]
    # Row i of the band, columns i − l … i + u, with the right-hand sides behind it.
    band = jnp.stack([_shifted(ab[high - k], k) for k in range(-low, high + 1)], axis=1)
    rows = jnp.concatenate([band, b], axis=1)
    rows = jnp.pad(rows, ((0, low + 1), (0, 0)))
    # The first window begins at column 0: its row i lacks the i + u + 1 − width first elements.
    window = jnp.stack(
        [
            jnp.concatenate([jnp.pad(rows[i, low - i : width], (0, low - i)), rows[i, width:]])
            for i in range(low + 1)
        ]
    )

    def eliminate(window: Any, following: Any) -> tuple[Any, Any]:
        place = jnp.argmax(jnp.abs(window[:, 0]))
        pivot = window[place]
        window = window.at[place].set(window[0])[1:]
        window = window - (window[:, :1] / pivot[0]) * pivot
        moved = jnp.pad(window[:, 1:width], ((0, 0), (0, 1)))
        window = jnp.concatenate([moved, window[:, width:]], axis=1)
        return jnp.concatenate([window, following[None]]), pivot

    _, pivots = scan(eliminate, window, rows[low + 1 : low + 1 + size])

    def substitute(solved: Any, pivot: Any) -> tuple[Any, Any]:
        x = (pivot[width:] - pivot[1:width] @ solved) / pivot[0]
        return jnp.concatenate([x[None], solved[:-1]]), x

    start = jnp.zeros((width - 1, count), b.aval.dtype)
    _, x = scan(substitute, start, pivots, reverse=True)
    is_singular = jnp.any(pivots[:, 0] == 0)
    return jnp.where(is_singular, jnp.nan, x)


def tridiagonal_solution(lower: Any, diagonal: Any, upper: Any, b: Any) -> Any:
    """X of A X = B for B (n, k), in the dtype of B; narrow numbers are widened for LAPACK."""
    wide = jnp.promote_types(b.aval.dtype, np.float32)
    lower, diagonal, upper, right = [convert(v, wide) for v in (lower, diagonal, upper, b)]
    return convert(lax.linalg.tridiagonal_solve(lower, diagonal, upper, right), b.aval.dtype)


def cholesky_banded(
    ab: Any, overwrite_ab: bool = False, lower: bool = False, check_finite: bool = True
) -> Any:
    """The Cholesky factor of a banded Hermitian matrix: A = L Lᴴ, or Uᴴ U; it has A's bands.

    Args:
        ab: one triangle's diagonals (u + 1, n): ``ab[u + i - j, j] = A[i, j]`` for the upper one,
            ``ab[i - j, j] = A[i, j]`` for the lower one; the imaginary part of the main diagonal
            counts for nothing.
        overwrite_ab, check_finite: without meaning.
        lower: which triangle is given, and which factor returned.

    Returns:
        The diagonals of L or U, as those of `ab`; NaN from where A is not positive definite.

    Raises:
        ValueError: if `ab` is no matrix.

    Example:
        >>> import morphax.numpy as jnp
        >>> from morphax.science.linalg import cholesky_banded
        >>> cholesky_banded(jnp.array([[0.0, 2.0], [4.0, 5.0]]))
        Array([[0., 1.],
               [2., 2.]], dtype=float32)
    """
    where = f"{_PACKAGE}.cholesky_banded"
    (ab,) = inexact(where, ab)
    check_band(where, "ab", ab, None)
    below = ab.aval.shape[0] - 1
    if not lower:
        return adjoint_band(_cholesky(adjoint_band(ab, below, upper=True)), below, upper=False)
    return _cholesky(inside(ab, below, 0))


def adjoint_band(ab: Any, count: int, *, upper: bool) -> Any:
    """The diagonals of the other triangle of a Hermitian matrix, or of the adjoint of a factor."""
    if upper:
        return jnp.conj(transposed(inside(ab, 0, count), 0, count))
    return jnp.conj(transposed(inside(ab, count, 0), count, 0))


# Loops, which eager calls would compile each time.
@partial(jit, inline=True)
def _cholesky(ab: Any) -> Any:
    """L for the lower diagonals of A: a window of what is left of A moves along the diagonal."""
    width, size = ab.aval.shape
    padded = jnp.pad(ab, ((0, 0), (0, width)))
    # What of A lies in the first window, rows and columns 0 … u, below the diagonal.
    window = jnp.stack([jnp.pad(padded[: width - j, j], (j, 0)) for j in range(width)], axis=1)

    def step(window: Any, place: Any) -> tuple[Any, Any]:
        pivot = jnp.sqrt(window[0, 0].real)
        column = window[:, 0] / pivot
        column = column.at[0].set(pivot.astype(column.dtype))
        rest = window[1:, 1:] - column[1:, None] * jnp.conj(column[None, 1:])
        # The next row of A, up to its diagonal, is an antidiagonal of the band.
        row = padded[np.arange(width - 1, -1, -1), place + 1 + np.arange(width)]
        return jnp.concatenate([jnp.pad(rest, ((0, 0), (0, 1))), row[None]]), column

    _, columns = scan(step, window, jnp.arange(size))
    return inside(columns.T, width - 1, 0)


def cho_solve_banded(
    cb_and_lower: tuple[Any, bool], b: Any, overwrite_b: bool = False, check_finite: bool = True
) -> Any:
    """X of A X = B with the Cholesky factor of a banded matrix.

    Args:
        cb_and_lower: the factor of `cholesky_banded`, and its argument `lower`.
        b: right-hand sides, (n,) or (n, k).
        overwrite_b, check_finite: without meaning.

    Raises:
        ValueError: if the shapes do not fit.

    Example:
        >>> import morphax.numpy as jnp
        >>> from morphax.science.linalg import cho_solve_banded, cholesky_banded
        >>> factor = cholesky_banded(jnp.array([[0.0, 2.0], [4.0, 5.0]]))
        >>> cho_solve_banded((factor, False), jnp.array([6.0, 7.0]))
        Array([1., 1.], dtype=float32)
    """
    where = f"{_PACKAGE}.cho_solve_banded"
    factor, lower = cb_and_lower
    factor, b = inexact(where, factor, b)
    check_band(where, "cb_and_lower", factor, None)
    count = factor.aval.shape[0] - 1
    columns = _columns(where, factor, b)
    if not columns.aval.size:
        return jnp.zeros_like(b)
    factor = inside(factor, count, 0) if lower else adjoint_band(factor, count, upper=True)
    return jnp.reshape(_solved_with_factor(factor, columns), b.aval.shape)


# Loops, which eager calls would compile each time.
@partial(jit, inline=True)
def _solved_with_factor(factor: Any, b: Any) -> Any:
    """X of L Lᴴ X = B."""
    count = factor.aval.shape[0] - 1
    # Row i of L, columns i − u … i; then column i, rows i … i + u.
    rows = jnp.stack([_shifted(factor[k], -k) for k in range(count, -1, -1)], axis=1)
    start = jnp.zeros((count, b.aval.shape[1]), b.aval.dtype)

    def forward(before: Any, row: Any) -> tuple[Any, Any]:
        row, right = row
        x = (right - row[:-1] @ before) / row[-1]
        return jnp.concatenate([before, x[None]])[1:], x

    def backward(behind: Any, column: Any) -> tuple[Any, Any]:
        column, right = column
        x = (right - jnp.conj(column[1:]) @ behind) / jnp.conj(column[0])
        return jnp.concatenate([x[None], behind])[:count], x

    _, y = scan(forward, start, (rows, b))
    return scan(backward, start, (factor.T, y), reverse=True)[1]


def solveh_banded(
    ab: Any,
    b: Any,
    overwrite_ab: bool = False,
    overwrite_b: bool = False,
    lower: bool = False,
    check_finite: bool = True,
) -> Any:
    """X of A X = B with a banded, Hermitian and positive definite matrix A.

    Args:
        ab: one triangle's diagonals (u + 1, n), see `cholesky_banded`.
        b: right-hand sides, (n,) or (n, k).
        overwrite_ab, overwrite_b, check_finite: without meaning.
        lower: which triangle is given.

    Returns:
        Array of the shape of `b`; NaN if A is not positive definite.

    Raises:
        ValueError: if the shapes do not fit.

    Example:
        >>> import morphax.numpy as jnp
        >>> from morphax.science.linalg import solveh_banded
        >>> solveh_banded(jnp.array([[0.0, 2.0], [4.0, 5.0]]), jnp.array([6.0, 7.0]))
        Array([1., 1.], dtype=float32)
    """
    where = f"{_PACKAGE}.solveh_banded"
    ab, b = inexact(where, ab, b)
    check_band(where, "ab", ab, None)
    count = ab.aval.shape[0] - 1
    columns = _columns(where, ab, b)
    if not columns.aval.size:
        return jnp.zeros_like(b)
    below = inside(ab, count, 0) if lower else adjoint_band(ab, count, upper=True)
    whole = hermitian_band(below)

    def solve(_: Any, y: Any) -> Any:
        return _solved_with_factor(_cholesky(below), y)

    found = custom_linear_solve(
        lambda x: banded_product(whole, x, count, count),
        columns,
        solve,
        # Aᵀ is the conjugate of A.
        lambda _, y: jnp.conj(solve(None, jnp.conj(y))),
    )
    return jnp.reshape(found, b.aval.shape)


def hermitian_band(below: Any) -> Any:
    """All diagonals of a Hermitian matrix from the lower ones."""
    count = below.aval.shape[0] - 1
    main = below[:1].real.astype(below.aval.dtype)
    above = adjoint_band(below, count, upper=False)[:count]
    return jnp.concatenate([above, main, below[1:]])


def dense_from_band(ab: Any, low: int, high: int) -> Any:
    """The matrix of these diagonals."""
    size = ab.aval.shape[-1]
    column = np.arange(size)
    row = column[:, None]
    place = high + row - column
    known = (place >= 0) & (place <= low + high)
    return jnp.where(known, ab[np.where(known, place, 0), column], 0)


def check_band(where: str, argument: str, ab: Any, rows: int | None) -> None:
    """Refuse what cannot be the diagonals of a matrix, `rows` of them if that is known."""
    fits = ab.aval.ndim == 2 and (ab.aval.shape[0] == rows if rows else ab.aval.shape[0])
    if not fits:
        expected = "one row for each diagonal" if rows is None else f"{rows} diagonals ({rows}, n)"
        refuse_shape(where, argument, f"{ab.aval}", expected, "Use jax.vmap for stacks of them.")


def _columns(where: str, ab: Any, b: Any) -> Any:
    """Right-hand sides as columns."""
    if b.aval.ndim not in (1, 2) or b.aval.shape[0] != ab.aval.shape[1]:
        refuse_shape(
            where,
            "b",
            f"{b.aval} for diagonals {ab.aval}",
            f"a vector of size {ab.aval.shape[1]}, or a matrix of as many rows",
            "Use jax.vmap for stacks of systems.",
        )
    return b[:, None] if b.aval.ndim == 1 else b
