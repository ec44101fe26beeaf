"""What a trace offers to interpreters, and what one that is written outside may define.

A trace from outside is a subclass of `Trace` that defines `process_primitive` alone, and is made
current by `set_current_trace`.  Operations that run functions of the user (calls, custom derivative
rules) reach it as `process_call`, `process_custom_jvp_call` and `process_custom_vjp_call` if it
defines these, with the functions as arguments.  Otherwise it meets them as primitives like any
other, whose parameters hold the programs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from ..util.messages import message

if TYPE_CHECKING:
    from .primitive import Primitive
    from .trace import Trace

# How a primitive that runs functions is handed to a trace from outside: the name of the method,
# and what calls it with trace, operands and parameters.
Handover = tuple[str, Callable[["Trace", Sequence[Any], dict[str, Any]], Any]]


def hand_over_as(primitive: Primitive, method: str, hand_over: Callable[..., Any]) -> None:
    """Let traces from outside that define `method` process `primitive` by it."""
    primitive.handover = (method, hand_over)


class OpenTrace:
    """The part of the interface of traces that is meant for code outside."""

    __slots__ = ()

    if TYPE_CHECKING:
        parent: Trace | None
        process_primitive: Callable[[Primitive, Sequence[Any], dict[str, Any]], Any]
        constant: Callable[[Any], Any]

    @property
    def main(self) -> Any:
        """What tells the transformation from others, `None` for evaluation and staging."""
        tag = getattr(self, "tag", None)
        return self if tag is None and self.parent is not None else tag

    @property
    def requires_low(self) -> bool:
        """Whether operations on types of the user are to be expanded: there are no such types."""
        return True

    def full_raise(self, x: Any) -> Any:
        """`x` as an operand of this trace: values need no change."""
        return x

    def stage_value(self, val: Any) -> Any:
        """A number as a value of this trace."""
        return self.constant(val)

    def process_call(
        self, call_primitive: Any, f: Any, tracers: Sequence[Any], params: dict[str, Any], /
    ) -> Any:
        """Apply a `CallPrimitive`: the results of `f`, a `linear_util.WrappedFun`."""
        self._refuse("process_call", call_primitive)

    def process_custom_jvp_call(
        self, primitive: Any, fun: Any, jvp: Any, tracers: Sequence[Any], /, *, symbolic_zeros: bool
    ) -> Any:
        """Apply a function with a jvp rule.

        `fun` gives its results as a list; `jvp` takes primals and then tangents, and gives results
        and then their tangents.
        """
        self._refuse("process_custom_jvp_call", primitive)

    def process_custom_vjp_call(
        self,
        primitive: Any,
        fun: Any,
        fwd: Any,
        bwd: Any,
        tracers: Sequence[Any],
        /,
        *,
        out_trees: Any,
        symbolic_zeros: bool,
    ) -> Any:
        """Apply a function with a forward and a backward rule; `fun` gives its results as a list.

        `fwd` takes pairs (value, whether it is differentiated), flat, and gives residuals and then
        results; `bwd` takes residuals and then cotangents, and gives cotangents of the operands.
        """
        self._refuse("process_custom_vjp_call", primitive)

    def hand_over(
        self, primitive: Primitive, operands: Sequence[Any], params: dict[str, Any]
    ) -> Any:
        """Apply `primitive` in a trace from outside."""
        if primitive.handover is not None:
            method, call = primitive.handover
            if takes_functions(self, method):
                return call(self, operands, params)  # type: ignore[arg-type]
        return self.process_primitive(primitive, operands, params)

    def _refuse(self, method: str, primitive: Any) -> NoReturn:
        raise NotImplementedError(
            message(
                f"{type(self).__name__}.{method}",
                given=f"an application of {primitive}",
                expected=f"a trace that defines {method}",
                fix="Define it, or leave the operation to process_primitive.",
            )
        )


def takes_functions(trace: OpenTrace, method: str) -> bool:
    """Whether a trace defines `method` and so takes functions, not programs."""
    return getattr(type(trace), method) is not getattr(OpenTrace, method)
