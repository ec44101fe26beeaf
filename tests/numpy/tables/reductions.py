"""Reductions, running totals, sorting, quantiles, searching and sets."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.cases.op_case import Operand
from tests.numpy.case import ALL, FLOATS, NUMBERS, REALS, JnpCase, expression, functions

X = Operand((3, 4))
CUBE = Operand((2, 3, 4))
APART = Operand((3, 4), distinct=True)
DISTINCT = Operand((2, 3, 4), distinct=True)
V = Operand((7,))
FEW = Operand((9,), 0, 4, differentiable=False)
SOME = ("float32", "int32")
MASK = Operand((3, 4), dtype="bool", differentiable=False)
AXES = (
    {},
    {"axis": 0},
    {"axis": -1},
    {"axis": (0, 2)},
    {"axis": 1, "keepdims": True},
    {"axis": ()},
)
AXIS = ({}, {"axis": 0}, {"axis": -1})


def with_nan(x: Any) -> Any:
    """A third of the elements and one row become NaN, by place."""
    places = np.arange(x.size).reshape(x.shape)
    missing = (places % 3 == 1) | (places >= x.size - x.shape[-1])
    return np.where(missing, np.nan, x)


def nan_case(name: str, options: Any, **facts: Any) -> JnpCase:
    places = np.arange(12).reshape(3, 4)
    missing = (places % 3 == 1) | (places >= 8)

    def call(xp: Any, x: Any) -> Any:
        return getattr(xp, name)(xp.where(missing, xp.nan, x), **options)

    label = f"{name} {options}"
    return expression(label, call, APART, dtypes=("float32",), **facts)


REDUCTIONS = [
    *functions("sum", CUBE, options=AXES, dtypes=ALL, derivatives=True),
    *functions("prod", DISTINCT, options=AXES, dtypes=("float32", "int32", "bool")),
    *functions("max min amax amin ptp", DISTINCT, options=AXES[:5], dtypes=SOME),
    *functions("max min", X, options=AXIS, dtypes=("bool", "uint8", "bfloat16"), derivatives=False),
    *functions("all any", CUBE, options=AXES, dtypes=("bool", "float32"), derivatives=False),
    *functions("count_nonzero", CUBE, options=AXES[:5], dtypes=("int32", "float32"),
        derivatives=False),
    *functions("mean", CUBE, options=AXES[:5], dtypes=ALL),
    *functions("var std", DISTINCT, options=(*AXES[:5], {"ddof": 1}, {"correction": 1, "axis": 1}),
        dtypes=("float32", "int32", "complex64")),
    *functions("mean var", X, options=({"axis": 0},), dtypes=("bfloat16",), derivatives=False),
    *functions("sum prod mean", X, options=({"dtype": "float32"},), dtypes=("int32", "bfloat16")),
    *functions("sum prod", X, options=({"initial": 3},), dtypes=SOME),
    *functions("max", APART, options=({"initial": 0, "axis": 0},), dtypes=SOME, derivatives=False),
    *functions("average", X, options=AXIS, dtypes=SOME),
    expression("average weights", lambda xp, x, w: xp.average(x, 1, w), X, Operand((4,), 1.0, 2.0),
        dtypes=SOME),
    expression("average returned", lambda xp, x, w: xp.average(x, 0, w, returned=True), X,
        Operand((3, 4), 1.0, 2.0), dtypes=("float32",)),
    expression("average keepdims", lambda xp, x, w: xp.average(x, 0, w, keepdims=True), X,
        Operand((3,), 1.0, 2.0), dtypes=("float32",)),
    *[expression(f"{name} where {kw}",
        lambda xp, x, m, n=name, kw=kw: getattr(xp, n)(x, where=m, **kw),
        APART, MASK, dtypes=SOME, derivatives=name in ("sum", "prod"))
      for name, kw in (("sum", {}), ("sum", {"axis": 1}), ("prod", {"axis": 0}), ("all", {}),
        ("any", {"axis": 0}), ("max", {"initial": -5}), ("min", {"initial": 5, "axis": 1}),
        ("mean", {"axis": 0}), ("var", {"axis": 0}), ("std", {}))],
    expression("mean where broadcast", lambda xp, x: xp.mean(x, where=xp.asarray([True, False, True,
        True])), X, dtypes=SOME),
]  # fmt: skip

NAN = [
    *[nan_case(name, kw, derivatives=kw != {"axis": -1}) for name in ("nanmax", "nanmin")
      for kw in AXIS],
    *[nan_case(name, kw)
      for name in ("nansum", "nanprod", "nancumsum", "nancumprod") for kw in AXIS],
    *[nan_case(name, kw, derivatives=kw == {}) for name in ("nanmean", "nanvar", "nanstd")
      for kw in (*AXIS, {"axis": 0, "keepdims": True})],
    nan_case("nanvar", {"ddof": 2, "axis": 1}, derivatives=False),
    *[nan_case("nanmedian", kw, derivatives=False) for kw in AXIS],
    nan_case("nanquantile", {"q": 0.3, "axis": 0}, derivatives=False),
    nan_case("nanpercentile", {"q": 30, "keepdims": True}, derivatives=False),
    *functions("nanmax nansum nanmean nanmedian", X, dtypes=("int32",), derivatives=False),
    expression("nanargmax", lambda xp, x: xp.nanargmax(xp.where(x > 0, xp.nan, x), 1),
        Operand((3, 4), -2, 0.5, distinct=True), dtypes=("float32",), derivatives=False),
    *functions("nanargmax nanargmin", APART, dtypes=SOME, derivatives=False),
]  # fmt: skip

CUMULATIVE = [
    *functions("cumsum cumprod", X, options=AXIS, dtypes=NUMBERS, tolerance=4.0),
    *functions("cumsum cumprod", X, options=({"axis": 0},), dtypes=("bool",)),
    *functions("cumsum", X, options=({"dtype": "float32"},), dtypes=("int32",)),
    *functions("cumulative_sum cumulative_prod", X, options=({"axis": 0},
        {"axis": 1, "include_initial": True}), dtypes=SOME),
    *functions("cumulative_sum", V, options=({}, {"include_initial": True}),
        dtypes=("int8", "uint8", "bool", "float32")),
]  # fmt: skip

SORTING = [
    *functions("sort", APART, options=(*AXIS, {"axis": None}), dtypes=("float32", "int32", "bool",
        "complex64")),
    expression("sort descending", lambda xp, x: xp.sort(x, descending=True), APART, dtypes=SOME,
        reference=lambda x: np.sort(x)[:, ::-1]),
    *functions("argsort", APART, options=tuple({**kw, "stable": True} for kw in (*AXIS,
        {"axis": None})), dtypes=SOME, derivatives=False),
    expression("argsort ties", lambda xp, x: xp.argsort(x, stable=True), FEW, dtypes=("int32",),
        derivatives=False, reference=lambda x: np.argsort(x, kind="stable")),
    expression("argsort ties descending", lambda xp, x: xp.argsort(x, descending=True), FEW,
        dtypes=("int32",), derivatives=False, reference=lambda x: np.argsort(-x, kind="stable")),
    expression("lexsort", lambda xp, x, y: xp.lexsort((x, y)), FEW, FEW, dtypes=("int32",),
        derivatives=False),
    expression("lexsort axis", lambda xp, x: xp.lexsort(x, axis=0), Operand((2, 3, 4), 0, 3),
        dtypes=("int32",), derivatives=False),
    expression("partition", lambda xp, x: xp.sort(xp.partition(x, 2)[:, :3]), APART, dtypes=SOME),
    expression("argpartition", lambda xp, x: xp.sort(xp.argpartition(x, 1)[:, :2]), APART,
        dtypes=SOME, derivatives=False),
    *functions("sort_complex", V, dtypes=("float32", "int32", "complex64")),
    expression("sort nan", lambda xp: xp.sort(xp.asarray(np.array([np.nan, 1, -np.inf, -0.0, 0, 2],
        "f"))), dtypes=("float32",), derivatives=False, batched=False),
]  # fmt: skip

_METHODS = ("linear", "lower", "higher", "midpoint", "inverted_cdf")
QUANTILES = [
    *functions("median", DISTINCT, options=AXES[:5], dtypes=SOME),
    *functions("median", APART, dtypes=("bfloat16", "bool"), derivatives=False),
    *[expression(f"quantile {m} {axis}", lambda xp, x, m=m, axis=axis: xp.quantile(x,
        xp.asarray(np.array([0.1, 0.5, 1.0], "f")), axis=axis, method=m), APART,
        dtypes=("float32",),
        reference=lambda x, m=m, axis=axis: np.quantile(x, [0.1, 0.5, 1.0], axis=axis, method=m))
      for m in _METHODS for axis in (None, 1)],
    expression("quantile nearest", lambda xp, x: xp.quantile(x, 0.3, method="nearest"), APART,
        dtypes=("float32",)),
    expression("quantile axes", lambda xp, x: xp.quantile(x, 0.3, axis=(0, 2), keepdims=True),
        DISTINCT, dtypes=SOME, tolerance=4.0),
    expression("percentile", lambda xp, x: xp.percentile(x, 40, axis=0), APART, dtypes=SOME,
        tolerance=4.0),
    expression("quantile weights", lambda xp, x, w: xp.quantile(x, 0.4, axis=0,
        method="inverted_cdf",
        weights=w), APART, Operand((3, 4), 0.5, 1.0, differentiable=False), dtypes=("float32",)),
    expression("quantile nan", lambda xp: xp.quantile(xp.asarray(np.array([[1, np.nan], [2, 3]],
        "f")), 0.5, axis=0), dtypes=("float32",), derivatives=False, batched=False),
    expression("median infinities", lambda xp: xp.median(xp.asarray(np.array([1, np.inf, np.inf],
        "f"))), dtypes=("float32",), derivatives=False, batched=False),
]  # fmt: skip

SEARCHING = [
    *functions("argmax argmin", APART, options=(*AXIS, {"axis": 1, "keepdims": True},
        {"keepdims": True}), dtypes=("float32", "int32", "bfloat16"), derivatives=False),
    *functions("argmax argmin", X, dtypes=("bool",), derivatives=False),
    *functions("nonzero flatnonzero argwhere", MASK, derivatives=False, batched=False,
        traceable=False, dtypes=("bool",)),
    expression("nonzero size", lambda xp, m: xp.nonzero(m, size=15, fill_value=-1), MASK,
        dtypes=("bool",), derivatives=False,
        reference=lambda m: tuple(np.pad(i, (0, 15 - len(i)), constant_values=-1)
        for i in np.nonzero(m))),
    expression("nonzero cut", lambda xp, m: xp.nonzero(m, size=2), MASK, dtypes=("bool",),
        derivatives=False, reference=lambda m: tuple(i[:2] for i in np.nonzero(m))),
    expression("nonzero fills", lambda xp, m: xp.nonzero(m, size=15, fill_value=(3, 4)), MASK,
        dtypes=("bool",), derivatives=False,
        reference=lambda m: tuple(np.pad(i, (0, 15 - len(i)), constant_values=f)
        for i, f in zip(np.nonzero(m), (3, 4), strict=True))),
    expression("where one argument", lambda xp, m: xp.where(m, size=4)[1], MASK, dtypes=("bool",),
        derivatives=False, reference=lambda m: np.pad(np.nonzero(m)[1], (0, 4))[:4]),
    *[expression(f"searchsorted {side} {method}", lambda xp, a, v, s=side,
        m=method: xp.searchsorted(
        xp.sort(a), v, s, **({} if xp is np else {"method": m})), FEW, Operand((3, 2), -1, 5),
        dtypes=SOME, derivatives=False)
      for side in ("left", "right") for method in ("scan", "scan_unrolled", "sort", "compare_all")],
    expression("searchsorted nan", lambda xp: xp.searchsorted(xp.asarray(np.array([1, 2, np.nan],
        "f")), xp.asarray(np.array([np.nan, 1.5, 9, np.inf], "f")), "right"), dtypes=("float32",),
        derivatives=False, batched=False),
    expression("searchsorted sorter", lambda xp, a: xp.searchsorted(a, xp.asarray([0, 2]),
        sorter=xp.argsort(a)), FEW, dtypes=("int32",), derivatives=False),
    *[expression(f"digitize right={right} {step}", lambda xp, x, r=right, s=step: xp.digitize(x,
        xp.asarray(np.array([-1.0, 0, 1], "f")[::s]), right=r), X, dtypes=("float32",),
        derivatives=False) for right in (False, True) for step in (1, -1)],
    *functions("bincount", FEW, options=({"minlength": 7},), dtypes=("int32", "uint8"),
        derivatives=False, batched=False, traceable=False),
    expression("bincount length", lambda xp, x: xp.bincount(x, length=3), FEW, dtypes=("int32",),
        derivatives=False, reference=lambda x: np.bincount(x, minlength=4)[:3]),
    expression("bincount weights", lambda xp, x, w: xp.bincount(x, w, length=4),
        Operand((9,), 0, 4, dtype="int32", differentiable=False), Operand((9,)),
        dtypes=("float32",),
        reference=lambda x, w: np.bincount(x, w, minlength=4)),
]  # fmt: skip

SETS = [
    *functions("unique", FEW, options=({}, {"return_index": True, "return_inverse": True,
        "return_counts": True}), dtypes=("int32", "uint8", "bool"), derivatives=False,
        batched=False,
        traceable=False),
    *functions("unique", Operand((5, 2), 0, 2), options=({"axis": 0, "return_inverse": True},
        {"axis": 1, "return_counts": True}), dtypes=("int32",), derivatives=False, batched=False,
        traceable=False),
    expression("unique size", lambda xp, x: xp.unique(x, size=6, fill_value=-1, return_counts=True),
        FEW, dtypes=("int32",), derivatives=False, reference=lambda x: tuple(np.pad(r,
            (0, 6 - len(r)),
        constant_values=c) for r, c in zip(np.unique(x, return_counts=True), (-1, 0),
        strict=True))),
    expression("unique nan", lambda xp: xp.unique(xp.asarray(np.array([np.nan, 1, np.nan], "f"))),
        dtypes=("float32",), derivatives=False, batched=False, traceable=False),
    *functions("unique_values", FEW, dtypes=("int32",), derivatives=False, batched=False,
        traceable=False, reference=np.unique),
    *functions("unique_counts unique_inverse", FEW, dtypes=("int32",),
        derivatives=False, batched=False, traceable=False),
    expression("unique_all", lambda xp, x: tuple(xp.unique_all(x)), FEW, dtypes=("int32",),
        derivatives=False, batched=False, traceable=False),
    *[expression(f"isin {kw}", lambda xp, x, y, kw=kw: xp.isin(x, y, **({} if xp is np else kw)),
        Operand((3, 4), 0, 9), FEW, dtypes=SOME, derivatives=False)
      for kw in ({}, {"method": "sort"}, {"method": "binary_search"}, {"method": "compare_all"})],
    expression("isin many", lambda xp, x: xp.isin(x, xp.arange(50) * 2, invert=True), FEW,
        dtypes=SOME, derivatives=False),
    *functions("union1d intersect1d setdiff1d setxor1d", FEW, Operand((5,), 2, 7),
        dtypes=("int32",), derivatives=False, batched=False, traceable=False),
    *functions("intersect1d", FEW, Operand((5,), 2, 7), options=({"return_indices": True},),
        dtypes=("int32",), derivatives=False, batched=False, traceable=False),
    *[expression(f"{name} size", lambda xp, x, y, n=name: getattr(xp, n)(x, y, size=12,
        fill_value=-1), FEW, Operand((5,), 2, 7), dtypes=("int32",), derivatives=False,
        reference=lambda x, y, n=name: np.pad(r := getattr(np, n)(x, y), (0, 12 - len(r)),
        constant_values=-1))
      for name in ("union1d", "intersect1d", "setdiff1d", "setxor1d")],
]  # fmt: skip

FLOATING = FLOATS
REAL = REALS
CASES: list[JnpCase] = [*REDUCTIONS, *NAN, *CUMULATIVE, *SORTING, *QUANTILES, *SEARCHING, *SETS]
