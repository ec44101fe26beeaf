"""`dataclass` as the standard library has it, made in a tenth of the time.

An import of morphax and a first compiled call make 130 dataclasses.  The standard library writes
six methods for each of them as text and compiles them, which took a fifth of that start.  Here it
collects the fields only; equality, hash, text and the refusal of assignments are closures over
them, and `__init__`, which is called most and must bind its arguments as fast as any function, is
still compiled from text, but when somebody first asks for it.

To readers, type checkers and users nothing differs: fields, `replace`, `match`, `pickle`, messages
and signatures are those of a dataclass.  Its limits: a class that derives from a dataclass is made
by the standard library, one without a docstring is documented by its name alone, and there are no
`InitVar` and no order.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import MISSING, Field, FrozenInstanceError
from functools import partial
from reprlib import recursive_repr
from types import FunctionType
from typing import TYPE_CHECKING, Any, Final, TypeAlias, final

__all__ = ["MADE_IN", "LateMethod", "dataclass"]

MADE_IN: Final = __file__
"""The file that the code of compiled methods names."""

if TYPE_CHECKING:
    from dataclasses import dataclass
else:

    def dataclass(
        kind: type | None = None,
        /,
        *,
        frozen: bool = False,
        slots: bool = False,
        eq: bool = True,
        repr: bool = True,
        kw_only: bool = False,
        weakref_slot: bool = False,
    ) -> Any:
        """Give a class the methods of a record of its annotated fields.

        Args:
            kind: the class.
            frozen: whether fields cannot be assigned to.
            slots: whether instances have no dictionary.
            eq: whether instances are equal, and if frozen hash, by their fields; else by identity.
            repr: whether they print their fields.
            kw_only: whether fields are given by name only.
            weakref_slot: whether instances with slots can be referred to weakly.

        Example:
            >>> from morphax.util.records import dataclass
            >>> @dataclass(frozen=True, slots=True)
            ... class Point:
            ...     x: float
            ...     y: float = 0.0
            >>> Point(1.0), Point(1.0) == Point(1.0, 0.0)
            (Point(x=1.0, y=0.0), True)
        """
        layout = {"slots": slots, "kw_only": kw_only, "weakref_slot": weakref_slot}

        def made(kind: type) -> type:
            if any(map(dataclasses.is_dataclass, kind.__bases__)):
                return dataclasses.dataclass(kind, frozen=frozen, eq=eq, repr=repr, **layout)
            # Of a class without a docstring a signature is made, which takes a millisecond.
            kind.__doc__ = kind.__doc__ or kind.__name__
            kind = dataclasses.dataclass(kind, init=False, eq=False, repr=False, **layout)
            given, fields = vars(kind), dataclasses.fields(kind)
            # A class that defines `==` has no hash, which is not its author's word.
            hashed = given.get("__hash__") is not None or "__eq__" not in given
            for name, method in _methods(kind, fields, frozen, slots, eq, repr):
                if name not in given or (name == "__hash__" and not hashed):
                    setattr(kind, name, method)
            # Who derives from it is told by this whether the base is frozen.
            kind.__dataclass_params__.frozen = frozen
            return kind

        return made if kind is None else made(kind)


def _methods(
    kind: type, fields: Sequence[Field[Any]], frozen: bool, slots: bool, eq: bool, repr: bool
) -> list[tuple[str, Any]]:
    """The methods of a record, by name."""
    methods: list[tuple[str, Any]] = [
        ("__init__", LateMethod(kind, "__init__", partial(_initializer, kind, fields, frozen)))
    ]
    if repr:
        methods.append(("__repr__", _representation([f.name for f in fields if f.repr])))
    if eq:
        compared = [f.name for f in fields if f.compare]
        methods.append(("__eq__", LateMethod(kind, "__eq__", partial(_equality, compared))))
        hashed = LateMethod(kind, "__hash__", partial(_hash, compared))
        methods.append(("__hash__", hashed if frozen else None))
    if frozen:
        methods += _refusals(kind, frozenset([f.name for f in fields]))
    if frozen and slots:
        methods += [("__getstate__", _state), ("__setstate__", _set_state)]
    return methods


def _representation(names: Sequence[str]) -> Any:
    @recursive_repr()
    def __repr__(self: Any) -> str:
        fields = ", ".join([f"{name}={getattr(self, name)!r}" for name in names])
        return f"{type(self).__qualname__}({fields})"

    return __repr__


def _refusals(kind: Any, names: frozenset[str]) -> list[tuple[str, Any]]:
    """Assignments and deletions that fail; what a subclass adds is its own."""

    def __setattr__(self: Any, name: str, value: Any) -> None:
        if type(self) is kind or name in names:
            raise FrozenInstanceError(f"cannot assign to field {name!r}")
        super(kind, self).__setattr__(name, value)

    def __delattr__(self: Any, name: str) -> None:
        if type(self) is kind or name in names:
            raise FrozenInstanceError(f"cannot delete field {name!r}")
        super(kind, self).__delattr__(name)

    return [("__setattr__", __setattr__), ("__delattr__", __delattr__)]


def _state(self: Any) -> list[Any]:
    return [getattr(self, f.name) for f in dataclasses.fields(self)]


def _set_state(self: Any, state: Sequence[Any]) -> None:
    for field, value in zip(dataclasses.fields(self), state, strict=True):
        object.__setattr__(self, field.name, value)


@final
class _Made:
    """The default of a parameter whose value is made for each instance."""

    def __repr__(self) -> str:
        return "<factory>"


_MADE: Final = _Made()
_Text: TypeAlias = tuple[str, dict[str, Any]]
"""A function in Python, and the values of names in it."""


@final
class LateMethod:
    """A method that is compiled when it is first looked up, and then takes the place of this.

    Python looks methods up by the descriptor protocol: for instances, subclasses and signatures.
    """

    __slots__ = ("_kind", "_name", "_text")

    def __init__(self, kind: type, name: str, text: Callable[[], _Text]) -> None:
        self._kind = kind
        self._name = name
        self._text = text

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self.function().__get__(instance, owner)

    def function(self) -> FunctionType:
        """The method, which is compiled if it was not yet."""
        made: Any = vars(self._kind)[self._name]
        if made is self:
            text, names = self._text()
            exec(compile(text, MADE_IN, "exec"), names)
            made = names[self._name]
            made.__qualname__ = f"{self._kind.__qualname__}.{self._name}"
            made.__module__ = self._kind.__module__
            made.__annotations__ = names.get("_annotations", {})
            setattr(self._kind, self._name, made)
        return made


def _equality(names: Sequence[str]) -> _Text:
    return (
        "def __eq__(self, other):\n if other.__class__ is not self.__class__:\n"
        f"  return NotImplemented\n return {_values('self', names)} == {_values('other', names)}",
        {},
    )


def _hash(names: Sequence[str]) -> _Text:
    return f"def __hash__(self):\n return hash({_values('self', names)})", {}


def _values(record: str, names: Sequence[str]) -> str:
    """The tuple of some fields, in Python."""
    return f"({''.join([f'{record}.{name}, ' for name in names])})"


def _initializer(kind: type, fields: Sequence[Field[Any]], frozen: bool) -> _Text:
    annotations = {f.name: f.type for f in fields if f.init} | {"return": None}
    names = {"_assign": object.__setattr__, "_made": _MADE, "_annotations": annotations}
    positional, by_name, body = ["self"], ["*"], []
    for field in fields:
        parameter, value = _parameter(field, names)
        if field.init:
            (by_name if field.kw_only else positional).append(parameter)
        if value is not None:
            name = field.name
            body.append(f"_assign(self, {name!r}, {value})" if frozen else f"self.{name} = {value}")
    if hasattr(kind, "__post_init__"):
        body.append("self.__post_init__()")
    parameters = ", ".join(positional + (by_name if len(by_name) > 1 else []))
    return f"def __init__({parameters}):\n " + "\n ".join(body or ["pass"]), names


def _parameter(field: Field[Any], names: dict[str, Any]) -> tuple[str, str | None]:
    """A field's parameter, and what it is set to: `None` if `__post_init__` computes it."""
    name, default = field.name, f"_default_{field.name}"
    if field.default_factory is not MISSING:
        names[default] = field.default_factory
        value = f"{default}() if {name} is _made else {name}" if field.init else f"{default}()"
        return f"{name}=_made", value
    if field.default is not MISSING:
        names[default] = field.default
        return f"{name}={default}", name if field.init else default
    return name, name if field.init else None
