"""The two markers of differentiation: a tangent known to be zero, an operand without a value.

`Zero` stands for a tangent or cotangent that is zero by the structure of the program, so that rules
skip it instead of computing with zeros.  Rules of the user meet it as
`custom_derivatives.SymbolicZero`.  `UndefinedPrimal` stands, in a transpose rule, for an operand in
which the operation is linear: the rule returns a cotangent for it.
"""

from __future__ import annotations

from typing import Any, TypeGuard, final

import numpy as np

from ..util.records import dataclass
from .abstract_value import AbstractValue, HasAval, Operand
from .trace import current_trace
from .values import aval_of


@final
@dataclass(frozen=True, slots=True, eq=False)
class Zero(HasAval):
    """A tangent or cotangent that is zero, of the given aval."""

    aval: Any

    @staticmethod
    def from_primal_value(val: Operand) -> Zero:
        """The zero among the tangents of a value.

        Example:
            >>> from morphax.custom_derivatives import SymbolicZero
            >>> SymbolicZero.from_primal_value(3.0)
            Zero(~float32[])
        """
        return Zero(aval_of(val).to_tangent_aval())

    def instantiate(self) -> Any:
        """The zeros as an array."""
        if self.aval.is_high:
            return self.aval.vspace_zero()
        return current_trace().constant(np.zeros(self.aval.shape, self.aval.dtype))

    def __repr__(self) -> str:
        return f"Zero({self.aval})"


class UndefinedValueError(TypeError):
    """A transpose rule asks for the value of an `UndefinedPrimal`: the operation is not linear."""


@final
@dataclass(frozen=True, slots=True, eq=False)
class UndefinedPrimal:
    """An operand of which only the aval is known."""

    aval: AbstractValue

    def __repr__(self) -> str:
        return f"UndefinedPrimal({self.aval})"

    def _refuse(self, *_: object) -> Any:
        raise UndefinedValueError(f"the value of {self}")

    __array__ = __complex__ = __float__ = __int__ = __index__ = __bool__ = _refuse


def is_undefined_primal(x: object) -> TypeGuard[UndefinedPrimal]:
    """Whether a transpose rule is to give a cotangent for `x`."""
    return type(x) is UndefinedPrimal


def is_zero(x: object) -> TypeGuard[Zero]:
    """Whether a tangent or cotangent is zero by the structure of the program."""
    return type(x) is Zero
