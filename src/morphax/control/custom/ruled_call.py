"""A call of a function with custom rules, as traces carry it out: see `core.call_with_rules`."""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, final

from ...core import (
    DebugInfo,
    Operand,
    aval_of,
    set_current_trace,
    stage_with_operands,
)
from ...core.trace import Trace
from ...lax.reference.ref_binding import Reference
from ...transforms.batching import BatchTrace
from ...transforms.jvp import JVPTrace
from ...transforms.linearize import LinearizeTrace
from ...util.records import dataclass
from .batched_rules import BatchedResults, TraceOfMembers, trace_of_members
from .custom_call import CustomCall

# Operands → results.
Function = Callable[..., Sequence[Any]]


@final
@dataclass(frozen=True, slots=True)
class RuledCall:
    """A call of a function with custom rules.

    Args:
        primitive: of the equation, where one is written.
        function: the function of operands.
        rule: the user's rule, of the kind that the primitive runs.
        name: of the user's function.
        info: who is traced, for error text.
    """

    primitive: CustomCall
    function: Function
    rule: Any
    name: str
    info: DebugInfo

    def run(self, trace: Trace, operands: Sequence[Operand]) -> Sequence[Any]:
        with set_current_trace(trace):
            return self.function(*operands)

    def stage(self, trace: Trace, operands: Sequence[Operand]) -> Sequence[Any]:
        with set_current_trace(trace):
            avals = [aval_of(x) for x in operands]
            jaxpr, captured = stage_with_operands(self.function, avals, self.info)
            params = {
                "call_jaxpr": jaxpr,
                "num_consts": len(captured),
                "name": self.name,
                self.primitive.rule_name: self.rule,
            }
            return self.primitive.bind(*captured, *operands, **params)

    def push(self, trace: JVPTrace, operands: Sequence[Operand]) -> list[Any]:
        return self.primitive.push(trace, operands, self.rule)

    def record(self, trace: LinearizeTrace, operands: Sequence[Operand]) -> list[Any]:
        return self.primitive.record(trace, operands, self.rule)

    def batch(self, trace: BatchTrace, operands: Sequence[Operand]) -> Sequence[Any]:
        if any([isinstance(x, Reference) for x in operands]):
            return self.stage(trace, operands)
        pairs = [trace.split(x) for x in operands]
        dims = tuple([d for _, d in pairs])
        # Rules outlive the mapped function, in programs; its trace must not.
        members = functools.partial(trace_of_members, weakref.ref(trace), trace.axes)
        results = BatchedResults(any([d is not None for d in dims]))
        of_batches = replace(
            self,
            function=_function_of_batches(self.function, members, dims, results),
            rule=self.primitive.batched(self.rule, members, dims, results),
        )
        outs = trace.parent.process_custom_call(of_batches, [x for x, _ in pairs])
        return [trace.wrap(x, d) for x, d in zip(outs, results.out_dims, strict=True)]


def _function_of_batches(
    function: Function,
    members: TraceOfMembers,
    dims: Sequence[int | None],
    results: BatchedResults,
) -> Function:
    def of_batches(*operands: Operand) -> list[Any]:
        with members() as trace:
            outs = function(*[trace.wrap(x, d) for x, d in zip(operands, dims, strict=True)])
        return results.values(trace, outs)

    return of_batches
