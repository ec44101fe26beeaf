"""Products, contractions, convolution, statistics, interpolation, differences and norms."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.cases.op_case import Operand
from tests.numpy.case import NUMBERS, JnpCase, expression, function, functions

V = Operand((3,))
W = Operand((4,))
A = Operand((2, 3))
B = Operand((3, 4))
SOME = ("float32", "int32")
PLAIN = ("float32",)
LONG = Operand((9,))
APART = Operand((5,), -2, 2, distinct=True)


def _shapes(*shapes: tuple[int, ...]) -> tuple[Operand, ...]:
    return tuple(Operand(s) for s in shapes)


MATMUL_SHAPES = [
    ((2, 3), (3, 4)), ((3,), (3, 4)), ((2, 3), (3,)), ((3,), (3,)), ((5, 2, 3), (3, 4)),
    ((1, 2, 3), (5, 3, 4)), ((2, 3), (5, 3, 4)), ((6, 1, 2, 3), (5, 3, 4)), ((3,), (5, 3, 2)),
    ((5, 2, 3), (3,)), ((0, 3), (3, 2)), ((2, 0), (0, 3)),
]  # fmt: skip
EINSUMS = [
    ("ij,jk->ik", (2, 3), (3, 4)), ("ij,kj->ki", (2, 3), (4, 3)),
    ("ij,jk,kl->il", (2, 3), (3, 4), (4, 5)),
    ("bij,bjk->bik", (5, 2, 3), (5, 3, 4)), ("ii->i", (3, 3)), ("ii", (3, 3)),
    ("iij->j", (3, 3, 2)),
    ("ijij->ij", (2, 3, 2, 3)), ("iii->i", (2, 2, 2)), ("ij->ji", (2, 3)), ("ij->", (2, 3)),
    ("...ij,...jk", (5, 2, 3), (1, 3, 4)), ("i...->...", (2, 3, 4)), ("i,j", (2,), (3,)),
    ("ij,ij->ij", (2, 3), (2, 3)), ("ij,kl->", (2, 3), (4, 5)), ("iij,jk->k", (3, 3, 2), (2, 4)),
    ("ij,j->ij", (2, 3), (1,)), ("abc,cd,de,ea->b", (2, 3, 4), (4, 5), (5, 6), (6, 2)),
    ("i,i,i->i", (3,), (3,), (3,)), ("i,i,i", (3,), (3,), (3,)), (",ij->ij", (), (2, 3)),
    ("b i , i ->b", (2, 3), (3,)), ("a...b,b...->a...", (2, 5, 3), (3, 1)),
    ("ij,j->ij", (2, 3), (3,)), ("j,ij->ij", (3,), (2, 3)), ("ik,kj->ijk", (2, 3), (3, 4)),
    ("ijk,j->ijk", (2, 3, 4), (3,)), ("ij,kj->ikj", (2, 3), (4, 3)),
]  # fmt: skip

PRODUCTS = [
    *[function("matmul", *_shapes(*s), dtypes=SOME if 0 in s[0] else ("float32",)) for s in
      MATMUL_SHAPES],
    *functions("matmul dot", A, B, dtypes=("bfloat16", "complex64", "int32", "bool")),
    expression("@", lambda xp, a, b: a @ b, A, B, dtypes=NUMBERS),
    expression("matmul promotes", lambda xp, a, b: xp.matmul(a, b), A,
        Operand((3, 4), dtype="int32", differentiable=False), dtypes=("float32", "bfloat16")),
    *[function("dot", *_shapes(*s), dtypes=SOME) for s in (((2, 3), (3, 4)), ((2, 3), (3,)),
      ((), (3,)), ((3,), (3,)), ((2, 3), (5, 3, 4)), ((), ()))],
    *[function("inner", *_shapes(*s), dtypes=SOME) for s in (((2, 3), (4, 3)), ((3,), (3,)),
      ((), (2, 3)))],
    *functions("vdot", A, Operand((3, 2)), dtypes=("float32", "complex64", "int32")),
    *functions("outer", A, W, dtypes=NUMBERS),
    *functions("kron", A, Operand((3, 2)), dtypes=SOME),
    *functions("kron", V, A, dtypes=SOME),
    *functions("vecdot", Operand((5, 3)), V, dtypes=("float32", "complex64")),
    *functions("vecdot", Operand((3, 5)), Operand((3, 1)), options=({"axis": 0},), dtypes=PLAIN),
    *functions("matvec", Operand((5, 2, 3)), V, dtypes=("float32", "complex64")),
    *functions("vecmat", V, Operand((5, 3, 2)), dtypes=("float32", "complex64")),
    *[expression(f"tensordot {axes}", lambda xp, a, b, axes=axes: xp.tensordot(a, b, axes),
        Operand((2, 3, 4)), Operand((3, 4, 2)), dtypes=SOME)
      for axes in (0, 2, ((1, 2), (0, 1)), ((0, 2), (2, 1)), ((-1,), (1,)))],
    *[expression(f"tensordot ints {axes}", lambda xp, a, b, axes=axes: xp.tensordot(a, b, axes), A,
        B, dtypes=PLAIN) for axes in (1, (1, 0), (-1, 0))],
    *functions("cross", Operand((2, 3)), V, dtypes=("float32", "int32", "complex64")),
    expression("cross axes", lambda xp, a, b: xp.cross(a, b, axisa=0, axisb=-1, axisc=0),
        Operand((3, 4)), Operand((4, 3)), dtypes=PLAIN),
    expression("cross planar", lambda xp, a, b: xp.cross(a, b), Operand((5, 2)), Operand((5, 2)),
        dtypes=PLAIN, reference=lambda a, b: a[:, 0] * b[:, 1] - a[:, 1] * b[:, 0]),
    *functions("trace", Operand((3, 4, 3)), options=({}, {"offset": 1}, {"axis1": 0, "axis2": 2}),
        dtypes=("float32", "int32", "uint8")),
    expression("matmul preferred", lambda xp, a, b: xp.matmul(a, b,
        preferred_element_type="float32"), A, B, dtypes=("bfloat16",), reference=np.matmul),
]  # fmt: skip

EINSUM = [
    *[expression(f"einsum {text}", lambda xp, *x, t=text: xp.einsum(t, *x), *_shapes(*shapes),
        dtypes=PLAIN) for text, *shapes in EINSUMS],
    *[expression(f"einsum optimize={o}",
        lambda xp, *x, o=o: xp.einsum("ij,jk,kl->il", *x, optimize=o),
        *_shapes((2, 3), (3, 4), (4, 5)), dtypes=PLAIN,
        reference=lambda *x: np.einsum("ij,jk,kl->il", *x))
      for o in (False, True, "greedy", [(1, 2), (0, 1)])],
    expression("einsum lists", lambda xp, a, b: xp.einsum(a, [0, 1], b, [1, 2], [2, 0]), A, B,
        dtypes=PLAIN),
    expression("einsum lists implicit", lambda xp, a, b: xp.einsum(a, [..., 0], b, [0, 1]), A, B,
        dtypes=PLAIN),
    *[expression(f"einsum dtype {t}", lambda xp, *x, t=t: xp.einsum(t, *x), *_shapes(*s),
        dtypes=("bfloat16", "int32", "complex64")) for t, *s in (EINSUMS[0], EINSUMS[4],
        EINSUMS[10])],
]  # fmt: skip

CONVOLUTION = [
    *[expression(f"{name} {mode} {m} {n}", lambda xp, a, v, f=name, k=mode: getattr(xp, f)(a, v,
        mode=k), Operand((m,)), Operand((n,)), dtypes=("float32", "complex64"))
      for name in ("convolve", "correlate") for mode in ("full", "same", "valid")
      for m, n in ((7, 3), (3, 7), (6, 4), (5, 5))],
    *functions("convolve correlate", W, V, dtypes=("int32",), derivatives=False),
]  # fmt: skip

STATISTICS = [
    *functions("cov", Operand((3, 8)), options=({}, {"rowvar": False}, {"bias": True}, {"ddof": 3}),
        dtypes=("float32", "complex64"), tolerance=4.0),
    *functions("cov", Operand((8,)), dtypes=SOME),
    *functions("cov", Operand((2, 8)), Operand((8,)), dtypes=PLAIN),
    expression("cov weights", lambda xp, x, f, a: xp.cov(x, fweights=f, aweights=a),
        Operand((3, 8)),
        Operand((8,), 1, 4, dtype="int32", differentiable=False), Operand((8,), 0.5, 1.5),
        dtypes=PLAIN, tolerance=4.0),
    *functions("corrcoef", Operand((3, 8)), options=({}, {"rowvar": False}),
        dtypes=("float32", "complex64"), tolerance=16.0, derivatives=False),
    *[expression(f"histogram {kw}", lambda xp, x, kw=kw: xp.histogram(x, **kw), Operand((40,)),
        dtypes=PLAIN, derivatives=False)
      for kw in ({}, {"bins": 3}, {"bins": 4, "range": (-1, 1)}, {"bins": 5, "density": True})],
    expression("histogram edges", lambda xp, x, w: xp.histogram(x,
        xp.asarray(np.array([-1, 0, 0.5, 3],
        "f")), weights=w), LONG, LONG, dtypes=PLAIN, derivatives=False),
    expression("histogram same", lambda xp: xp.histogram(xp.ones(3), 3), dtypes=PLAIN,
        derivatives=False, batched=False),
    *functions("histogram_bin_edges", LONG, options=({"bins": 4},), dtypes=PLAIN),
    expression("histogram2d", lambda xp, x, y: xp.histogram2d(x, y, (3, 2)), LONG, LONG,
        dtypes=PLAIN, derivatives=False),
    expression("histogramdd", lambda xp, x: xp.histogramdd(x, 2, density=True), Operand((20, 3)),
        dtypes=PLAIN, derivatives=False),
]  # fmt: skip

INTERPOLATION = [
    *[expression(f"interp {kw}", lambda xp, x, f, kw=kw: xp.interp(x, xp.asarray(np.array([-1.5, -1,
        0.25, 1], "f")), f, **kw), Operand((2, 5), -2, 2), W, dtypes=PLAIN, tolerance=4.0)
      for kw in ({}, {"left": 7.0, "right": -3.0}, {"period": 1.75})],
    expression("interp extrapolate", lambda xp, x: xp.interp(x, xp.asarray(np.array([0.0, 1], "f")),
        xp.asarray(np.array([1.0, 3], "f")), "extrapolate", "extrapolate"), LONG, dtypes=PLAIN,
        reference=lambda x: 1 + 2 * x),
    expression("interp jump", lambda xp: xp.interp(xp.asarray(np.array([0.5, 1, 1.5], "f")),
        xp.asarray(np.array([0, 1, 1, 2], "f")), xp.asarray(np.array([0, 1, 5, 6], "f"))),
        dtypes=PLAIN, derivatives=False, batched=False),
    *functions("polyval", W, Operand((2, 3)), dtypes=("float32", "int32", "complex64")),
    *functions("polyval", Operand((20,)), Operand((5,), -1, 1), dtypes=PLAIN),
]  # fmt: skip

DIFFERENCES = [
    *functions("diff", Operand((4, 5)), options=({}, {"n": 2, "axis": 0}, {"n": 0}, {"n": 9}),
        dtypes=("float32", "int32", "bool")),
    expression("diff ends", lambda xp, x: xp.diff(x, prepend=0, append=xp.ones((4, 2), x.dtype)),
        Operand((4, 5)), dtypes=SOME),
    *functions("ediff1d", Operand((2, 3)), dtypes=SOME),
    expression("ediff1d ends", lambda xp, x: xp.ediff1d(x, xp.ones(2, x.dtype),
        xp.zeros(1, x.dtype)), LONG, dtypes=SOME),
    *functions("gradient", Operand((4, 5)), options=({}, {"axis": 0}, {"axis": (1, 0)}),
        dtypes=SOME),
    expression("gradient spacing", lambda xp, x: xp.gradient(x, 2.0, 0.5), Operand((4, 5)),
        dtypes=PLAIN),
    expression("gradient coordinates", lambda xp, x: xp.gradient(x,
        xp.asarray(np.array([0, 1, 3, 4.5, 5], "f")), axis=1), Operand((4, 5)), dtypes=PLAIN),
    *functions("trapezoid", Operand((4, 5)), options=({}, {"axis": 0, "dx": 0.5}), dtypes=SOME),
    expression("trapezoid x", lambda xp, y, x: xp.trapezoid(y, x, axis=0), Operand((5, 3)), APART,
        dtypes=PLAIN),
    expression("trapezoid xs", lambda xp, y, x: xp.trapezoid(y, x, axis=0), Operand((5, 3)),
        Operand((5, 3)), dtypes=PLAIN),
    *functions("unwrap", Operand((3, 6), -9, 9), options=({}, {"axis": 0}, {"discont": 4.0}),
        dtypes=PLAIN, tolerance=4.0),
    *functions("unwrap", Operand((6,), -9, 9), options=({"period": 4},), dtypes=("int32",)),
]  # fmt: skip


def _norm(options: Any) -> Any:
    return lambda xp, x: xp.linalg.norm(x, **options)


NORMS = [
    *[expression(f"norm {kw}", _norm(kw), Operand((3, 4), distinct=True), dtypes=PLAIN) for kw in (
        {}, {"axis": 0}, {"axis": 1, "ord": 1}, {"axis": 0, "ord": 3}, {"axis": -1, "ord": np.inf},
        {"axis": 0, "ord": -np.inf}, {"ord": "fro"}, {"ord": 1}, {"ord": -1}, {"ord": np.inf},
        {"ord": -np.inf}, {"keepdims": True}, {"ord": 1, "keepdims": True})],
    expression("norm count", _norm({"axis": 0, "ord": 0}), Operand((3, 4)), dtypes=SOME,
        derivatives=False),
    expression("norm vector", _norm({}), LONG, dtypes=("float32", "complex64", "int32",
        "bfloat16")),
    expression("norm stack", _norm({"axis": (0, 2), "ord": "fro"}), Operand((2, 3, 4)),
        dtypes=PLAIN),
]  # fmt: skip

CASES: list[JnpCase] = [
    *PRODUCTS,
    *EINSUM,
    *CONVOLUTION,
    *STATISTICS,
    *INTERPOLATION,
    *DIFFERENCES,
    *NORMS,
]
