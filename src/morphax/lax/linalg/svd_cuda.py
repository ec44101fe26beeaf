"""Singular values and vectors by cuSOLVER, in compiled programs for CUDA.

Its functions by QR iteration want at least as many rows as columns and return Vᴴ; those by
rotations and by polar decompositions take any matrix and return V.

Reference: NVIDIA, cuSOLVER library, section "cuSOLVER dense (LAPACK)".
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...core import ShapedArray
from ...core.dims import is_static, min_dim
from ...engines.xla.library_calls import flag, transposed
from ...engines.xla.stablehlo import Builder, Value
from .iterated import call_iterated

_LARGEST_FOR_ROTATIONS = 1024
"""Rows and columns up to which rotations, which keep small values exact, take less time than QR."""


def lower_svd(
    b: Builder, s: Any, x: Value, *, full_matrices: bool, method: str | None
) -> list[Value]:
    """s, U and Vᴴ of the matrices `x`, which have elements.

    Args:
        b: of the block.
        s: aval of the singular values.
        x: the matrices.
        full_matrices: whether U and Vᴴ are square.
        method: ``"gesvd"``, ``"gesvdj"`` or ``"gesvdp"``, or `None` for the quicker one.
    """
    sides = x.aval.shape[-2:]
    if method is None:
        is_small = is_static(sides) and max(sides) <= _LARGEST_FOR_ROTATIONS
        method = "gesvdj" if is_small else "gesvd"
    if method != "gesvd":
        return _with_v(b, s, x, method, full_matrices=full_matrices)
    if not (is_static(sides) and sides[0] < sides[1]):
        return _by_qr(b, s, x, full_matrices=full_matrices)
    # Aᵀ = (Vᴴ)ᵀ diag(s) Uᵀ; of columns and rows that change places no element moves.
    found, right, left = _by_qr(b, s, transposed(b, x), full_matrices=full_matrices)
    return [found, transposed(b, left), transposed(b, right)]


def _by_qr(b: Builder, s: Any, x: Value, *, full_matrices: bool) -> list[Value]:
    m, n = x.aval.shape[-2:]
    u = _matrices(x, m, m if full_matrices else min_dim(m, n))
    vh = _matrices(x, n if full_matrices else min_dim(m, n), n)
    return _call(b, "gesvd", s, x, u, vh, full_matrices=flag(full_matrices), transposed="false")


def _with_v(b: Builder, s: Any, x: Value, method: str, *, full_matrices: bool) -> list[Value]:
    m, n = x.aval.shape[-2:]
    rank = min_dim(m, n)
    # Rotations of stacks know full matrices only.
    is_full = full_matrices or method == "gesvdj"
    u, v = _matrices(x, m, m if is_full else rank), _matrices(x, n, n if is_full else rank)
    found, left, right = _call(b, method, s, x, u, v, full_matrices=flag(is_full))
    if is_full and not full_matrices:
        left, right = _first_columns(b, left, rank), _first_columns(b, right, rank)
    return [found, left, _adjoint(b, right)]


def _call(b: Builder, method: str, s: Any, x: Value, u: Any, v: Any, **options: str) -> list[Value]:
    outs: Sequence[Any] = [x.aval, s, u, v]
    target = f"cusolver_{method}_ffi"
    return call_iterated(b, target, outs, x, {0: 0}, compute_uv="true", **options)[1:]


def _matrices(x: Value, rows: Any, columns: Any) -> ShapedArray:
    return x.aval.update(shape=(*x.aval.shape[:-2], rows, columns))


def _first_columns(b: Builder, x: Value, count: Any) -> Value:
    out = x.aval.update(shape=(*x.aval.shape[:-1], count))
    if x.aval.shape == out.shape:
        return x
    return b.slice(x, out, [0] * out.ndim, out.shape)


def _adjoint(b: Builder, x: Value) -> Value:
    turned = transposed(b, x)
    return b.op("chlo.conj", turned.aval, turned) if x.aval.dtype.kind == "c" else turned
