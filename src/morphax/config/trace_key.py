"""The settings that shape programs, as one object."""

from __future__ import annotations

from typing import Any, Final, final

from ..util.parameter_keys import key_of


@final
class TraceKey:
    """The settings that shape programs; one object for equal settings, compared by identity."""

    __slots__ = ("settings",)

    def __init__(self, settings: tuple[Any, ...]) -> None:
        self.settings: Final = settings


# Never cleared: a key that some cache of programs holds must stay the key of its settings.
_trace_keys: dict[Any, TraceKey] = {}


def trace_key_of(settings: tuple[Any, ...]) -> TraceKey:
    """The key of some settings.

    Values of users' contexts may have no key; these count by type and by their own equality.
    """
    return _trace_keys.setdefault(key_of(settings) or settings, TraceKey(settings))
