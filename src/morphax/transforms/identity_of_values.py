"""Identities of containers, arrays, tracers, tree structures and objects."""

from __future__ import annotations

import enum
import functools
from collections import OrderedDict, defaultdict, deque
from collections.abc import Collection
from dataclasses import Field
from types import SimpleNamespace
from typing import Any

import numpy as np

from ..array import Array
from ..core import Literal, Primitive, StagingTracer, Tracer
from ..lax.reference.references import Ref
from ..tree import PyTreeDef, nodes_of_users
from ..util.parameter_keys import key_of
from .identity_walk import BY_VALUE, Unknown, Visitor, Walk
from .object_state import NoState, state_of
from .pure_functions import is_pure

_MAX_BYTES = 16384
# Memory that no code of Python writes to: of `bytes`, and of C, as that of arrays of ours.
_MEMORY = (bytes, type(np.empty(0).__array_struct__))


def attributes(*names: str) -> Visitor:
    """The visitor of objects that are what some of their attributes are."""

    def visit(walk: Walk, value: object) -> None:
        walk.parts.append(type(value))
        for name in names:
            walk.visit(getattr(value, name))

    return visit


def visit_set(walk: Walk, values: Collection[Any]) -> None:
    """A set, with the order in which it is gone through."""
    if not all([type(value) in BY_VALUE for value in values]):
        raise Unknown("a set of objects")
    walk.visit_all(values)


def visit_range(walk: Walk, value: range) -> None:
    """A range, by its bounds."""
    walk.parts += (range, value.start, value.stop, value.step)


def visit_default_dict(walk: Walk, value: defaultdict[Any, Any]) -> None:
    """A mapping with the function that makes what is missing."""
    walk.visit(value.default_factory)
    walk.visit_mapping(value)


def visit_deque(walk: Walk, value: deque[Any]) -> None:
    """A queue with its bound."""
    walk.parts.append(value.maxlen)
    walk.visit_all(value)


def visit_partial(walk: Walk, value: functools.partial[Any]) -> None:
    """A function with some of its arguments."""
    walk.parts.append(type(value))
    walk.visit_all((value.func, value.args, value.keywords, vars(value)))


def visit_namespace(walk: Walk, value: SimpleNamespace) -> None:
    """An object that is its attributes."""
    walk.parts.append(SimpleNamespace)
    walk.visit_mapping(vars(value))


def visit_field_of_tuples(walk: Walk, value: Any) -> None:
    """What gets the item of a named tuple at a place."""
    _, (place, _) = value.__reduce__()
    walk.parts += (type(value), place)


def visit_ordered(walk: Walk, value: OrderedDict[Any, Any]) -> None:
    """A mapping that may have attributes."""
    walk.visit_mapping(value)
    walk.visit_mapping(vars(value))


def visit_static(walk: Walk, value: staticmethod[..., Any] | classmethod[Any, ..., Any]) -> None:
    """A function that is no method of instances; what describes it is the function's."""
    walk.parts.append(type(value))
    walk.visit(value.__func__)
    walk.visit_mapping({n: x for n, x in vars(value).items() if not n.startswith("__")})


def visit_array(walk: Walk, value: Array) -> None:
    """An array, which never changes, but may be deleted."""
    if value.is_deleted():
        raise Unknown("an array that is deleted")
    walk.same(value)


def visit_numpy(walk: Walk, value: np.ndarray[Any, Any]) -> None:
    """A small array, by its bytes, for it may change, and how they lie in whose memory.

    What is written to a view changes what it is a view of, which is walked therefore: two arrays
    share memory that can be written to only if one array is met behind both, or is one of them.
    """
    if value.nbytes > _MAX_BYTES:
        raise Unknown(f"a NumPy array of shape {value.shape}, which may change")
    visit_dtype(walk, value.dtype)
    walk.parts += (np.ndarray, value.shape, value.strides, value.flags.num, value.tobytes())
    base: Any = value.base
    if type(base) is memoryview:
        base = base.obj
    if type(base) is np.ndarray:
        is_whole = value.shape == base.shape and value.strides == base.strides
        walk.parts.append(0 if is_whole else _address(value) - _address(base))
        walk.visit(base)
    elif base is not None and (value.flags.writeable or type(base) not in _MEMORY):
        raise Unknown("a NumPy array in memory that others may change")


