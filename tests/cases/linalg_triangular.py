"""Factors of positive definite matrices, and linear systems with triangular ones."""

from __future__ import annotations

import itertools
from functools import partial
from typing import Any

import numpy as np

from morphax.lax.contraction.products import batch_matmul
from morphax.lax.linalg import cholesky, cholesky_update, triangular_solve

from .op_case import OpCase, Operand

DTYPES = ("float64", "float32", "complex128", "complex64")
STACK = (2, 3, 3)


def _positive_definite(x: Any) -> Any:
    """x xᴴ + 1: Hermitian, with eigenvalues of at least 1."""
    swapped = x.conj().swapaxes(-1, -2)
    square = x @ swapped if isinstance(x, np.ndarray) else batch_matmul(x, swapped)
    return square + np.eye(x.shape[-1], dtype=x.dtype)


def _updated(r: Any, w: Any) -> Any:
    """The upper Cholesky factor of rᵀ r + w wᵀ."""
    square = r.swapaxes(-1, -2) @ r + w[..., :, None] * w[..., None, :]
    return np.linalg.cholesky(square).swapaxes(-1, -2)


def _dominant(x: Any) -> Any:
    """A well conditioned matrix: `x` with 3 added to its diagonal."""
    return x + 3 * np.eye(x.shape[-1], dtype=x.dtype)


def _solved(left: bool, lower: bool, op: str, unit: bool, a: Any, b: Any) -> Any:
    a = np.tril(a) if lower else np.triu(a)
    if unit:
        a = a - a * np.eye(a.shape[-1]) + np.eye(a.shape[-1])
    a = a.swapaxes(-1, -2) if op in "TC" else a
    a = a.conj() if op in "KC" else a
    if left:
        return np.linalg.solve(a, b)
    return np.linalg.solve(a.swapaxes(-1, -2), b.swapaxes(-1, -2)).swapaxes(-1, -2)


def _system(left: bool, lower: bool, op: str, unit: bool) -> OpCase:
    solve = partial(
        triangular_solve,
        left_side=left,
        lower=lower,
        transpose_a=op in "TC",
        conjugate_a=op in "KC",
        unit_diagonal=unit,
    )
    return OpCase(
        f"triangular_solve/{'left' if left else 'right'} {'lower' if lower else 'upper'} {op}"
        f"{' unit' if unit else ''}",
        lambda a, b: solve(_dominant(a), b),
        lambda a, b: _solved(left, lower, op, unit, _dominant(a), b),
        (Operand(STACK, -1, 1), Operand((2, 3, 2) if left else (2, 2, 3))),
        dtypes=DTYPES if op in "NC" and not unit else ("float64", "complex128"),
    )


CASES = (
    *[
        OpCase(
            f"cholesky/{shape}",
            lambda x: cholesky(_positive_definite(x)),
            lambda x: np.linalg.cholesky(_positive_definite(x)),
            (Operand(shape),),
            dtypes=DTYPES if shape == STACK else ("float64", "complex128"),
        )
        for shape in (STACK, (4, 4), (1, 1), (0, 0), (2, 0, 0), (0, 2, 2))
    ],
    *[
        OpCase(
            f"cholesky_update/{shape}",
            lambda r, w: cholesky_update(_dominant(r), w),
            lambda r, w: _updated(np.triu(_dominant(r)), w),
            (Operand(shape, -1, 1), Operand(shape[:-1])),
            dtypes=("float64", "float32", "float16", "bfloat16")
            if shape == STACK
            else ("float64",),
        )
        for shape in (STACK, (4, 4), (1, 1), (0, 0))
    ],
    *[
        _system(left, lower, op, unit)
        for left, lower in itertools.product((True, False), repeat=2)
        for op, unit in (("N", False), ("T", False), ("K", True), ("C", False), ("N", True))
    ],
    OpCase(
        "triangular_solve/vector",
        lambda a, b: triangular_solve(_dominant(a), b, left_side=True),
        lambda a, b: np.linalg.solve(np.triu(_dominant(a)), b),
        (Operand((3, 3), -1, 1), Operand((3,))),
        dtypes=DTYPES,
    ),
    OpCase(
        "triangular_solve/no right-hand side",
        partial(triangular_solve, left_side=True),
        lambda a, b: b,
        (Operand((3, 3)), Operand((3, 0))),
        dtypes=("float64",),
    ),
)
