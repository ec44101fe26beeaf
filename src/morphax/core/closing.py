"""Programs and their constants, which may be values of programs that are being written."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import errors
from ..util.messages import message
from .abstract_value import Operand
from .atoms import Var
from .captures import is_captured
from .jaxpr import Jaxpr
from .trace import Tracer
from .values import aval_of


def close(jaxpr: Jaxpr, consts: Sequence[Any]) -> Jaxpr:
    """Give a staged jaxpr its constants, for good: none of them belongs to a trace.

    Raises:
        UnexpectedTracerError: a constant is a tracer, or a reference, of a program that is being
            written.  What depends on it would be computed without its derivative, or not at all.
    """
    closed = close_open(jaxpr, consts)
    check_closed(closed)
    return closed


def check_closed(jaxpr: Jaxpr) -> None:
    """Raise an error if a program is open, as `close` does."""
    for var, value in zip(jaxpr.constvars, jaxpr.consts, strict=True):
        if is_captured(value):
            raise errors.UnexpectedTracerError(_captured_message(jaxpr, var, value))


def _captured_message(jaxpr: Jaxpr, var: Var, value: Operand) -> str:
    places = [eqn.source for eqn in jaxpr.eqns if var in eqn.invars and eqn.source is not None]
    line = f", which reads it at {places[0]}" if places else ""
    origin = value.origin() if isinstance(value, Tracer) else "a reference"
    return message(
        f"a custom rule, or another function kept for later, in {jaxpr.debug_info.function}",
        given=f"{origin}, {aval_of(value).str_short()}, in the closure of the function{line}",
        expected="inside of a program, functions that read their arguments and residuals only",
        fix="Pass the value to the function with the rule as an argument (in a custom_vjp, from "
        "fwd to bwd as a residual), or move the function out of jit, scan, cond and the like.",
    )


def close_open(jaxpr: Jaxpr, consts: Sequence[Any]) -> Jaxpr:
    """Give a staged jaxpr its constants, which may be tracers and references.

    Such an *open* program means something as long as their traces live.  It is applied, equation by
    equation; for the program of an operation `captures_as_operands` makes another of it.
    """
    return jaxpr.replace(consts=tuple(consts)) if consts else jaxpr
