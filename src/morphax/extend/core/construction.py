"""Variables and equations for those who write programs by hand."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...core import (
    AbstractValue,
    Equation,
    NameStack,
    Primitive,
    SourceInfo,
    Var,
    current_name_stack,
    equation_source,
)

Value = Any
ParamDict = dict[str, Any]
OutputType = tuple[AbstractValue, ...]


def gensym() -> Callable[[AbstractValue], Var]:
    """A function that makes a new variable of an aval."""
    return Var


def current_source_info() -> SourceInfo:
    """The line and scopes that an equation would have that is staged now."""
    return SourceInfo(equation_source(), NameStack(current_name_stack()))


def new_jaxpr_eqn(
    invars: Sequence[Any],
    outvars: Sequence[Any],
    primitive: Primitive,
    params: dict[str, Any],
    effects: Any,
    source_info: SourceInfo | None = None,
    ctx: Any = None,
) -> Equation:
    """An equation; without `source_info` it belongs to the line and scopes of the caller."""
    info = source_info or current_source_info()
    return Equation(
        primitive,
        tuple(invars),
        tuple(outvars),
        dict(params),
        frozenset(effects),
        info.traceback,
        tuple(info.name_stack),
    )
