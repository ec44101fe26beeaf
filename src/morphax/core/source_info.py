"""What an equation tells of its origin: the line of the user's program, and names of scopes.

A *name stack* is a tuple of names, outermost first; a `Transform` among them wraps what follows:
the stack a, jvp, b reads ``a/jvp(b)``.  `Attributes` in it are no names, but notes to the compiler.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, final

from ..util.frames import UserFrame
from ..util.records import dataclass


@final
class Transform(str):
    """The name of a transformation in a name stack."""

    __slots__ = ()


@final
class NameStack(tuple[str, ...]):
    """The names of the scopes that an operation was written in, outermost first.

    Example:
        >>> from morphax.extend.source_info_util import NameStack
        >>> stack = NameStack(("layer",)).transform("jvp").extend("norm")
        >>> str(stack), stack.stack
        ('layer/jvp(norm)', ('layer', 'jvp', 'norm'))
    """

    __slots__ = ()

    def __new__(cls, stack: tuple[str, ...] = ()) -> NameStack:
        return super().__new__(cls, stack)

    @property
    def stack(self) -> tuple[str, ...]:
        """The names alone."""
        return tuple(self)

    def extend(self, name: str) -> NameStack:
        """The stack with one more scope inside."""
        return NameStack((*self, name))

    def transform(self, name: str) -> NameStack:
        """The stack with a transformation inside."""
        return NameStack((*self, Transform(name)))

    def __add__(self, other: Any) -> NameStack:
        return NameStack(tuple.__add__(self, tuple(other)))

    def __str__(self) -> str:
        return scope_path(self)

    def __repr__(self) -> str:
        return f"NameStack({tuple(self)!r})"


@final
class Attributes(str):
    """Notes to the compiler, which stand in a name stack: the equations of the scope carry them.

    Its text is empty, for it is no name.

    Args:
        pairs: names and values.
    """

    pairs: tuple[tuple[str, str], ...]

    def __new__(cls, pairs: Iterable[tuple[str, str]] = ()) -> Attributes:
        self = super().__new__(cls)
        self.pairs = tuple(pairs)
        return self

    def __repr__(self) -> str:
        return f"Attributes({self.pairs!r})"


def attributes_of(names: tuple[str, ...]) -> dict[str, str]:
    """The attributes that a name stack brings."""
    pairs: dict[str, str] = {}
    for name in names:
        if type(name) is Attributes:
            pairs.update(name.pairs)
    return pairs


def scope_path(names: tuple[str, ...]) -> str:
    """A name stack as one text, ``outer/inner``."""
    text = ""
    for name in reversed(names):
        if type(name) is Attributes:
            continue
        if type(name) is Transform:
            text = f"{name}({text})"
        else:
            text = f"{name}/{text}" if text else name
    return text


@final
@dataclass(frozen=True, slots=True)
class SourceInfo:
    """Where an equation comes from.

    Args:
        traceback: the line of the user's program, `None` if it belongs to none.
        name_stack: the scopes it was written in.
    """

    traceback: UserFrame | None
    name_stack: NameStack

    def replace(self, **changes: Any) -> SourceInfo:
        """The same with other fields."""
        fields = {"traceback": self.traceback, "name_stack": self.name_stack}
        return SourceInfo(**(fields | changes))
