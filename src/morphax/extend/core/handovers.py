"""What user-defined traces are told of functions with derivative rules of the user.

Such a function is one primitive here, whose parameters hold its program and its rule.  A trace
that defines `process_custom_jvp_call` or `process_custom_vjp_call` gets both as functions of flat
values.  What it makes of a function with a jvp rule it hands to the trace below by
`bind_with_trace`, with both functions as the parameter `subfuns`.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from ... import tree
from ...control.custom.custom_jvp import custom_jvp_call_p
from ...control.custom.custom_vjp_primitives import custom_vjp_call_p
from ...control.custom.ruled_call import RuledCall
from ...core import DebugInfo, Jaxpr
from ...core.trace import Trace
from ...lax.ground.linear_structure import instantiate
from ..linear_util import wrap_init
from .call_primitive import function_of
from .interface import applied_by
from .open_trace import hand_over_as


def _custom_jvp(trace: Any, operands: Sequence[Any], params: dict[str, Any]) -> Any:
    jaxpr, n, rule = params["call_jaxpr"], params["num_consts"], params["jvp_rule"]

    def jvp(*primals_and_tangents: Any) -> list[Any]:
        half = len(primals_and_tangents) // 2
        primals, tangents = primals_and_tangents[:half], primals_and_tangents[half:]
        outs, out_tangents = rule(primals, tangents)
        return [*outs, *map(instantiate, out_tangents)]

    return trace.process_custom_jvp_call(
        custom_jvp_call_p,
        _after_constants(jaxpr, operands[:n]),
        wrap_init(jvp, debug_info=jaxpr.debug_info),
        operands[n:],
        symbolic_zeros=False,
    )


def _applied_custom_jvp(trace: Trace, operands: Sequence[Any], params: dict[str, Any]) -> Any:
    fun, jvp = params["subfuns"]

    def rule(primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        both = jvp.call_wrapped(*primals, *map(instantiate, tangents))
        half = len(both) // 2
        return list(both[:half]), list(both[half:])

    name = fun.__name__
    info = fun.debug_info or DebugInfo("bind_with_trace", name)
    call = RuledCall(custom_jvp_call_p, fun.call_wrapped, rule, name, info)
    return trace.process_custom_call(call, operands)


def _custom_vjp(trace: Any, operands: Sequence[Any], params: dict[str, Any]) -> Any:
    jaxpr, n, forward = params["call_jaxpr"], params["num_consts"], params["forward"]
    # Of the latest call of the forward rule.
    num_residuals, pulls = [0], [None]

    def fwd(*pairs: Any) -> list[Any]:
        outs, residuals, pulls[0] = forward(pairs[::2], pairs[1::2])
        num_residuals[0] = len(residuals)
        return [*residuals, *outs]

    def bwd(*residuals_and_cotangents: Any) -> list[Any]:
        k, pull = num_residuals[0], pulls[0]
        assert pull is not None, "the forward rule has run"
        return pull(residuals_and_cotangents[:k], residuals_and_cotangents[k:])

    def out_trees() -> tuple[Any, Any]:
        counts = len(jaxpr.outvars), num_residuals[0]
        return tuple([tree.structure([0] * count) for count in counts])  # type: ignore[return-value]

    info = jaxpr.debug_info
    return trace.process_custom_vjp_call(
        custom_vjp_call_p,
        _after_constants(jaxpr, operands[:n]),
        wrap_init(fwd, debug_info=info),
        wrap_init(bwd, debug_info=info),
        operands[n:],
        out_trees=out_trees,
        symbolic_zeros=False,
    )


def _after_constants(jaxpr: Jaxpr, constants: Sequence[Any]) -> Any:
    """The program as a function of the operands that the rule sees."""
    function = function_of(jaxpr)
    return wrap_init(partial(function.call_wrapped, *constants), debug_info=jaxpr.debug_info)


hand_over_as(custom_jvp_call_p, "process_custom_jvp_call", _custom_jvp)
applied_by(custom_jvp_call_p, _applied_custom_jvp)
hand_over_as(custom_vjp_call_p, "process_custom_vjp_call", _custom_vjp)
