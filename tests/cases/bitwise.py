"""Operations on bits."""

from __future__ import annotations

import numpy as np

from morphax import lax

from .op_case import ANY_INTEGER, BOOL, OpCase, Operand

BITS = ANY_INTEGER + BOOL
PAIR = (Operand(low=-100, high=100), Operand(low=-100, high=100))
BESIDE_SCALAR = (Operand(low=-100, high=100), Operand((), low=-100, high=100))
SHIFT = (Operand(low=-100, high=100), Operand(low=0, high=8))


def shift_right_logical(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    unsigned = x.view(f"u{x.dtype.itemsize}") >> y.astype(f"u{x.dtype.itemsize}")
    return unsigned.view(x.dtype)


def shift_right_arithmetic(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    signed = x.view(f"i{x.dtype.itemsize}") >> y.astype(f"i{x.dtype.itemsize}")
    return signed.view(x.dtype)


CASES = (
    OpCase("and", lax.bitwise_and, np.bitwise_and, PAIR, BITS, derivatives=0),
    OpCase("and/scalar", lax.bitwise_and, np.bitwise_and, BESIDE_SCALAR, derivatives=0,
           dtypes=("int32", "bool")),
    OpCase("or", lax.bitwise_or, np.bitwise_or, PAIR, BITS, derivatives=0),
    OpCase("xor", lax.bitwise_xor, np.bitwise_xor, PAIR, BITS, derivatives=0),
    OpCase("not", lax.bitwise_not, np.bitwise_not, PAIR[:1], BITS, derivatives=0),
    OpCase("not/empty", lax.bitwise_not, np.bitwise_not, (Operand((0,)),), ("int32",),
           derivatives=0),
    OpCase("shift_left", lax.shift_left, np.left_shift, SHIFT, ANY_INTEGER, derivatives=0),
    OpCase("shift_left/number", lambda x: lax.shift_left(x, 3), lambda x: x << 3, PAIR[:1],
           ANY_INTEGER, derivatives=0),
    OpCase("shift_right_logical", lax.shift_right_logical, shift_right_logical, SHIFT,
           ANY_INTEGER, derivatives=0),
    OpCase("shift_right_arithmetic", lax.shift_right_arithmetic, shift_right_arithmetic, SHIFT,
           ANY_INTEGER, derivatives=0),
)  # fmt: skip
