"""Structural function identity: when two function objects are one function.

A lambda that is rebuilt on every call is a new object each time.  Its *identity* is what it can
read: its code, defaults, closure, the global variables that the code names, and so on through the
functions, objects and containers found there.  Functions of equal identities trace to the same
program, so programs are remembered by it.

The walk is a positive list.  There is an identity only if all that can be reached is of a kind that
is listed here, and all code that can run is either understood (`code_reads`) and walked too, or
declared to compute from its arguments alone (`pure_functions`).  Whatever else turns up ends the
walk with a reason.  A wrong *no* costs a trace; a wrong *yes* would be a wrong result.

- Numbers, strings, dtypes count by type and bits; lists, dicts and the like by their contents at
  the time, in order; objects by class and state; classes by themselves and all that they define.
- Arrays that are not deleted, meshes and shardings count by themselves.  A tracer counts by its
  type, and by its place: the program takes it as an operand.
- Modules count by the chains of attributes that code reads of them.
- What arguments bring is walked like the rest: classes and data of tree nodes, static arguments.

The invariant and the argument why it holds stand in docs/design/function-identity.md.
"""

from __future__ import annotations

import collections
import enum
import functools
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import Field, field
from types import (
    BuiltinFunctionType,
    ClassMethodDescriptorType,
    FunctionType,
    GenericAlias,
    GetSetDescriptorType,
    MappingProxyType,
    MemberDescriptorType,
    MethodDescriptorType,
    MethodType,
    ModuleType,
    SimpleNamespace,
    WrapperDescriptorType,
)
from typing import Any, Final, final

import numpy as np

from ..array import Array
from ..core import Primitive, Tracer
from ..lax.reference.references import Ref
from ..tree import PyTreeDef
from ..util.records import dataclass
from . import identity_of_code as code
from . import identity_of_values as values
from .identity_walk import Unknown, Visitor, Walk
from .object_state import PLACES


@final
@dataclass(frozen=True, slots=True)
class Identity:
    """What identifies functions.

    Args:
        key: hashable; equal for functions that are the same.
        tracers: what they close over, in the order of the key.
        objects: all objects met that are not numbers or the like, in the order of the key.
    """

    key: tuple[Any, ...]
    tracers: tuple[Tracer, ...]
    objects: tuple[Any, ...] = field(compare=False)


@final
@dataclass(frozen=True, slots=True)
class Unidentified:
    """There is no identity: something can be read that may change without notice."""

    reason: str


def identify(
    functions: Sequence[Callable[..., Any]], arguments: Iterable[Any] = ()
) -> Identity | Unidentified:
    """The identity of functions, now.

    Args:
        functions: what is traced.
        arguments: what tracing hands to them besides tracers: structures and static arguments.

    Example:
        >>> from functools import partial
        >>> from morphax import lax
        >>> from morphax.transforms.function_identity import identify
        >>> identify([partial(lax.mul, 2)]).key == identify([partial(lax.mul, 2)]).key
        True
        >>> identify([partial(lax.mul, 2)]).key == identify([partial(lax.mul, 2.0)]).key
        False
        >>> identify([partial(lax.mul, iter([2]))])
        Unidentified(reason='a list_iterator, whose state cannot be seen')
    """
    walk = Walk(_VISITORS, _BASES, values.visit_object)
    try:
        for value in (*functions, *arguments):
            walk.visit(value)
    except Unknown as unknown:
        return Unidentified(str(unknown))
    except RuntimeError:  # another thread changes it, or it is nested too deeply
        return Unidentified("what cannot be gone through")
    return Identity(tuple(walk.parts), tuple(walk.tracers), tuple(walk.objects))


_VISITORS: Final[Mapping[type, Visitor]] = {
    FunctionType: code.visit_function,
    MethodType: code.visit_method,
    BuiltinFunctionType: code.visit_builtin,
    ModuleType: code.visit_bare_module,
    type: code.visit_class,
    property: values.attributes("fget", "fset", "fdel"),
    enum.property: values.attributes("fget", "fset", "fdel", "name"),
    staticmethod: values.visit_static,
    classmethod: values.visit_static,
    functools.cached_property: values.attributes("func", "attrname"),
    functools.partial: values.visit_partial,
    MemberDescriptorType: values.attributes("__name__"),
    GetSetDescriptorType: code.visit_descriptor,
    MethodDescriptorType: code.visit_descriptor,
    WrapperDescriptorType: code.visit_descriptor,
    ClassMethodDescriptorType: code.visit_descriptor,
    tuple: Walk.visit_all,
    list: Walk.visit_all,
    dict: Walk.visit_mapping,
    OrderedDict: values.visit_ordered,
    MappingProxyType: Walk.visit_mapping,
    defaultdict: values.visit_default_dict,
    deque: values.visit_deque,
    set: values.visit_set,
    frozenset: values.visit_set,
    range: values.visit_range,
    slice: values.attributes("start", "stop", "step"),
    GenericAlias: values.attributes("__origin__", "__args__"),
    SimpleNamespace: values.visit_namespace,
    type(vars(collections.namedtuple("_", "field"))["field"]): values.visit_field_of_tuples,
    Field: values.visit_field,
    Array: values.visit_array,
    **dict.fromkeys(PLACES, Walk.same),
    np.ndarray: values.visit_numpy,
    PyTreeDef: values.visit_treedef,
    Ref: values.visit_reference,
}
_BASES: Final[Sequence[tuple[type, Visitor]]] = (
    (Tracer, values.visit_tracer),
    (np.generic, values.visit_scalar),
    (np.dtype, values.visit_dtype),
    (enum.Enum, values.visit_enum),
    (type, code.visit_class),
    (Primitive, values.visit_primitive),
    (ModuleType, code.visit_bare_module),
    (tuple, values.visit_tuple_of_class),
)
