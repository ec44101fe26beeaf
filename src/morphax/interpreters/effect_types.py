"""Sets of types of effects."""

from __future__ import annotations

from collections.abc import Iterable
from typing import final

from ..core import Effect


@final
class EffectTypeSet:
    """A set of types of effects; it contains the subtypes of its members too."""

    def __init__(self, *effect_types: type[Effect]) -> None:
        self._types = set(effect_types)

    def add_type(self, effect_type: type[Effect]) -> None:
        """Add a type."""
        self._types.add(effect_type)

    def contains(self, effect_type: type[Effect]) -> bool:
        """Whether a type or a base of it is a member."""
        return issubclass(effect_type, tuple(self._types))

    def filter_in(self, effects: Iterable[Effect]) -> list[Effect]:
        """The effects whose type is in the set."""
        return [effect for effect in effects if self.contains(type(effect))]

    def filter_not_in(self, effects: Iterable[Effect]) -> list[Effect]:
        """The effects whose type is not in the set."""
        return [effect for effect in effects if not self.contains(type(effect))]


lowerable_effects = EffectTypeSet(Effect)
"""Types of effects that compiled programs may have: all."""
control_flow_allowed_effects = EffectTypeSet(Effect)
"""Types of effects that bodies of loops and branches may have: all."""
