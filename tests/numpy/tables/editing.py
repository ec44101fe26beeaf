"""Functions that insert, leave out and replace; places, bits, blocks, grids, polynomials."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.cases.op_case import Operand
from tests.numpy.case import FLOATS, JnpCase, expression, functions

X = Operand((3, 4))
V = Operand((5,))
SHORT = Operand((3,))
ONE = Operand((1,))
SCALAR = Operand(())
LEADING = Operand((3,), 1.0, 3.0)
COLUMN = Operand((3, 1))
SQUARE = Operand((3, 3))
APART = Operand((5,), distinct=True)
HEAVY = Operand((5,), 0.5, 2.0)
SOME = ("float32", "int32")
REALS = ("float32", "complex64", "int32")
MASK = Operand((3, 4), dtype="bool", differentiable=False)
BITS = Operand((3, 11), dtype="bool", differentiable=False)
BYTES = Operand((3, 2), 0, 255, dtype="uint8", differentiable=False)
PLACES = Operand((3,), 0, 5, dtype="int32", differentiable=False)
PLACE = Operand((), 0, 3, dtype="int32", differentiable=False)
ROWS = Operand((3, 2), -3, 2, dtype="int32", differentiable=False)
PAIR = Operand((2, 6), 0, 3, dtype="int32", differentiable=False)
FLAT = Operand((2, 3), 0, 11, dtype="int32", differentiable=False)


def in_place(name: str) -> Any:
    """The function of `xp` of this name that returns the array, which NumPy changes instead."""

    def call(xp: Any, array: Any, *args: Any, **options: Any) -> Any:
        if xp is not np:
            return getattr(xp, name)(array, *args, inplace=False, **options)
        array = array.copy()
        getattr(xp, name)(array, *args, **options)
        return array

    return call


put, place, put_along_axis = map(in_place, ("put", "place", "put_along_axis"))
DISTINCT = np.array([0, 7, -1])


def rest_of_division(xp: Any, u: Any, v: Any) -> Any:
    """Quotient and remainder of polynomials, the remainder with its zeros."""
    quotient, rest = xp.polydiv(u, v)
    if xp is not np:
        return quotient, rest
    zeros = np.zeros(len(u), rest.dtype)
    zeros[len(u) - len(rest) :] = rest
    return quotient, np.where(np.arange(len(u)) < len(u) - len(v) + 1, 0, zeros)


def still(label: str, call: Any, *operands: Operand, **facts: Any) -> JnpCase:
    """A call without derivatives."""
    return expression(label, call, *operands, derivatives=False, **facts)


def constant(label: str, call: Any) -> JnpCase:
    """A call without operands."""
    return still(label, call, dtypes=("float32",), batched=False)


REPLACED = [
    expression("put", lambda xp, x, v: put(xp, x, DISTINCT, v), X, SHORT, dtypes=SOME),
    expression("put few", lambda xp, x, v: put(xp, x, DISTINCT, v), X, ONE, dtypes=SOME),
    expression("put wrap", lambda xp, x, v: put(xp, x, np.array([13, -2]), v, mode="wrap"), X, V),
    expression("place", place, X, MASK, V, dtypes=SOME),
    expression("place one", place, X, MASK, SCALAR, dtypes=SOME),
    *[
        expression(
            f"put_along_axis {axis}",
            lambda xp, x, i, v, a=axis: put_along_axis(xp, x, i[: 2 - a, : 1 + a], v, a),
            *(X, ROWS if axis else Operand((2, 4), 0, 3, dtype="int32", differentiable=False)),
            SCALAR,
            dtypes=SOME,
        )
        for axis in (0, 1)
    ],
    expression(
        "put_along_axis flat", lambda xp, x, v: put_along_axis(xp, x, DISTINCT, v, None), X, SHORT
    ),
]
INSERTED = [
    *functions("insert", V, PLACES, SHORT, dtypes=SOME),
    *functions("insert", V, PLACE, SHORT, dtypes=SOME),
    *functions("insert", X, PLACE, SCALAR, options=({"axis": 1}, {})),
    *[
        expression(f"insert {i} {axis}", lambda xp, x, v, i=i, a=axis: xp.insert(x, i, v, a), X, v)
        for i, axis, v in (
            (1, 0, Operand((4,))),
            (-1, 1, SHORT),
            (slice(0, 3, 2), 0, Operand((4,))),
            (slice(None, None, -2), 1, SCALAR),
        )
    ],
    expression("insert rows", lambda xp, x, v: xp.insert(x, np.array([0, 0, -3]), v, 0), X, X),
    expression("insert at one", lambda xp, x, v: xp.insert(x, np.array([2]), v, 1), X, COLUMN),
    expression("insert nothing", lambda xp, x: xp.insert(x, np.array([], int), 1.0), X),
    *[
        expression(
            f"delete {i} {axis}", lambda xp, x, i=i, a=axis: xp.delete(x, i, a), X, dtypes=SOME
        )
        for i, axis in ((1, None), (-1, 0), (slice(None, None, 2), 1), (slice(3, 0, -2), 1))
    ],
    expression("delete places", lambda xp, x: xp.delete(x, np.array([0, 2, -1, 2]), 1), X),
    expression("delete mask", lambda xp, x: xp.delete(x, np.array([True, False, True]), 0), X),
    expression("delete nothing", lambda xp, x: xp.delete(x, np.array([], int)), X),
    *functions("resize", X, options=[{"new_shape": s} for s in (5, (5, 3), (), (0, 2))]),
    still(
        "trim_zeros",
        lambda xp: xp.trim_zeros(xp.array([0, 0, 1, 0, 2, 0])),
        dtypes=("float32",),
        batched=False,
    ),
    *[
        constant(f"trim_zeros {t}", lambda xp, t=t: xp.trim_zeros(xp.array([0, 1.5, 0, -0.0]), t))
        for t in ("f", "b", "fb")
    ],
    constant("trim_zeros box", lambda xp: xp.trim_zeros(xp.eye(4)[1:3], axis=1)),
    constant("trim_zeros none", lambda xp: xp.trim_zeros(xp.zeros((2, 3)))),
]
PLACED = [
    *[
        still(
            f"ravel_multi_index {mode} {order}",
            lambda xp, p, m=mode, o=order: xp.ravel_multi_index((p[0] - 1, p[1] + 1), (2, 3), m, o),
            PAIR, dtypes=("int32",),
        )
        for mode in ("clip", "wrap")
        for order in ("C", "F")
    ],
    still(
        "ravel_multi_index", lambda xp, p: xp.ravel_multi_index((p[0], p[1]), (3, 3)), PAIR,
        dtypes=("int32",), traceable=False, batched=False,
    ),
    still("unravel_index", lambda xp, i: xp.unravel_index(i, (2, 2, 3)), FLAT, dtypes=("int32",)),
    *functions(
        "packbits", BITS, options=({}, {"axis": 0}, {"axis": 1, "bitorder": "little"}),
        dtypes=("bool",), derivatives=False,
    ),
    *functions(
        "unpackbits", BYTES,
        options=({}, {"axis": 0}, {"axis": 1, "bitorder": "little", "count": 11},
            {"axis": -1, "count": -3}, {"count": 60}),
        dtypes=("uint8",), derivatives=False,
    ),
]  # fmt: skip
PARTS = [
    expression("block", lambda xp, x, v: xp.block([[x, x[:, :1]], [v]]), X, V),
    expression("block row", lambda xp, x, v: xp.block([x, v]), V, SCALAR),
    expression("block cube", lambda xp, x: xp.block([[[x]], [[2 * x]]]), X),
    constant("mgrid", lambda xp: xp.mgrid[0:3, 1:2:3j]),
    constant("mgrid one", lambda xp: xp.mgrid[4:0:-2]),
    constant("ogrid", lambda xp: tuple(xp.ogrid[0:3, 0:1:0.5])),
    constant("r_ slices", lambda xp: xp.r_[0:3, 7, 0:1:3j]),
    expression("r_", lambda xp, x: xp.r_[x, 0.5, x[::-1]], V, dtypes=FLOATS),
    expression("r_ axis", lambda xp, x: xp.r_["-1", x, 2 * x], X),
    expression("r_ upgraded", lambda xp, x: xp.r_["1,3,0", x, x], V),
    expression("c_", lambda xp, x: xp.c_[x, 2 * x], V),
]
POLYNOMIALS = [
    *functions("polyadd polysub", V, SHORT, dtypes=REALS),
    *functions("polyadd", V, ONE, dtypes=SOME),
    *functions("polymul", V, ONE, dtypes=("float32",)),
    *functions("polymul", V, LEADING, dtypes=("float32", "complex64")),
    expression("polydiv", rest_of_division, V, LEADING, dtypes=("float32", "int32")),
    expression("polydiv short", lambda xp, u, v: xp.polydiv(u, v), SHORT, V, dtypes=("float32",)),
    *functions("polyder", V, options=[{"m": m} for m in (0, 1, 3)], dtypes=REALS),
    *functions("polyint", V, options=[{"m": m} for m in (0, 1, 3)], dtypes=REALS),
    expression("polyint constants", lambda xp, p, k: xp.polyint(p, 3, k), V, SHORT),
    *functions("poly", SHORT, dtypes=("float32", "int32")),
    still("poly of a matrix", lambda xp, a: xp.poly(a) + 0j, SQUARE, dtypes=("float32",)),
    *functions("polyfit", APART, V, options=({"deg": 0}, {"deg": 2}), dtypes=("float32",)),
    *functions("polyfit", APART, Operand((5, 2)), options=({"deg": 1},), dtypes=("float32",)),
    expression(
        "polyfit weights",
        lambda xp, x, y, w: xp.polyfit(x, y, 1, w=w),
        APART,
        V,
        HEAVY,
        dtypes=("float32",),
    ),
    expression(
        "polyfit covariance",
        lambda xp, x, y: xp.polyfit(x, y, 1, cov=True),
        APART,
        V,
        dtypes=("float32",),
    ),
    still(
        "polyfit full",
        lambda xp, x, y: xp.polyfit(x, y, 1, full=True)[::2],
        APART,
        V,
        dtypes=("float32",),
    ),
    constant("roots", lambda xp: xp.sort(xp.roots(xp.array([0.0, 1.0, -1.0, -2.0, 0.0])))),
    constant("roots none", lambda xp: xp.roots(xp.array([0.0, 3.0])) + 0j),
]
CASES: list[JnpCase] = [*REPLACED, *INSERTED, *PLACED, *PARTS, *POLYNOMIALS]
