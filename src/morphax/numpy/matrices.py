"""Matrices of a given form (identity, triangular, diagonal, …), and the indices of such parts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .. import dtypes, lax
from ..core import aval_of
from ..core.dims import Dim
from ..engines.reference.replay import replayed
from ..errors import ShapeError
from ..lax.elementwise.convert import convert
from ..lax.ground.axes import integer, integer_or_size
from ..util.messages import message
from .arithmetic import power
from .at import At
from .creation import placed
from .of_numpy import diag_of_numpy, tril_of_numpy, triu_of_numpy
from .operands import as_array, settled
from .selection import diagonal, where
from .shaping import broadcast_to, ravel

# Powers in a row that are products of squares: to as many digits as NumPy's own products have, of
# numbers that lose none on the way; and of all numbers.
_MOST_BY_SQUARES, _MOST_EXACT = 16, 3
_BY_SQUARES = frozenset(map(np.dtype, "bBhHiIlLfd"))


def diagonal_within(k: int, rows: int, columns: int) -> int:
    """The number of a diagonal, or of the first outside, than which none is further out."""
    return max(-rows, min(k, columns))


def _compared(compare: Callable[[Any, Any], Any], rows: int, columns: int, k: int) -> Any:
    """Where row number + k compares so with the column number."""
    if type(rows) is int and type(columns) is int:
        k = diagonal_within(k, rows, columns)
    shape = (rows, columns)
    row = lax.broadcasted_iota(np.int32, shape, 0)
    shifted = lax.add(row, np.int32(k)) if k else row
    return compare(shifted, lax.broadcasted_iota(np.int32, shape, 1))


def matrix_sizes(name: str, rows: Any, columns: Any) -> tuple[Dim, Dim]:
    """The sizes of a matrix, square if the number of columns is `None`."""
    n = integer_or_size(f"jnp.{name}, argument N", rows)
    return n, n if columns is None else integer_or_size(f"jnp.{name}, argument M", columns)


def eye(
    N: int,
    M: int | None = None,
    k: int = 0,
    dtype: Any = None,
    *,
    device: Any = None,
) -> Any:
    """A matrix with ones on the `k`-th diagonal above the main one.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.eye(2, 3, 1)
        Array([[0., 1., 0.],
               [0., 0., 1.]], dtype=float32)
    """
    target = dtypes.requested(float if dtype is None else dtype, "eye")
    ones = _compared(lax.eq, *matrix_sizes("eye", N, M), integer("jnp.eye, argument k", k))
    result = convert(ones, target)
    return placed(result, device)


def identity(n: int, dtype: Any = None) -> Any:
    """The n × n matrix with ones on the diagonal.

    Args:
        n: the size.
        dtype: of the result; floating without it.

    Raises:
        ValueError: `n` is negative.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.identity(2)
        Array([[1., 0.],
               [0., 1.]], dtype=float32)
    """
    return eye(n, dtype=dtype)


def tri(
    N: int,
    M: int | None = None,
    k: int = 0,
    dtype: Any = None,
) -> Any:
    """A matrix with ones on and below the `k`-th diagonal.

    Args:
        N, M: how many rows and columns; square without `M`.
        k: number of the diagonal, positive above the main one.
        dtype: of the result.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.tri(2, 3)
        Array([[1., 0., 0.],
               [1., 1., 0.]], dtype=float32)
    """
    target = dtypes.requested(float if dtype is None else dtype, "tri")
    below = _compared(lax.ge, *matrix_sizes("tri", N, M), integer("jnp.tri, argument k", k))
    return convert(below, target)


@replayed(1, of_many=tril_of_numpy)
def tril(m: Any, k: int = 0) -> Any:
    """The matrices `m` with zeros above the `k`-th diagonal.

    Args:
        m: array (..., m, n).
        k: number of the diagonal, positive above the main one.

    Raises:
        ValueError: `m` has fewer than two axes.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.tril(jnp.array([[1, 2], [3, 4]]))
        Array([[1, 0],
               [3, 4]], dtype=int32)
    """
    return _triangle("tril", m, lambda mask, m: where(mask, m, lax.full_like(m, 0)), k)


@replayed(1, of_many=triu_of_numpy)
def triu(m: Any, k: int = 0) -> Any:
    """The matrices `m` with zeros below the `k`-th diagonal.

    Args:
        m: array (..., m, n).
        k: number of the diagonal, positive above the main one.

    Raises:
        ValueError: `m` has fewer than two axes.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.triu(jnp.array([[1, 2], [3, 4]]))
        Array([[1, 2],
               [0, 4]], dtype=int32)
    """
    return _triangle("triu", m, lambda mask, m: where(mask, lax.full_like(m, 0), m), k, -1)


def _triangle(name: str, m: Any, choose: Callable[[Any, Any], Any], k: int, offset: int = 0) -> Any:
    m = as_array(name, m)
    if m.aval.ndim < 2:
        raise ValueError(
            message(
                f"jnp.{name}, argument m",
                given=f"{m.aval}",
                expected="at least two axes",
                fix="Make it a matrix with jnp.diag or reshape.",
            )
        )
    diagonal_number = integer(f"jnp.{name}, argument k", k) + offset
    rows, columns = m.aval.shape[-2:]
    return choose(_compared(lax.ge, rows, columns, diagonal_number), m)


@replayed(1, by_numpy=diag_of_numpy)
def diag(v: Any, k: int = 0) -> Any:
    """A matrix with the vector `v` on its `k`-th diagonal; of a matrix, that diagonal.

    Args:
        v: vector (n,) or matrix (m, n).
        k: number of the diagonal, positive above the main one.

    Raises:
        ValueError: `v` has another number of axes.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.diag(jnp.array([1, 2]))
        Array([[1, 0],
               [0, 2]], dtype=int32)
        >>> jnp.diag(jnp.array([[1, 2], [3, 4]]), 1)
        Array([2], dtype=int32)
    """
    v, k = as_array("diag", v), integer("jnp.diag, argument k", k)
    if v.aval.ndim == 2:
        return diagonal(v, k)
    if v.aval.ndim != 1:
        raise ShapeError(
            message(
                "jnp.diag, argument v",
                given=f"{v.aval}",
                expected="a vector or a matrix",
                fix="Use jnp.diagflat or jnp.diagonal.",
            )
        )
    count = v.aval.size
    n = count + abs(k)
    if not count:
        return lax.full((n, n), 0, v.aval.dtype)
    zero = lax.full_like(v, 0, shape=())
    rows = lax.pad(v, zero, [(max(-k, 0), max(k, 0), 0)]) if k else v
    spread = lax.broadcast_in_dim(rows, (n, n), (0,))
    return where(_compared(lax.eq, n, n, k), spread, zero)


@replayed(1)
def diagflat(v: Any, k: int = 0) -> Any:
    """A matrix with all elements of `v` on its `k`-th diagonal.

    Args:
        v: array of n elements, flattened.
        k: number of the diagonal, positive above the main one.

    Returns:
        A square matrix of size n + |k|.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.diagflat(jnp.array([1, 2]), 1)
        Array([[0, 1, 0],
               [0, 0, 2],
               [0, 0, 0]], dtype=int32)
    """
    return settled(diag(ravel(as_array("diagflat", v)), k))


@replayed(1)
def vander(x: Any, N: int | None = None, increasing: bool = False) -> Any:
    """The powers of the elements of a vector, one row for each; the highest comes first.

    Args:
        x: vector (m,).
        N: how many powers; m without it.
        increasing: whether the lowest power, 1, comes first.

    Returns:
        A matrix (m, N).

    Raises:
        ValueError: `x` is no vector.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.vander(jnp.array([2, 3]), 3)
        Array([[4, 2, 1],
               [9, 3, 1]], dtype=int32)
    """
    x = as_array("vander", x)
    if x.aval.ndim != 1:
        raise ShapeError(
            message(
                "jnp.vander, argument x",
                given=f"{x.aval}",
                expected="a vector",
                fix="Use jnp.ravel first.",
            )
        )
    count = x.aval.size if N is None else integer("jnp.vander, argument N", N)
    powers = lax.iota(np.int32, count)
    powers = powers if increasing else lax.rev(powers, (0,))
    column, dtype = lax.expand_dims(x, (1,)), x.aval.dtype
    if dtype == np.bool_:
        return power(column, powers)
    if count > (_MOST_BY_SQUARES if dtype in _BY_SQUARES else _MOST_EXACT):
        return convert(power(column, powers), dtype)
    base = broadcast_to(column, (x.aval.size, count))
    return _by_squares(base, broadcast_to(powers, base.aval.shape), max(count - 1, 0))


def _by_squares(base: Any, exponent: Any, most: int) -> Any:
    """Whole powers up to the highest, element by element, with no logarithm of each number.

    A square is taken where a power needs it, and is no factor of 1 where it is the power itself:
    what overflows elsewhere would make the slope no number.  Powers beyond the highest, which have
    several factors, nobody asks for.
    """
    one = lax.full_like(base, 1)
    result, square = one, base
    for bit in range(most.bit_length()):
        value = lax.full_like(exponent, 1 << bit)
        product = square
        if bit:
            root = where(lax.ge(exponent, value), square, one)
            product = square = lax.mul(root, root)
        if bit and most > 1 << bit:
            is_first = lax.eq(lax.bitwise_and(exponent, lax.sub(value, 1)), 0)
            product = where(is_first, square, lax.mul(result, square))
        result = where(lax.ne(lax.bitwise_and(exponent, value), 0), product, result)
    return result


def fill_diagonal(a: Any, val: Any, wrap: bool = False, *, inplace: bool = True) -> Any:
    """`a` with `val` on its main diagonal.

    Args:
        a: array with at least two axes.
        val: scalar, or values that are repeated along the diagonal.
        wrap: must be false.
        inplace: must be false: arrays are immutable.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.fill_diagonal(jnp.zeros((2, 2)), 5.0, inplace=False)
        Array([[5., 0.],
               [0., 5.]], dtype=float32)
    """
    a, val = as_array("fill_diagonal", a), as_array("fill_diagonal", val)
    if inplace or wrap:
        raise NotImplementedError(
            message(
                "jnp.fill_diagonal",
                given=f"inplace={inplace}, wrap={wrap}",
                expected="inplace=False, wrap=False",
                fix="Write a = jnp.fill_diagonal(a, val, inplace=False).",
            )
        )
    if a.aval.ndim < 2:
        raise ShapeError(
            message(
                "jnp.fill_diagonal, argument a",
                given=f"{a.aval}",
                expected="an array with at least two axes",
                fix="A vector has no diagonal; a.at[0].set(val) writes its first element.",
            )
        )
    count = min(a.aval.shape)
    places = lax.iota(np.int32, count)
    if val.aval.ndim:
        flat = ravel(val)
        flat = flat[np.arange(count) % aval_of(flat).size]
        val = flat
    return At(a)[(places,) * a.aval.ndim].set(val)
