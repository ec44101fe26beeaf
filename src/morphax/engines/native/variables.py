"""Variables on the stack beside those that buffers are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Final, NamedTuple, final

_MOST_BYTES: Final = 1 << 14


@final
class Room(NamedTuple):
    """The type of an array, and how many bytes it takes."""

    type_: str
    size: int


@final
class Variables:
    """Variables of vectors, which LLVM makes registers of, and of arrays, which stay in memory.

    Arrays take a bounded part of the stack; those that nobody needs any more are used again.

    Attributes:
        lines: that declare them.
    """

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._free: dict[Room, list[str]] = {}
        self._left = _MOST_BYTES

    def new(self, type_: str) -> str:
        """A new variable."""
        name = f"%p{len(self.lines)}"
        self.lines.append(f"  {name} = alloca {type_}, align 32")
        return name

    def has_room(self, rooms: Iterable[Room]) -> bool:
        """Whether these arrays can be there together."""
        missing = Counter(rooms) - Counter({room: len(x) for room, x in self._free.items()})
        return sum([room.size * count for room, count in missing.items()]) <= self._left

    def take(self, room: Room) -> str:
        """An array, for which there is room."""
        free = self._free.get(room)
        if free:
            return free.pop()
        self._left -= room.size
        return self.new(room.type_)

    def give_back(self, room: Room, name: str) -> None:
        """An array that is needed no more."""
        self._free.setdefault(room, []).append(name)
