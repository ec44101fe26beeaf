"""Keys of parameters: equal only where nothing could tell the values apart.

Python's `==` is made for other ends: ``0.0 == -0.0``, ``1 == True == 1.0 == np.int8(1)``, and so
are the tuples that hold them.  What was worked out for one is wrong for the other.  Tables of
results are therefore keyed on `key_of` of what the results depend on, instead of on the values.

Which kinds have a key is a positive list; a value of any other kind has none, nor has what holds
it, and results that depend on it are not remembered:

- integers, strings, `None`, … count by type and value; floating-point numbers and NumPy's scalars
  by type and bits;
- tuples, named tuples and dataclasses count by type and by the keys of what they hold;
- objects that Python compares by identity (functions, classes, programs, avals, members of
  enumerations, …) count by themselves;
- objects whose class defines `==` and `hash` in Python count by class and by that `==`: the author
  says which of them are the same.

See docs/design/memo-keys.md.
"""

from __future__ import annotations

import dataclasses
import datetime
import enum
import re
import struct
import sys
from collections.abc import Callable, Mapping
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType, NoneType
from typing import Any, Final, final

import numpy as np

from .compiled import part, twin_in
from .records import MADE_IN, LateMethod

compiled = part("keys")

Rule = Callable[[Any], Any]
"""From a value of one kind to its key, `None` if it has none."""

# Containers nested deeper have no key, for Python hashes tuples by recursion.
_MAX_DEPTH = 64
# Classes are made at run time, and the table of their rules keeps them alive.
_MAX_RULES = 4096


@final
class Mark:
    """Stands in keys where no value stands, so that keys of different kinds never equal."""

    __slots__ = ("_name",)

    def __init__(self, name: str) -> None:
        self._name = name

    def __repr__(self) -> str:
        return f"<{self._name}>"


_NONE: Final = Mark("None")
_TRUE: Final = Mark("True")
_FALSE: Final = Mark("False")
# In front of a kind and of what tells its values apart.
_OF_KIND: Final = Mark("of kind")
# Rules that need no function: the value is its own key; it is a tuple of its own kind.
_ITSELF: Final = Mark("itself")
_MEMBERS: Final = Mark("members")


def _none(value: Any) -> None:
    """The rule of kinds without a key."""


def _by(function: Callable[[Any], Any]) -> Rule:
    """The rule of kinds whose values are told apart by what a function gives."""

    def rule(value: Any) -> Any:
        try:
            inner = key_of(function(value))
        except RecursionError:
            return None
        return None if inner is None else (_OF_KIND, type(value), inner)

    return rule


def _by_own_equality(value: Any) -> Any:
    try:
        hash(value)
    except TypeError:
        return None
    return _OF_KIND, type(value), value


def _by_identity(value: Any) -> Any:
    """Of an object that lives as long as its class."""
    return _OF_KIND, type(value), id(value)


def _method(value: Any) -> Any:
    # Equal methods have one object and equal functions.
    return value if type(value.__func__) is FunctionType else None


def _numpy_scalar(value: Any) -> Any:
    if value.dtype.hasobject:
        return None
    return _OF_KIND, type(value), value.dtype, value.tobytes()


def _bits(layout: str, parts: Callable[[Any], tuple[float, ...]]) -> Rule:
    pack = struct.Struct(layout).pack
    return lambda value: (_OF_KIND, type(value), pack(*parts(value)))


_FLOAT = _bits("d", lambda value: (value,))
_COMPLEX = _bits("dd", lambda value: (value.real, value.imag))

# Rules are marks, names of the attributes that count, or functions.
_DECLARED: dict[type, Any] = {
    int: _ITSELF,
    str: _ITSELF,
    bytes: _ITSELF,
    FunctionType: _ITSELF,
    BuiltinFunctionType: _ITSELF,
    CodeType: _ITSELF,
    Mark: _none,
    float: _FLOAT,
    complex: _COMPLEX,
    # In the order in which a loop meets the members, which may differ between equal sets.
    frozenset: _by(tuple),
    range: ("start", "stop", "step"),
    slice: ("start", "stop", "step"),
    MethodType: _method,
    datetime.timedelta: _by(lambda value: (value.days, value.seconds, value.microseconds)),
    datetime.date: _by(str),
    re.Pattern: _by(lambda value: (value.pattern, value.flags)),
}
_rules = dict(_DECLARED)

# Subclasses that keep the `==` of these are told apart by what they are as instances of the base.
_BASES: tuple[tuple[type, Rule], ...] = (
    (tuple, _by(lambda value: tuple(tuple.__iter__(value)))),
    (int, _by(int.__int__)),
    (float, _FLOAT),
    (complex, _COMPLEX),
    (str, _by(str.__str__)),
    (bytes, _by(lambda value: bytes.__getitem__(value, slice(None)))),
    (frozenset, _by(tuple)),
    (dict, _by(lambda value: tuple(value.items()))),
)


def of_kind(kind: type, *parts: Any) -> Any:
    """A key that only values of `kind` have; `parts` tell them apart, and can be hashed."""
    return _OF_KIND, kind, *parts


def declare_kind(kind: type, rule: Rule) -> None:
    """Let the values of `kind` have the keys that `rule` gives; called where a kind is defined."""
    _DECLARED[kind] = _rules[kind] = rule


