"""Atoms, the operands of equations: a variable, or a literal."""

from __future__ import annotations

from typing import final

import numpy as np

from .abstract_value import AbstractValue, Operand
from .aval import ShapedArray


class Var:
    """A variable, equal only to itself; its name is chosen when the jaxpr is printed."""

    __slots__ = ("aval",)

    def __init__(self, aval: AbstractValue) -> None:
        self.aval = aval

    def __repr__(self) -> str:
        return f"Var(id={id(self)}):{self.aval.str_short()}"


@final
class DropVar(Var):
    """A variable for a result that nothing uses."""

    __slots__ = ()


@final
class Literal:
    """A scalar constant written where it is used."""

    __slots__ = ("aval", "val")

    def __init__(self, val: Operand, aval: ShapedArray) -> None:
        self.val = val
        self.aval = aval

    @property
    def hash(self) -> int | None:
        """The hash of the value, `None` if it has none."""
        try:
            return hash(self.val)
        except TypeError:
            return None

    def __repr__(self) -> str:
        value = self.val.item() if isinstance(self.val, np.generic) else self.val
        return f"{value}:{self.aval.str_short()}"


Atom = Var | Literal
