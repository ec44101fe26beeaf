"""Addition and multiplication with their relatives."""

from __future__ import annotations

import numpy as np

from morphax import lax

from .op_case import ANY_INTEGER, FLOATS, INEXACT, INTEGERS, NUMBERS, OpCase, Operand

PAIR = (Operand(), Operand())
BESIDE_SCALAR = (Operand(), Operand(shape=()))
SCALAR_FIRST = (Operand(shape=()), Operand())
# Divisors away from zero; whole numbers large enough to divide properly.
QUOTIENT = (Operand(low=-20, high=20), Operand(low=1, high=5))


def truncated_quotient(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return np.trunc(x / y).astype(x.dtype)


CASES = (
    OpCase("neg", lax.neg, np.negative, dtypes=NUMBERS),
    OpCase("neg/rank_0", lax.neg, np.negative, (Operand(shape=()),)),
    OpCase("neg/empty", lax.neg, np.negative, (Operand(shape=(2, 0)),)),
    OpCase("add", lax.add, np.add, PAIR, NUMBERS),
    OpCase("add/scalar", lax.add, np.add, BESIDE_SCALAR, INEXACT),
    OpCase("add/scalar_first", lax.add, np.add, SCALAR_FIRST),
    OpCase("add/number", lambda x: lax.add(x, 2), lambda x: x + 2, dtypes=NUMBERS),
    OpCase("add/empty", lax.add, np.add, (Operand(shape=(0, 3)), Operand(shape=()))),
    OpCase("add/axis_of_1", lax.add, np.add, (Operand((2, 1)), Operand((1, 3)))),
    OpCase("sub", lax.sub, np.subtract, PAIR, NUMBERS),
    OpCase("sub/scalar", lax.sub, np.subtract, BESIDE_SCALAR),
    OpCase("sub/scalar_first", lax.sub, np.subtract, SCALAR_FIRST),
    OpCase("mul", lax.mul, np.multiply, PAIR, NUMBERS),
    OpCase("mul/scalar", lax.mul, np.multiply, BESIDE_SCALAR),
    OpCase("mul/scalar_first", lax.mul, np.multiply, SCALAR_FIRST),
    OpCase(
        "mul/out_dtype",
        lambda x, y: lax.mul(x, y, out_dtype="float32"),
        lambda x, y: np.multiply(x.astype(np.float32), y.astype(np.float32)),
        PAIR,
        ("int8", "bfloat16", "float64"),
        derivatives=0,  # at float64 the differences drown in the rounding to float32
    ),
    OpCase("div", lax.div, np.divide, QUOTIENT, INEXACT),
    OpCase("div/scalar", lax.div, np.divide, (Operand(), Operand((), 1, 3))),
    OpCase("div/scalar_first", lax.div, np.divide, (Operand(()), Operand(low=1, high=3))),
    OpCase("div/integer", lax.div, truncated_quotient, QUOTIENT, ANY_INTEGER),
    # Quotients between whole numbers, as the derivative jumps there.
    OpCase("rem", lax.rem, np.fmod, (Operand(low=2.1, high=2.9), Operand((), 1, 1.01)), FLOATS),
    OpCase("rem/negative", lax.rem, np.fmod, (Operand(low=-2.9, high=-2.1), Operand((), 1, 1.01))),
    OpCase("rem/integer", lax.rem, np.fmod, QUOTIENT, INTEGERS),
)
