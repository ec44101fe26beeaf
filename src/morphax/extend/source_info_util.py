"""`jax.extend.source_info_util`: the lines and scopes that equations carry.

An interpreter that applies equations again lets what it stages carry theirs::

    for eqn in jaxpr.eqns:
        info = eqn.source_info
        with user_context(info.traceback, name_stack=info.name_stack):
            ...
"""

from __future__ import annotations

from contextlib import ContextDecorator, ExitStack
from typing import Any, final

from ..core import NameStack as NameStack
from ..core import SourceInfo as SourceInfo
from ..core import attributed_to
from ..core import current_name_stack as names_in_force
from ..core import set_name_stack as with_names
from ..util.frames import UserFrame, treat_as_internal
from .core.construction import current_source_info as current

__all__ = [
    "NameStack",
    "SourceInfo",
    "current",
    "current_name_stack",
    "extend_name_stack",
    "new_name_stack",
    "new_source_info",
    "register_exclusion",
    "reset_name_stack",
    "set_name_stack",
    "summarize",
    "transform_name_stack",
    "user_context",
]


def current_name_stack() -> NameStack:
    """The scopes that equations carry now."""
    return NameStack(names_in_force())


def new_name_stack(name: str = "") -> NameStack:
    """A stack of one scope, or of none."""
    return NameStack((name,) if name else ())


def new_source_info() -> SourceInfo:
    """No line and no scopes."""
    return SourceInfo(None, NameStack())


def summarize(source_info: SourceInfo, num_frames: int = 1) -> str:
    """The line of an equation as text, one per frame that is known: one."""
    place = source_info.traceback
    return "unknown" if place is None or num_frames < 1 else str(place)


def register_exclusion(path: str) -> None:
    """Let no equation belong to lines of the file (or folder) `path`, but to those of callers."""
    treat_as_internal(path)


class _Context(ContextDecorator):
    """A context, to be entered any number of times."""

    def __init__(self) -> None:
        self._entered: list[ExitStack] = []

    def contexts(self) -> tuple[Any, ...]:
        """What is to be entered, in order."""
        raise AssertionError(f"{type(self).__name__} says what it enters")

    def __enter__(self) -> Any:
        stack = ExitStack()
        for context in self.contexts():
            stack.enter_context(context)
        self._entered.append(stack)
        return current_name_stack()

    def __exit__(self, *exc: Any) -> None:
        self._entered.pop().close()


@final
class extend_name_stack(_Context):
    """A context in which equations carry one more scope."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self._name = name

    def contexts(self) -> tuple[Any, ...]:
        return (with_names(current_name_stack().extend(self._name)),)


@final
class transform_name_stack(_Context):
    """A context in which the scopes of equations show a transformation, ``name(…)``."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self._name = name

    def contexts(self) -> tuple[Any, ...]:
        return (with_names(current_name_stack().transform(self._name)),)


@final
class set_name_stack(_Context):
    """A context in which equations carry exactly these scopes."""

    def __init__(self, name_stack: NameStack) -> None:
        super().__init__()
        self._names = name_stack

    def contexts(self) -> tuple[Any, ...]:
        return (with_names(self._names),)


def reset_name_stack() -> set_name_stack:
    """A context in which equations carry no scopes."""
    return set_name_stack(NameStack())


@final
class user_context(_Context):
    """A context in which equations belong to another line, and carry other scopes.

    Args:
        traceback: the line, or `None` to leave it.
        name_stack: the scopes, or `None` to leave them.
    """

    def __init__(self, traceback: UserFrame | None, *, name_stack: NameStack | None = None) -> None:
        super().__init__()
        self._traceback = traceback
        self._names = name_stack

    def contexts(self) -> tuple[Any, ...]:
        line = (attributed_to(self._traceback),)
        return line if self._names is None else (*line, with_names(self._names))
