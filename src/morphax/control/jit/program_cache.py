"""Which traced programs belong to a function, however often it is wrapped by `jit`.

Programs live as long as their function or a `jit` of it: the tables refer to functions weakly, and
a traced program does not refer to its function.  A function is identified by itself here; `jit`
looks for programs of functions that were made anew in `remembered`.

All programs together are bounded.  Calls do not note what they use; instead, whenever half of the
bound has been added, the programs known so far are set aside, and those set aside before are
forgotten.  A program that is asked for while it is set aside counts as added again.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from types import MethodType
from typing import Any, Generic, TypeVar, final
from weakref import WeakKeyDictionary, WeakSet

from ...util.compiled import part
from ...util.memo import on_clear
from ...util.parameter_keys import key_of

P = TypeVar("P")

_MAX_PROGRAMS = 2048

compiled: Any | None = part("calls")


@final
class ProgramCache(Generic[P]):
    """The programs of one function under one set of options, by signature.

    The compiled core, where it works, keeps a shorter way to `programs` in `calls`.
    """

    __slots__ = ("__weakref__", "_set_aside", "calls", "programs")

    def __init__(self) -> None:
        self.programs: dict[Any, P] = {}
        self.calls = None if compiled is None else compiled.CallTable()
        self._set_aside: dict[Any, P] = {}
        with _lock:
            _all.add(self)

    def __len__(self) -> int:
        return len(self.programs) + len(self._set_aside)

    def add(self, signature: Hashable, program: P) -> P:
        """Keep a program; if another thread was first, its program is the one to use."""
        _count_one()
        return self.programs.setdefault(signature, program)

    def revived(self, signature: Hashable) -> P | None:
        """A program that was set aside, if there is one: it is in `programs` again."""
        program = self._set_aside.pop(signature, None)
        return None if program is None else self.add(signature, program)

    def set_aside(self) -> None:
        """Forget what was set aside before, and keep the rest out of `programs`."""
        self._set_aside = dict(self.programs)
        self._forget()

    def clear(self) -> None:
        """Forget all programs."""
        self._forget()
        self._set_aside.clear()

    def _forget(self) -> None:
        self.programs.clear()
        if self.calls is not None:
            self.calls.clear()


_added = 0
_lock = threading.RLock()
_all: WeakSet[ProgramCache[Any]] = WeakSet()
_by_function: WeakKeyDictionary[Any, dict[Any, ProgramCache[Any]]] = WeakKeyDictionary()


def cache_of(fun: Callable[..., Any], options: Hashable) -> ProgramCache[Any]:
    """The programs of a function under these options, shared by all who ask."""
    if isinstance(fun, MethodType):  # made anew at each ``object.method``
        return ProgramCache()
    key = key_of(options)
    if key is None:
        return ProgramCache()
    try:
        with _lock:
            caches = _by_function.setdefault(fun, {})
            known = caches.get(key)
            return caches.setdefault(key, ProgramCache()) if known is None else known
    except TypeError:  # not to be hashed, or not to be referred to weakly
        return ProgramCache()


def _count_one() -> None:
    """Note that a program comes in; the oldest go when there are too many."""
    global _added
    with _lock:
        _added += 1
        if _added > _MAX_PROGRAMS // 2:
            _added = 1
            for cache in list(_all):
                cache.set_aside()


def _forget_programs() -> None:
    with _lock:
        caches = list(_all)
    for cache in caches:
        cache.clear()


on_clear(_forget_programs)
