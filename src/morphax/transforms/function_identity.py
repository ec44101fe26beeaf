"""Structural function identity: when two function objects are one function.

A lambda that is rebuilt on every call is a new object each time.  Its *identity* is what it can
read: its code, defaults, closure, the global variables that the code names, and so on through the
functions, objects and containers found there.  Functions of equal identities trace to the same
program, so programs are remembered by it.

- Numbers, strings, dtypes count by type and value; lists, dicts and the like by their contents at
  the time; classes, modules and functions of libraries (see `code_reads`) by themselves.
- Arrays count by themselves.  A tracer counts by its type, and by its place: the program takes it
  as an operand.
- What may change without notice (generators, files, large NumPy arrays, locks, …) has no identity,
  nor has a function that reads it.  `identify` then says why.

A wrong *no* costs a trace; a wrong *yes* would be a wrong result.  So every doubt is a no.
"""

from __future__ import annotations

import enum
import functools
import logging
import sys
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import (
    BuiltinFunctionType,
    CellType,
    EllipsisType,
    FunctionType,
    GetSetDescriptorType,
    MappingProxyType,
    MemberDescriptorType,
    MethodDescriptorType,
    MethodType,
    ModuleType,
    NoneType,
    NotImplementedType,
    WrapperDescriptorType,
)
from typing import Any, final

import numpy as np

from ..array import Array
from ..core import Primitive, Tracer
from ..lax.references import Ref
from ..tree import PyTreeDef
from .code_reads import CodeReads, is_library, reads_of
from .object_state import NoState, state_of

# More parts than this cost more than a trace.
_MAX_PARTS = 2000
_MAX_BYTES = 16384


@final
@dataclass(frozen=True, slots=True)
class Identity:
    """What identifies functions: a hashable key, and the tracers they close over, in its order."""

    key: tuple[Any, ...]
    tracers: tuple[Tracer, ...]


@final
@dataclass(frozen=True, slots=True)
class Unidentified:
    """There is no identity: the function reads something that may change without notice."""

    reason: str


