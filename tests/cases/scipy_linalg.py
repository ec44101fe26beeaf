"""Functions of `scipy.linalg` that are made of factorisations."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import scipy.linalg

from morphax.scipy import linalg

from .op_case import OpCase, Operand

WIDE = ("float64", "complex128")
DTYPES = (*WIDE, "float32", "complex64")
STACK = (2, 3, 3)


def _shifted(x: Any) -> Any:
    """`x` with eigenvalues that are far from 0, and from their negatives."""
    return x / 4 + np.diag(np.arange(x.shape[-1]) + 1.0).astype(x.dtype)


def _of_each(function: Any, *stacks: Any) -> Any:
    return np.stack([function(*members) for members in zip(*stacks, strict=True)])


def _equation(method: str) -> OpCase:
    return OpCase(
        f"solve_sylvester/{method}",
        lambda a, b, c: linalg.solve_sylvester(_shifted(a), _shifted(b), c, method=method),
        lambda a, b, c: _of_each(scipy.linalg.solve_sylvester, _shifted(a), _shifted(b), c),
        (Operand(STACK), Operand((2, 2, 2)), Operand((2, 3, 2))),
        dtypes=DTYPES if method == "schur" else WIDE,
        tolerance=10,
    )


def _of_diagonals(d: Any, e: Any) -> tuple[Any, Any]:
    """The eigenvalues, and squares of the eigenvectors, whose sign is free."""
    w, v = linalg.eigh_tridiagonal(d + 4 * np.arange(d.shape[-1], dtype=d.dtype), e)
    return w, v * v


def _numpy_of_diagonals(d: Any, e: Any) -> tuple[Any, Any]:
    w, v = scipy.linalg.eigh_tridiagonal(d + 4 * np.arange(d.shape[-1]), e)
    return w, v * v


def _projected(module: Any, mode: str, a: Any, c: Any) -> Any:
    return module.qr_multiply(a + 3 * np.eye(4, 3, dtype=a.dtype), c, mode)


def _regular(x: Any) -> Any:
    """`x` of full rank, with singular values far from 0."""
    return x / 4 + 2 * np.eye(*x.shape[-2:], dtype=x.dtype)


def _polar(shape: tuple[int, ...], side: str) -> OpCase:
    return OpCase(
        f"polar/{side}/{shape}",
        lambda x: linalg.polar(_regular(x), side, method="svd"),
        lambda x: scipy.linalg.polar(_regular(x), side),
        (Operand(shape),),
        dtypes=WIDE,
        tolerance=10,
    )


CASES = (
    OpCase(
        "sqrtm",
        lambda x: linalg.sqrtm(_shifted(x)),
        lambda x: _of_each(scipy.linalg.sqrtm, _shifted(x)).astype(np.complex128),
        (Operand(STACK),),
        dtypes=DTYPES,
        tolerance=10,
    ),
    _equation("schur"),
    _equation("eigen"),
    OpCase(
        "eigh_tridiagonal",
        _of_diagonals,
        _numpy_of_diagonals,
        (Operand((4,)), Operand((3,))),
        dtypes=("float64", "float32"),
        tolerance=10,
    ),
    *[_polar(shape, side) for shape in ((3, 2), (2, 3)) for side in ("left", "right")],
    *[
        OpCase(
            f"qr_multiply/{mode}",
            partial(_projected, linalg, mode),
            partial(_projected, scipy.linalg, mode),
            (Operand((4, 3)), Operand(shape)),
            dtypes=WIDE,
            tolerance=10,
        )
        for mode, shape in (("left", (3, 2)), ("right", (4,)))
    ],
)
