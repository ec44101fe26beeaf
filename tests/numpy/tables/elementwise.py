"""Elementwise functions: arithmetic, exponential, trigonometric, logic, rounding, predicates."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.cases.op_case import Operand
from tests.numpy.case import ALL, FLOATS, INTEGERS, NUMBERS, REALS, JnpCase, expression, functions

X = Operand((3, 4))
ROW = Operand((4,))
COLUMN = Operand((3, 1))
SCALAR = Operand(())
POSITIVE = Operand((3, 4), 0.5, 4.0)
INSIDE = Operand((3, 4), -0.9, 0.9)
ABOVE_ONE = Operand((3, 4), 1.5, 3.0)
APART = Operand((3, 4), distinct=True)
NONZERO = Operand((4,), 1.0, 3.0)
SMALL_INT = Operand((3, 4), 0, 5, dtype="int32", differentiable=False)
INEXACT = ("float32", "bfloat16", "complex64", "int32")
TRUTH = Operand((4,), dtype="bool", differentiable=False)


def _reciprocal(xp: Any, x: Any) -> Any:
    return 1.0 / x


SPECIAL = np.array([0.0, -0.0, 1.5, -2.5, np.inf, -np.inf, np.nan, 1e30, -3e-30], np.float32)

CASES: list[JnpCase] = [
    *functions("add multiply", X, ROW, dtypes=ALL),
    *functions("subtract", X, ROW),
    *functions("add subtract multiply", COLUMN, ROW, dtypes=("float32",)),
    *functions("add multiply maximum", X, SCALAR, dtypes=("float32", "int32")),
    *functions("divide true_divide", X, NONZERO, dtypes=ALL[:-1]),
    *functions("float_power", POSITIVE, ROW, dtypes=("float32", "int32", "complex64")),
    *functions("power", POSITIVE, NONZERO, dtypes=("float32", "bfloat16", "int32", "uint8")),
    *functions("power", POSITIVE, SMALL_INT, dtypes=("float32", "int32")),
    *functions("floor_divide remainder mod fmod", APART, NONZERO, dtypes=REALS, derivatives=False),
    *functions("divmod", APART, NONZERO, dtypes=("float32", "int32"), derivatives=False),
    *functions("maximum minimum", APART, ROW, dtypes=("float32", "int32", "bool")),
    *functions("fmax fmin", APART, ROW, dtypes=("float32", "int32")),
    *functions("negative", X, dtypes=("float32", "complex64", "int32")),
    *functions("positive square", X, dtypes=NUMBERS),
    *functions("abs absolute", APART, dtypes=("float32", "complex64", "int32", "uint8", "bool")),
    *functions("fabs", APART, dtypes=("float32", "int32")),
    *functions("sign", APART, dtypes=("float32", "int32")),
    *functions("sign", APART, dtypes=("complex64",), derivatives=False),
    *functions("sqrt", POSITIVE, dtypes=INEXACT),
    *functions("cbrt", POSITIVE, dtypes=("float32", "int32")),
    *functions("reciprocal", POSITIVE, dtypes=INEXACT[:3], reference=lambda x: 1.0 / x),
    *functions("hypot", POSITIVE, NONZERO, dtypes=("float32", "int32")),
    *functions("exp exp2 expm1", X, dtypes=INEXACT),
    *functions("log log2 log10 log1p", POSITIVE, dtypes=INEXACT),
    *functions("logaddexp logaddexp2", X, ROW, dtypes=("float32", "int32")),
    *functions("sin cos tan sinh cosh tanh", X, dtypes=INEXACT),
    *functions("arctan arcsinh atan asinh", INSIDE, dtypes=("float32", "complex64")),
    *functions("arcsin arccos arctanh asin acos atanh", INSIDE, dtypes=("float32", "complex64")),
    *functions("arccosh acosh", ABOVE_ONE, dtypes=("float32", "int32", "complex64")),
    *functions("arctan2 atan2", APART, NONZERO, dtypes=("float32", "int32")),
    *functions("deg2rad rad2deg degrees radians", X, dtypes=("float32", "int32")),
    *functions("sinc", APART, dtypes=("float32", "int32")),
    *functions("equal not_equal", X, ROW, dtypes=ALL, derivatives=False),
    *functions("less less_equal greater greater_equal", X, ROW, dtypes=REALS, derivatives=False),
    *functions("logical_and logical_or logical_xor", X, ROW, dtypes=ALL, derivatives=False),
    *functions("logical_not", X, dtypes=ALL, derivatives=False),
    *functions("bitwise_and bitwise_or bitwise_xor", X, TRUTH, dtypes=("bool",)),
    *functions("bitwise_and bitwise_or bitwise_xor", X, ROW, dtypes=INTEGERS),
    *functions("bitwise_not invert bitwise_invert", X, dtypes=(*INTEGERS, "bool")),
    *functions("left_shift right_shift", SMALL_INT, SMALL_INT, dtypes=("int32",)),
    *functions("bitwise_left_shift bitwise_right_shift", SMALL_INT, SMALL_INT, dtypes=("int32",)),
    *functions("bitwise_count", X, dtypes=INTEGERS),
    *functions("floor ceil trunc rint", X, dtypes=("float32", "bfloat16"), derivatives=False),
    *functions("floor ceil trunc rint", X, dtypes=INTEGERS, derivatives=False),
    *functions(
        "round around", X, options=({}, {"decimals": 1}), dtypes=("float32", "int32", "complex64"),
        derivatives=False,
    ),
    *functions(
        "round", Operand((9,), -999, 999), options=({"decimals": -2},), dtypes=("float32",),
        derivatives=False,
    ),
    *functions(
        "round", Operand((9,), -999, 999), options=({"decimals": -2},), dtypes=("int32",),
        derivatives=False, beyond=True,
    ),
    *functions("modf", X, dtypes=FLOATS, derivatives=False),
    *functions("real imag", X, dtypes=ALL),
    *functions("conj conjugate", X, dtypes=NUMBERS),
    *functions("angle", Operand((3, 4), 0.5, 2.0), options=({}, {"deg": True}),
        dtypes=("complex64",)),
    *functions("angle", APART, dtypes=("float32",), derivatives=False),
    *functions("iscomplex isreal", X, dtypes=ALL, derivatives=False),
    *functions("isnan isinf isfinite", X, dtypes=ALL, derivatives=False),
    *functions("isposinf isneginf signbit", X, dtypes=REALS, derivatives=False),
    *functions("copysign", APART, ROW, dtypes=("float32", "int32")),
    *functions("nextafter", X, ROW, dtypes=("float32",), derivatives=False,
        reference=lambda x, y: np.nextafter(x.astype("f"), y.astype("f"))),
    *functions("spacing", X, dtypes=("float32",), derivatives=False,
        reference=lambda x: np.spacing(x.astype("f"))),
    *functions("ldexp", X, SMALL_INT, dtypes=("float32",)),
    *functions("frexp", X, dtypes=("float32",), derivatives=False),
    *functions("heaviside", APART, ROW, dtypes=("float32", "int32"), derivatives=False),
    *functions("nan_to_num", X, dtypes=ALL),
    *functions("isclose", X, ROW, dtypes=("float32", "int32", "complex64"), derivatives=False),
    *[
        expression(
            f"{name}/special",
            lambda xp, name=name: getattr(xp, name)(xp.asarray(SPECIAL)),
            dtypes=("float32",),
            reference=lambda name=name: getattr(np, name)(SPECIAL),
            derivatives=False,
            batched=False,
        )
        for name in (
            *("isnan", "isinf", "isfinite", "isposinf", "isneginf", "signbit", "nan_to_num"),
            *("modf", "frexp", "rint", "floor", "trunc", "spacing", "sign", "sqrt", "exp", "cbrt"),
        )
    ],
    *[
        expression(
            f"isclose/special equal_nan={equal_nan}",
            lambda xp, e=equal_nan: xp.isclose(
                xp.asarray(SPECIAL[:, None]), xp.asarray(SPECIAL), equal_nan=e
            ),
            dtypes=("float32",),
            derivatives=False,
            batched=False,
        )
        for equal_nan in (False, True)
    ],
    expression("ldexp/extremes", lambda xp: xp.ldexp(
        xp.asarray(SPECIAL[:, None]), xp.asarray(np.array([-300, -149, -1, 0, 100, 255], np.int32))
    ), dtypes=("float32",), derivatives=False, batched=False),
    expression("power/python int", lambda xp, x: x**3, X, dtypes=NUMBERS),
    expression("power/python float", lambda xp, x: x**0.5, POSITIVE, dtypes=("float32", "int32")),
    expression("power/python base", lambda xp, x: 2**x, POSITIVE, dtypes=("float32", "int32")),
    expression("divide/python scalar", lambda xp, x: 1 / x, NONZERO, dtypes=("float32", "int32")),
    expression("add/python float", lambda xp, x: x + 1.5, X,
        dtypes=("float32", "bfloat16", "int32")),
]  # fmt: skip
