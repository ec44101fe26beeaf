"""Circular functions and their inverses."""

from __future__ import annotations

import numpy as np

from morphax import lax

from .op_case import FLOATS, INEXACT, OpCase, Operand

INSIDE = (Operand(low=-0.9, high=0.9),)
ANGLE = (Operand(low=-1.2, high=1.2),)

CASES = (
    OpCase("sin", lax.sin, np.sin, dtypes=INEXACT),
    OpCase("sin/rank_0", lax.sin, np.sin, (Operand(()),)),
    OpCase("sin/empty", lax.sin, np.sin, (Operand((2, 0)),)),
    OpCase("cos", lax.cos, np.cos, dtypes=INEXACT),
    OpCase("tan", lax.tan, np.tan, ANGLE, INEXACT),
    OpCase("asin", lax.asin, np.arcsin, INSIDE, INEXACT),
    OpCase("acos", lax.acos, np.arccos, INSIDE, INEXACT),
    # |z| < 1: the function has poles at ±i.
    OpCase("atan", lax.atan, np.arctan, (Operand(low=-0.6, high=0.6),), INEXACT),
    OpCase("atan/large", lax.atan, np.arctan, (Operand(low=-50, high=50),), FLOATS),
    OpCase("atan2", lax.atan2, np.arctan2, (Operand(), Operand(low=0.5, high=2)), FLOATS),
    OpCase("atan2/left", lax.atan2, np.arctan2,
           (Operand(low=0.5, high=2), Operand(low=-2, high=-0.5)), FLOATS),
    OpCase("atan2/scalar", lax.atan2, np.arctan2, (Operand(), Operand((), 0.5, 2))),
    OpCase("atan2/complex", lax.atan2, lambda x, y: np.arctan(x / y),
           (Operand(low=-0.3, high=0.3), Operand((), 1, 2)), ("complex64", "complex128")),
)  # fmt: skip
