"""Operations of loop programs on constants, done while they are written.

Integers and truth values only: places in arrays, which are better known early.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .program import Const, Operand

_FOLDED: dict[str, Callable[..., Any]] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "max": np.maximum,
    "min": np.minimum,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
    "not": np.invert,
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
}


def folded(operation: str, operands: Sequence[Operand]) -> Const | None:
    """The result as a constant; `None` if it is to be computed when the program runs."""
    values = []
    for x in operands:
        if type(x) is not Const or x.dtype.kind not in "biu":
            return None
        values.append(x.value)
    function = _FOLDED.get(operation)
    if function is None:
        return None
    with np.errstate(over="ignore"):
        return Const(np.asarray(function(*values))[()])