def _inherited(kind: type, name: str) -> Any:
    found = next(vars(base)[name] for base in kind.__mro__ if name in vars(base))
    return found.function() if type(found) is LateMethod else found


def _learn(kind: type) -> Any:
    """The rule of a kind that is met for the first time."""
    rule = _rule_for(kind)
    if len(_rules) >= _MAX_RULES:
        _rules.clear()
        _rules.update(_DECLARED)
    _rules[kind] = rule
    return rule


def _rule_for(kind: type) -> Any:
    equality, hashing = _inherited(kind, "__eq__"), _inherited(kind, "__hash__")
    if hashing is None:
        return _none
    if _inherited(type(kind), "__eq__") is not object.__eq__:
        return _none  # the kind itself could be taken for another
    if issubclass(kind, np.dtype):
        return _by(repr) if issubclass(kind, np.dtypes.VoidDType) else _ITSELF
    if issubclass(kind, np.generic):
        return _numpy_scalar
    if equality is object.__eq__:
        return _by_own_equality if type(hashing) is FunctionType else _ITSELF
    return _by_identity if issubclass(kind, enum.Enum) else _rule_for_equality(kind, equality)


def _rule_for_equality(kind: type, equality: Any) -> Any:
    """The rule of a kind whose values are compared by more than identity."""
    for base, rule in _BASES:
        if equality is vars(base)["__eq__"]:
            return _of_subclass(kind, base, rule)
    # Who has a number of this module has imported it.
    if kind is getattr(sys.modules.get("decimal"), "Decimal", None):
        return _by(str)
    if type(equality) is FunctionType:
        return _fields_compared(kind, equality) or _by_own_equality
    return _none


def _of_subclass(kind: type, base: type, rule: Rule) -> Any:
    """The rule of a subclass, whose instances may have attributes."""
    if base is dict:  # that can be hashed, and may keep its hash in an attribute
        return rule
    if any(vars(cls).get("__slots__") for cls in kind.__mro__ if cls not in base.__mro__):
        return _none
    if not kind.__dictoffset__:
        return _MEMBERS if base is tuple else rule

    def with_attributes(value: Any) -> Any:
        key, attributes = rule(value), key_of(tuple(vars(value).items()))
        return None if key is None or attributes is None else (*key, attributes)

    return with_attributes


# Where the equality of dataclasses is compiled: of the standard library's, and of ours.
_MADE_IN: Final = frozenset({"<string>", MADE_IN})


def _fields_compared(kind: type, equality: FunctionType) -> tuple[str, ...] | None:
    """The fields that the `==` of a dataclass compares, if it is the one that was made for it."""
    made = dataclasses.is_dataclass(kind) and equality.__code__.co_filename in _MADE_IN
    return tuple([f.name for f in dataclasses.fields(kind) if f.compare]) if made else None


@twin_in(compiled)
def key_of(value: Any) -> Any:
    """What tells a value from all others that are not the same, `None` if it has no key.

    Keys can be hashed and compared.

    Example:
        >>> from morphax.util.parameter_keys import key_of
        >>> key_of(0.0) == key_of(-0.0), key_of((1, True)) == key_of((True, 1))
        (False, False)
        >>> key_of((2, "a")) == key_of((2, "a")), key_of(float("nan")) == key_of(float("nan"))
        (True, True)
        >>> key_of([1]) is None
        True
    """
    return _key(value, 0)


@twin_in(compiled)
def params_key(params: Mapping[str, Any]) -> tuple[Any, ...] | None:
    """The key of the parameters of an operation, `None` if they have none.

    Example:
        >>> from morphax.util.parameter_keys import params_key
        >>> params_key({"axis": 0, "reverse": False})
        ('axis', 0, 'reverse', <False>)
    """
    parts: list[Any] = []
    for name, value in params.items():
        key = _key(value, 0)
        if key is None:
            return None
        parts += (name, key)
    return tuple(parts)


def _key(value: Any, depth: int) -> Any:
    kind = type(value)
    if kind is tuple:
        return _keys(value, value, (), depth)
    if kind is bool:
        return _TRUE if value else _FALSE
    if kind is NoneType:
        return _NONE
    rule = _rules.get(kind)
    if rule is None:
        rule = _learn(kind)
    if rule is _ITSELF:
        return value
    if rule is _MEMBERS:
        return _keys(None, tuple.__iter__(value), (_OF_KIND, kind), depth)
    if type(rule) is tuple:
        # A mark has no key, nor has what lacks an attribute.
        fields = [getattr(value, name, _NONE) for name in rule]
        return _keys(None, fields, (_OF_KIND, kind), depth)
    return rule(value)


def _keys(whole: Any, values: Any, head: tuple[Any, ...], depth: int) -> Any:
    """The keys of several values in a row; `whole` if each is its own key."""
    if depth >= _MAX_DEPTH:
        return None
    keys = list(head)
    changed = whole is None
    for value in values:
        key = _key(value, depth + 1)
        if key is None:
            return None
        changed = changed or key is not value
        keys.append(key)
    return tuple(keys) if changed else whole


if compiled is not None:
    compiled.install(_rules, _learn, _NONE, _TRUE, _FALSE, _OF_KIND, _ITSELF, _MEMBERS)
