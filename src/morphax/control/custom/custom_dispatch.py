"""Who carries out a call of a function with custom rules: the function, a rule, or an equation.

The call goes down the traces, from the current one, until something is to be done with it.

- A trace of differentiation that holds a tangent of an operand runs the user's rule, in its parent.
- A trace of batches passes on the function and the rule of batches, which run those of one member.
- A trace that writes programs stages the function; the equation keeps the rule.
- Where no trace has anything to do with it the function itself runs.

So the user's code gets the operands as they are in the trace that runs it: Python control flow on
what is concrete there works, under ``grad`` and beside batched operands too.
"""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable, Sequence
from typing import Any

from ...core import (
    DebugInfo,
    StagingTrace,
    Trace,
    Tracer,
    aval_of,
    is_from_outside,
    set_current_trace,
    stage_with_operands,
)
from ...lax.ref_binding import Reference
from ...transforms.batching import BatchTrace
from ...transforms.jvp import JVPTrace
from ...transforms.linearize import LinearizeTrace, PartialTrace
from .batched_rules import BatchedResults, TraceOfMembers, trace_of_members
from .custom_call import CustomCall

# Operands → results.
Function = Callable[..., Sequence[Any]]


def dispatch(
    primitive: CustomCall,
    trace: Trace,
    function: Function,
    operands: Sequence[Any],
    params: dict[str, Any],
    info: DebugInfo,
) -> Sequence[Any]:
    """Apply a function with custom rules; its results.

    Args:
        primitive: of the equation, where one is written.
        trace: the trace that the call has come to.
        function: the function of operands.
        operands: its operands.
        params: of the equation besides the staged function; the user's rule is one.
        info: who is traced, for error text.
    """
    while True:
        if isinstance(trace, (JVPTrace, LinearizeTrace)):
            if _holds_any(trace, operands):
                run_rule = primitive.push if isinstance(trace, JVPTrace) else primitive.record
                return run_rule(trace, operands, params[primitive.rule_name])
        elif isinstance(trace, BatchTrace) and not any(isinstance(x, Reference) for x in operands):
            return _on_batches(primitive, trace, function, operands, params, info)
        elif not isinstance(trace, PartialTrace) or _holds_any(trace, operands):
            break
        assert trace.parent is not None, "these traces have a parent"
        trace = trace.parent
    with set_current_trace(trace):
        if not isinstance(trace, (StagingTrace, BatchTrace)) and not is_from_outside(trace):
            return function(*operands)
        avals = [aval_of(x) for x in operands]
        jaxpr, captured = stage_with_operands(function, avals, info)
        staged = {"call_jaxpr": jaxpr, "num_consts": len(captured)}
        outs: Sequence[Any] = primitive.bind(*captured, *operands, **staged | params)
        return outs


def _holds_any(trace: Trace, operands: Sequence[Any]) -> bool:
    return any([isinstance(x, Tracer) and x._trace is trace for x in operands])


def _on_batches(
    primitive: CustomCall,
    trace: BatchTrace,
    function: Function,
    operands: Sequence[Any],
    params: dict[str, Any],
    info: DebugInfo,
) -> list[Any]:
    """Apply a function of one member, and its rule, to the batches of a trace."""
    pairs = [trace.split(x) for x in operands]
    dims = tuple([d for _, d in pairs])
    # Rules outlive the mapped function, in programs; its trace must not.
    members = functools.partial(trace_of_members, weakref.ref(trace), trace.axes)
    results = BatchedResults(any([d is not None for d in dims]))
    rule = primitive.batched(params[primitive.rule_name], members, dims, results)
    outs = dispatch(
        primitive,
        trace.parent,
        _function_of_batches(function, members, dims, results),
        [x for x, _ in pairs],
        params | {primitive.rule_name: rule},
        info,
    )
    return [trace.wrap(x, d) for x, d in zip(outs, results.out_dims, strict=True)]


def _function_of_batches(
    function: Function,
    members: TraceOfMembers,
    dims: Sequence[int | None],
    results: BatchedResults,
) -> Function:
    def of_batches(*operands: Any) -> list[Any]:
        with members() as trace:
            outs = function(*[trace.wrap(x, d) for x, d in zip(operands, dims, strict=True)])
        return results.values(trace, outs)

    return of_batches
