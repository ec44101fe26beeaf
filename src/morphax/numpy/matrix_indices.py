"""The indices of diagonals and triangles of matrices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .. import dtypes, lax
from ..array import Array
from ..array.placement import at_default_place
from ..errors import ShapeError
from ..lax.ground.axes import check_callable, counted, integer
from ..util.messages import message
from .matrices import diagonal_within, matrix_sizes
from .operands import as_array
from .searching import nonzero


def diag_indices(n: int, ndim: int = 2) -> tuple[Any, ...]:
    """The indices of the main diagonal of an array with `ndim` axes of size `n`.

    Args:
        n: the size of each axis.
        ndim: how many axes.

    Returns:
        As many vectors as axes.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.ones((2, 2)).at[jnp.diag_indices(2)].set(0)
        Array([[0., 1.],
               [1., 0.]], dtype=float32)
    """
    size = counted("jnp.diag_indices, argument n", n)
    count = counted("jnp.diag_indices, argument ndim", ndim)
    return tuple([lax.iota(dtypes.python_scalar_dtype(int), size)]) * count


def diag_indices_from(arr: Any) -> tuple[Any, ...]:
    """The indices of the main diagonal of `arr`.

    Example:
        >>> import morphax.numpy as jnp
        >>> a = jnp.array([[1, 2], [3, 4]])
        >>> a[jnp.diag_indices_from(a)]
        Array([1, 4], dtype=int32)
    """
    shape = as_array("diag_indices_from", arr).aval.shape
    if len(shape) < 2 or len(set(shape)) > 1:
        raise ShapeError(
            message(
                "jnp.diag_indices_from, argument arr",
                given=f"shape {shape}",
                expected="at least two axes, all of one size",
                fix="Use jnp.diag_indices(n, ndim).",
            )
        )
    return diag_indices(shape[0], len(shape))


def _static_indices(mask: np.ndarray[Any, Any]) -> tuple[Any, ...]:
    dtype = dtypes.python_scalar_dtype(int)
    found = [Array.from_host(i.astype(dtype)) for i in np.nonzero(mask)]
    return tuple(map(at_default_place, found))


def _lower(name: str, n: int, m: int | None, k: int, offset: int = 0) -> np.ndarray[Any, Any]:
    """Which places of an n × m matrix are on and below a diagonal."""
    rows, columns = map(int, matrix_sizes(name, n, m))
    diagonal_number = integer(f"jnp.{name}, argument k", k) + offset
    return np.tri(rows, columns, diagonal_within(diagonal_number, rows, columns), dtype=bool)


def tril_indices(n: int, k: int = 0, m: int | None = None) -> tuple[Any, Any]:
    """The indices of the elements on and below the `k`-th diagonal of an n × m matrix.

    Args:
        n, m: how many rows and columns; square without `m`.
        k: number of the diagonal, positive above the main one.

    Returns:
        The rows and the columns, two vectors.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.tril_indices(2)
        (Array([0, 1, 1], dtype=int32), Array([0, 0, 1], dtype=int32))
    """
    rows, columns = _static_indices(_lower("tril_indices", n, m, k))
    return rows, columns


def triu_indices(n: int, k: int = 0, m: int | None = None) -> tuple[Any, Any]:
    """The indices of the elements on and above the `k`-th diagonal of an n × m matrix.

    Args:
        n, m: how many rows and columns; square without `m`.
        k: number of the diagonal, positive above the main one.

    Returns:
        The rows and the columns, two vectors.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.triu_indices(2)
        (Array([0, 0, 1], dtype=int32), Array([0, 1, 1], dtype=int32))
    """
    rows, columns = _static_indices(~_lower("triu_indices", n, m, k, -1))
    return rows, columns


def tril_indices_from(arr: Any, k: int = 0) -> tuple[Any, Any]:
    """The indices of the elements of the matrix `arr` on and below its `k`-th diagonal.

    Example:
        >>> import morphax.numpy as jnp
        >>> a = jnp.array([[1, 2], [3, 4]])
        >>> a[jnp.tril_indices_from(a)]
        Array([1, 3, 4], dtype=int32)
    """
    n, m = _matrix_shape("tril_indices_from", arr)
    return tril_indices(n, k, m)


def triu_indices_from(arr: Any, k: int = 0) -> tuple[Any, Any]:
    """The indices of the elements of the matrix `arr` on and above its `k`-th diagonal.

    Example:
        >>> import morphax.numpy as jnp
        >>> a = jnp.array([[1, 2], [3, 4]])
        >>> a[jnp.triu_indices_from(a)]
        Array([1, 2, 4], dtype=int32)
    """
    n, m = _matrix_shape("triu_indices_from", arr)
    return triu_indices(n, k, m)


def mask_indices(
    n: int, mask_func: Callable[[Any, int], Any], k: int = 0, *, size: int | None = None
) -> tuple[Any, Any]:
    """The indices of the elements of an n × n matrix of ones that `mask_func` leaves.

    Example:
        >>> import morphax.numpy as jnp
        >>> rows, columns = jnp.mask_indices(3, jnp.triu)
        >>> list(zip(rows.tolist(), columns.tolist()))
        [(0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2)]
    """
    check_callable("jnp.mask_indices, argument mask_func", mask_func)
    rows, columns = nonzero(mask_func(lax.full((n, n), 1), k), size=size)
    return rows, columns


def _matrix_shape(name: str, arr: Any) -> tuple[int, int]:
    aval = as_array(name, arr).aval
    if aval.ndim == 2:
        return aval.shape
    raise ShapeError(
        message(
            f"jnp.{name}, argument arr",
            given=f"{aval}",
            expected="a matrix",
            fix="Give sizes instead: jnp.tril_indices(n, k, m).",
        )
    )
