"""`HiPrimitive`: a user-defined operation on values of types that users define.

Its rules are methods that a subclass defines.  Those of derivatives have the conventions of
`interpreters.ad`; `to_lojax` computes the operation by others, on values made of arrays or tracers.
See docs/design/hijax.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

from ...core import (
    AbstractRef,
    AbstractValue,
    AvalQDD,
    Effects,
    StateEffect,
    aval_of,
    current_trace,
    high_types,
    set_current_trace,
)
from ...core.high_types import AvalMutableQDD, MutableState
from ...core.trace import Trace
from ...lax.reference.ref_binding import unwrapped
from ...lax.reference.references import as_references
from ...transforms.jvp import apply_rule
from ...util.messages import message
from .open_primitive import Primitive, as_value


class HiPrimitive(Primitive):
    """Base of operations on values of high types.

    Args:
        name: what jaxprs show.

    Example:
        >>> import morphax as jax
        >>> import morphax.numpy as jnp
        >>> from morphax.experimental.hijax import HiPrimitive
        >>> class Twice(HiPrimitive):
        ...     def abstract_eval(self, x):
        ...         return x, set()
        ...
        ...     def to_lojax(self, x):
        ...         return 2.0 * x
        ...
        ...     def jvp(self, primals, tangents):
        ...         return self.bind(*primals), self.bind(*tangents)
        ...
        ...     def transpose(self, ct, x):
        ...         return [self.bind(ct)]
        >>> twice_p = Twice("twice")
        >>> jax.make_jaxpr(twice_p.bind)(1.0)
        { lambda ; a:f32[]. let b:f32[] = twice a in (b,) }
        >>> jax.jit(jax.grad(twice_p.bind))(1.0)
        Array(2., dtype=float32, weak_type=True)
    """

    typed_on_mesh = takes_high_types = True

    def is_high(self, *avals: AbstractValue, **params: Any) -> bool:
        """Whether the operation is computed by `to_lojax`, rather than `impl` and a lowering."""
        return True

    def is_effectful(self, params: dict[str, Any]) -> bool:
        """Whether the operation has effects besides those of `abstract_eval`."""
        return False

    def abstract_eval(self, *arg_avals: Any, **params: Any) -> Any:
        """Types of operands → type(s) of the result(s), and a set of effects.

        An operand that changes in place is given as an `AvalMutableQDD`.
        """
        self._must_override("abstract_eval")

    def to_lojax(self, *lotypes_wrapped_in_hitypes: Any, **params: Any) -> Any:
        """Values → result(s), computed by operations on what they are made of."""
        self._must_override("to_lojax")

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> Any:
        """Primals, tangents → result(s) and tangent(s)."""
        self._must_override("jvp")

    def transpose(self, *args: Any, **params: Any) -> Any:
        """Cotangent(s) of the result(s), operands → a cotangent or `None` per operand."""
        self._must_override("transpose")

    def _must_override(self, method: str) -> NoReturn:
        raise AssertionError(
            message(
                f"operation {self.name}",
                given=f"the class {type(self).__name__} without a method {method}",
                expected=f"{method}, which this use of the operation needs",
                fix=f"Define {method} in {type(self).__name__}.",
            )
        )

    def typed(self, *avals: Any, **params: Any) -> tuple[Any, Effects]:
        """Types of the results; the effects tell in which states it leaves its operands."""
        states = {i: MutableState(a.qdd) for i, a in enumerate(avals) if type(a) is AvalQDD}
        shown = [
            AvalMutableQDD(a.aval, states[i]) if i in states else a for i, a in enumerate(avals)
        ]
        results, effects = self.abstract_eval(*shown, **params)
        changed = [
            StateEffect(i, state.cur_val)
            for i, state in states.items()
            if state.cur_val != state.init_val
        ]
        own = high_types if self.is_high(*avals, **params) else frozenset()
        return results, frozenset(effects).union(own, changed)

    def bind(self, *operands: Any, **params: Any) -> Any:
        """Apply the operation in the current trace."""
        results = current_trace().process(self, unwrapped(operands), params)
        return as_references(results) if self.multiple_results else as_references([results])[0]

    def process_eval(self, trace: Trace, operands: Sequence[Any], params: dict[str, Any]) -> Any:
        if not self.is_high(*map(aval_of, operands), **params):
            return super().process_eval(trace, operands, params)
        with set_current_trace(trace):
            results = self.to_lojax(*as_references(operands), **params)
        values = unwrapped(results if self.multiple_results else [results])
        return list(map(as_any_value, values)) if self.multiple_results else as_any_value(values[0])

    def _jvp_with(self, params: dict[str, Any]) -> Any:
        def rule(primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
            given = as_references(primals), as_references(tangents)
            outs, out_tangents = apply_rule(self, *given, params)
            return unwrapped(outs), unwrapped(out_tangents)

        return rule


def as_any_value(x: Any) -> Any:
    """A result of a user's function as a value: an array, if it is neither traced nor high."""
    aval = aval_of(x)
    return x if aval.is_high or type(aval) is AbstractRef else as_value(x)
