"""Effects: what an equation does besides computing its results.

An effect is a value; an equation and a jaxpr carry a frozen set of them.  Equations with an effect
are never removed, unless all their effects are *removable*.  *Ordered* effects happen in program
order, also across calls, branches and steps of loops; the engine threads one token through all of
them.

A *repeatable* effect may happen more often than the program says: for members of a batch that took
another branch or have left the loop, and again where values are recomputed for a derivative.

A *vanishing* effect is there for transformations alone: compiled programs do nothing for it.

Reference: docs/design/effects.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, final

from ..util.records import dataclass


class Effect:
    """Base of all effects."""

    __slots__ = ()
    ordered: ClassVar[bool] = False
    repeatable: ClassVar[bool] = False
    removable: ClassVar[bool] = False
    vanishing: ClassVar[bool] = False

    def described(self, names: Sequence[str]) -> str:
        """The effect in words, given the names of the program's operands."""
        return str(self)


Effects = frozenset[Effect]
no_effects: Effects = frozenset()


@final
@dataclass(frozen=True)
class DebugEffect(Effect):
    """The equation shows values to somebody who looks into the program."""

    repeatable: ClassVar[bool] = True

    def __str__(self) -> str:
        return "Debug"


@final
@dataclass(frozen=True)
class OrderedDebugEffect(Effect):
    """Like `DebugEffect`, in program order."""

    ordered: ClassVar[bool] = True
    repeatable: ClassVar[bool] = True

    def __str__(self) -> str:
        return "OrderedDebug"


@final
@dataclass(frozen=True)
class IOEffect(Effect):
    """The equation acts on the world outside the program."""

    def __str__(self) -> str:
        return "IO"


@final
@dataclass(frozen=True)
class OrderedIOEffect(Effect):
    """Like `IOEffect`, in program order."""

    ordered: ClassVar[bool] = True

    def __str__(self) -> str:
        return "OrderedIO"


def has_ordered(effects: Effects) -> bool:
    """Whether any of the effects must happen in program order."""
    return any([effect.ordered for effect in effects])


def unrepeatable(effects: Effects) -> list[str]:
    """Names of the effects that must happen exactly as often as the program says."""
    return sorted([str(effect) for effect in effects if not effect.repeatable])
