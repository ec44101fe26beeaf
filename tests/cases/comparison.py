"""Comparisons."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from morphax import lax

from .op_case import ALL, BOOL, FLOATS, INTEGERS, OpCase, Operand

ORDERED = FLOATS + INTEGERS + BOOL
# Few whole numbers, so that some are equal.
PAIR = (Operand(low=0, high=3), Operand(low=0, high=3))


def of_whole_parts(comparison: Callable[..., Any]) -> Callable[..., Any]:
    """A comparison of whole parts: of numbers drawn evenly, no two would be equal."""
    return lambda x, y: comparison(lax.floor(x), lax.floor(y))


def truth_of_whole_parts(comparison: np.ufunc) -> Callable[..., Any]:
    return lambda x, y: comparison(np.floor(x), np.floor(y))


TIES = (
    ("eq", lax.eq, np.equal),
    ("ne", lax.ne, np.not_equal),
    ("le", lax.le, np.less_equal),
    ("ge", lax.ge, np.greater_equal),
)

CASES = (
    OpCase("eq", lax.eq, np.equal, PAIR, ALL, derivatives=0),
    OpCase("eq/scalar", lax.eq, np.equal, (Operand(high=2), Operand(())), INTEGERS, derivatives=0),
    OpCase("ne", lax.ne, np.not_equal, PAIR, ALL, derivatives=0),
    OpCase("lt", lax.lt, np.less, PAIR, ORDERED, derivatives=0),
    OpCase("le", lax.le, np.less_equal, PAIR, ORDERED, derivatives=0),
    OpCase("gt", lax.gt, np.greater, PAIR, ORDERED, derivatives=0),
    OpCase("gt/number", lambda x: lax.gt(x, 1), lambda x: x > 1, dtypes=INTEGERS, derivatives=0),
    OpCase("ge", lax.ge, np.greater_equal, PAIR, ORDERED, derivatives=0),
    OpCase("eq_to", lax.eq_to_p.bind, np.equal, PAIR, ORDERED, derivatives=0),
    OpCase("lt_to", lax.lt_to_p.bind, np.less, PAIR, ORDERED, derivatives=0),
    OpCase("le_to", lax.le_to_p.bind, np.less_equal, PAIR, ORDERED, derivatives=0),
    *[
        OpCase(f"{name}/ties", of_whole_parts(function), truth_of_whole_parts(reference), PAIR,
               FLOATS, derivatives=0)
        for name, function, reference in TIES
    ],
)  # fmt: skip
