"""Effects on operands: what an equation does to one of its operands, named by position.

An equation names its operands by position; a program names its own, `invars` and then `constvars`.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Self, final

from ..util.records import dataclass
from .atoms import Atom, Var
from .effects import Effect, Effects, no_effects


@dataclass(frozen=True)
class OperandEffect(Effect):
    """What an equation does to its operand number `input_index`."""

    input_index: int

    def on(self, input_index: int) -> Self:
        """The same effect on another operand."""
        return replace(self, input_index=input_index)


@final
@dataclass(frozen=True)
class StateEffect(OperandEffect):
    """The operand, of a type that changes in place, is in the state `state` afterwards."""

    state: Hashable

    def described(self, names: Sequence[str]) -> str:
        return f"State<{names[self.input_index]}>"

    def __str__(self) -> str:
        return f"State<{self.input_index}>"


@final
@dataclass(frozen=True)
class HighTypes(Effect):
    """The equation, or one inside it, deals with values of types that users define."""

    removable: ClassVar[bool] = True
    repeatable: ClassVar[bool] = True

    def __str__(self) -> str:
        return "HighTypes"


high_types: Effects = frozenset({HighTypes()})


def moved_effects(effects: Effects, offset: int) -> Effects:
    """Effects of a program as those of an equation that hands it its operands from `offset` on."""
    if not offset or not effects:
        return effects
    return frozenset(
        [e.on(e.input_index + offset) if isinstance(e, OperandEffect) else e for e in effects]
    )


def states_after(effects: Effects, operands: Sequence[Atom]) -> dict[Atom, Hashable]:
    """The operands that an equation, or a program, leaves in another state."""
    return {operands[e.input_index]: e.state for e in effects if type(e) is StateEffect}


def types_in(states: Mapping[Atom, Hashable], atoms: Sequence[Atom]) -> tuple[Any, ...]:
    """The types of atoms, of which some are in other states than at first."""
    avals: list[Any] = [a.aval for a in atoms]
    pairs = zip(atoms, avals, strict=True)
    return tuple([replace(aval, qdd=states[a]) if a in states else aval for a, aval in pairs])


def seen_outside(effects: Effects, operands: Sequence[Atom], places: Mapping[Atom, int]) -> Effects:
    """The effects of an equation as those of its program, but for changes of state.

    Args:
        effects: of the equation.
        operands: of the equation.
        places: of the operands of the program; effects on others concern nobody outside.
    """
    seen: list[Effect] = []
    for effect in effects:
        if not isinstance(effect, OperandEffect):
            seen.append(effect)
        elif type(effect) is not StateEffect:
            place = places.get(operands[effect.input_index])
            if place is not None:
                seen.append(effect.on(place))
    return frozenset(seen)


def changes_of_state(states: Mapping[Atom, Hashable], binders: Sequence[Var]) -> Effects:
    """The changes of state that a program makes, from the states of variables at its end."""
    avals: list[Any] = [v.aval for v in binders]
    changed = [
        StateEffect(i, states[v])
        for i, (v, aval) in enumerate(zip(binders, avals, strict=True))
        if v in states and states[v] != aval.qdd
    ]
    return frozenset(changed) if changed else no_effects
