"""`CallPrimitive("name")`: an operation that applies a function, which it is given as a parameter.

    call_p.bind(*operands, subfuns=(function,))

The function, a `linear_util.WrappedFun` of flat values that returns a sequence of them, becomes a
program when the call is staged or transformed: the equation has the parameter `call_jaxpr`.
Transformations apply to the program and keep the call.  `get_bind_params` makes a function of the
program again.

Eager mode applies the function that `def_impl` sets to the function and its operands; `call_impl`
just calls it.  Compilation needs a lowering rule, such as `mlir.core_call_lowering`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, final

from ... import core
from ...control.program_call import Call, call_wiring
from ...core import (
    Equation,
    Jaxpr,
    aval_of,
    current_trace,
    root_trace,
    stage_with_operands,
)
from ...core.dce import dce_call, without_dead_code
from ...core.partition import Demand, Partition
from ...core.trace import Trace
from ...engines.reference.eager import as_array
from ...engines.xla.stablehlo import Builder, Value
from ..linear_util import WrappedFun, wrap_init
from .open_primitive import Primitive, as_value
from .open_trace import hand_over_as, takes_functions
from .questions import call_impl, jaxpr_as_fun


def function_of(jaxpr: Jaxpr) -> WrappedFun:
    """A program as a function of flat values."""
    return wrap_init(jaxpr_as_fun(jaxpr), debug_info=jaxpr.debug_info)


class CallPrimitive(Call, Primitive):
    """A primitive that applies functions.

    Args:
        name: what jaxprs show.

    Example:
        >>> import morphax as jax
        >>> from morphax.extend.core import CallPrimitive, call_impl
        >>> from morphax.extend.linear_util import wrap_init
        >>> apply_p = CallPrimitive("apply")
        >>> _ = apply_p.def_impl(call_impl)
        >>> function = wrap_init(lambda x: [2.0 * x])
        >>> apply_p.bind(3.0, subfuns=(function,))
        [Array(6., dtype=float32, weak_type=True)]
        >>> jax.make_jaxpr(lambda x: apply_p.bind(x, subfuns=(function,)))(3.0)
        { lambda ; a:f32[]. let
            b:f32[] = apply[
              call_jaxpr={ lambda ; c:f32[]. let d:f32[] = mul 2.0:f32[] c in (d,) }
            ] a
          in (b,) }
    """

    program = "call_jaxpr"
    wiring = call_wiring(program)
    call_primitive = True
    dce = staticmethod(dce_call)
    execute = None  # type: ignore[assignment]
    evaluate = Primitive.evaluate

    def __init__(self, name: str) -> None:
        super().__init__(name)
        hand_over_as(self, "process_call", self._hand_over)

    def bind(self, *operands: Any, subfuns: Sequence[WrappedFun] = (), **params: Any) -> Any:
        trace: Any = current_trace()
        if not subfuns:
            return trace.process(self, operands, params)
        (function,) = subfuns
        if takes_functions(trace, "process_call"):
            return trace.process_call(self, function, operands, params)
        if trace is root_trace():
            return list(map(as_value, self.impl(function, *operands, **params)))
        info = function.debug_info or core.unknown_function
        avals = list(map(aval_of, operands))
        jaxpr, closed_over = stage_with_operands(function.call_wrapped, avals, info)
        return trace.process(self, [*closed_over, *operands], params | {"call_jaxpr": jaxpr})

    def get_bind_params(self, params: dict[str, Any]) -> dict[str, Any]:
        rest = dict(params)
        return rest | {"subfuns": (function_of(rest.pop("call_jaxpr")),)}

    def partition(self, eqn: Equation, demand: Demand) -> Partition:
        if any(demand.live_second) or demand.unknown:
            return super().partition(eqn, demand)
        return without_dead_code(eqn, demand)

    def _hand_over(self, trace: Any, operands: Sequence[Any], params: dict[str, Any]) -> Any:
        rest = dict(params)
        return trace.process_call(self, function_of(rest.pop("call_jaxpr")), operands, rest)

    def process_eval(
        self, trace: Trace, operands: Sequence[Any], params: dict[str, Any]
    ) -> list[Any]:
        rest = dict(params)
        function = function_of(rest.pop("call_jaxpr"))
        return list(map(as_value, self.impl(function, *map(as_array, operands), **rest)))

    # Transformations take the program apart, so they need not see the values.
    process_jvp = None  # type: ignore[assignment]
    process_linearize = None  # type: ignore[assignment]
    process_batch = None  # type: ignore[assignment]


@final
class PlainCall(CallPrimitive):
    """A call that is a function of its own in compiled programs."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.def_impl(call_impl)

    def lower(
        self, b: Builder, outs: Sequence[Any], *operands: Value, call_jaxpr: Jaxpr, **_: Any
    ) -> list[Value]:
        return b.call(self.name, call_jaxpr, *operands)


call_p = PlainCall("call")
closed_call_p = PlainCall("closed_call")
