"""Forms of a matrix under unitary similarity, and tridiagonal systems."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import scipy.linalg.lapack

from morphax import lax
from morphax.lax.contraction.products import batch_matmul

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


def _tridiagonal_solve(perturbed: bool, dl: Any, d: Any, du: Any, b: Any) -> Any:
    d = d + lax.full_like(d, 5)
    return lax.linalg.tridiagonal_solve(dl, d, du, b, perturb_singular=perturbed)


def _by_dense_matrix(dl: Any, d: Any, du: Any, b: Any) -> Any:
    n = d.shape[-1]
    rows = np.eye(n)
    matrix = rows * (d + 5)[..., None, :]
    matrix = matrix + np.eye(n, k=-1) * dl[..., :, None] + np.eye(n, k=1) * du[..., :, None]
    return np.linalg.solve(matrix, b)


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
    *[
        OpCase(
            f"tridiagonal_solve/{shape}{' perturbed' if perturbed else ''}",
            partial(_tridiagonal_solve, perturbed),
            _by_dense_matrix,
            (*[Operand(shape[:-1])] * 3, Operand(shape)),
            dtypes=DTYPES if shape == (2, 3, 2) else WIDE,
        )
        for shape in ((2, 3, 2), (1, 1), (2, 3), (0, 2), (3, 0))
        for perturbed in (False, True)
    ],
    *[
        OpCase(
            f"symmetric_product/{shape}, {alpha}, {beta}",
            partial(lax.linalg.symmetric_product, alpha=alpha, beta=beta),
            lambda a, c, alpha=alpha, beta=beta: alpha * a @ a.swapaxes(-1, -2) + beta * c,
            (Operand(shape), Operand((*shape[:-1], shape[-2]))),
            dtypes=("float64", "float32", "bfloat16"),
        )
        for shape, alpha, beta in (((2, 3, 2), 2.0, 3.0), ((3, 4), 1.0, 0.0), ((0, 2), 1.0, 1.0))
    ],
    OpCase(
        "symmetric_product/symmetrized",
        partial(lax.linalg.symmetric_product, beta=2.0, symmetrize_output=True),
        lambda a, c: a @ a.T + 2 * (np.tril(c) + np.tril(c, -1).T),
        (Operand((3, 2)), Operand((3, 3))),
        dtypes=("float64", "float32"),
    ),
)
