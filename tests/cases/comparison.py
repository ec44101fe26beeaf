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


def rounded(comparison: Callable[..., Any]) -> Callable[..., Any]:
    """A comparison of whole parts: of numbers drawn evenly, no two would be equal."""

    def compare(x: Any, y: Any) -> Any:
        if x.dtype.kind in "biu":
            return comparison(x, y)
        whole = np.floor if isinstance(x, np.ndarray) else lax.floor
        return comparison(whole(x), whole(y))

    return compare


CASES = (
    OpCase("eq", lax.eq, np.equal, PAIR, ALL, derivatives=0),
    OpCase("eq/ties", rounded(lax.eq), rounded(np.equal), PAIR, FLOATS, derivatives=0),
    OpCase("eq/scalar", lax.eq, np.equal, (Operand(high=2), Operand(())), INTEGERS, derivatives=0),
    OpCase("ne", lax.ne, np.not_equal, PAIR, ALL, derivatives=0),
    OpCase("ne/ties", rounded(lax.ne), rounded(np.not_equal), PAIR, FLOATS, derivatives=0),
    OpCase("lt", lax.lt, np.less, PAIR, ORDERED, derivatives=0),
    OpCase("le", lax.le, np.less_equal, PAIR, ORDERED, derivatives=0),
    OpCase("le/ties", rounded(lax.le), rounded(np.less_equal), PAIR, FLOATS, derivatives=0),
    OpCase("gt", lax.gt, np.greater, PAIR, ORDERED, derivatives=0),
    OpCase("gt/number", lambda x: lax.gt(x, 1), lambda x: x > 1, dtypes=INTEGERS, derivatives=0),
    OpCase("ge", lax.ge, np.greater_equal, PAIR, ORDERED, derivatives=0),
    OpCase("ge/ties", rounded(lax.ge), rounded(np.greater_equal), PAIR, FLOATS, derivatives=0),
    OpCase("eq_to", lax.eq_to_p.bind, np.equal, PAIR, ORDERED, derivatives=0),
    OpCase("lt_to", lax.lt_to_p.bind, np.less, PAIR, ORDERED, derivatives=0),
    OpCase("le_to", lax.le_to_p.bind, np.less_equal, PAIR, ORDERED, derivatives=0),
)
