"""The names by which JAX's interpreters address traces and primitives, ours included.

The package itself has no use for them, so `core` does not know them: `TraceNames` and
`PrimitiveNames` are installed on the classes there when `morphax.extend.core` is imported.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn

from ...core import Primitive, jaxprs_in_params, root_trace, set_current_trace
from ...core.trace import Trace
from ...util.messages import message

# Only the members of the classes below are of use.
if TYPE_CHECKING:
    OfTraces = Trace
    OfPrimitives = Primitive
else:
    OfTraces = OfPrimitives = object


class OfAnyKind(type):
    """Metaclass of the open class beside a class of ours, `any_of`, whose instances are its too."""

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, vars(cls).get("any_of", ())) or super().__instancecheck__(
            instance
        )

    def __subclasscheck__(cls, subclass: type) -> bool:
        return issubclass(subclass, vars(cls).get("any_of", ())) or super().__subclasscheck__(
            subclass
        )


class TraceNames(OfTraces):
    """What a trace answers to."""

    @property
    def main(self) -> Any:
        """What tells the transformation from others, `None` for evaluation and staging."""
        tag = getattr(self, "tag", None)
        return self if tag is None and self.parent is not None else tag

    @property
    def requires_low(self) -> bool:
        """Whether the trace asks for operations on arrays: those that other people define do."""
        return True

    def is_valid(self) -> bool:
        """Whether tracers of this trace may be used."""
        return self.live

    def invalidate(self) -> None:
        """End the trace: its tracers have no meaning any more."""
        self.live = False

    def full_raise(self, x: Any) -> Any:
        """`x` as an operand of this trace: values need no change."""
        return x

    def stage_value(self, val: Any) -> Any:
        """A number as a value of this trace."""
        return self.constant(val)

    def process_primitive(
        self, primitive: Primitive, tracers: Sequence[Any], params: dict[str, Any], /
    ) -> Any:
        """Apply `primitive`; one result, or a list if the primitive has multiple results."""
        return self.process(primitive, tracers, params)

    def process_call(
        self, call_primitive: Any, f: Any, tracers: Sequence[Any], params: dict[str, Any], /
    ) -> Any:
        """Apply a `CallPrimitive`: the results of `f`, a `linear_util.WrappedFun`."""
        _refuse(self, "process_call", call_primitive)

    def process_custom_jvp_call(
        self, primitive: Any, fun: Any, jvp: Any, tracers: Sequence[Any], /, *, symbolic_zeros: bool
    ) -> Any:
        """Apply a function with a jvp rule.

        `fun` gives its results as a list; `jvp` takes primals and then tangents, and gives results
        and then their tangents.
        """
        _refuse(self, "process_custom_jvp_call", primitive)

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
        _refuse(self, "process_custom_vjp_call", primitive)


def _refuse(trace: Trace, method: str, primitive: Any) -> NoReturn:
    raise NotImplementedError(
        message(
            f"{type(trace).__name__}.{method}",
            given=f"an application of {primitive}",
            expected=f"a trace that defines {method}",
            fix="Define it, or leave the operation to process_primitive.",
        )
    )


class PrimitiveNames(OfPrimitives):
    """What a primitive answers to."""

    # Whether the operation applies functions that it is given as the parameter `subfuns`.
    call_primitive: ClassVar[bool] = False
    # Whether it makes a reference, and a new one at each application.
    ref_primitive: ClassVar[bool] = False
    ref_allocating: ClassVar[bool] = False

    def bind_with_trace(
        self, trace: Trace, args: Sequence[Any], avals: Any, params: dict[str, Any]
    ) -> Any:
        """Apply the primitive in `trace`; the avals are those of the operands."""
        apply = vars(self).get("applies_functions")
        if apply is not None and "subfuns" in params:
            return apply(trace, args, params)
        with set_current_trace(trace):
            return self.bind(*args, **params)

    def impl(self, *operands: Any, **params: Any) -> Any:
        """Apply the primitive to arrays, at once."""
        return self.bind_with_trace(root_trace(), operands, None, params)

    @property
    def is_effectful(self) -> Callable[[Mapping[str, Any]], bool] | None:
        """Tells by params whether an application has effects; `None` if none ever has."""
        if getattr(self.typed, "__func__", None) is not Primitive.typed:
            return lambda params: True
        if type(self).effects is not Primitive.effects:
            return lambda params: bool(self.effects(**params))
        return None

    def is_high(self, *avals: Any, **params: Any) -> bool:
        """Whether operands, or values in programs, are of types that users define."""
        return any([aval.is_high for aval in avals]) or any(
            [jaxpr.is_high for jaxpr in jaxprs_in_params(params)]
        )


def applied_by(primitive: Primitive, apply: Callable[..., Any]) -> None:
    """Let `bind_with_trace` of a primitive take functions, the parameter `subfuns`.

    Args:
        primitive: an operation that runs functions.
        apply: trace, operands and parameters → result(s).
    """
    vars(primitive)["applies_functions"] = apply


def _install(names: type, kind: type) -> None:
    for name, member in vars(names).items():
        if not name.startswith("_"):
            setattr(kind, name, member)


_install(TraceNames, Trace)
_install(PrimitiveNames, Primitive)
