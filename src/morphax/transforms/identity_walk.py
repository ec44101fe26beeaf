"""The walk behind an identity: it goes through values and collects what tells them apart.

The parts of a key are in prefix form: each kind of value begins with its type, and with the number
of its members where that is not fixed, so that two walks give equal keys only if they took the same
way.  Which kinds there are is the table of `function_identity`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from struct import pack
from types import NoneType
from typing import Any, NamedTuple, final

from ..core import Tracer

# More parts than this cost more than a trace.
_MAX_PARTS = 2000

BY_VALUE = frozenset({bool, int, str, bytes, NoneType, type(...), type(NotImplemented)})


class Unknown(Exception):
    """The walk met something that it does not understand; its text is the reason."""


class Absent(NamedTuple):
    """In place of a variable that is not there."""


@final
class Same:
    """A value that counts by itself."""

    __slots__ = ("value",)

    def __init__(self, value: object) -> None:
        self.value = value

    def __hash__(self) -> int:
        return id(self.value)

    def __eq__(self, other: object) -> bool:
        return type(other) is Same and other.value is self.value


Visitor = Callable[["Walk", Any], None]


@final
class Walk:
    """Collects the parts of an identity.

    Args:
        visitors: how to go on from values of exactly these types.
        bases: the same for instances of subclasses, asked in this order.
        visit_other: the same for all others.
    """

    __slots__ = ("_bases", "_visit_other", "_visitors", "objects", "parts", "seen", "tracers")

    def __init__(
        self,
        visitors: Mapping[type, Visitor],
        bases: Sequence[tuple[type, Visitor]],
        visit_other: Visitor,
    ) -> None:
        self._visitors = visitors
        self._bases = bases
        self._visit_other = visit_other
        self.parts: list[Any] = []
        self.tracers: list[Tracer] = []
        # Where each object was met first; `objects` keeps alive those made on the way.
        self.seen: dict[int, int] = {}
        self.objects: list[Any] = []

    def visit(self, value: Any) -> None:
        """Add the parts of a value."""
        kind = type(value)
        if kind in BY_VALUE:
            self.parts += (kind, value)
            return
        if kind is float or kind is complex:
            # 0.0 == -0.0, which are not the same; and no NaN equals itself.
            self.parts += (kind, pack("dd", value.real, value.imag))
            return
        if self.meet(value):
            return
        self.check_room(1)
        visitor = self._visitors.get(kind)
        if visitor is not None:
            visitor(self, value)
        else:
            self._visitor_by_base(value)(self, value)

    def meet(self, value: Any) -> bool:
        """Note an object; whether it was met before, which is a part of the identity."""
        met = self.seen.get(id(value))
        if met is not None:
            self.parts += (Walk, met)
            return True
        self.seen[id(value)] = len(self.seen)
        self.objects.append(value)
        return False

    def _visitor_by_base(self, value: object) -> Visitor:
        # What a class says of itself by `__class__` is no evidence.
        for base, visitor in self._bases:
            if issubclass(type(value), base):
                return visitor
        return self._visit_other

    def check_room(self, count: int) -> None:
        """End the walk if it has gone so far that a trace is cheaper."""
        if len(self.parts) + count > _MAX_PARTS:
            raise Unknown("too much to compare at each call")

    def same(self, value: Any) -> None:
        """Let a value count by itself."""
        self.parts.append(Same(value))

    def visit_all(self, values: Collection[Any]) -> None:
        """A sequence, or what else has a length and an order, with its type."""
        self.check_room(len(values))
        self.parts += (type(values), len(values))
        for value in values:
            self.visit(value)

    def visit_mapping(self, values: Mapping[Any, Any]) -> None:
        """A mapping, in its order."""
        self.check_room(len(values))
        self.parts += (type(values), len(values))
        for key, value in values.items():
            self.visit(key)
            self.visit(value)
