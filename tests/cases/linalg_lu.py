"""LU factors, with their row exchanges."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import lapack

from morphax.lax.linalg import lu, lu_pivots_to_permutation

from .op_case import OpCase, Operand

DTYPES = ("float64", "float32", "complex128", "complex64")
STACK = (2, 3, 3)


def _factors(x: Any) -> list[Any]:
    rows, columns = x.shape[-2:]
    stack = x.reshape(-1, rows, columns)
    size = min(rows, columns)
    factors, pivots = np.empty_like(stack), np.empty((len(stack), size), np.int32)
    function = lapack.zgetrf if x.dtype.kind == "c" else lapack.dgetrf
    for i, matrix in enumerate(stack):
        factors[i], pivots[i], _ = function(matrix)
    order = _permutation(pivots, rows)
    shape = x.shape[:-2]
    return [factors.reshape(x.shape), pivots.reshape(*shape, size), order.reshape(*shape, rows)]


def _permutation(pivots: Any, rows: int) -> Any:
    order = np.tile(np.arange(rows, dtype=np.int32), (*pivots.shape[:-1], 1))
    for place in np.ndindex(pivots.shape[:-1]):
        for i, other in enumerate(pivots[place]):
            order[place][[i, other]] = order[place][[other, i]]
    return order


def _empty(x: Any) -> list[Any]:
    rows = np.arange(x.shape[-2], dtype=np.int32)
    stack = x.shape[:-2]
    return [x, np.empty((*stack, 0), np.int32), np.broadcast_to(rows, (*stack, len(rows)))]


CASES = (
    *[
        OpCase(
            f"lu/{shape}",
            lu,
            _factors if np.prod(shape) else _empty,
            (Operand(shape),),
            dtypes=DTYPES if shape == STACK else ("float64", "complex128"),
            # Pivots may be small: the factors are as exact as the pivots are large.
            tolerance=10,
        )
        for shape in (STACK, (4, 2), (2, 4), (2, 5, 3), (1, 1), (0, 3), (3, 0), (2, 0, 0))
    ],
    *[
        OpCase(
            f"lu_pivots_to_permutation/{shape}",
            lambda x: lu_pivots_to_permutation(x, 5),
            lambda x: _permutation(x, 5),
            (Operand(shape, 0, 5),),
            dtypes=("int32",),
            derivatives=0,
        )
        for shape in ((4,), (2, 5), (0,))
    ],
)
