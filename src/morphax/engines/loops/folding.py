"""Operations of loop programs on constants, done while they are written.

Of integers and truth values only: places in arrays, which are better known early.  What gives an
operand back, bit by bit, is not done at all: derivatives are full of products with 1.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .operations import SCALAR_DTYPES
from .program import INDEX, Const, DType, Index, Operand

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


def unchanged(operation: str, operands: Sequence[Operand]) -> Operand | None:
    """The operand that is the result, whatever it is; `None` if there is none."""
    if operation not in NEUTRAL or len(operands) != 2:
        return None
    x, y = operands
    if type(y) is Const and y.key in NEUTRAL[operation]:
        return x
    if type(x) is Const and operation in ("add", "mul") and x.key in NEUTRAL[operation]:
        return y
    return None


# A float that is added is −0, for −0 + 0 is 0; no complex number, for its product with 1 + 0i has
# 0 · ∞.
_UNCHANGING = {"add": -0.0, "sub": 0.0, "mul": 1.0, "div": 1.0, "pow": 1.0}
NEUTRAL = {
    operation: frozenset([Const(dtype.type(value)).key for dtype in SCALAR_DTYPES])
    for operation, value in _UNCHANGING.items()
}
"""The constants that change nothing, as second operands of operations."""


def is_square(operation: str, operands: Sequence[Operand | Index]) -> bool:
    """Whether a power is a product, which is rounded once and takes a fraction of the time."""
    if operation != "pow":
        return False
    exponent = operands[1]
    return type(exponent) is Const and exponent.dtype.kind == "f" and exponent.value == 2


def known(operation: str, operands: Sequence[Operand | Index], dtype: DType) -> Operand | None:
    """What an operation is known to give, by the rules by which `Writer` writes none.

    Args:
        operation: which.
        operands: that it has.
        dtype: of the result.
    """
    first = operands[0]
    if isinstance(first, Index):
        return None if first.terms else Const(INDEX.type(first.offset))
    if operation == "convert":
        if type(first) is not Const or first.dtype.kind not in "biu":
            return None
        return Const(first.value.astype(dtype))
    scalars = [x for x in operands if not isinstance(x, Index)]
    if operation == "select":
        return scalars[1 if first.value else 2] if type(first) is Const else None
    if operation == "pow" and type(scalars[1]) is Const and scalars[1].value == 0:
        return Const(dtype.type(1))
    constant = folded(operation, scalars)
    return unchanged(operation, scalars) if constant is None else constant