@final
class Same:
    """A value that counts by itself."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __hash__(self) -> int:
        return id(self.value)

    def __eq__(self, other: object) -> bool:
        return type(other) is Same and other.value is self.value


def identify(functions: Sequence[Callable[..., Any]]) -> Identity | Unidentified:
    """The identity of functions, now.

    Example:
        >>> from morphax.transforms.function_identity import identify
        >>> def make(scale):
        ...     return lambda x: scale * x
        >>> identify([make(2)]).key == identify([make(2)]).key
        True
        >>> identify([make(2)]).key == identify([make(2.0)]).key
        False
        >>> identify([make(iter([2]))])
        Unidentified(reason='a list_iterator, whose state cannot be seen')
    """
    walk = _Walk()
    try:
        for function in functions:
            walk.visit(function)
    except _Unknown as unknown:
        return Unidentified(str(unknown))
    if walk.reads_by_name and walk.user_modules:
        return Unidentified("attributes of a module under names that are found at run time")
    return Identity(tuple(walk.parts), tuple(walk.tracers))


class _Unknown(Exception):
    """The walk met something whose state cannot be known; its text is the reason."""


class _Absent:
    """What a variable is that is not there."""


@final
class _Walk:
    """Collects the parts of an identity."""

    __slots__ = ("keep", "modules", "parts", "reads_by_name", "seen", "tracers", "user_modules")

    def __init__(self) -> None:
        self.parts: list[Any] = []
        self.tracers: list[Tracer] = []
        # Where each object with parts of its own was met first; `keep` holds those made on the way.
        self.seen: dict[int, int] = {}
        self.keep: list[Any] = []
        self.modules: set[tuple[ModuleType, tuple[str, ...]]] = set()
        self.reads_by_name = False
        self.user_modules = False

    def visit(self, value: Any) -> None:
        """Add the parts of a value."""
        kind = type(value)
        if kind in _BY_VALUE:
            self.parts += (kind, value)
            return
        if kind in _BY_TEXT:
            # 0.0 == -0.0, which are not the same.
            self.parts += (kind, repr(value))
            return
        met = self.seen.get(id(value))
        if met is not None:
            self.parts += (_Walk, met)
            return
        self.seen[id(value)] = len(self.seen)
        self.keep.append(value)
        self._check_room(1)
        visitor = _VISITORS.get(kind)
        if visitor is not None:
            visitor(self, value)
        else:
            self._visit_by_base(value)

    def _visit_by_base(self, value: Any) -> None:
        for base, visitor in _BASES:
            if isinstance(value, base):
                visitor(self, value)
                return
        self._visit_object(value)

    def _check_room(self, count: int) -> None:
        if len(self.parts) + count > _MAX_PARTS:
            raise _Unknown("too much to compare at each call")

    def same(self, value: Any) -> None:
        self.parts.append(Same(value))

    def visit_all(self, values: Sequence[Any]) -> None:
        self._check_room(len(values))
        self.parts += (type(values), len(values))
        for value in values:
            self.visit(value)

    def visit_mapping(self, values: Any) -> None:
        self._check_room(len(values))
        self.parts += (type(values), len(values))
        for key, value in values.items():
            self.visit(key)
            self.visit(value)

    def visit_set(self, values: Any) -> None:
        if not all(type(value) in _BY_VALUE for value in values):
            raise _Unknown("a set of objects")
        typed = frozenset((type(value), value) for value in values)
        self.parts += (type(values), typed)

    def visit_numpy(self, value: Any) -> None:
        if value.dtype.hasobject or value.nbytes > _MAX_BYTES:
            raise _Unknown(f"a NumPy array of shape {value.shape}, which may change")
        self.parts += (type(value), value.dtype, value.shape, value.tobytes())

    def visit_tracer(self, value: Tracer) -> None:
        self.parts += (type(value), value.aval)
        self.tracers.append(value)

    def visit_reference(self, value: Ref) -> None:
        # Like a tracer; but one reference twice is not like two.
        self.parts += (Ref, value.aval, tuple([x is value.content for x in self.tracers]))
        self.tracers.append(value.content)

    def visit_treedef(self, value: Any) -> None:
        try:
            hash(value)
        except TypeError:
            self.same(value)
        else:
            self.parts += (PyTreeDef, value)

    def visit_bare_module(self, value: ModuleType) -> None:
        """A module that is handed around: code anywhere may read anything of it."""
        if not is_library(vars(value)):
            raise _Unknown(f"the module {value.__name__} as a value")
        self.same(value)

    def visit_partial(self, value: Any) -> None:
        self.parts.append(type(value))
        self.visit_all((value.func, value.args, value.keywords, vars(value)))

    def visit_method(self, value: MethodType) -> None:
        self.parts.append(MethodType)
        self.visit(value.__func__)
        self.visit(value.__self__)

    def visit_builtin(self, value: BuiltinFunctionType) -> None:
        self.parts += (BuiltinFunctionType, value.__name__)
        owner = value.__self__
        if owner is None or type(owner) is ModuleType:
            self.same(owner)
        else:
            self.visit(owner)

    def visit_cell(self, cell: CellType) -> None:
        try:
            value = cell.cell_contents
        except ValueError:  # not assigned yet
            self.parts.append(CellType)
        else:
            self.visit(value)

    def visit_function(self, value: FunctionType) -> None:
        self.parts += (FunctionType, value.__code__, value.__name__)
        if value.__closure__:
            for cell in value.__closure__:
                self.visit_cell(cell)
        if value.__defaults__:
            self.visit_all(value.__defaults__)
        if value.__kwdefaults__:
            self.visit_mapping(value.__kwdefaults__)
        if value.__dict__:
            self.visit_mapping(value.__dict__)
        namespace = value.__globals__
        if not is_library(namespace):
            self._visit_reads(reads_of(value.__code__), namespace)

    def _visit_reads(self, reads: CodeReads, namespace: dict[str, Any]) -> None:
        """Global variables that code names, and the attributes of modules among them."""
        if reads.unbounded:
            raise _Unknown("what it imports, evaluates or reads from files at run time")
        self.reads_by_name |= reads.by_name
        for name in reads.globals:
            value = namespace.get(name, _Absent)
            if type(value) is ModuleType:
                self._visit_module(value, reads.attributes)
            else:
                self.visit(value)

    def _visit_module(self, module: ModuleType, attributes: tuple[str, ...]) -> None:
        """A module by itself and by those of its members that code names."""
        self.same(module)
        if (module, attributes) in self.modules:
            return
        self.modules.add((module, attributes))
        namespace = vars(module)
        library = is_library(namespace)
        self.user_modules |= not library
        for name in attributes:
            value = namespace.get(name, _Absent)
            if type(value) is ModuleType:
                self._visit_module(value, attributes)
            elif library:
                self._visit_library_value(value)
            else:
                self.visit(value)

    def _visit_library_value(self, value: Any) -> None:
        """What a library holds under a name: functions and classes are constant, data is not."""
        if type(value) in _CONSTANT_IN_LIBRARIES:
            return
        if not (callable(value) and _in_library(type(value))):
            self.visit(value)
            return
        self.same(value)
        owner = getattr(value, "__self__", None)
        if owner is not None and not isinstance(owner, (ModuleType, type)):
            self.visit(owner)

    def visit_class(self, value: type) -> None:
        """A class by itself and, unless a library defines it, by all that it defines."""
        self.same(value)
        if type(value) is not type:
            self.visit(type(value))
        for base in value.__mro__:
            if not _in_library(base):
                for name, member in vars(base).items():
                    if name not in _BOOKKEEPING:
                        self.parts.append(name)
                        self.visit(member)

    def visit_enum(self, value: enum.Enum) -> None:
        self.same(value)
        self.visit(type(value))

    def _visit_object(self, value: Any) -> None:
        state = state_of(value)
        if isinstance(state, NoState):
            raise _Unknown(f"a {type(value).__name__}, {state.reason}")
        self.visit(type(value))
        self.visit_mapping(state)


def _attributes(*names: str) -> Callable[[_Walk, Any], None]:
    """The visitor of objects that are what some of their attributes are."""

    def visit(walk: _Walk, value: Any) -> None:
        walk.parts.append(type(value))
        for name in names:
            walk.visit(getattr(value, name))

    return visit


def _in_library(kind: type) -> bool:
    module = sys.modules.get(kind.__module__)
    return module is not None and is_library(vars(module))


_BY_VALUE = frozenset({bool, int, str, bytes, NoneType, EllipsisType, NotImplementedType})
_BY_TEXT = frozenset({float, complex, range})
_CONSTANT_IN_LIBRARIES = _BY_VALUE | _BY_TEXT | {FunctionType, type, np.ufunc}
_BOOKKEEPING = frozenset(
    "__abstractmethods__ __annotations__ __dataclass_fields__ __dict__ __doc__ __firstlineno__ "
    "__module__ __static_attributes__ __weakref__ _abc_impl".split()
)

_Visitor = Callable[[_Walk, Any], None]
_VISITORS: dict[type, _Visitor] = {
    Array: _Walk.same,
    FunctionType: _Walk.visit_function,
    MethodType: _Walk.visit_method,
    BuiltinFunctionType: _Walk.visit_builtin,
    ModuleType: _Walk.visit_bare_module,
    type: _Walk.visit_class,
    tuple: _Walk.visit_all,
    list: _Walk.visit_all,
    dict: _Walk.visit_mapping,
    OrderedDict: _Walk.visit_mapping,
    MappingProxyType: _Walk.visit_mapping,
    set: _Walk.visit_set,
    frozenset: _Walk.visit_set,
    np.ndarray: _Walk.visit_numpy,
    functools.partial: _Walk.visit_partial,
    slice: _attributes("start", "stop", "step"),
    property: _attributes("fget", "fset", "fdel"),
    staticmethod: _attributes("__func__"),
    classmethod: _attributes("__func__"),
    functools.cached_property: _attributes("func"),
    type(functools.lru_cache(abs)): _attributes("__wrapped__"),
    np.ufunc: _Walk.same,
    MemberDescriptorType: _Walk.same,
    GetSetDescriptorType: _Walk.same,
    MethodDescriptorType: _Walk.same,
    WrapperDescriptorType: _Walk.same,
    PyTreeDef: _Walk.visit_treedef,
    Ref: _Walk.visit_reference,
}
_BASES: tuple[tuple[type, _Visitor], ...] = (
    (Tracer, _Walk.visit_tracer),
    (np.generic, _Walk.visit_numpy),
    (np.dtype, _Walk.same),
    (enum.Enum, _Walk.visit_enum),
    (type, _Walk.visit_class),
    (Primitive, _Walk.same),
    (logging.Logger, _Walk.same),
)
