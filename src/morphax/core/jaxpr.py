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

from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import field
from typing import TYPE_CHECKING, Any, NamedTuple, final

from ..util.frames import UserFrame
from ..util.records import dataclass
from .abstract_value import Param
from .atoms import Atom, Literal, Var
from .debug_info import DebugInfo, unknown_function
from .effects import Effects, no_effects
from .operand_effects import (
    OperandEffect,
    changes_of_state,
    high_types,
    seen_outside,
    states_after,
)
from .printing import Program, equation_text
from .source_info import NameStack, SourceInfo

if TYPE_CHECKING:
    from .primitive import Primitive


@final
class EquationContext:
    """The configuration that an equation was written under.

    Here it is part of the parameters where a rule depends on it, so there is nothing to restore.
    """

    __slots__ = ()

    @property
    def manager(self) -> AbstractContextManager[None]:
        """A context in which the configuration is in force again."""
        return nullcontext()


def _without_lists(fields: dict[str, Any]) -> dict[str, Any]:
    """Fields of an equation or program as given by other people's code: tuples for lists."""
    return {name: tuple(v) if type(v) is list else v for name, v in fields.items()}


@final
class Equation:
    """``outvars = primitive[params] invars``, with the user's source line and scope names."""

    __slots__ = ("effects", "invars", "name_stack", "outvars", "params", "primitive", "source")

    def __init__(
        self,
        primitive: Primitive,
        invars: tuple[Atom, ...],
        outvars: tuple[Var, ...],
        params: dict[str, Param],
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

    @property
    def source_info(self) -> SourceInfo:
        """The line and the scopes of the user's program that wrote the equation."""
        return SourceInfo(self.source, NameStack(self.name_stack))

    @property
    def ctx(self) -> EquationContext:
        """The configuration in force; rules depend on none."""
        return EquationContext()

    def replace(
        self,
        invars: Sequence[Atom] | None = None,
        outvars: Sequence[Var] | None = None,
        primitive: Primitive | None = None,
        params: dict[str, Param] | None = None,
        effects: Effects | None = None,
        source_info: SourceInfo | None = None,
        ctx: EquationContext | None = None,
    ) -> Equation:
        """The same equation with other fields."""
        info = source_info or self.source_info
        return Equation(
            self.primitive if primitive is None else primitive,
            self.invars if invars is None else tuple(invars),
            self.outvars if outvars is None else tuple(outvars),
            self.params if params is None else params,
            self.effects if effects is None else frozenset(effects),
            info.traceback,
            tuple(info.name_stack),
        )


TemplateRow = tuple[Equation, tuple[int, ...], tuple[Any, ...]]


class Template(NamedTuple):
    """A program with its variables numbered: operands, constants, literals, then results.

    Args:
        rows: equations, the numbers of their operands, and the avals of their results.
        outs: numbers of the results of the program.
        literals: the literals that occur in it.
    """

    rows: tuple[TemplateRow, ...]
    outs: tuple[int, ...]
    literals: tuple[Literal, ...]


_WEIGHT_OF_EMPTY = 20


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
    # Worked out when the program is first copied as a fragment.
    template: Template | None = field(default=None, init=False)

    @property
    def jaxpr(self) -> Jaxpr:
        """The program itself; other people's code separates it from its constants."""
        return self

    @property
    def remembered_weight(self) -> int:
        """What keeping the program alive costs (see `util.memo`), in equations."""
        return _WEIGHT_OF_EMPTY + len(self.eqns)

    @property
    def is_high(self) -> bool:
        """Whether it deals with values of types that users define."""
        variables = (*self.invars, *self.outvars, *self.constvars)
        return high_types <= self.effects or any([v.aval.is_high for v in variables])

    @property
    def in_avals(self) -> tuple[Any, ...]:
        return tuple([v.aval for v in self.invars])

    @property
    def out_avals(self) -> tuple[Any, ...]:
        return tuple([v.aval for v in self.outvars])

    @property
    def literals(self) -> tuple[Any, ...]:
        return self.consts

    def replace(self, *, jaxpr: Jaxpr | None = None, **changes: Any) -> Jaxpr:
        """The same program with other fields; `jaxpr` replaces all but the constants' values."""
        fields = {name: getattr(self, name) for name in _JAXPR_FIELDS}
        if jaxpr is not None:
            fields = {name: getattr(jaxpr, name) for name in _JAXPR_FIELDS}
            fields["consts"] = self.consts
        return Jaxpr(**(fields | _without_lists(changes)))


_JAXPR_FIELDS = ("invars", "outvars", "eqns", "constvars", "consts", "effects", "debug_info")


def make_template(jaxpr: Jaxpr) -> Template:
    """Number the variables of a program; it keeps the result."""
    used = [a for eqn in jaxpr.eqns for a in eqn.invars] + list(jaxpr.outvars)
    literals = tuple([a for a in used if type(a) is Literal])
    binders = [*jaxpr.invars, *jaxpr.constvars, *literals]
    binders += [v for eqn in jaxpr.eqns for v in eqn.outvars]
    number = {a: i for i, a in enumerate(binders)}
    rows = [
        (eqn, tuple([number[a] for a in eqn.invars]), tuple([v.aval for v in eqn.outvars]))
        for eqn in jaxpr.eqns
    ]
    template = Template(tuple(rows), tuple([number[a] for a in jaxpr.outvars]), literals)
    object.__setattr__(jaxpr, "template", template)
    return template


def joined_effects(eqns: Sequence[Equation], binders: Sequence[Var] = ()) -> Effects:
    """The effects of a program, from those of its equations.

    Args:
        eqns: its equations.
        binders: its operands, invars and then constvars; effects on references that are none of
            them concern nobody outside.  Of changes of state the last one counts.
    """
    effects = no_effects
    states: dict[Atom, Hashable] = {}
    for eqn in eqns:
        if eqn.effects:
            if any([isinstance(effect, OperandEffect) for effect in eqn.effects]):
                places: dict[Atom, int] = {v: i for i, v in enumerate(binders)}
                effects |= seen_outside(eqn.effects, eqn.invars, places)
                states |= states_after(eqn.effects, eqn.invars)
            else:
                effects |= eqn.effects
    return effects | changes_of_state(states, binders) if states else effects


def jaxprs_in_params(params: Mapping[str, Any]) -> Iterator[Jaxpr]:
    """The jaxprs among the parameters of an equation, those in tuples included.

    Example:
        >>> import morphax as jax
        >>> f = lambda x: jax.lax.cond(x, jax.numpy.sin, jax.numpy.cos, 1.0)
        >>> jaxpr = jax.make_jaxpr(f)(True)
        >>> len(list(jax.core.jaxprs_in_params(jaxpr.eqns[-1].params)))
        2
    """
    for value in params.values():
        if type(value) is Jaxpr:
            yield value
        elif type(value) is tuple:
            yield from (item for item in value if type(item) is Jaxpr)
