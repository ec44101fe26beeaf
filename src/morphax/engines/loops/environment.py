"""The values of a program's variables while it is translated."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, final

from ...core import Jaxpr, Literal
from .uses import uses_of
from .values import Place, Value

if TYPE_CHECKING:
    from .builder import Builder

# So many operations may be pending above each other: loops stay readable, the stack shallow.
_DEEPEST = 40


@final
class Environment:
    """The values of the variables of one program, as long as they are read."""

    def __init__(self, b: Builder, jaxpr: Jaxpr) -> None:
        self.b = b
        self.uses = uses_of(jaxpr)
        self.values: dict[Any, Value] = {}

    def read_all(self, atoms: Sequence[Any]) -> list[Value]:
        literal, values = self.b.literal, self.values
        return [literal(a) if type(a) is Literal else values[a] for a in atoms]

    def bind(self, var: Any, value: Value, place: Place | None = None) -> None:
        """Let a variable have a value, which is to be stored at `place` once it is."""
        if not (count := self.uses.counts.get(var, 0)):
            return
        value.is_shared = value.is_shared or count > 1
        self.values[var] = value
        value.holders += 1
        self.b.live.add(value)
        if value.element is not None:
            if place is not None:
                self.b.fusion.destinations[value] = place
            if value.depth > _DEEPEST:
                self.b.fusion.stored(value)

    def drop(self, var: Any) -> None:
        value = self.values.pop(var)
        value.holders -= 1
        if not value.holders:
            self.b.live.discard(value)

    def close(self) -> None:
        for var in list(self.values):
            self.drop(var)
