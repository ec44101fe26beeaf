"""Eigenvalues, singular values and their vectors; of these, what does not depend on signs."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from morphax import lax
from morphax.lax.contraction.products import batch_matmul
from morphax.lax.linalg.eigh import hermitian_eigenvalues

from .op_case import OpCase, Operand

DTYPES = ("float64", "float32", "complex128", "complex64")
WIDE = ("float64", "complex128")
STACK = (2, 3, 3)


def _product(x: Any, y: Any) -> Any:
    return x @ y if isinstance(x, np.ndarray) else batch_matmul(x, y)


def _adjoint(x: Any) -> Any:
    return x.conj().swapaxes(-1, -2)


def _hermitian(x: Any) -> Any:
    return x + _adjoint(x)


def _mirrored(x: Any, lower: bool) -> Any:
    """The Hermitian matrix of which `x` has one triangle."""
    strict = np.tril(x, -1) if lower else np.triu(x, 1)
    return strict + _adjoint(strict) + x.real * np.eye(x.shape[-1])


def _weighted(x: Any, w: Any, y: Any) -> Any:
    """x diag(w²) y, which is a smooth function of the matrix."""
    return _product(x * (w * w)[..., None, :].astype(x.dtype), y)


def _of_eigh(eigh: Callable[[Any], tuple[Any, Any]], x: Any) -> tuple[Any, ...]:
    """Eigenvalues, a function of the matrix, and the projection on the first vector."""
    v, w = eigh(x)
    first = v[..., :1]
    return w, _weighted(v, w, _adjoint(v)), _product(first, _adjoint(first))


def _of_svd(svd: Callable[[Any], tuple[Any, Any, Any]], x: Any) -> tuple[Any, ...]:
    """Singular values, a function of the matrix, and the first term of its sum."""
    u, s, vh = svd(x)
    k = s.shape[-1]
    u, vh = u[..., :k], vh[..., :k, :]
    return s, _weighted(u, s, vh), _product(u[..., :1], vh[..., :1, :])


def _numpy_eigh(x: Any) -> Any:
    return np.linalg.eigh(x)[::-1]


CASES = (
    *[
        OpCase(
            f"eigh/{shape}",
            lambda x: _of_eigh(lax.linalg.eigh, x),
            lambda x: _of_eigh(_numpy_eigh, _hermitian(x) / 2),
            (Operand(shape),),
            dtypes=DTYPES if shape == STACK else WIDE,
            tolerance=10,  # The gaps between eigenvalues divide.
        )
        for shape in (STACK, (4, 4), (1, 1), (0, 2, 2))
    ],
    *[
        OpCase(
            f"eigh/{'lower' if lower else 'upper'} triangle",
            lambda x, lower=lower: _of_eigh(
                partial(lax.linalg.eigh, lower=lower, symmetrize_input=False), x
            ),
            lambda x, lower=lower: _of_eigh(_numpy_eigh, _mirrored(x, lower)),
            (Operand((3, 3)),),
            dtypes=WIDE,
            tolerance=10,
        )
        for lower in (True, False)
    ],
    OpCase(
        "eigh/subset",
        lambda x: lax.linalg.eigh(x, subset_by_index=(1, 3))[1],
        lambda x: np.linalg.eigvalsh(_hermitian(x) / 2)[..., 1:3],
        (Operand((2, 4, 4)),),
        dtypes=WIDE,
    ),
    *[
        OpCase(
            f"eigh/values of {shape}, {'lower' if lower else 'upper'} triangle",
            partial(hermitian_eigenvalues, lower=lower, symmetrize_input=False),
            lambda x, lower=lower: np.linalg.eigvalsh(_mirrored(x, lower)),
            (Operand(shape),),
            dtypes=WIDE,
        )
        for shape in ((2, 4, 4), (1, 1), (0, 2, 2), (2, 0, 0))
        for lower in (True, False)
    ],
    OpCase(
        "eigh/empty",
        lax.linalg.eigh,
        lambda x: (x, np.zeros(x.shape[:-1])),
        (Operand((2, 0, 0)),),
        dtypes=WIDE,
    ),
    *[
        OpCase(
            f"svd/{shape} {'full' if full else 'thin'}",
            lambda x, full=full: _of_svd(partial(lax.linalg.svd, full_matrices=full), x),
            lambda x: _of_svd(partial(np.linalg.svd, full_matrices=False), x),
            (Operand(shape),),
            dtypes=DTYPES if shape == STACK else WIDE,
            derivatives=2 if not full or shape[-1] == shape[-2] else 0,
            tolerance=10,
        )
        for shape in (STACK, (4, 2), (2, 2, 4), (1, 1), (0, 2, 2))
        for full in (True, False)
    ],
    *[
        OpCase(
            f"svd/{shape} values",
            partial(lax.linalg.svd, compute_uv=False),
            partial(np.linalg.svd, compute_uv=False),
            (Operand(shape),),
            dtypes=WIDE,
            tolerance=10,
        )
        for shape in (STACK, (4, 2), (0, 3), (2, 3, 0))
    ],
    *[
        OpCase(
            f"svd/{shape} empty",
            lax.linalg.svd,
            np.linalg.svd,
            (Operand(shape),),
            dtypes=("float64",),
            derivatives=0,
        )
        for shape in ((0, 3), (2, 3, 0), (0, 0))
    ],
    OpCase(
        "svd/QR",
        lambda x: _of_svd(
            partial(lax.linalg.svd, full_matrices=False, algorithm=lax.linalg.SvdAlgorithm.QR),
            x,
        ),
        lambda x: _of_svd(partial(np.linalg.svd, full_matrices=False), x),
        (Operand((2, 4, 3)),),
        dtypes=DTYPES,
        tolerance=10,
    ),
    OpCase(
        "svd/subset",
        lambda x: lax.linalg.svd(x, full_matrices=False, subset_by_index=(1, 3))[1],
        lambda x: np.linalg.svd(x, compute_uv=False)[..., 1:3],
        (Operand((2, 3, 4)),),
        dtypes=WIDE,
        tolerance=10,
    ),
)
