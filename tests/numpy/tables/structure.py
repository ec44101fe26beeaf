"""Functions that make, reshape, join, pick and arrange arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.cases.op_case import Operand
from tests.numpy.case import FLOATS, NUMBERS, JnpCase, expression, functions

X = Operand((3, 4))
CUBE = Operand((2, 3, 4))
V = Operand((5,))
SQUARE = Operand((4, 4))
SCALAR = Operand(())
SOME = ("float32", "int32")
MASK = Operand((3, 4), dtype="bool", differentiable=False)
PLACES = Operand((2, 3), 0, 5, dtype="int32", differentiable=False)
ROWS = Operand((3, 2), 0, 4, dtype="int32", differentiable=False)


def constant(label: str, call: Any, **facts: Any) -> JnpCase:
    """A call without operands."""
    return expression(label, call, dtypes=("float32",), derivatives=False, batched=False, **facts)


CREATION = [
    *[
        constant(f"{name}{shape} {dtype}", lambda xp, n=name, s=shape,
            d=dtype: getattr(xp, n)(s, d))
        for name in ("zeros", "ones")
        for shape in ((), (2, 3), 4)
        for dtype in (None, "int32", "bool")
    ],
    constant("full", lambda xp: xp.full((2, 3), 7)),
    constant("full complex", lambda xp: xp.full((2,), 1j)),
    constant("full array", lambda xp: xp.full((2, 3), xp.arange(3))),
    constant("full dtype", lambda xp: xp.full((2,), 2.9, "int32")),
    constant("eye", lambda xp: xp.eye(3)),
    constant("eye rectangular", lambda xp: xp.eye(3, 5, -1, "int32")),
    constant("identity", lambda xp: xp.identity(2, "float32")),
    constant("tri", lambda xp: xp.tri(3, 4, 1)),
    constant("tri int", lambda xp: xp.tri(3, k=-1, dtype="int32")),
    *[
        constant(f"arange{args}", lambda xp, a=args: xp.arange(*a))
        for args in ((5,), (2, 8, 2), (0.5, 3), (3, 0, -1), (0,), (4, 4), (2.5,))
    ],
    constant("arange dtype", lambda xp: xp.arange(3, dtype="float32")),
    constant("linspace", lambda xp: xp.linspace(0, 1, 7)),
    constant("linspace step", lambda xp: xp.linspace(0, 2, 5, endpoint=False, retstep=True)),
    constant("linspace int", lambda xp: xp.linspace(0, -5, 4, dtype="int32")),
    constant("linspace one", lambda xp: xp.linspace(3, 9, 1)),
    constant("linspace none", lambda xp: xp.linspace(3, 9, 0)),
    constant("linspace arrays", lambda xp: xp.linspace(xp.zeros(3), xp.arange(3.0), 4, axis=-1)),
    constant("logspace", lambda xp: xp.logspace(0, 2, 5, base=2.0)),
    constant("geomspace", lambda xp: xp.geomspace(1, 1000, 4)),
    constant("geomspace negative", lambda xp: xp.geomspace(-2, -16, 4, dtype="float32")),
    constant("geomspace open", lambda xp: xp.geomspace(1, 16, 4, endpoint=False)),
    constant("indices", lambda xp: xp.indices((2, 3))),
    constant("indices sparse", lambda xp: xp.indices((2, 3), sparse=True)),
    constant("fromfunction", lambda xp: xp.fromfunction(lambda i, j: i - 2 * j, (3, 2))),
    constant("ix_", lambda xp: xp.ix_(xp.arange(2), xp.arange(3))),
    constant("diag_indices", lambda xp: xp.diag_indices(3, 2)),
    constant("tril_indices", lambda xp: xp.tril_indices(3, 1, 4)),
    constant("triu_indices", lambda xp: xp.triu_indices(3, -1)),
    constant("mask_indices", lambda xp: xp.mask_indices(3, xp.triu), traceable=False),
    constant("array nested", lambda xp: xp.array([[1, 2], [3, 4.5]])),
    constant("array of scalars", lambda xp: xp.array([1, True])),
    constant("array ndmin", lambda xp: xp.array(3.0, ndmin=2)),
    constant("array empty", lambda xp: xp.array([])),
    constant("frombuffer", lambda xp: xp.frombuffer(b"\x01\x02\x03", np.uint8, offset=1)),
    constant("broadcast_shapes", lambda xp: xp.zeros(xp.broadcast_shapes((3, 1), (4,), 1))),
    *functions("zeros_like ones_like", X, dtypes=NUMBERS, derivatives=False),
    *functions("empty_like", X, dtypes=NUMBERS, derivatives=False, reference=np.zeros_like),
    expression("full_like", lambda xp, x: xp.full_like(x, 2), X, dtypes=NUMBERS, derivatives=False),
    expression("full_like shape", lambda xp, x: xp.full_like(x, 2, shape=(2,)), X,
        derivatives=False, batched=False),
    expression("array of traced", lambda xp, x: xp.array([[x[0], 1.0], [2, x[1]]]), V,
        dtypes=FLOATS[:1]),
    expression("linspace traced", lambda xp, x: xp.linspace(x, 2.0, 4), V, dtypes=FLOATS[:1]),
    *functions("asarray copy array", X),
]  # fmt: skip

SHAPING = [
    *functions("ravel", X, options=({}, {"order": "F"}), dtypes=SOME),
    *functions("reshape", X, options=({"shape": (4, 3)}, {"shape": -1}, {"shape": (2, -1)},
        {"shape": (6, 2), "order": "F"}), dtypes=SOME),
    *functions("transpose", CUBE, options=({}, {"axes": (1, 0, 2)}, {"axes": (-1, 0, 1)})),
    *functions("permute_dims", CUBE, options=({"axes": (2, 0, 1)},), dtypes=SOME),
    *functions("matrix_transpose", CUBE, dtypes=SOME),
    *functions("swapaxes", CUBE, options=({"axis1": 0, "axis2": -1},), dtypes=SOME),
    *functions("moveaxis", CUBE, options=({"source": 0, "destination": -1},
        {"source": (0, 1), "destination": (2, 0)}), dtypes=SOME),
    *functions("rollaxis", CUBE, options=({"axis": 2}, {"axis": 0, "start": 2}), dtypes=SOME),
    *functions("expand_dims", X, options=({"axis": 0}, {"axis": -1}, {"axis": (0, 2)}),
        dtypes=SOME),
    *functions("squeeze", Operand((1, 3, 1)), options=({}, {"axis": 0}, {"axis": (0, -1)}),
        dtypes=SOME),
    *functions("broadcast_to", V, options=({"shape": (2, 5)}, {"shape": (5,)}), dtypes=SOME),
    *functions("broadcast_arrays", X, Operand((4,)), Operand(()), dtypes=SOME),
    *functions("atleast_1d atleast_2d atleast_3d", SCALAR, dtypes=SOME),
    *functions("atleast_1d atleast_2d atleast_3d", V, dtypes=SOME),
    *functions("atleast_1d atleast_2d atleast_3d", X, dtypes=SOME),
    *functions("atleast_1d", V, SCALAR, dtypes=SOME),
    *functions("flip", X, options=({}, {"axis": 0}, {"axis": (0, 1)}), dtypes=SOME),
    *functions("fliplr flipud", X, dtypes=SOME),
    *functions("rot90", CUBE, options=tuple({"k": k, "axes": (0, 2)} for k in (-1, 0, 1, 2)),
        dtypes=SOME),
    *functions("roll", X, options=({"shift": 1}, {"shift": -2, "axis": 1},
        {"shift": (1, 5), "axis": (0, 1)}), dtypes=SOME),
    *functions("tile", X, options=({"reps": 2}, {"reps": (2, 1, 3)}, {"reps": ()}), dtypes=SOME),
    *functions("repeat", X, options=({"repeats": 2}, {"repeats": 3, "axis": 1},
        {"repeats": np.array([1, 0, 2]), "axis": 0}), dtypes=SOME),
    expression("repeat total", lambda xp, x: xp.repeat(x, xp.asarray([1, 0, 2]), 0,
        total_repeat_length=3), X, dtypes=SOME, reference=lambda x: np.repeat(x, [1, 0, 2], 0)),
    *functions("shape ndim size", X, derivatives=False, batched=False),
    *[expression(f"astype {d}", lambda xp, x, d=d: xp.astype(x, d), X, dtypes=("float32", "int32",
        "bool"), derivatives=False) for d in ("int32", "float32", "bool", "complex64")],
    *[expression(f"meshgrid {kw}", lambda xp, x, y, kw=kw: xp.meshgrid(x, y, **kw), V,
        Operand((3,)), dtypes=SOME) for kw in ({}, {"indexing": "ij"}, {"sparse": True})],
    expression("meshgrid three", lambda xp, x, y, z: xp.meshgrid(x, y, z), V, Operand((3,)),
        Operand((2,)), dtypes=SOME),
]  # fmt: skip

JOINING = [
    *[expression(f"{name} pair {kw}", lambda xp, x, y, n=name, kw=kw: getattr(xp, n)([x, y], **kw),
        X, Operand((3, 4)), dtypes=NUMBERS)
      for name, kw in (("concatenate", {}), ("concatenate", {"axis": None}),
        ("concatenate", {"axis": -1}), ("stack", {}), ("stack", {"axis": -1}), ("hstack", {}),
        ("vstack", {}), ("dstack", {}), ("column_stack", {}), ("concat", {"axis": 1}))],
    *[expression(f"{name} vectors", lambda xp, x, y, n=name: getattr(xp, n)((x, y)), V, V,
        dtypes=SOME) for name in ("hstack", "vstack", "dstack", "column_stack", "stack")],
    expression("concatenate promotes", lambda xp, x, y: xp.concatenate([x, y]), V,
        Operand((5,), dtype="bool", differentiable=False), dtypes=("float32", "bfloat16", "int32")),
    expression("concatenate dtype", lambda xp, x: xp.concatenate([x, x], dtype="float32"), V,
        dtypes=("int32",)),
    *functions("append", X, V, dtypes=SOME),
    *functions("append", X, X, options=({"axis": 0},), dtypes=SOME),
    *functions("unstack", CUBE, options=({}, {"axis": 1}), dtypes=SOME),
    *functions("split", Operand((6, 2)), options=({"indices_or_sections": 3},
        {"indices_or_sections": (1, 4)}, {"indices_or_sections": 2, "axis": 1}), dtypes=SOME),
    *functions("array_split", Operand((7,)), options=({"indices_or_sections": 3},
        {"indices_or_sections": (2, 2, 6)}), dtypes=SOME),
    *functions("hsplit vsplit", SQUARE, options=({"indices_or_sections": 2},), dtypes=SOME),
    *functions("dsplit", CUBE, options=({"indices_or_sections": 2},), dtypes=SOME),
]  # fmt: skip

SELECTION = [
    *functions("where", MASK, X, Operand((4,)), dtypes=NUMBERS),
    *functions("where", Operand((3, 1), dtype="bool", differentiable=False), SCALAR, X,
        dtypes=SOME),
    expression("where scalars", lambda xp, m: xp.where(m, 1, 0), MASK, derivatives=False),
    expression("where number", lambda xp, m, x: xp.where(x, x, 3), MASK, X, dtypes=SOME,
        derivatives=False),
    expression("select", lambda xp, x: xp.select([x < 0, x < 1], [x, 2 * x], 7), X, dtypes=SOME),
    *[expression(f"clip{args}", lambda xp, x, a=args: xp.clip(x, *a),
        Operand((3, 4), distinct=True),
        dtypes=SOME) for args in ((-1, 1), (None, 1), (-1, None), (1, -1))],
    *[expression(f"take axis={axis} {mode}", lambda xp, x, i, a=axis, m=mode:
        xp.take(x, i, a, mode=m), Operand((5, 5)), PLACES, dtypes=SOME)
      for axis in (None, 0, 1) for mode in ("clip", "wrap")],
    expression("take fill", lambda xp, x: xp.take(x, xp.asarray([0, -1, 7, -9]), 0), X,
        dtypes=("float32", "int32"), reference=lambda x: np.stack([x[0], x[-1],
        np.full_like(x[0], np.nan if x.dtype.kind == "f" else -2**31),
        np.full_like(x[0], np.nan if x.dtype.kind == "f" else -2**31)]), derivatives=False),
    *[expression(f"take_along_axis {axis}", lambda xp, x, i, a=axis: xp.take_along_axis(x, i, a), X,
        i, dtypes=SOME) for axis, i in ((1, ROWS), (-1, Operand((1, 2), 0, 4, dtype="int32",
        differentiable=False)), (0, Operand((2, 4), 0, 3, dtype="int32", differentiable=False)))],
    expression("take_along_axis flat", lambda xp, x: xp.take_along_axis(x, xp.asarray([3, 0]),
        None), X, dtypes=SOME),
    *[expression(f"choose {mode}", lambda xp, i, x, y, m=mode: xp.choose(i, [x, y], mode=m),
        Operand((3, 4), 0, 2, dtype="int32", differentiable=False), X, Operand((4,)), dtypes=SOME)
      for mode in ("clip", "wrap")],
    *functions("diagonal", CUBE, options=({}, {"offset": 1, "axis1": 1, "axis2": 2},
        {"offset": -1, "axis1": 2, "axis2": 0}, {"offset": 9}), dtypes=SOME),
    expression("compress", lambda xp, x: xp.compress(np.asarray([True, False, True]), x, 1), X,
        dtypes=SOME),
    expression("compress size", lambda xp, x: xp.compress(xp.asarray([0, 1, 1]) > 0, x, 0, size=3),
        X, dtypes=SOME, reference=lambda x: np.concatenate([x[1:], np.zeros_like(x[:1])])),
    expression("extract", lambda xp, x: xp.extract(np.asarray([False, True, True, False, True]), x),
        V, dtypes=SOME),
    *functions("diag", V, options=({}, {"k": 2}, {"k": -1}), dtypes=SOME),
    *functions("diag", X, options=({}, {"k": 2}, {"k": -1}), dtypes=SOME),
    *functions("diagflat", Operand((2, 2)), options=({}, {"k": 1}), dtypes=SOME),
    *functions("tril triu", CUBE, options=({}, {"k": 1}, {"k": -1}), dtypes=NUMBERS),
    *functions("vander", V, options=({}, {"N": 3, "increasing": True}, {"N": 0}), dtypes=SOME),
    *functions("diag_indices_from", SQUARE, derivatives=False, batched=False),
    *functions("tril_indices_from triu_indices_from", X, derivatives=False, batched=False),
    expression("fill_diagonal", lambda xp, x: xp.fill_diagonal(x, 9, inplace=False), X, dtypes=SOME,
        reference=lambda x: np.where(np.eye(3, 4, dtype=bool), np.array(9).astype(x.dtype), x)),
    expression("fill_diagonal vector", lambda xp, x, v: xp.fill_diagonal(x, v, inplace=False),
        SQUARE, Operand((4,)), dtypes=SOME,
        reference=lambda x, v: np.where(np.eye(4, dtype=bool), v, x)),
]  # fmt: skip

_PAD_MODES = ("edge", "reflect", "symmetric", "wrap")
PADDING = [
    *[expression(f"pad {mode} {width}", lambda xp, x, m=mode, w=width: xp.pad(x, w, mode=m), X,
        dtypes=SOME)
      for mode in _PAD_MODES for width in (0, 1, ((2, 1), (0, 3)), ((7, 0), (0, 11)))],
    *[expression(f"pad odd {mode}", lambda xp, x, m=mode: xp.pad(x, ((7, 1), (2, 11)), mode=m,
        reflect_type="odd"), X, dtypes=SOME) for mode in ("reflect", "symmetric")],
    *[expression(f"pad {mode}", lambda xp, x, m=mode: xp.pad(x, ((1, 2), (3, 0)), mode=m),
        Operand((3, 4), distinct=True), dtypes=("float32",))
      for mode in ("constant", "linear_ramp", "maximum", "mean", "median", "minimum")],
    expression("pad constants", lambda xp, x: xp.pad(x, ((1, 2), (3, 0)),
        constant_values=((1, 2), (3, 4))), X, dtypes=SOME),
    expression("pad constant pair", lambda xp, x: xp.pad(x, (1, 2), constant_values=(5, 6)), V,
        dtypes=("float32", "bool")),
    expression("pad ramp ends", lambda xp, x: xp.pad(x, (2, 3), mode="linear_ramp",
        end_values=(5, -4)), V, dtypes=("float32",)),
    expression("pad stat_length", lambda xp, x: xp.pad(x, 2, mode="mean", stat_length=(2, 3)), V,
        dtypes=("float32", "int32")),
    expression("pad empty axis", lambda xp, x: xp.pad(x, 2), Operand((0,)), batched=False),
    expression("pad function", lambda xp, x: xp.pad(x, 2, mode=lambda v, w, axis, kw: v * 2), V,
        dtypes=("float32",), reference=lambda x: np.pad(2 * x, 2)),
]  # fmt: skip

APPLICATION = [
    expression("apply_along_axis", lambda xp, x: xp.apply_along_axis(lambda v: xp.outer(v, v), 1,
        x), CUBE, dtypes=("float32",)),
    expression("apply_along_axis sum", lambda xp, x: xp.apply_along_axis(xp.sum, -1, x), X,
        dtypes=SOME),
    expression("apply_over_axes", lambda xp, x: xp.apply_over_axes(xp.sum, x, [0, 2]), CUBE,
        dtypes=SOME),
    expression("piecewise", lambda xp, x: xp.piecewise(x, [x < 0, x > 1], [-7, lambda v: v * 2, 3]),
        Operand((3, 4), distinct=True), dtypes=SOME),
    expression("piecewise default", lambda xp, x: xp.piecewise(x, [x < 0], [lambda v: v * v]), V,
        dtypes=SOME),
]  # fmt: skip

CASES: list[JnpCase] = [*CREATION, *SHAPING, *JOINING, *SELECTION, *PADDING, *APPLICATION]
