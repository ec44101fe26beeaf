"""Traced values of high types, as users meet them: with the attributes and operators of the type.

The tracers of arrays have the methods of arrays.  A traced value of a type that users define has
what its type says instead: an `aval_method` or `aval_property` of the type belongs to the value,
any other attribute is that of the type, and ``x + y`` is ``type._add(x, y)``.  So users get a
`HighTracer`, whose `content` is the tracer that traces know.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Final, final

from .abstract_value import Operand
from .atoms import Atom
from .effects import Effects
from .high_types import AvalQDD, aval_method, aval_property
from .operand_effects import states_after
from .trace import Trace, Tracer
from .values import register_value_type

_BINARY: Final = (
    *("add", "sub", "mul", "truediv", "floordiv", "mod", "divmod", "pow", "and", "or", "xor"),
    *("lshift", "rshift", "matmul"),
)
_OPERATORS: Final = (
    *_BINARY,
    *[f"r{name}" for name in _BINARY],
    *("eq", "ne", "lt", "le", "gt", "ge", "neg", "pos", "abs", "invert"),
    *("getitem", "setitem", "delitem", "contains", "iter", "len", "call"),
    *("bool", "int", "float", "complex", "index", "round", "trunc", "floor", "ceil"),
)
# What is asked of all tracers; everything else is for the type to say.
_OF_TRACERS: Final = frozenset({"_trace", "aval", "content", "concrete", "origin", "dependence"})


@final
class HighTracer(Tracer):
    """A traced value of a high type."""

    __slots__ = ("content",)
    __hash__ = None

    content: Any

    def __init__(self, content: Tracer) -> None:
        self.content = content

    def __getattribute__(self, name: str) -> Any:
        if name in _OF_TRACERS or (name.startswith("__") and name.endswith("__")):
            return object.__getattribute__(self, name)
        value = getattr(self.aval, name)
        if type(value) is aval_method:
            return partial(value.fun, self)
        return value.fget(self) if type(value) is aval_property else value

    @property
    def _trace(self) -> Trace:  # type: ignore[override]
        return self.content._trace

    @property
    def aval(self) -> Any:
        """The type of the value."""
        aval = self.content.aval
        return aval.aval if type(aval) is AvalQDD else aval

    @property
    def __jax_array__(self) -> Callable[[], Any]:
        """The conversion to an array, where the type has one."""
        return partial(self.aval.__jax_array__.fun, self)

    def concrete(self) -> Any | None:
        return self.content.concrete()

    def origin(self) -> str:
        return self.content.origin()

    def dependence(self) -> str:
        return self.content.dependence()

    def __repr__(self) -> str:
        return f"{type(self.content).__name__}<{self.aval.str_short()}>"


def _operator(name: str) -> Callable[..., Any]:
    def operator(self: HighTracer, *operands: Any) -> Any:
        return getattr(self.aval, f"_{name}")(self, *operands)

    return operator


for _name in _OPERATORS:
    setattr(HighTracer, f"__{_name}__", _operator(_name))
register_value_type(HighTracer, lambda x: x.content.aval)


def note_states(
    states: dict[Atom, Hashable],
    effects: Effects,
    operands: Sequence[Operand],
    atoms: Sequence[Atom],
) -> None:
    """Note in which states an equation leaves its operands; the tracers of these tell it."""
    after = states_after(effects, atoms)
    states |= after
    for x, atom in zip(operands, atoms, strict=True):
        if atom in after and isinstance(x, Tracer):
            x.aval = replace(x.aval, qdd=after[atom])


def presented(values: Iterable[Operand]) -> list[Any]:
    """Values as users may see them."""
    return [HighTracer(x) if isinstance(x, Tracer) and _is_hidden(x) else x for x in values]


def _is_hidden(x: Tracer) -> bool:
    return x.aval.is_high and type(x) is not HighTracer


def contents(values: Iterable[Operand]) -> list[Any]:
    """Values as traces know them."""
    return [x.content if type(x) is HighTracer else x for x in values]
