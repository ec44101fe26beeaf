"""What a traced program keeps of the user's and runs, or hands out, later.

Most of a program is inert: numbers, avals, jaxprs, primitives of ours.  But callbacks, rules of
custom derivatives and of batching, primitives of users, data of result structures are objects of
the user: they are met again, whoever uses the program, and their state counts at that time.  A
program may stand for another function only if that would keep the very same objects.

The list of what is inert is positive; anything else is kept.
"""

from __future__ import annotations

import enum
import functools
import weakref
from collections.abc import Mapping
from types import FunctionType, MethodType
from typing import Any, Final, final
from weakref import WeakKeyDictionary

import numpy as np

from ..array import Array
from ..core import DebugInfo, Jaxpr, Primitive, Tracer
from ..transforms.identity_of_code import contents_of
from ..transforms.object_state import PLACES, NoState, state_of
from ..transforms.pure_functions import has_pure_code, is_our_own, is_pure
from ..tree import PyTreeDef, nodes_of_users

_INERT: Final = frozenset(
    {
        *(bool, int, float, complex, str, bytes, type(None), type(...), range, slice),
        *(Array, DebugInfo, weakref.ref, *PLACES),
    }
)
_INERT_BASES: Final = (np.generic, np.dtype)
_CALLABLES: Final = frozenset({FunctionType, MethodType, functools.partial})
_CONSTANTS: Final = (Primitive, enum.Enum)


def kept_objects(program: object) -> tuple[Any, ...] | None:
    """The user's objects in a program and in what comes with it; `None` if there are tracers.

    Args:
        program: jaxprs, structures, and tuples of these and of inert values.

    Example:
        >>> import morphax as jax
        >>> def show(x):
        ...     print(x)
        >>> kept = kept_objects(jax.make_jaxpr(lambda x: jax.debug.callback(show, x))(1.0))
        >>> kept == (show,)
        True
    """
    collector = _Collector()
    try:
        collector.visit(program)
    except _TracerKept:
        return None
    return tuple(collector.kept.values())


class _TracerKept(Exception):
    """The program holds a tracer, which is of one trace only."""


_kept_by_jaxpr: WeakKeyDictionary[Jaxpr, tuple[Any, ...]] = WeakKeyDictionary()


@final
class _Collector:
    """Goes through a program and collects what is not inert, by identity."""

    __slots__ = ("_seen", "kept")

    def __init__(self) -> None:
        self._seen: dict[int, Any] = {}
        self.kept: dict[int, Any] = {}

    def visit(self, value: Any) -> None:
        kind = type(value)
        if kind is np.ndarray and not value.flags.writeable and value.base is None:
            return  # a copy that staging made
        if kind in _INERT or issubclass(kind, _INERT_BASES) or id(value) in self._seen:
            return
        self._seen[id(value)] = value
        if kind is tuple or kind is frozenset:
            self._visit_all(value)
        elif kind is Jaxpr:
            self._visit_jaxpr(value)
        elif kind is PyTreeDef:
            self._visit_structure(value)
        elif issubclass(kind, Tracer):
            raise _TracerKept
        else:
            self._visit_object(value)

    def _visit_all(self, values: Any) -> None:
        for value in values:
            self.visit(value)

    def _visit_jaxpr(self, jaxpr: Jaxpr) -> None:
        kept = _kept_by_jaxpr.get(jaxpr)
        if kept is None:
            own = _Collector()
            own._visit_all(jaxpr.consts)
            for aval in jaxpr.in_avals:
                own.visit(aval)
            for eqn in jaxpr.eqns:
                if id(eqn.primitive) not in own._seen:
                    own.visit(eqn.primitive)
                if eqn.params:
                    own._visit_all(eqn.params.values())
                if eqn.effects:
                    own._visit_all(eqn.effects)
            kept = _kept_by_jaxpr[jaxpr] = tuple(own.kept.values())
        self.kept.update({id(value): value for value in kept})

    def _visit_structure(self, treedef: PyTreeDef) -> None:
        for _, node in nodes_of_users(treedef):
            if node is not None:
                self.visit(node.kind.type)
                self.visit(node.data)

    def _visit_object(self, value: Any) -> None:
        """A function, a class or an object: inert if it is ours, up to what it holds."""
        kind = type(value)
        if kind in _CALLABLES:
            self._visit_callable(value)
        elif is_pure(value) or (issubclass(kind, _CONSTANTS) and is_our_own(kind)):
            return
        elif is_our_own(kind):
            state = tuple(value) if issubclass(kind, tuple) else state_of(value)
            if isinstance(state, NoState):
                self.kept[id(value)] = value
            else:
                self._visit_all(state.values() if isinstance(state, Mapping) else state)
        else:
            self.kept[id(value)] = value

    def _visit_callable(self, value: Any) -> None:
        if isinstance(value, MethodType):
            self._visit_all((value.__func__, value.__self__))
        elif isinstance(value, functools.partial):
            self._visit_all((value.func, value.args, *value.keywords.values()))
        elif has_pure_code(value):
            self._visit_all(map(contents_of, value.__closure__ or ()))
            self.visit(value.__defaults__)
            self._visit_all((value.__kwdefaults__ or {}).values())
            self._visit_all(value.__dict__.values())
        else:
            self.kept[id(value)] = value
