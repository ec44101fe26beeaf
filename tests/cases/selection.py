"""Choosing between values."""

from __future__ import annotations

from typing import Any

import numpy as np

from morphax import lax

from .op_case import ALL, COMPLEXES, FLOATS, INEXACT, INTEGERS, OpCase, Operand

REAL = FLOATS + INTEGERS
FLAGS, ONE_FLAG = Operand(dtype="bool"), Operand((), dtype="bool")
PAIR = (Operand(), Operand())


def choice(which: np.ndarray, *cases: np.ndarray) -> np.ndarray:
    positions = np.clip(np.broadcast_to(which, cases[0].shape).astype(int), 0, len(cases) - 1)
    return np.choose(positions, cases)


def scalar_case(which: Any, x: Any, y: Any) -> Any:
    """The primitive takes scalars beside arrays; the public function does not."""
    return lax.select_n_p.bind(which, x, y)


CASES = (
    OpCase("select_n", lax.select_n, choice, (FLAGS, *PAIR), ALL),
    OpCase("select_n/one_flag", lax.select_n, choice, (ONE_FLAG, *PAIR), INEXACT),
    OpCase("select_n/rank_0", lax.select_n, choice, (ONE_FLAG, Operand(()), Operand(()))),
    OpCase("select_n/integer", lax.select_n, choice,
           (Operand(low=-1, high=4, dtype="int32"), *PAIR, Operand()), ALL),
    OpCase("select_n/one_case", lax.select_n, lambda which, x: x, (FLAGS, Operand()), FLOATS),
    OpCase("select_n/scalar_case", scalar_case, choice_of := lambda w, x, y: np.where(w, y, x),
           (FLAGS, Operand(), Operand(()))),
    OpCase("select_n/scalar_first", scalar_case, choice_of, (ONE_FLAG, Operand(()), Operand())),
    OpCase("select_n/empty", lax.select_n, choice, (Operand((0, 2), dtype="bool"),
           Operand((0, 2)), Operand((0, 2)))),
    OpCase("select", lax.select, np.where, (FLAGS, *PAIR), ALL),
    OpCase("max", lax.max, np.maximum, PAIR, ALL),
    OpCase("max/scalar", lax.max, np.maximum, (Operand(), Operand(())), REAL),
    OpCase("max/number", lambda x: lax.max(x, 1), lambda x: np.maximum(x, 1), dtypes=REAL),
    OpCase("min", lax.min, np.minimum, PAIR, ALL),
    OpCase("min/scalar_first", lax.min, np.minimum, (Operand(()), Operand()), REAL),
    OpCase("clamp", lax.clamp, lambda a, x, b: np.clip(x, a, b),
           (Operand(low=-1.5, high=-0.5), Operand(), Operand(low=0.5, high=1.5)), REAL),
    OpCase("clamp/scalars", lax.clamp, lambda a, x, b: np.clip(x, a, b),
           (Operand((), -1, 0), Operand(), Operand((), 0.5, 1)), FLOATS),
    OpCase("clamp/numbers", lambda x: lax.clamp(0, x, 1), lambda x: np.clip(x, 0, 1),
           dtypes=REAL),
    OpCase("clamp/rank_0", lax.clamp, lambda a, x, b: np.clip(x, a, b),
           (Operand((), -1, 0), Operand(()), Operand((), 0.5, 1))),
    OpCase("clamp/complex", lax.clamp, lambda a, x, b: np.minimum(np.maximum(a, x), b),
           (Operand(), Operand(), Operand()), COMPLEXES, derivatives=0),
)  # fmt: skip
