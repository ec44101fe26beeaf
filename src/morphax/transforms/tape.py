"""The tape: what a program that has run does to tangents, operation by operation.

An entry holds a linear program, its residuals, and the numbered slots of the tangents that it takes
and gives.  Forwards the tape is the derivative map; backwards, with transposed programs, it is
reverse mode.  Residuals are values, or variables of a program that has been linearized; a `Player`
for the one or the other plays the tape.  See docs/design/tape.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, final

from ..core import Operand, attributed_to, current_trace
from ..core.partition import selected
from ..core.source_info import Transform
from ..core.trace import current_name_stack, set_name_stack
from ..lax.ground.linear_structure import add_tangents
from ..util.frames import UserFrame
from ..util.records import dataclass

if TYPE_CHECKING:
    from .linearize import Linearization

T = TypeVar("T")


@final
@dataclass(slots=True)
class TapeEntry:
    """A linear program on the tape: residuals, slots of its tangents, its line and scopes."""

    linearization: Linearization
    residuals: Sequence[Operand]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    source: UserFrame | None
    names: tuple[str, ...] = ()


class Player(Protocol[T]):
    """How a tape is played: what its entries do to tangents and cotangents of the type `T`.

    On the way back, `place` is the line that equations belong to.
    """

    def push(self, entry: TapeEntry, tangents: Sequence[T]) -> Sequence[T]:
        """Tangents of the active results, from those of the active operands."""

    def pull(
        self, entry: TapeEntry, cotangents: Sequence[T | None], place: UserFrame | None
    ) -> Sequence[T | None]:
        """Cotangents of the active operands, from those of the results; `None` where zero."""

    def add(self, x: T, y: T, place: UserFrame | None) -> T:
        """The sum of two contributions to one cotangent."""


@final
class OnValues:
    """Plays a tape in the current trace; residuals, tangents and cotangents are values."""

    __slots__ = ()

    def push(self, entry: TapeEntry, tangents: Sequence[Operand]) -> list[Any]:
        with attributed_to(entry.source):
            return current_trace().splice(entry.linearization.linear, [*entry.residuals, *tangents])

    def pull(
        self, entry: TapeEntry, cotangents: Sequence[Operand], place: UserFrame | None
    ) -> Sequence[Any]:
        with attributed_to(place):
            return entry.linearization.pull_back(entry.residuals, cotangents)

    def add(self, x: Operand, y: Operand, place: UserFrame | None) -> Any:
        with attributed_to(place):
            return add_tangents(x, y)


on_values = OnValues()


@final
class Tape:
    """Entries in the order in which their operations ran."""

    __slots__ = ("entries", "num_slots")

    def __init__(self) -> None:
        self.entries: list[TapeEntry] = []
        self.num_slots = 0

    def new_slot(self) -> int:
        self.num_slots += 1
        return self.num_slots - 1

    def record(
        self,
        rule: Linearization,
        residuals: Sequence[Operand],
        inputs: tuple[int, ...],
        source: UserFrame | None,
        names: tuple[str, ...] = (),
    ) -> tuple[int, ...]:
        """Write an entry; the slots of the active results."""
        first = self.num_slots
        outputs = tuple(range(first, first + rule.out_active.count(True)))
        if outputs:
            self.num_slots += len(outputs)
            self.entries.append(TapeEntry(rule, residuals, inputs, outputs, source, names))
        return outputs

    def keep_entries_of(self, outputs: Iterable[int]) -> None:
        """Drop the entries that the tangents of `outputs` do not depend on."""
        live, live_entries = set(outputs), []
        for entry in reversed(self.entries):
            if not live.isdisjoint(entry.outputs):
                live.update(entry.inputs)
                live_entries.append(entry)
        self.entries = live_entries[::-1]

    def towards(self, inputs: Iterable[int]) -> Tape:
        """What leads back to some of the inputs; it can be pulled back only."""
        live, tape = set(inputs), Tape()
        for entry in self.entries:
            wanted = tuple([slot in live for slot in entry.inputs])
            if any(wanted):
                live.update(entry.outputs)
                rule, kept = entry.linearization, tuple(selected(entry.inputs, wanted))
                part = rule if all(wanted) else rule.towards(wanted)
                tape.entries.append(replace(entry, linearization=part, inputs=kept))
        return tape

    def push_forward(self, inputs: dict[int, T], player: Player[T] = on_values) -> dict[int, T]:
        """Tangents of all slots from those of all inputs."""
        tangents = dict(inputs)
        for entry in self.entries:
            with _scopes_of(entry, _FORWARDS):
                outs = player.push(entry, [tangents[slot] for slot in entry.inputs])
            tangents.update(zip(entry.outputs, outs, strict=True))
        return tangents

    def pull_back(
        self, outputs: Iterable[tuple[int | None, T]], player: Player[T] = on_values
    ) -> dict[int, T]:
        """Cotangents of the inputs by slot; a missing slot is zero.

        Args:
            outputs: slots of results (`None` for those without a tangent) and their cotangents;
                those of one slot are added.
            player: does it.
        """
        cotangents: dict[int, T] = {}
        for slot, ct in outputs:
            if slot is not None:
                known = cotangents.get(slot)
                cotangents[slot] = ct if known is None else player.add(known, ct, None)
        for entry in reversed(self.entries):
            if cotangents.keys().isdisjoint(entry.outputs):
                continue
            outs = [cotangents.pop(slot, None) for slot in entry.outputs]
            place = None if entry.source is None else entry.source.transposed()
            with _scopes_of(entry, _BACKWARDS):
                results = player.pull(entry, outs, place)
            for slot, result in zip(entry.inputs, results, strict=True):
                if result is not None:
                    known = cotangents.get(slot)
                    cotangents[slot] = result if known is None else player.add(known, result, place)
        return cotangents


_FORWARDS = (Transform("jvp"),)
_BACKWARDS = (Transform("transpose"), *_FORWARDS)
_AS_THEY_ARE = nullcontext()


def _scopes_of(entry: TapeEntry, passes: tuple[Transform, ...]) -> AbstractContextManager[Any]:
    """Context in which equations are in the scopes that an entry was written in, and no deeper."""
    if not entry.names:
        return _AS_THEY_ARE
    around = current_name_stack()
    own = entry.names
    if own[: len(around)] == around:
        own = own[len(around) :]
    return set_name_stack((*around, *passes, *own)) if own else _AS_THEY_ARE
