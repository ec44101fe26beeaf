"""Arguments of a function, chosen by position or by name; the static arguments of a call."""

from __future__ import annotations

from typing import Any, final

from ..util.parameter_keys import key_of
from ..util.records import dataclass

Arguments = tuple[tuple[Any, ...], dict[str, Any]]


@final
@dataclass(frozen=True, slots=True)
class Choice:
    """Arguments of a function, by position and by name.

    Negative positions count from the end of the positional arguments of a call.
    """

    numbers: tuple[int, ...] = ()
    names: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.numbers or self.names)

    def positions(self, count: int) -> set[int]:
        """Which of `count` positional arguments are chosen."""
        return {n + count if n < 0 else n for n in self.numbers if -count <= n < count}


none_chosen = Choice()


@final
@dataclass(frozen=True, slots=True)
class StaticArguments:
    """The static arguments of one call, by position and by name."""

    positional: tuple[tuple[int, Any], ...]
    named: tuple[tuple[str, Any], ...]

    @property
    def key(self) -> tuple[Any, ...] | None:
        """Place and key of each in a row, `None` if one of them has no key."""
        keys = [(place, key_of(value)) for place, value in (*self.positional, *self.named)]
        parts = tuple([part for pair in keys for part in pair])
        return None if None in parts else parts

    def complete(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Arguments:
        """The arguments of the function, from those that are not static."""
        full = list(args)
        for position, value in self.positional:
            full.insert(position, value)
        return tuple(full), kwargs | dict(self.named)

    def without_values(self) -> StaticArguments:
        """The same arguments with `None` for their values."""
        return StaticArguments(
            tuple([(n, None) for n, _ in self.positional]),
            tuple([(n, None) for n, _ in self.named]),
        )


def split_static(
    choice: Choice, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any], StaticArguments]:
    """Take the static arguments out of a call."""
    positions = sorted(choice.positions(len(args)))
    positional = tuple([(i, args[i]) for i in positions])
    named = tuple([(k, kwargs[k]) for k in choice.names if k in kwargs])
    if positions:
        args = tuple([x for i, x in enumerate(args) if i not in positions])
    if named:
        kwargs = {k: v for k, v in kwargs.items() if k not in choice.names}
    return args, kwargs, StaticArguments(positional, named)
