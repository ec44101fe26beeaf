"""Identities of containers, arrays, tracers, tree structures and objects."""

from __future__ import annotations

import enum
import functools
from collections import defaultdict, deque
from collections.abc import Collection
from types import SimpleNamespace
from typing import Any

import numpy as np

from ..core import Literal, Primitive, StagingTracer, Tracer
from ..lax.reference.references import Ref
from ..tree import PyTreeDef, nodes_of_users
from ..util.parameter_keys import key_of
from .identity_walk import BY_VALUE, Unknown, Visitor, Walk
from .object_state import NoState, state_of
from .pure_functions import is_pure

_MAX_BYTES = 16384


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


def visit_numpy(walk: Walk, value: np.ndarray[Any, Any] | np.generic) -> None:
    """A small array or a scalar, by its bytes: it may change."""
    if value.dtype.hasobject or value.dtype.names or value.nbytes > _MAX_BYTES:
        raise Unknown(f"a NumPy array of shape {value.shape}, which may change")
    walk.parts += (type(value), value.dtype, value.shape, value.tobytes())


def visit_dtype(walk: Walk, value: np.dtype[Any]) -> None:
    """A dtype of numbers."""
    if value.hasobject or value.names:
        raise Unknown(f"the dtype {value}")
    walk.parts += (type(value), value)


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
