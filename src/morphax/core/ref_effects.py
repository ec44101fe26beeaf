"""Effects on references: which operand an equation reads, replaces or adds to.

References that a program makes for itself show as one effect, `InternalRefs`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, final

from ..util.records import dataclass
from .effects import Effect, Effects
from .operand_effects import OperandEffect


class RefEffect(OperandEffect):
    """What an equation does to the reference that is its operand number `input_index`."""

    verb: ClassVar[str]

    def described(self, names: Sequence[str]) -> str:
        return f"{self.verb}<{names[self.input_index]}>"

    def __str__(self) -> str:
        return f"{self.verb}<{self.input_index}>"


@final
class ReadEffect(RefEffect):
    """The value is looked up."""

    verb: ClassVar[str] = "Read"
    removable: ClassVar[bool] = True


@final
class WriteEffect(RefEffect):
    """The value, or a part of it, is replaced."""

    verb: ClassVar[str] = "Write"


@final
class AccumEffect(RefEffect):
    """Something is added to the value."""

    verb: ClassVar[str] = "Accum"


@final
@dataclass(frozen=True)
class InternalRefs(Effect):
    """The equation, or one inside it, deals with references that nobody outside sees."""

    removable: ClassVar[bool] = True
    repeatable: ClassVar[bool] = True

    def __str__(self) -> str:
        return "InternalRefs"


internal_refs: Effects = frozenset({InternalRefs()})


def concerns_references(effects: Effects) -> bool:
    """Whether there are references among the operands, or inside."""
    return any([isinstance(e, (RefEffect, InternalRefs)) for e in effects])
