"""LAPACK and BLAS of SciPy, which eager mode calls: for one matrix, or in native code for stacks.

They read matrices by columns.  To them a stack that lies by rows is one of the transposes, and
`by_columns` copies it where a problem has no transposed twin.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from ...util.compiled import part, twin_in

_LETTER = {"f": "s", "d": "d", "F": "c", "D": "z"}

_OF_BLAS = frozenset({"trsm"})

_COMPLEX = {"orgqr": "ungqr", "ormqr": "unmqr", "sytrd": "hetrd", "syevd": "heevd"}

BLOCK = 64
"""Columns that LAPACK works on at once, at most: work space is this many times the size."""

compiled = part("lapack")
"""The loops over stacks; where it is None, each matrix is a call of `lapack`."""

Argument = int | str | np.ndarray[Any, Any] | tuple[int]


@cache
def lapack(function: str, dtype: np.dtype[Any]) -> Callable[..., Any]:
    """SciPy's function for one matrix of a dtype: ``getrf`` is ``dgetrf`` for float64."""
    from scipy.linalg import blas
    from scipy.linalg import lapack as library

    return getattr(blas if function in _OF_BLAS else library, _full_name(function, dtype))


def call_each(function: str, dtype: np.dtype[Any], count: int, *arguments: Argument) -> None:
    """Call the function of Fortran for each matrix of a stack of `count`, in native code.

    Args:
        function: its name without the letter of the dtype.
        dtype: of the matrices.
        count: of matrices.
        *arguments: a number, a letter, one number for all (an array without axes), what belongs to
            each matrix (an array whose first axis is that of the stack), or scratch memory of as
            many bytes as a tuple says.  Functions read and write the memory of arrays, and what
            they want of dtypes and sizes is for the caller to know.
    """
    assert compiled is not None
    compiled.call_each(_routine(function, dtype), count, *arguments)


@cache
def _routine(function: str, dtype: np.dtype[Any]) -> Any:
    """The address, in a capsule that is named by the declaration in C."""
    from scipy.linalg import cython_blas, cython_lapack

    library = cython_blas if function in _OF_BLAS else cython_lapack
    return library.__pyx_capi__[_full_name(function, dtype)]


def _full_name(function: str, dtype: np.dtype[Any]) -> str:
    # What is orthogonal or symmetric for real matrices is unitary or Hermitian for complex ones.
    if dtype.kind == "c":
        function = _COMPLEX.get(function, function)
    return _LETTER[dtype.char] + function


@twin_in(compiled)
def by_columns(x: Any) -> Any:
    """The transpose of each matrix of a stack, by rows: the matrices as LAPACK reads them."""
    return x.swapaxes(1, 2).copy()


@twin_in(compiled)
def rows_taken(x: Any, rows: Any) -> Any:
    """Of each matrix of a stack by rows the rows that one row of `rows` numbers."""
    return x[np.arange(len(x))[:, None], rows]


@twin_in(compiled)
def permutations(pivots: Any, rows: int, first: int) -> Any:
    """The orders of rows after exchanges, int32 of shape `(count, rows)`.

    Args:
        pivots: int32 of shape `(count, k)`: row i is exchanged with row ``pivots[i]``, one after
            another.
        rows: how many there are.
        first: the number of the first row, as `pivots` counts.
    """
    orders = np.tile(np.arange(rows, dtype=np.int32), (len(pivots), 1))
    for order, others in zip(orders, pivots - np.int32(first), strict=True):
        for i, other in enumerate(others.tolist()):
            order[i], order[other] = order[other], order[i]
    return orders


def scratch(dtype: np.dtype[Any], size: int) -> tuple[int]:
    """Memory for so many numbers while one matrix is worked on."""
    return (max(1, size) * dtype.itemsize,)
