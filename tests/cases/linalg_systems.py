"""Linear systems that are solved with LU factors."""

from __future__ import annotations

from typing import Any

import numpy as np

from morphax.lax.linalg.linear_systems import solved, solved_with_factors
from morphax.lax.linalg.lu import lu

from .op_case import OpCase, Operand

DTYPES = ("float64", "float32", "complex128", "complex64")


def _dominant(x: Any) -> Any:
    """A well conditioned matrix: `x` with 3 added to its diagonal."""
    return x + 3 * np.eye(x.shape[-1], dtype=x.dtype)


def _transposed(a: Any, b: Any) -> Any:
    factors, _, permutation = lu(a)
    return solved_with_factors(a, factors, permutation, b, transpose_a=True)


CASES = (
    *[
        OpCase(
            f"solve_with_factors/{left} {right}",
            lambda a, b: solved(_dominant(a), b),
            lambda a, b: np.linalg.solve(_dominant(a), b),
            (Operand(left, -1, 1), Operand(right)),
            dtypes=DTYPES if right == (2, 3, 2) else ("float64", "complex128"),
        )
        for left, right in (
            ((2, 3, 3), (2, 3, 2)),
            ((3, 3), (3, 1)),
            ((3, 3), (2, 3, 2)),
            ((3, 3), (3, 0)),
            ((0, 0), (0, 2)),
        )
    ],
    OpCase(
        "solve_with_factors/transposed",
        lambda a, b: _transposed(_dominant(a), b),
        lambda a, b: np.linalg.solve(_dominant(a).swapaxes(-1, -2), b),
        (Operand((2, 3, 3), -1, 1), Operand((2, 3, 2))),
        dtypes=DTYPES,
    ),
)
