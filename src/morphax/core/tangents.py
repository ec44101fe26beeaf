"""The two markers of differentiation: a tangent known to be zero, an operand without a value.

`Zero` stands for a tangent or cotangent that is zero by the structure of the program, so that rules
skip it instead of computing with zeros.  `UndefinedPrimal` stands, in a transpose rule, for an
operand in which the operation is linear: the rule returns a cotangent for it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeGuard, final


@final
@dataclass(frozen=True, slots=True, eq=False)
class Zero:
    """A tangent or cotangent that is zero, of the given aval."""

    aval: Any

    def __repr__(self) -> str:
        return f"Zero({self.aval})"


@final
@dataclass(frozen=True, slots=True, eq=False)
class UndefinedPrimal:
    """An operand of which only the aval is known."""

    aval: Any

    def __repr__(self) -> str:
        return f"UndefinedPrimal({self.aval})"


def is_undefined_primal(x: Any) -> TypeGuard[UndefinedPrimal]:
    """Whether a transpose rule is to give a cotangent for `x`."""
    return type(x) is UndefinedPrimal


def is_zero(x: Any) -> TypeGuard[Zero]:
    """Whether a tangent or cotangent is zero by the structure of the program."""
    return type(x) is Zero
