"""Functions with derivative rules of the user: one equation that holds function and rule."""

from __future__ import annotations

import functools
import weakref
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from ...core import (
    BatchAxes,
    Cell,
    Jaxpr,
    Operand,
    Param,
    apply_jaxpr,
    attributed_to_running_line,
    aval_of,
    current_trace,
    discharge,
    is_reference,
    jaxpr_axis_names,
    not_linear,
    root_trace,
    set_current_trace,
    values_of,
)
from ...core.trace import Trace
from ...core.values import pinned_types
from ...core.varying import varying_over
from ...engines.reference.eager import as_array
from ...lax.reference.ref_binding import TakesReferences, unwrapped
from ...lax.reference.references import as_references
from ...transforms.batching import BatchTrace, SameAxis
from ...transforms.known_parts import known_program
from ...util.messages import message
from ..bodies.reference_values import write_back
from ..program_call import ProgramCall, batched_in_front
from .batched_rules import BatchedResults, trace_of_members

_NUMBERS_OF_PROGRAMS = pinned_types | {bool}


class CustomCall(ProgramCall, TakesReferences):
    """Apply `call_jaxpr`; differentiate by the user's rule.

    Params:
        call_jaxpr: the function.
        num_consts: leading operands that it closes over; the rule does not see them.
        name: of the user's function.
        and the rule, under the name `rule_name`.
    """

    takes_high_types = True
    program = plain_program = "call_jaxpr"
    rule_name: ClassVar[str]
    # Run a rule in forward mode, in reverse mode; the rule of a batched function.
    push: ClassVar[staticmethod[..., list[Any]]]
    record: ClassVar[staticmethod[..., list[Any]]]
    batched: ClassVar[staticmethod[..., Any]]

    transpose = not_linear("a function with a custom derivative is not known to be linear")

    def printed_params(self, params: Mapping[str, Any]) -> dict[str, Any]:
        return {"name": params["name"], "call_jaxpr": params["call_jaxpr"]}

    def bind(self, *operands: Operand, **params: Param) -> Any:
        """The rule sees references, so differentiation does not discharge them."""
        trace, contents = current_trace(), unwrapped(operands)
        if (trace.maps or trace is root_trace()) and any(map(is_reference, contents)):
            return self.carry_out(trace, contents, params)
        return trace.process(self, contents, params)

    def process_eval(
        self, trace: Trace, operands: Sequence[Operand], params: dict[str, Param]
    ) -> list[Any]:
        if any(map(is_reference, operands)):
            return self.discharge(*operands, **params)
        if params["call_jaxpr"].is_high:
            with set_current_trace(trace):
                return self.to_lojax(*operands, **params)
        return self.execute(*map(as_array, operands), **params)

    def discharge(self, *operands: Operand, call_jaxpr: Jaxpr, **params: Param) -> list[Any]:
        """A rule that takes references is lost, so the operation on values has none."""
        pure, changed = discharge(call_jaxpr)
        if Cell in map(type, operands):
            params[self.rule_name] = _refuse_derivative
        results = self.bind(*values_of(operands), call_jaxpr=pure, **params)
        return write_back(results, operands, changed)

    def to_lojax(self, *operands: Operand, **params: Param) -> list[Any]:
        """The program itself, for what is lowered is not differentiated any more."""
        return apply_jaxpr(params["call_jaxpr"], *operands)

    def process_jvp(
        self, trace: Trace, operands: Sequence[Operand], params: dict[str, Param]
    ) -> list[Any]:
        rule, operands = self._rule_and_operands(operands, params)
        with attributed_to_running_line():
            return self._checked(trace, self.push(trace, operands, rule), params)

    def process_linearize(
        self, trace: Trace, operands: Sequence[Operand], params: dict[str, Param]
    ) -> list[Any]:
        rule, operands = self._rule_and_operands(operands, params)
        with attributed_to_running_line():
            return self._checked(trace, self.record(trace, operands, rule), params)

    def _rule_and_operands(
        self, operands: Sequence[Operand], params: dict[str, Param]
    ) -> tuple[Any, list[Any]]:
        given = operands[params["num_consts"] :]
        # A number of a program was an array, or a tracer, where the function was called.
        shown = [as_array(x) if type(x) in _NUMBERS_OF_PROGRAMS else x for x in given]
        return params[self.rule_name], as_references(shown)

    def _checked(self, trace: Trace, outs: list[Any], params: dict[str, Param]) -> list[Any]:
        """The results of a rule, which must have the types of the function's."""
        expected = params["call_jaxpr"].out_avals
        for i, (given, aval) in enumerate(zip(map(aval_of, outs), expected, strict=True)):
            if given.vma < aval.vma:
                with set_current_trace(trace):
                    outs[i] = varying_over(outs[i], aval.vma)
            elif given.shape != aval.shape or given.dtype != aval.dtype or given.vma != aval.vma:
                raise TypeError(
                    message(
                        f"{self.rule_name} of {params['name']}, leaf {i} of the result",
                        given=f"{given}",
                        expected=f"{aval}, as the function returns",
                        fix="Return results with the shapes and dtypes of the function's, which "
                        "vary over the same axes of a mesh.",
                    )
                )
        return outs

    def process_batch(
        self, trace: BatchTrace, operands: Sequence[Operand], params: dict[str, Param]
    ) -> list[Any]:
        pairs = [trace.split(x) for x in operands]
        with set_current_trace(trace.parent):
            outs, dims = self._batched(
                trace, trace.axes, [x for x, _ in pairs], tuple([d for _, d in pairs]), **params
            )
        return [trace.wrap(x, d) for x, d in zip(outs, dims, strict=True)]

    def batch(
        self,
        axes: BatchAxes,
        operands: Sequence[Operand],
        dims: tuple[int | None, ...],
        **params: Param,
    ) -> tuple[list[Any], Sequence[int | None]]:
        return self._batched(None, axes, operands, dims, **params)

    def _batched(
        self,
        origin: BatchTrace | None,
        axes: BatchAxes,
        operands: Sequence[Operand],
        dims: tuple[int | None, ...],
        *,
        call_jaxpr: Jaxpr,
        num_consts: int,
        **params: Param,
    ) -> tuple[list[Any], Sequence[int | None]]:
        # Rules outlive the mapped function, in programs; its trace must not.
        mapped = None if origin is None else weakref.ref(origin)
        members = functools.partial(trace_of_members, mapped, axes)
        in_front = BatchedResults(batched=True)
        rule = self.batched(params[self.rule_name], members, dims[num_consts:], in_front)
        params |= {"call_jaxpr": call_jaxpr, "num_consts": num_consts, self.rule_name: rule}
        outs = self.bind(*operands, **batched_in_front(axes, dims, params))
        return outs, [SameAxis(0) if same else 0 for same in _same(call_jaxpr, axes, dims)]


def _same(jaxpr: Jaxpr, axes: BatchAxes, dims: Sequence[int | None]) -> Sequence[bool]:
    """Which results of a program depend on no batched operand."""
    if axes.name is not None and axes.name in jaxpr_axis_names(jaxpr):
        return (False,) * len(jaxpr.outvars)
    return known_program(jaxpr, tuple([d is not None for d in dims])).results


def _refuse_derivative(*arguments: object) -> Any:
    """In place of a rule that takes references."""
    raise TypeError(
        message(
            "derivative of a function with a custom rule",
            given="a function that takes or closes over references, in a program that is "
            "differentiated as a whole",
            expected="a program without references where a rule is used",
            fix="Differentiate inside of jit, scan or cond instead of outside.",
        )
    )
