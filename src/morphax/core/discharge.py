"""Discharge: a program with references as a program without.

The value of a reference is passed in where the reference was, and passed out again if the program
changes it.  References that the program makes itself leave no trace.  The equations that deal with
references are carried out by their primitive's rule `discharge`, on cells; the others are copied.

Programs are discharged before they are transformed or compiled, so no derivative, batching or
lowering rule ever meets a reference.  See docs/design/references.md.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from .abstract_value import AbstractValue, Operand
from .atoms import Literal
from .debug_info import DebugInfo, unknown_function
from .jaxpr import Jaxpr
from .ref_effects import AccumEffect, WriteEffect, concerns_references
from .references import AbstractRef, Cell
from .sources import attributed_to, memoize_fragment
from .staging import stage_closed, stage_with_operands
from .trace import Trace, current_trace


class Discharged(NamedTuple):
    """A program on values: operands as before → results, then the values of changed references.

    Args:
        jaxpr: the program.
        changed: positions of the operands whose references it changes, in order.
    """

    jaxpr: Jaxpr
    changed: tuple[int, ...]


@memoize_fragment
def discharge(jaxpr: Jaxpr) -> Discharged:
    """The program that computes with values what `jaxpr` does to references."""
    changed = tuple(
        sorted({e.input_index for e in jaxpr.effects if isinstance(e, (WriteEffect, AccumEffect))})
    )

    def function(*values: Operand) -> list[Any]:
        operands = [
            Cell(v.aval, x) if type(v.aval) is AbstractRef else x
            for v, x in zip(jaxpr.invars, values, strict=True)
        ]
        outs = _carried_out(current_trace(), jaxpr, operands)
        return [*outs, *[operands[i].value for i in changed]]

    avals = [a.inner_aval if type(a) is AbstractRef else a for a in jaxpr.in_avals]
    pure = stage_closed(function, avals, jaxpr.debug_info)
    return Discharged(pure, changed)


def without_references(jaxpr: Jaxpr) -> Jaxpr:
    """A program whose operands are no references, with its own references discharged."""
    if not jaxpr.effects or not concerns_references(jaxpr.effects):
        return jaxpr
    return discharge(jaxpr).jaxpr


def stage_discharged(
    function: Callable[..., Sequence[Any]],
    avals: Sequence[AbstractValue],
    debug_info: DebugInfo = unknown_function,
) -> tuple[Jaxpr, list[Any]]:
    """`stage_with_operands`, with the references that the program makes for itself discharged."""
    jaxpr, captured = stage_with_operands(function, avals, debug_info)
    if any([type(v.aval) is AbstractRef for v in jaxpr.invars]):
        return jaxpr, captured
    return without_references(jaxpr), captured


def _carried_out(trace: Trace, jaxpr: Jaxpr, operands: Sequence[Operand]) -> list[Any]:
    """The results of `jaxpr`, some of whose operands are cells."""
    env: dict[Any, Any] = dict(zip(jaxpr.invars, operands, strict=True))
    env.update(zip(jaxpr.constvars, jaxpr.consts, strict=True))
    for eqn in jaxpr.eqns:
        inputs = [a.val if type(a) is Literal else env[a] for a in eqn.invars]
        with attributed_to(eqn.source):
            if Cell in map(type, inputs) or concerns_references(eqn.effects):
                results = eqn.primitive.discharge(*inputs, **eqn.params)
            else:
                results = trace.process(eqn.primitive, inputs, eqn.params)
        if not eqn.primitive.multiple_results:
            results = (results,)
        env.update(zip(eqn.outvars, results, strict=True))
    return [a.val if type(a) is Literal else env[a] for a in jaxpr.outvars]
