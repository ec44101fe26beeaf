"""The jaxpr: a small typed functional program.

    jaxpr    ::= lambda constvars ; invars . let equation* in outvars
    equation ::= outvars = primitive[params] atom*
    atom     ::= variable | literal

A `Jaxpr` is *closed*: the values of its constants travel with it.  It is immutable once built, its
variables are compared by identity, and each is bound exactly once (`core.check` verifies that and
the types).  Identity is also the equality of jaxprs, so one may be a parameter of an equation and
part of a cache key.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, final

from ..util.frames import UserFrame
from .atoms import Atom, Var
from .effects import Effects, no_effects
from .printing import Program, equation_text

if TYPE_CHECKING:
    from .primitive import Primitive


@final
class Equation:
    """``outvars = primitive[params] invars``, with the user's source line and scope names."""

    __slots__ = ("effects", "invars", "name_stack", "outvars", "params", "primitive", "source")

    def __init__(
        self,
        primitive: Primitive,
        invars: tuple[Atom, ...],
        outvars: tuple[Var, ...],
        params: dict[str, Any],
        effects: Effects = no_effects,
        source: UserFrame | None = None,
        name_stack: tuple[str, ...] = (),
    ) -> None:
        self.primitive = primitive
        self.invars = invars
        self.outvars = outvars
        self.params = params
        self.effects = effects
        self.source = source
        self.name_stack = name_stack

    def __repr__(self) -> str:
        return equation_text(self)

    def replace(self, **changes: Any) -> Equation:
        return Equation(**({name: getattr(self, name) for name in self.__slots__} | changes))


@final
@dataclass(frozen=True, slots=True)
class DebugInfo:
    """Whose program a jaxpr is: for error text and profiles.

    Args:
        transform: the transformation that traced it: ``jit``, ``scan``, …
        function: name and place of the user's function.
        name_arguments: gives one path per invar, such as ``params['w']``; called only for errors.
    """

    transform: str
    function: str
    name_arguments: Callable[[], Sequence[str]] | None = None

    @property
    def function_name(self) -> str:
        return self.function.split(" ", 1)[0]

    def argument_name(self, position: int) -> str:
        names = self.name_arguments() if self.name_arguments is not None else ()
        return names[position] if position < len(names) else f"number {position}"


unknown_function = DebugInfo("trace", "<unknown>")


@final
@dataclass(frozen=True, slots=True, eq=False, repr=False, weakref_slot=True)
class Jaxpr(Program):
    """A closed, typed program; see the module's text."""

    invars: tuple[Var, ...]
    outvars: tuple[Atom, ...]
    eqns: tuple[Equation, ...]
    constvars: tuple[Var, ...] = ()
    consts: tuple[Any, ...] = ()
    effects: Effects = no_effects
    debug_info: DebugInfo = field(default=unknown_function)

    @property
    def jaxpr(self) -> Jaxpr:
        """The program itself; other people's code separates it from its constants."""
        return self

    @property
    def in_avals(self) -> tuple[Any, ...]:
        return tuple([v.aval for v in self.invars])

    @property
    def out_avals(self) -> tuple[Any, ...]:
        return tuple([v.aval for v in self.outvars])

    @property
    def literals(self) -> tuple[Any, ...]:
        return self.consts

    def replace(self, **changes: Any) -> Jaxpr:
        return Jaxpr(**({name: getattr(self, name) for name in _JAXPR_FIELDS} | changes))


_JAXPR_FIELDS = ("invars", "outvars", "eqns", "constvars", "consts", "effects", "debug_info")


def joined_effects(eqns: Sequence[Equation]) -> Effects:
    """All effects of a sequence of equations."""
    effects = no_effects
    for eqn in eqns:
        if eqn.effects:
            effects |= eqn.effects
    return effects


def jaxprs_in_params(params: Mapping[str, Any]) -> Iterator[Jaxpr]:
    """The jaxprs among the parameters of an equation, those in tuples included."""
    for value in params.values():
        if type(value) is Jaxpr:
            yield value
        elif type(value) is tuple:
            yield from (item for item in value if type(item) is Jaxpr)
