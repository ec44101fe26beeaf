"""Forms of a matrix under unitary similarity, and tridiagonal systems."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import scipy.linalg.lapack

from morphax import lax
from morphax.lax.contraction.dot import batch_matmul

from .op_case import OpCase, Operand

DTYPES = ("float64", "float32", "complex128", "complex64")
WIDE = ("float64", "complex128")
STACK = (2, 3, 3)


def _rebuilt(x: Any) -> tuple[Any, Any]:
    """Q T Qᴴ, and T's part below the first subdiagonal, which is zero."""
    t, q = lax.linalg.schur(x)
    n = x.shape[-1]
    below = t * np.tril(np.ones((n, n)), -2).astype(t.dtype)
    return batch_matmul(batch_matmul(q, t), q.conj().swapaxes(-1, -2)), below


def _by_lapack(function: str, count: int, **options: Any) -> Any:
    """The first results of LAPACK's function for each matrix of a stack."""

    def compute(x: Any) -> list[Any]:
        name = function.replace("sytrd", "hetrd") if x.dtype.kind == "c" else function
        call = getattr(scipy.linalg.lapack, {"d": "d", "D": "z"}[x.dtype.char] + name)
        shape = x.shape[:-2]
        each = [call(one, **options)[:count] for one in x.reshape(-1, *x.shape[-2:])]
        return [
            np.stack(parts).reshape(*shape, *parts[0].shape) for parts in zip(*each, strict=True)
        ]

    return compute


CASES = (
    *[
        OpCase(
            f"schur/{shape}",
            _rebuilt,
            lambda x: (x, np.zeros_like(x)),
            (Operand(shape),),
            dtypes=DTYPES if shape == STACK else WIDE,
            derivatives=0,
            tolerance=10,
        )
        for shape in (STACK, (5, 5), (1, 1), (0, 0))
    ],
    OpCase(
        "schur/no vectors",
        lambda x: lax.linalg.schur(x, compute_schur_vectors=False)[0].diagonal().sum(),
        lambda x: x.diagonal().sum(),
        (Operand((3, 3)),),
        dtypes=DTYPES,
        derivatives=0,
    ),
    *[
        OpCase(
            f"hessenberg/{shape}",
            lax.linalg.hessenberg,
            _by_lapack("gehrd", 2) if shape[-1] > 1 else lambda x: (x, x[..., 0, :0]),
            (Operand(shape),),
            dtypes=DTYPES if shape == STACK else WIDE,
            derivatives=0,
            tolerance=10,
        )
        for shape in (STACK, (5, 5), (1, 1))
    ],
    *[
        OpCase(
            f"tridiagonal/{shape} {'lower' if lower else 'upper'}",
            partial(lax.linalg.tridiagonal, lower=lower),
            _by_lapack("sytrd", 4, lower=lower),
            (Operand(shape),),
            dtypes=DTYPES if shape == STACK else WIDE,
            derivatives=0,
            tolerance=10,
        )
        for shape in (STACK, (5, 5), (1, 1))
        for lower in (True, False)
    ],
    *[
        OpCase(
            f"{function.__name__}/empty",
            function,
            lambda x, count=count: (x, *[np.zeros(x.shape[:-1])] * count),
            (Operand((2, 0, 0)),),
            dtypes=("float64",),
            derivatives=0,
        )
        for function, count in ((lax.linalg.hessenberg, 1), (lax.linalg.tridiagonal, 3))
    ],
)
