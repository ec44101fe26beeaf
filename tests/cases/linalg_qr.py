"""QR factors, and products of Householder reflections."""

from __future__ import annotations

import itertools
from functools import partial
from typing import Any

import numpy as np
import scipy.linalg

from morphax.lax.linalg import householder_product, ormqr, qr
from morphax.lax.linalg.householder import geqrf

from .op_case import OpCase, Operand

DTYPES = ("float64", "float32", "complex128", "complex64")
WIDE_DTYPES = ("float64", "complex128")
STACK = (2, 3, 3)


def _factors(full: bool, pivoting: bool, x: Any) -> list[Any]:
    """By SciPy, matrix by matrix."""
    rows, columns = x.shape[-2:]
    inner = rows if full else min(rows, columns)
    stack = x.shape[:-2]
    q, r = np.zeros((*stack, rows, inner), x.dtype), np.zeros((*stack, inner, columns), x.dtype)
    order = np.zeros((*stack, columns), np.int32)
    q[...], order[...] = np.eye(rows, inner), np.arange(columns)
    for place in np.ndindex(stack if x.size else (0,)):
        mode = "full" if full else "economic"
        found = scipy.linalg.qr(x[place], mode=mode, pivoting=pivoting)
        q[place], r[place] = found[:2]
        if pivoting:
            order[place] = found[2]
    return [q, r, order] if pivoting else [q, r]


def _case(shape: tuple[int, ...], full: bool, pivoting: bool) -> OpCase:
    return OpCase(
        f"qr/{shape}{' full' if full else ''}{' pivoting' if pivoting else ''}",
        partial(qr, full_matrices=full, pivoting=pivoting),
        partial(_factors, full, pivoting),
        (Operand(shape),),
        dtypes=DTYPES if shape == STACK else WIDE_DTYPES,
        # The columns of Q are as exact as those of A are independent.
        tolerance=10,
    )


def _reflections(a: Any, taus: Any) -> Any:
    """The product of the reflections, matrix by matrix, from its definition."""
    rows = a.shape[-2]
    out = np.zeros((*a.shape[:-2], rows, rows), a.dtype)
    for place in np.ndindex(a.shape[:-2]):
        product = np.eye(rows, dtype=a.dtype)
        for i, tau in enumerate(taus[place]):
            v = np.concatenate([np.zeros(i), [1], a[place][i + 1 :, i]])
            product = product @ (np.eye(rows) - tau * np.outer(v, v.conj()))
        out[place] = product
    return out


def _raw(x: Any) -> Any:
    """What LAPACK leaves, of which `scipy.linalg.qr` gives the transpose of NumPy's."""
    (reflections, taus), _ = scipy.linalg.qr(x, mode="raw")
    return [reflections, taus]


def _multiplied(left: bool, transpose: bool, a: Any, taus: Any, c: Any) -> Any:
    q = _reflections(a, taus)
    q = q.conj().swapaxes(-1, -2) if transpose else q
    return q @ c if left else c @ q


CASES = (
    *[
        _case(shape, full, pivoting)
        for shape, full, pivoting in itertools.product(
            (STACK, (4, 2), (2, 4)), (False, True), (False, True)
        )
    ],
    *[_case(shape, True, False) for shape in ((1, 1), (0, 2), (2, 0), (0, 2, 2))],
    _case((3, 0), True, True),
    _case((2, 5, 3), False, False),
    OpCase("geqrf/tall", geqrf, _raw, (Operand((4, 2)),), dtypes=DTYPES, derivatives=0),
    OpCase("geqrf/wide", geqrf, _raw, (Operand((2, 4)),), dtypes=WIDE_DTYPES, derivatives=0),
    *[
        OpCase(
            f"householder_product/{shape} {count}",
            householder_product,
            lambda a, taus: _reflections(a, taus)[..., : a.shape[-1]],
            (Operand(shape), Operand((*shape[:-2], count), 0, 1)),
            dtypes=DTYPES if shape == STACK else WIDE_DTYPES,
            derivatives=0,
        )
        for shape, count in ((STACK, 3), ((4, 2), 2), ((4, 3), 1), ((3, 2), 0), ((3, 0), 0))
    ],
    *[
        OpCase(
            f"ormqr/{'left' if left else 'right'}{' transpose' if transpose else ''}",
            partial(ormqr, left=left, transpose=transpose),
            partial(_multiplied, left, transpose),
            (
                Operand((2, 4, 3)),
                Operand((2, 3), 0, 1),
                Operand((2, 4, 2) if left else (2, 2, 4)),
            ),
            dtypes=DTYPES if left and transpose else WIDE_DTYPES,
            derivatives=0,
        )
        for left, transpose in itertools.product((True, False), repeat=2)
    ],
    OpCase(
        "ormqr/no reflections",
        ormqr,
        lambda a, taus, c: c,
        (Operand((3, 2)), Operand((0,)), Operand((3, 2))),
        dtypes=("float64",),
        derivatives=0,
    ),
)
