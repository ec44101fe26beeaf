"""Rounding to integers."""

from __future__ import annotations

import numpy as np

from morphax import lax

from .op_case import FLOATS, OpCase, Operand


def away_from_zero(x: np.ndarray) -> np.ndarray:
    return np.sign(x) * np.floor(np.abs(x) + 0.5)


EVEN = lax.RoundingMethod.TO_NEAREST_EVEN

CASES = (
    OpCase("floor", lax.floor, np.floor, dtypes=FLOATS, derivatives=1),
    OpCase("floor/rank_0", lax.floor, np.floor, (Operand(()),), derivatives=1),
    OpCase("ceil", lax.ceil, np.ceil, dtypes=FLOATS, derivatives=1),
    OpCase("round", lax.round, away_from_zero, dtypes=FLOATS, derivatives=1),
    OpCase("round/even", lambda x: lax.round(x, EVEN), np.rint, dtypes=FLOATS, derivatives=1),
    OpCase("round/halves", lambda x: lax.round(lax.mul(lax.floor(lax.mul(x, 2.0)), 0.5)),
           lambda x: away_from_zero(np.floor(x * 2) / 2), dtypes=FLOATS, derivatives=1),
    OpCase("is_finite", lax.is_finite, np.isfinite, dtypes=FLOATS, derivatives=0),
    OpCase("is_finite/not", lambda x: lax.is_finite(lax.log(x)), lambda x: x > 0, dtypes=FLOATS,
           derivatives=0),
)  # fmt: skip
