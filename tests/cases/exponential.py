"""Exponentials and logarithms."""

from __future__ import annotations

import numpy as np

from morphax import lax

from .op_case import INEXACT, OpCase, Operand

POSITIVE = (Operand(low=0.5, high=3),)
ABOVE_MINUS_ONE = (Operand(low=-0.5, high=3),)


def logistic(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


CASES = (
    OpCase("exp", lax.exp, np.exp, dtypes=INEXACT),
    OpCase("exp/rank_0", lax.exp, np.exp, (Operand(()),)),
    OpCase("exp2", lax.exp2, lambda x: 2**x, dtypes=INEXACT),
    OpCase("expm1", lax.expm1, np.expm1, dtypes=INEXACT),
    OpCase("expm1/small", lax.expm1, np.expm1, (Operand(low=-1e-3, high=1e-3),), INEXACT),
    OpCase("log", lax.log, np.log, POSITIVE, INEXACT),
    OpCase("log2", lax.log2, np.log2, POSITIVE, INEXACT),
    OpCase("log1p", lax.log1p, np.log1p, ABOVE_MINUS_ONE, INEXACT),
    OpCase("log1p/small", lax.log1p, np.log1p, (Operand(low=-1e-3, high=1e-3),), INEXACT),
    OpCase("log/empty", lax.log, np.log, (Operand((0, 3)),)),
    OpCase("logistic", lax.logistic, logistic, dtypes=INEXACT),
    OpCase("logistic/large", lax.logistic, logistic, (Operand(low=-40, high=40),)),
)
