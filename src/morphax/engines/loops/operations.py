"""The operations of loop programs on scalars: what each takes and gives.

Integers wrap around.  Floats follow IEEE 754, and comparisons with NaN are false but for `ne`.  Of
what is undefined on machines (a division by zero, a shift by the width or more, the conversion of a
float that the integer dtype does not hold) programs promise that it does not happen.
"""

from __future__ import annotations

from functools import cache
from typing import final

import numpy as np

from ...util.records import dataclass
from .program import BOOL, INDEX, DType

FLOATS = "f"
INTEGERS = "iu"
REALS = "iuf"
NUMBERS = "iufc"
LOGICAL = "biu"
ORDERED = "biuf"
ANY = "biufc"


@final
class NoOperation(TypeError):
    """There is no such operation on operands of these dtypes."""


@final
@dataclass(frozen=True, slots=True)
class Signature:
    """What an operation takes: operands of one dtype, of these kinds.

    Args:
        count: how many operands.
        kinds: NumPy's letters of the kinds of dtypes.
        is_predicate: whether the result is boolean; else it has the operands' dtype.
    """

    count: int
    kinds: str
    is_predicate: bool = False


MATH_OF_ONE = (
    *("sqrt", "floor", "ceil", "trunc", "rint", "fabs"),
    *("exp", "exp2", "expm1", "log", "log2", "log1p", "cbrt"),
    *("sin", "cos", "tan", "asin", "acos", "atan"),
    *("sinh", "cosh", "tanh", "asinh", "acosh", "atanh"),
    *("erf", "erfc", "lgamma"),
)
MATH_OF_TWO = ("pow", "atan2", "copysign", "fmod")
"""Functions of the C library, by the names of their forms for double."""

SIGNATURES: dict[str, Signature] = {
    "neg": Signature(1, NUMBERS),
    "add": Signature(2, NUMBERS),
    "sub": Signature(2, NUMBERS),
    "mul": Signature(2, NUMBERS),
    "div": Signature(2, FLOATS),
    # Truncated toward zero; not by 0, and not the least integer by −1.
    "quotient": Signature(2, INTEGERS),
    "remainder": Signature(2, INTEGERS),
    # NaN if either is, and −0 < 0.
    "max": Signature(2, REALS),
    "min": Signature(2, REALS),
    "and": Signature(2, LOGICAL),
    "or": Signature(2, LOGICAL),
    "xor": Signature(2, LOGICAL),
    "not": Signature(1, LOGICAL),
    # By less than the width; to the right, signed integers keep their sign.
    "shift_left": Signature(2, INTEGERS),
    "shift_right": Signature(2, INTEGERS),
    **{name: Signature(2, ANY, is_predicate=True) for name in ("eq", "ne")},
    **{name: Signature(2, ORDERED, is_predicate=True) for name in ("lt", "le", "gt", "ge")},
    **{name: Signature(1, FLOATS) for name in MATH_OF_ONE},
    **{name: Signature(2, FLOATS) for name in MATH_OF_TWO},
}
"""Operations whose operands are all of one dtype.  The others:

- ``select(b, x, y)``: `x` if the boolean `b` is true, else `y`.
- ``convert(x)``, by value: integers wrap around, a float is truncated to an integer that holds it
  or rounded to the nearest float, and what is not 0 is true.
- ``bitcast(x)``: the bits as those of another dtype of the same width.
- ``limit(i, low, high)``: an index, moved into its bounds.
- ``index(i)``: the value of an index.
- ``real(z)``, ``imag(z)``, ``complex(x, y)``: of complex numbers, see `parts`.
"""


@cache
def result_dtype(operation: str, operands: tuple[DType, ...]) -> DType | None:
    """The dtype of the result; `None` if the result says it itself (conversions).

    Raises:
        NoOperation: the operation does not take such operands.
    """
    signature = SIGNATURES.get(operation)
    if signature is not None:
        first = operands[0]
        alike = first.kind in signature.kinds and operands.count(first) == signature.count
        if len(operands) != signature.count or not alike:
            raise NoOperation(f"{operation} of {operands}")
        return BOOL if signature.is_predicate else first
    if operation == "select" and len(operands) == 3:
        condition, x, y = operands
        if condition == BOOL and x == y:
            return x
    elif operation == "limit" and operands == (INDEX,) * 3:
        return INDEX
    elif operation in ("convert", "bitcast") and len(operands) == 1:
        return None
    elif operation in ("real", "imag") and len(operands) == 1 and operands[0] in PART_OF:
        return PART_OF[operands[0]]
    elif operation == "complex" and len(operands) == 2 and operands[0] == operands[1]:
        found = [whole for whole, part in PART_OF.items() if part == operands[0]]
        if found:
            return found[0]
    raise NoOperation(f"{operation} of {operands}")


SCALAR_DTYPES = frozenset(
    map(np.dtype, ("bool", *[f"{k}{n}" for k in "iu" for n in (1, 2, 4, 8)], "f4", "f8"))
)
"""The dtypes of names and buffers."""

PART_OF: dict[DType, DType] = {
    np.dtype(np.complex64): np.dtype(np.float32),
    np.dtype(np.complex128): np.dtype(np.float64),
}
"""Complex dtypes, which programs have while they are written, and the dtypes of their parts."""

_CHEAP = frozenset(SIGNATURES).difference(
    MATH_OF_ONE, MATH_OF_TWO, ("div", "quotient", "remainder")
)
# Operations of machines, and primitives that are a few of these.
_SHORT = {
    **dict.fromkeys(("floor", "ceil", "trunc", "rint", "fabs", "copysign"), 1),
    **dict.fromkeys(("convert", "bitcast", "select", "limit"), 1),
    **dict.fromkeys(("abs", "square", "select_n", "is_finite", "round"), 1),
    **dict.fromkeys(("clamp", "one_minus_square"), 2),
    **dict.fromkeys(("sign", "shift_right_arithmetic", "shift_right_logical"), 3),
}


def cost_of(name: str) -> int:
    """About how long an operation takes, where an addition is 1."""
    return 1 if name in _CHEAP else _SHORT.get(name, 8)
