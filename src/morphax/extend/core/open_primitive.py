"""`Primitive("name")`: a user-defined operation, whose rules are set one by one.

Primitives of morphax are classes (see `core.primitive`).  This one has no class of its own: each
rule is an attribute of the object.  `def_impl` and `def_abstract_eval` set the first two, and the
tables of `interpreters` the others.  A rule of the user may look at the values of its operands and
may have effects of its own, so it runs at each application, in the trace below, instead of being
staged once per signature.

`isinstance(p, Primitive)` is true of all primitives.  See docs/design/user-primitives.md.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, final

from ... import core
from ...array import Array
from ...control.custom.custom_jvp import apply_jvp_rule, linearize_jvp_rule
from ...core import NoRule, Tracer, is_value, set_current_trace
from ...core.trace import Trace
from ...engines.reference.eager import as_array
from ...transforms.batching import BatchTrace
from ...transforms.jvp import JVPTrace, apply_rule
from ...transforms.linearize import LinearizeTrace
from ...util.records import dataclass
from .interface import OfAnyKind
from .rules import set_rule


def _not_set(kind: str, how: str) -> Any:
    return NoRule(kind, None, f"Set it: {how}.", NotImplementedError)


@final
@dataclass(frozen=True)
class GenericEffect(core.Effect):
    """The effect of a primitive that is like no other."""

    prim: Primitive


class Primitive(core.Primitive, metaclass=OfAnyKind):
    """A primitive without rules, to which they are added.

    Args:
        name: what jaxprs show.

    Example:
        >>> import morphax as jax
        >>> from morphax.extend.core import Primitive
        >>> from morphax.interpreters import ad
        >>> half_p = Primitive("half")
        >>> @half_p.def_impl
        ... def half_impl(x):
        ...     return x / 2
        >>> half_p.bind(3.0)
        Array(1.5, dtype=float32, weak_type=True)
        >>> @half_p.def_abstract_eval
        ... def half_abstract_eval(x):
        ...     return x
        >>> ad.deflinear2(half_p, lambda ct, x: [half_p.bind(ct)])
        >>> jax.grad(half_p.bind)(3.0)
        Array(0.5, dtype=float32, weak_type=True)
    """

    any_of = core.Primitive

    abstract_eval = _not_set("abstract_eval", "primitive.def_abstract_eval(rule)")
    evaluate = _not_set("evaluate", "primitive.def_impl(function)")
    impl = evaluate
    lower = _not_set("lower", "mlir.register_lowering(primitive, rule)")
    jvp = _not_set("jvp", "ad.primitive_jvps[primitive] = rule")
    transpose = _not_set("transpose", "ad.primitive_transposes[primitive] = rule")
    batch = _not_set("batch", "batching.primitive_batchers[primitive] = rule")
    collect = batch

    def __init__(self, name: str) -> None:
        self.name = name  # type: ignore[misc]

    def def_impl(self, impl: Callable[..., Any]) -> Callable[..., Any]:
        """Set what eager mode runs: arrays, parameters → array(s)."""
        set_rule(self, "impl", impl)
        return impl

    def def_abstract_eval(self, abstract_eval: Callable[..., Any]) -> Callable[..., Any]:
        """Set the rule of avals: avals, parameters → aval(s) of the result(s)."""
        vars(self).pop("typed", None)
        set_rule(self, "abstract_eval", abstract_eval)
        return abstract_eval

    def def_effectful_abstract_eval(
        self, effectful_abstract_eval: Callable[..., Any]
    ) -> Callable[..., Any]:
        """Set the rule of avals and effects: avals, parameters → (aval(s), set of effects)."""

        def typed(*avals: Any, **params: Any) -> tuple[Any, frozenset[Any]]:
            outs, effects = effectful_abstract_eval(*avals, **params)
            return outs, frozenset(effects)

        set_rule(self, "abstract_eval", lambda *avals, **params: typed(*avals, **params)[0])
        self.typed = typed  # type: ignore[method-assign]
        return effectful_abstract_eval

    def def_effectful_abstract_eval2(self, abstract_eval: Callable[..., Any]) -> Callable[..., Any]:
        """Set the rule of avals of an operation that has an effect of its own kind."""
        effects = {GenericEffect(self)}
        self.def_effectful_abstract_eval(
            lambda *avals, **params: (abstract_eval(*avals, **params), effects)
        )
        return abstract_eval

    def def_bind_with_trace(self, bind_with_trace: Callable[..., Any]) -> Callable[..., Any]:
        """Set how the primitive is applied: trace, operands, their avals, params → result(s)."""

        def bind(*operands: Any, **params: Any) -> Any:
            avals = [core.aval_of(x) if is_value(x) else None for x in operands]
            return bind_with_trace(core.current_trace(), operands, avals, params)

        vars(self).update(bind_with_trace=bind_with_trace, bind=bind)
        return bind_with_trace

    def process_eval(self, trace: Trace, operands: Sequence[Any], params: dict[str, Any]) -> Any:
        with set_current_trace(trace):
            result = self.impl(*operands, **params)
        return list(map(as_value, result)) if self.multiple_results else as_value(result)

    def process_jvp(self, trace: JVPTrace, operands: Sequence[Any], params: dict[str, Any]) -> Any:
        return self._result(apply_jvp_rule(trace, operands, self._jvp_with(params)))

    def process_linearize(
        self, trace: LinearizeTrace, operands: Sequence[Any], params: dict[str, Any]
    ) -> Any:
        return self._result(linearize_jvp_rule(trace, operands, self._jvp_with(params)))

    def process_batch(
        self, trace: BatchTrace, operands: Sequence[Any], params: dict[str, Any]
    ) -> Any:
        pairs = [trace.split(x) for x in operands]
        values, dims = tuple([x for x, _ in pairs]), tuple([dim for _, dim in pairs])
        with set_current_trace(trace.parent):
            outs, out_dims = self.batch(trace.axes, values, dims, **params)
        if not self.multiple_results:
            return trace.wrap(outs, out_dims)
        return [trace.wrap(x, d) for x, d in zip(outs, out_dims, strict=True)]

    def _jvp_with(self, params: dict[str, Any]) -> Callable[..., Any]:
        return lambda primals, tangents: apply_rule(self, tuple(primals), tuple(tangents), params)

    def _result(self, outs: list[Any]) -> Any:
        return outs if self.multiple_results else outs[0]


def as_value(x: Any) -> Any:
    """A result of a function of the user as a value: an array, if it is no tracer."""
    return x if type(x) is Array or isinstance(x, Tracer) else as_array(x)
