"""Contexts that no Ctrl-C can keep from ending.

Python runs the handler of a signal where one of its functions begins, `__exit__` included: the
exception of a handler there leaves a context without its end.  Where that would spoil what comes
after, as a trace that stays current would, the context is an object of C++, which enters no
function of Python before all is as it was.

The twin may be interrupted there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

from .compiled import part, twin_in

T = TypeVar("T")


@twin_in(part("contexts"))
class replaced_attribute(Generic[T]):
    """Context in which an attribute has another value.

    Args:
        owner: whose attribute; to set it must run no code of Python.
        name: of the attribute, which is there.
        value: what it is inside, and what the context hands over.
        ended: called when the attribute is what it was, with `value` and whether an exception
            ended the context.
    """

    __slots__ = ("_ended", "_name", "_owner", "_previous", "_value")

    def __init__(
        self,
        owner: object,
        name: str,
        value: T,
        ended: Callable[[T, bool], object] | None = None,
    ) -> None:
        self._owner = owner
        self._name = name
        self._value = value
        self._ended = ended

    def __enter__(self) -> T:
        self._previous: Any = getattr(self._owner, self._name)
        setattr(self._owner, self._name, self._value)
        return self._value

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        setattr(self._owner, self._name, self._previous)
        if self._ended is not None:
            self._ended(self._value, kind is not None)
