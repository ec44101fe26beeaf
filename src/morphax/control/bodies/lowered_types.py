"""Lowering of high types: a program on values of types that users define as one on arrays.

The arrays of a value are passed in where the value was, and a result is given as its arrays.  The
arrays of a value that changes in place are further results.  Operations that deal with such values
are carried out by their primitive's rule `to_lojax`, on values made of tracers; the others are
written down.  Programs are lowered before they are compiled or evaluated, so no engine meets such a
type.  See docs/design/hijax.md.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, final

from ...core import (
    AvalQDD,
    DebugInfo,
    Jaxpr,
    Operand,
    Param,
    Primitive,
    StagingTrace,
    StateEffect,
    apply_jaxpr,
    aval_of,
    close,
    high_types,
    infer,
    memoize_fragment,
    new_trace,
    set_current_trace,
)
from ...core.trace import Trace
from ...lax.reference.ref_binding import unwrapped
from ...lax.reference.references import as_references


class Lowered(NamedTuple):
    """A program on arrays.

    Args:
        jaxpr: arrays of all operands → arrays of all results, then of the operands that change.
        final: for each operand of the program on high types that changes in place, by its number,
            its type in the state that the program leaves it in.
    """

    jaxpr: Jaxpr
    final: dict[int, AvalQDD]


@final
class LoweringTrace(StagingTrace):
    """Writes operations on arrays, and carries out those that deal with values of high types."""

    __slots__ = ()

    def process(
        self, primitive: Primitive, operands: Sequence[Operand], params: dict[str, Param]
    ) -> Any:
        if primitive.takes_high_types:
            avals = tuple(map(aval_of, operands))
            out_avals, effects = infer(primitive, params, avals)
            if high_types <= effects or any([a.is_high for a in (*avals, *out_avals)]):
                with set_current_trace(self):
                    results = primitive.to_lojax(*as_references(operands), **params)
                several = primitive.multiple_results
                return unwrapped(results) if several else unwrapped([results])[0]
        return super().process(primitive, operands, params)

    def splice(self, jaxpr: Jaxpr, operands: Sequence[Operand]) -> list[Any]:
        if jaxpr.is_high:
            return Trace.splice(self, jaxpr, operands)
        return super().splice(jaxpr, operands)


def stage_lowered(
    function: Callable[..., Sequence[Any]], avals: Sequence[Any], debug_info: DebugInfo
) -> Jaxpr:
    """Trace a function of arrays that deals with values of high types."""
    trace = LoweringTrace(debug_info)
    with new_trace(trace):
        outs = function(*[trace.new_argument(aval) for aval in avals])
        return close(*trace.finish(outs))


@memoize_fragment
def lowered(jaxpr: Jaxpr) -> Lowered:
    """The program on the arrays that values of high types are made of."""
    final = final_types(jaxpr)

    def function(*lo_values: Operand) -> list[Any]:
        operands = raised_values(jaxpr.in_avals, lo_values)
        outs = lowered_values(apply_jaxpr(jaxpr, *operands))
        for i, aval in final.items():
            outs += unwrapped(aval.read_loval_out(operands[i]))
        return outs

    pure = stage_lowered(function, low_avals(jaxpr.in_avals), jaxpr.debug_info)
    return Lowered(pure, final)


def final_types(jaxpr: Jaxpr) -> dict[int, AvalQDD]:
    """The operands of a program that change in place, by number: type and state at its end."""
    states = {e.input_index: e.state for e in jaxpr.effects if type(e) is StateEffect}
    return {
        i: AvalQDD(aval.aval, states.get(i, aval.qdd))
        for i, aval in enumerate(jaxpr.in_avals)
        if type(aval) is AvalQDD
    }


def low_avals(avals: Sequence[Any]) -> list[Any]:
    """The types of the arrays that values of these types are made of."""
    return [lo for aval in avals for lo in aval.lo_ty()]


def lowered_values(values: Sequence[Operand]) -> list[Any]:
    """Values with the arrays in place of those of high types that they are made of."""
    return [lo for x in values for lo in _lowered_value(aval_of(x), x)]


def _lowered_value(aval: Any, x: Operand) -> Sequence[Any]:
    if not aval.is_high:
        return (x,)
    return unwrapped(aval.read_loval_in(x) if aval.has_qdd else aval.lower_val(x))


def raised_values(avals: Sequence[Any], lo_values: Sequence[Operand]) -> list[Any]:
    """Values of these types, from the arrays that they are made of."""
    values: list[Any] = []
    start = 0
    for aval in avals:
        if not aval.is_high:
            values.append(lo_values[start])
            start += 1
            continue
        end = start + len(aval.lo_ty())
        raise_value = aval.new_from_loval if aval.has_qdd else aval.raise_val
        values.append(raise_value(*as_references(lo_values[start:end])))
        start = end
    return values
