"""Integers of up to 32 bits divided by vectors of float64: machines divide no vectors of integers.

The quotient is exact: what a / b is rounded to, truncated.  Rounding keeps order, so it does not
fall below the whole number ⌊a / b⌋, which float64 holds.  Nor does it reach the next one: below
that a / b stays by 1 / b at least, and rounding moves it by less, by 2⁻⁵³ a / b, since a < 2⁵³.
The same holds of negative numbers, whose quotients are truncated toward zero as well.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ..loops.program import DType, Index, Name, Operand
from .llvm_scalars import scalar_type, wide

DIVISIONS: Final = ("quotient", "remainder")
_MOST_BYTES: Final = 4


def is_by_floats(operation: str, operands: Sequence[Operand | Index]) -> bool:
    """Whether an operation on vectors is such a division; by a number it is a multiplication."""
    if operation not in DIVISIONS:
        return False
    divisor = operands[1]
    return isinstance(divisor, Name) and divisor.dtype.itemsize <= _MOST_BYTES


def division(operation: str, dtype: DType, width: int) -> str:
    """The operation as text to be formatted: {0} is the result, {1} and {2} are the operands.

    No divisor is 0, and no quotient too large for the dtype.
    """
    integers, floats = wide(scalar_type(dtype), width), wide("double", width)
    sign = "s" if dtype.kind == "i" else "u"
    whole = "{0}" if operation == "quotient" else "{0}.whole"
    lines = [
        f"{{0}}.a = {sign}itofp {integers} {{1}} to {floats}",
        f"{{0}}.b = {sign}itofp {integers} {{2}} to {floats}",
        f"{{0}}.ratio = fdiv {floats} {{0}}.a, {{0}}.b",
        f"{whole} = fpto{sign}i {floats} {{0}}.ratio to {integers}",
    ]
    if operation == "remainder":
        lines += [
            f"{{0}}.taken = mul {integers} {whole}, {{2}}",
            f"{{0}} = sub {integers} {{1}}, {{0}}.taken",
        ]
    return "\n  ".join(lines)
