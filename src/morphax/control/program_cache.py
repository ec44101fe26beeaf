"""Which traced programs belong to a function, however often it is wrapped by `jit`.

Programs live as long as their function or a `jit` of it: the tables refer to functions weakly, and
a traced program does not refer to its function.  A function is identified by itself.  Python makes
a new bound method at each ``object.method``; it is identified by its function and the state of its
object, provided that the state cannot change without notice.  Other bound methods share nothing.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any, Generic, TypeVar, final
from weakref import WeakKeyDictionary, WeakSet

from ..util.memo import on_clear

P = TypeVar("P")

_MAX_PROGRAMS = 4096


@final
class ProgramCache(Generic[P]):
    """The programs of one function under one set of options, by signature."""

    __slots__ = ("__weakref__", "programs")

    def __init__(self) -> None:
        self.programs: dict[Any, P] = {}
        with _lock:
            _all.add(self)

    def add(self, signature: Any, program: P) -> P:
        """Keep a program; if another thread was first, its program is the one to use."""
        if len(self.programs) >= _MAX_PROGRAMS:
            self.programs.clear()
        return self.programs.setdefault(signature, program)


_lock = threading.RLock()
_all: WeakSet[ProgramCache[Any]] = WeakSet()
_by_function: WeakKeyDictionary[Any, dict[Any, ProgramCache[Any]]] = WeakKeyDictionary()


def cache_of(fun: Callable[..., Any], options: Any) -> ProgramCache[Any]:
    """The programs of a function under these options, shared by all who ask."""
    owner: Any = fun
    key: Any = options
    if isinstance(fun, MethodType):
        state = _fixed_state(fun.__self__)
        if state is None:
            return ProgramCache()
        owner, key = fun.__self__, (fun.__func__, state, options)
    try:
        with _lock:
            caches = _by_function.setdefault(owner, {})
            return caches.get(key) or caches.setdefault(key, ProgramCache())
    except TypeError:  # not to be hashed, or not to be referred to weakly
        return ProgramCache()


# Objects of these types do not change, or are as constant as the text of the program.
_FIXED_TYPES = frozenset(
    {bool, int, float, complex, str, bytes, type(None), type, BuiltinFunctionType, ModuleType}
)


class _Plain:
    """A class whose objects have no state but their attributes."""


def _fixed_state(owner: Any) -> tuple[Any, ...] | None:
    """What a method can read from its object, or `None` if that may change without notice.

    Equality that a class defines itself declares that equal objects are interchangeable.
    """
    if isinstance(owner, type) or "__eq__" in _methods(type(owner)):
        return ()
    if type(owner).__basicsize__ != _Plain.__basicsize__ or not hasattr(owner, "__dict__"):
        return None
    attributes = vars(owner)
    if not all(map(_is_fixed, attributes.values())):
        return None
    return tuple([(name, type(value), value) for name, value in attributes.items()])


def _methods(class_: type) -> set[str]:
    """What a class and its bases define, other than `object`."""
    return {name for base in class_.__mro__[:-1] for name in vars(base)}


def _is_fixed(value: Any) -> bool:
    if type(value) is FunctionType:
        return value.__closure__ is None
    return type(value) in _FIXED_TYPES


def _forget_programs() -> None:
    with _lock:
        caches = list(_all)
    for cache in caches:
        cache.programs.clear()


on_clear(_forget_programs)
