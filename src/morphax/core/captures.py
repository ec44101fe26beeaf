"""Open programs, whose constants are tracers or references, as programs with more operands."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .abstract_value import Operand
from .atoms import Var
from .high_types import AvalQDD
from .jaxpr import Jaxpr, joined_effects
from .references import Cell
from .trace import Tracer
from .values import aval_of


def is_captured(value: Operand) -> bool:
    """Whether a constant belongs to a trace, or changes, so that no operation may hold it."""
    return isinstance(value, (Tracer, Cell)) or type(aval_of(value)) is AvalQDD


def captures_as_operands(jaxpr: Jaxpr) -> tuple[Jaxpr, list[Any]]:
    """An open program as one with leading operands for captured values, and these values."""
    traced = list(map(is_captured, jaxpr.consts))
    if True not in traced:
        return jaxpr, []
    split = list(zip(jaxpr.constvars, jaxpr.consts, traced, strict=True))
    hoisted = jaxpr.replace(
        constvars=tuple([var for var, _, t in split if not t]),
        consts=tuple([value for _, value, t in split if not t]),
    )
    captured = tuple([var for var, _, t in split if t])
    return with_operands(hoisted, captured + jaxpr.invars), [v for _, v, t in split if t]


def operands_as_captures(jaxpr: Jaxpr, captured: Sequence[Any]) -> Jaxpr:
    """The open program in which these values stand for the first operands."""
    if not captured:
        return jaxpr
    count = len(captured)
    opened = jaxpr.replace(
        constvars=(*jaxpr.invars[:count], *jaxpr.constvars), consts=(*captured, *jaxpr.consts)
    )
    return with_operands(opened, jaxpr.invars[count:])


def constants_as_arguments(jaxpr: Jaxpr) -> Jaxpr:
    """The same program with its constants as leading operands."""
    return jaxpr.replace(constvars=(), consts=(), invars=jaxpr.constvars + jaxpr.invars)


def with_operands(jaxpr: Jaxpr, invars: tuple[Var, ...]) -> Jaxpr:
    """The same program with its operands in another order, or further ones."""
    effects = jaxpr.effects
    if effects:
        effects = joined_effects(jaxpr.eqns, invars + jaxpr.constvars)
    return jaxpr.replace(invars=invars, effects=effects)
