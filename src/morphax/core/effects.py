"""Effects: what an equation does besides computing its results.

An effect is a value; an equation and a jaxpr carry a frozen set of them.  Equations with an effect
are never removed.  *Ordered* effects of one kind happen in program order, across calls too; the
engine threads a token through such a program.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final


class Effect:
    """Base of all effects."""

    __slots__ = ()
    ordered: bool = False


Effects = frozenset[Effect]
no_effects: Effects = frozenset()


@final
@dataclass(frozen=True)
class CallbackEffect(Effect):
    """The equation calls back into Python for something other than its results."""

    ordered: bool = False

    def __str__(self) -> str:
        return "OrderedCallback" if self.ordered else "Callback"
