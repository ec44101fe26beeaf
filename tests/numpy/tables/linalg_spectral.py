"""Singular values, eigenvalues, pseudo-inverses, least squares, ranks, and norms that use them."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.cases.op_case import Operand
from tests.numpy.case import JnpCase, expression

SQUARE = Operand((3, 3))
STACK = Operand((2, 3, 3))
TALL = Operand((4, 3))
WIDE = Operand((2, 3, 4))
EMPTY = Operand((0, 3))
ALL = ("float32", "complex64", "int32", "bool")
SOME = ("float32", "complex64")
PLAIN = ("float32",)


def _adjoint(x: Any) -> Any:
    return x.conj().swapaxes(-1, -2)


def _rebuilt(u: Any, s: Any, vh: Any) -> tuple[Any, Any]:
    """Singular values and the matrix, which do not depend on signs."""
    k = s.shape[-1]
    return s, (u[..., :k] * s[..., None, :]) @ vh[..., :k, :]


def _svd(**options: Any) -> Any:
    return lambda xp, x: _rebuilt(*xp.linalg.svd(x, **options))


def _svd_hermitian(xp: Any, x: Any) -> Any:
    return _rebuilt(*xp.linalg.svd((x + _adjoint(x)) / 2, hermitian=True))


def _eigh(xp: Any, x: Any) -> Any:
    w, v = xp.linalg.eigh(_hermitian(x))
    return w, (v * w[..., None, :]) @ _adjoint(v)


def _hermitian(x: Any) -> Any:
    return (x + _adjoint(x)) / 2


def _triangle(triangle: str) -> Any:
    def call(xp: Any, x: Any) -> Any:
        options = {} if xp is np else {"symmetrize_input": False}
        return xp.linalg.eigvalsh(x, triangle, **options)

    return call


def _eig(xp: Any, x: Any) -> Any:
    w, v = xp.linalg.eig(x)
    return (v * w[..., None, :]) @ xp.linalg.inv(v)


def _powers(xp: Any, x: Any) -> Any:
    """Sums of powers of the eigenvalues, which have no order."""
    w = xp.linalg.eigvals(x)
    return xp.stack([w.sum(-1), (w * w).sum(-1)])


def _complex_powers(x: Any) -> Any:
    return _powers(np, x).astype(np.complex128)


def _lstsq(xp: Any, a: Any, b: Any) -> Any:
    x, squares, rank, s = xp.linalg.lstsq(a, b)
    return x, squares, rank, s


def _of_low_rank(xp: Any, x: Any) -> Any:
    """A matrix of rank 2 for any `x`, and with it derivatives that keep the rank."""
    return x[..., :, :2] @ x[..., :2, :]


def _rank(**options: Any) -> Any:
    return lambda xp, x: xp.linalg.matrix_rank(_of_low_rank(xp, x), **options)


def _norm(options: Any) -> Any:
    return lambda xp, x: xp.linalg.norm(x, **options)


def _matrix_norm(options: Any) -> Any:
    return lambda xp, x: xp.linalg.matrix_norm(x, **options)


def _well_posed(x: Any) -> Any:
    return x / 4 + np.diag([1.0, 2.0, 3.0]).astype(x.dtype)


CASES: list[JnpCase] = [
    *[expression(f"svd {o.shape}", _svd(full_matrices=False), o, dtypes=SOME, tolerance=10)
      for o in (SQUARE, TALL, WIDE)],
    expression("svd full", _svd(), WIDE, dtypes=ALL, derivatives=False, tolerance=10),
    expression("svd empty", _svd(), EMPTY, dtypes=PLAIN, derivatives=False),
    expression("svd hermitian", _svd_hermitian, STACK, dtypes=SOME, tolerance=10),
    expression("svd values", lambda xp, x: xp.linalg.svd(x, compute_uv=False), WIDE, dtypes=ALL,
        tolerance=10),
    *[expression(f"svdvals {o.shape}", lambda xp, x: xp.linalg.svdvals(x), o, dtypes=SOME,
        tolerance=10) for o in (STACK, TALL, EMPTY)],
    expression("eigh", _eigh, STACK, dtypes=SOME, tolerance=10),
    expression("eigh numbers", lambda xp, x: xp.linalg.eigh(_hermitian(x))[0], SQUARE, dtypes=SOME),
    expression("eigh bool", lambda xp, x: xp.linalg.eigh(xp.triu(xp.tril(x)))[0], SQUARE,
        dtypes=("bool", "int32"), derivatives=False),
    *[expression(f"eigvalsh {t}", _triangle(t), STACK, dtypes=SOME, tolerance=10) for t in "LU"],
    expression("eig", _eig, STACK, dtypes=ALL[:3], derivatives=False, tolerance=100,
        reference=lambda x: x.astype(np.complex128)),
    expression("eigvals", _powers, STACK, dtypes=ALL, tolerance=10, reference=_complex_powers),
    *[expression(f"pinv {o.shape}", lambda xp, x: xp.linalg.pinv(x), o, dtypes=SOME,
        tolerance=100) for o in (STACK, TALL, WIDE, EMPTY)],
    expression("pinv int", lambda xp, x: xp.linalg.pinv(x), TALL, dtypes=("int32",),
        tolerance=100),
    expression("pinv of low rank", lambda xp, x: xp.linalg.pinv(_of_low_rank(xp, x), rtol=1e-3),
        Operand((4, 4), 1, 2), dtypes=SOME, tolerance=1000, reference=lambda x: np.linalg.pinv(
            _of_low_rank(np, x), rcond=1e-3)),
    expression("pinv hermitian", lambda xp, x: xp.linalg.pinv(
        _hermitian(_well_posed(x)), hermitian=True), STACK, dtypes=SOME, tolerance=100),
    expression("pinv rtol", lambda xp, x: xp.linalg.pinv(x, rcond=np.array([0.5, 0.01], "f")),
        STACK, dtypes=SOME, tolerance=100),
    expression("lstsq", _lstsq, TALL, Operand((4,)), dtypes=SOME, tolerance=100),
    expression("lstsq columns", _lstsq, TALL, Operand((4, 2)), dtypes=(*SOME, "int32"),
        tolerance=100),
    expression("lstsq wide", lambda xp, a, b: _lstsq(xp, a, b)[0], Operand((2, 4)), Operand((2,)),
        dtypes=SOME, tolerance=100),
    expression("lstsq rcond", lambda xp, a, b: xp.linalg.lstsq(a, b, rcond=0.5)[0], TALL,
        Operand((4,)), dtypes=SOME, tolerance=100),
    *[expression(f"matrix_rank {kw}", _rank(**kw), Operand((2, 4, 4)), dtypes=PLAIN,
        derivatives=False) for kw in ({"rtol": 1e-3}, {"rtol": 0.999}, {"tol": 1e-3})],
    expression("matrix_rank default", lambda xp, x: xp.linalg.matrix_rank(x), WIDE, dtypes=ALL[:3],
        derivatives=False),
    *[expression(f"matrix_rank {o.shape}", lambda xp, x: xp.linalg.matrix_rank(x), o, dtypes=PLAIN,
        derivatives=False) for o in (Operand((3,)), Operand(()))],
    *[expression(f"cond {p}", lambda xp, x, p=p: xp.linalg.cond(_well_posed(x), p), STACK,
        dtypes=SOME, tolerance=100)
      for p in (None, 2, -2, 1, -1, np.inf, -np.inf, "fro", "nuc")],
    expression("cond tall", lambda xp, x: xp.linalg.cond(x), TALL, dtypes=ALL[:3], tolerance=100),
    *[expression(f"norm by values {kw}", _norm(kw), WIDE, dtypes=SOME, tolerance=10) for kw in (
        {"ord": 2, "axis": (0, 2)}, {"ord": -2, "axis": (2, 1), "keepdims": True},
        {"ord": "nuc", "axis": (1, 0)}, {"ord": "nuc", "axis": (0, 2), "keepdims": True})],
    *[expression(f"matrix_norm {kw}", _matrix_norm(kw), WIDE, dtypes=SOME, tolerance=10) for kw in (
        {}, {"ord": "nuc"}, {"ord": 2, "keepdims": True}, {"ord": -2}, {"ord": 1},
        {"ord": -np.inf})],
    expression("matrix_norm empty", _matrix_norm({"ord": 2}), EMPTY, dtypes=PLAIN),
]  # fmt: skip