def _address(array: np.ndarray[Any, Any]) -> int:
    address: int = array.__array_interface__["data"][0]
    return address


def visit_scalar(walk: Walk, value: np.generic) -> None:
    """A scalar of NumPy, by its bytes; users may derive classes from these."""
    if type(value) is not value.dtype.type:
        raise Unknown(f"a {type(value).__name__}, whose state cannot be seen")
    visit_dtype(walk, value.dtype)
    walk.parts += (type(value), value.tobytes())


def visit_dtype(walk: Walk, value: np.dtype[Any]) -> None:
    """A dtype of numbers; of equal ones letters and metadata may differ."""
    if value.hasobject or value.names or value.subdtype or value.metadata:
        raise Unknown(f"the dtype {value}")
    walk.parts += (type(value), value, value.char)


def visit_field(walk: Walk, value: Field[Any]) -> None:
    """A field of a dataclass; what is written down as its type counts by itself."""
    walk.parts.append(Field)
    walk.visit_all((value.name, value.default, value.default_factory, value.metadata))
    walk.visit_all((value.init, value.kw_only, value.repr, value.hash, value.compare))
    walk.same(value.type)


def visit_tracer(walk: Walk, value: Tracer) -> None:
    """A tracer: by what it stands for, and by its place.

    A number of the program around is no operand of the program within, which repeats it.
    """
    walk.parts += (type(value), value.aval)
    walk.tracers.append(value)
    if type(value) is StagingTracer and type(value.atom) is Literal:
        number = key_of(value.atom.val)
        if number is None:
            raise Unknown(f"the literal {value.atom!r}")
        walk.parts.append(number)


def visit_reference(walk: Walk, value: Ref) -> None:
    """Like a tracer; but one reference twice is not like two."""
    walk.parts += (Ref, value.aval, tuple([x is value.content for x in walk.tracers]))
    walk.tracers.append(value.content)


def visit_treedef(walk: Walk, value: PyTreeDef) -> None:
    """A structure; where users registered its nodes, with their classes, functions and data."""
    nodes = nodes_of_users(value)
    walk.parts += (PyTreeDef, len(nodes))
    if not nodes:
        walk.parts.append(value)
    for arity, node in nodes:
        walk.parts += (arity, node is None)
        if node is not None:
            walk.visit(node.kind.type)
            walk.visit_all(node.kind.functions())
            walk.visit(node.data)


def visit_enum(walk: Walk, value: enum.Enum) -> None:
    """A member of an enumeration; users may give it further attributes."""
    walk.same(value)
    walk.visit(type(value))
    walk.visit_mapping(vars(value))


def visit_tuple_of_class(walk: Walk, value: tuple[Any, ...]) -> None:
    """An instance of a subclass of `tuple` that holds nothing but its items."""
    if getattr(value, "__dict__", None):
        raise Unknown(f"a {type(value).__name__}, whose state cannot be seen")
    walk.visit(type(value))
    walk.visit_all(tuple(tuple.__iter__(value)))


def visit_primitive(walk: Walk, value: Primitive) -> None:
    """A primitive: of ours a constant, of users an object with rules."""
    visit = _visit_constant if is_pure(type(value)) else visit_object
    visit(walk, value)


def _visit_constant(walk: Walk, value: object) -> None:
    walk.parts.append(value)


def visit_object(walk: Walk, value: object) -> None:
    """Any other object: a declared constant, or its class and its state."""
    if is_pure(value):
        _visit_constant(walk, value)
        return
    state = state_of(value)
    if isinstance(state, NoState):
        raise Unknown(f"a {type(value).__name__}, {state.reason}")
    walk.visit(type(value))
    walk.visit_mapping(state)
