"""Functions with derivative rules of the user: one equation that holds function and rule."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

from ..core import (
    BatchAxes,
    Jaxpr,
    Primitive,
    Trace,
    eval_jaxpr,
    jaxpr_axis_names,
    not_linear,
)
from ..core.effects import Effects
from ..engines.reference.eager import as_array
from ..engines.xla.stablehlo import Builder, Value
from ..transforms.batching import batch_jaxpr


class CustomCall(Primitive):
    """Apply `call_jaxpr`; differentiate by the user's rule.

    Params:
        call_jaxpr: the function.
        num_consts: leading operands that it closes over; the rule does not see them.
        name: of the user's function.
        and the rule, under the name `rule_name`.
    """

    multiple_results = True
    rule_name: ClassVar[str]
    # Run a rule in forward mode, in reverse mode; the rule of a batched function.
    push: ClassVar[Callable[[Any, Sequence[Any], Any], list[Any]]]
    record: ClassVar[Callable[[Any, Sequence[Any], Any], list[Any]]]
    batched: ClassVar[Callable[[Any, BatchAxes, Sequence[int | None]], Any]]

    transpose = not_linear("a function with a custom derivative is not known to be linear")

    def printed_params(self, params: Mapping[str, Any]) -> dict[str, Any]:
        return {"name": params["name"], "call_jaxpr": params["call_jaxpr"]}

    def abstract_eval(self, *avals: Any, call_jaxpr: Jaxpr, **_: Any) -> Sequence[Any]:
        return call_jaxpr.out_avals

    def effects(self, *, call_jaxpr: Jaxpr, **_: Any) -> Effects:
        return call_jaxpr.effects

    def axis_names(self, *, call_jaxpr: Jaxpr, **_: Any) -> tuple[Any, ...]:
        return jaxpr_axis_names(call_jaxpr)

    def execute(self, *operands: Any, call_jaxpr: Jaxpr, **_: Any) -> list[Any]:
        return [as_array(x) for x in eval_jaxpr(call_jaxpr, *operands)]

    def evaluate(self, *operands: Any, **params: Any) -> list[Any]:
        return [x.to_host() for x in self.execute(*map(as_array, operands), **params)]

    def lower(
        self, b: Builder, outs: Sequence[Any], *operands: Value, call_jaxpr: Jaxpr, **_: Any
    ) -> list[Value]:
        return b.inline(call_jaxpr, *operands)

    def process_jvp(
        self, trace: Trace, operands: Sequence[Any], params: dict[str, Any]
    ) -> list[Any]:
        return self.push(trace, operands[params["num_consts"] :], params[self.rule_name])

    def process_linearize(
        self, trace: Trace, operands: Sequence[Any], params: dict[str, Any]
    ) -> list[Any]:
        return self.record(trace, operands[params["num_consts"] :], params[self.rule_name])

    def batch(
        self,
        axes: BatchAxes,
        operands: Sequence[Any],
        dims: tuple[int | None, ...],
        *,
        call_jaxpr: Jaxpr,
        num_consts: int,
        **params: Any,
    ) -> tuple[list[Any], Sequence[int]]:
        everything = (True,) * len(call_jaxpr.outvars)
        rule = self.batched(params[self.rule_name], axes, dims[num_consts:])
        outs = self.bind(
            *operands,
            call_jaxpr=batch_jaxpr(call_jaxpr, dims, axes, everything).jaxpr,
            num_consts=num_consts,
            **params | {self.rule_name: rule},
        )
        return outs, [0] * len(outs)

    collect = batch
