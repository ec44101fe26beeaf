"""`jax.core.Trace`: the base of user-defined traces.

A user-defined trace defines `process_primitive` alone, and is made current by `set_current_trace`.
Operations that run functions of the user (calls, custom derivative rules) reach it as
`process_call`, `process_custom_jvp_call` and `process_custom_vjp_call` if it defines these, with
the functions as arguments.  Otherwise it meets them as primitives like any other, whose parameters
hold the programs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...core import Primitive, trace
from ...core.call_with_rules import CallWithRules
from .interface import OfAnyKind


def hand_over_as(primitive: Primitive, method: str, hand_over: Callable[..., Any]) -> None:
    """Let user-defined traces that define `method` process `primitive` by it.

    Args:
        primitive: an operation that runs functions.
        method: the name of the method.
        hand_over: trace, operands and parameters → result(s), by a call of the method.
    """
    vars(primitive)["handover"] = (method, hand_over)


class Trace(trace.Trace, metaclass=OfAnyKind):
    """A user-defined trace; `isinstance` is true of every trace.

    Args:
        parent: the trace below, for those that want it remembered.
    """

    __slots__ = ()
    any_of = trace.Trace

    def process(self, primitive: Primitive, operands: Sequence[Any], params: dict[str, Any]) -> Any:
        method, call = vars(primitive).get("handover", (None, None))
        if method is not None and takes_functions(self, method):
            return call(self, operands, params)
        if not takes_functions(self, "process_primitive"):
            raise TypeError(f"{type(self).__name__} is abstract")
        written_outside: Any = self
        return written_outside.process_primitive(primitive, operands, params)

    def process_custom_call(self, call: CallWithRules, operands: Sequence[Any]) -> Sequence[Any]:
        if type(self).process is Trace.process:
            return call.stage(self, operands)
        return super().process_custom_call(call, operands)


def takes_functions(of: trace.Trace, method: str) -> bool:
    """Whether a trace defines `method` and so takes functions, not programs."""
    return getattr(type(of), method) is not getattr(trace.Trace, method)
