"""Eigenvalues and eigenvectors of matrices of no special form."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from morphax import lax
from morphax.lax.contraction.products import batch_matmul
from morphax.lax.linalg.linear_systems import solved

from .op_case import OpCase, Operand

DTYPES = ("float64", "float32", "complex128", "complex64")
WIDE = ("float64", "complex128")
STACK = (2, 3, 3)
_NO_VECTORS = {"compute_left_eigenvectors": False, "compute_right_eigenvectors": False}


def _spread(x: Any) -> Any:
    """`x` made to have eigenvalues that are well apart."""
    return x / 4 + np.diag(np.arange(x.shape[-1]) * 2.0).astype(x.dtype)


def _by_both_sides(x: Any) -> tuple[Any, Any]:
    """The matrix from its left and right vectors, and its square from the right ones."""
    w, left, right = lax.linalg.eig(_spread(x), enable_eigvec_derivs=True)
    lengths = (left.conj() * right).sum(-2)
    first = batch_matmul(right * (w / lengths)[..., None, :], left.conj().swapaxes(-1, -2))
    identity = (lax.full_like(right, 0) + np.eye(x.shape[-1])).astype(right.dtype)
    squared = right * (w * w)[..., None, :]
    return first, batch_matmul(squared, solved(right, identity))


def _powers(x: Any) -> tuple[Any, Any]:
    x = _spread(x).astype(np.complex128)
    return x, x @ x


def _power_sums(w: Any) -> tuple[Any, Any]:
    """Functions of all eigenvalues, whose order is free."""
    return w.sum(-1), (w * w).sum(-1)


def _sides(x: Any, left: bool) -> Any:
    return lax.linalg.eig(
        _spread(x),
        compute_left_eigenvectors=left,
        compute_right_eigenvectors=not left,
        enable_eigvec_derivs=True,
    )[1]


def _squared(x: Any, left: bool) -> Any:
    """Vectors as LAPACK norms them; their sign is free."""
    v = _sides(x, left)
    return v * v


def _numpy_squared(x: Any, left: bool) -> Any:
    spread = _spread(x)
    w, v = np.linalg.eig(spread.conj().swapaxes(-1, -2) if left else spread)
    # The left vectors are in the order of the right ones.
    expected = np.linalg.eigvals(spread)
    w = w.conj() if left else w
    order = np.abs(expected[..., :, None] - w[..., None, :]).argmin(-1)
    v = np.take_along_axis(v, order[..., None, :], -1)
    return (v * v).astype(np.complex128)


CASES = (
    *[
        OpCase(
            f"eig/{shape}",
            _by_both_sides,
            _powers,
            (Operand(shape),),
            dtypes=DTYPES if shape == STACK else WIDE,
            tolerance=10,  # The gaps between eigenvalues divide.
        )
        for shape in (STACK, (4, 4), (1, 1), (0, 2, 2))
    ],
    *[
        OpCase(
            f"eig/values {shape}",
            lambda x: _power_sums(lax.linalg.eig(x, **_NO_VECTORS)[0]),
            lambda x: _power_sums(np.linalg.eigvals(x).astype(np.complex128)),
            (Operand(shape),),
            dtypes=DTYPES if shape == STACK else WIDE,
            tolerance=10,
        )
        for shape in (STACK, (2, 0, 0))
    ],
    *[
        OpCase(
            f"eig/{'left' if left else 'right'} vectors",
            partial(_squared, left=left),
            partial(_numpy_squared, left=left),
            (Operand(STACK),),
            dtypes=DTYPES,
            tolerance=10,
        )
        for left in (True, False)
    ],
)
