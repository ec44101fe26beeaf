"""`custom_jvp`: functions whose derivative the user defines, in forward mode.

Reverse mode follows by transposition, so the tangent must be linear in the tangents that come in.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, final

from ... import dtypes, tree
from ...core import (
    Jaxpr,
    Operand,
    Param,
    Zero,
    aval_of,
    is_zero,
    set_current_trace,
)
from ...core.varying import varying_over
from ...lax.ground.linear_structure import add_tangents, instantiate
from ...transforms.batching import BatchTrace, unbatched_aval
from ...transforms.derivative_maps import tangent_output
from ...transforms.flattening import FlatFunction, function_label
from ...transforms.jvp import JVPTrace, JVPTracer
from ...transforms.linearize import Linearization, LinearizeTrace, split_linear
from ...transforms.transposition import backward_pass
from ...util.messages import described, message
from .batched_rules import BatchedResults, TraceOfMembers
from .custom_call import CustomCall
from .custom_rules import HasRules, checked_result, flatten_like

# Primals and tangents (`Zero` where there is none) → results and their tangents.
JVPRule = Callable[[Sequence[Any], Sequence[Any]], tuple[list[Any], list[Any]]]


def apply_jvp_rule(trace: JVPTrace, operands: Sequence[Operand], rule: JVPRule) -> list[Any]:
    """Run a rule in forward mode."""
    pairs = [trace.split(x) for x in operands]
    assert trace.parent is not None, "differentiation has a parent"
    with set_current_trace(trace.parent):
        outs, tangents = rule([p for p, _ in pairs], [t for _, t in pairs])
    return [
        p if is_zero(t) else JVPTracer(trace, p, t) for p, t in zip(outs, tangents, strict=True)
    ]


def linearize_jvp_rule(
    trace: LinearizeTrace, operands: Sequence[Operand], rule: JVPRule
) -> list[Any]:
    """Run a rule with known primals, and record what it does to tangents."""
    pairs = [trace.split(x) for x in operands]
    primals = [p for p, _ in pairs]
    tangents = [
        Zero(aval_of(p).to_tangent_aval()) if slot is None else aval_of(p).to_tangent_aval()
        for p, slot in pairs
    ]
    assert trace.parent is not None, "differentiation has a parent"
    outs, out_active, linear, residuals = split_linear(
        trace.parent, lambda given: rule(primals, given), tangents
    )
    entry = Linearization(None, linear, out_active, len(residuals))
    return trace.record(entry, operands, [*outs, *residuals])


def batched_jvp_rule(
    rule: JVPRule, members: TraceOfMembers, dims: Sequence[int | None], results: BatchedResults
) -> JVPRule:
    """The rule of a batched function."""

    def batched(
        primals: Sequence[Operand], tangents: Sequence[Operand]
    ) -> tuple[list[Any], list[Any]]:
        with members() as trace:
            outs, out_tangents = rule(
                [trace.wrap(x, d) for x, d in zip(primals, dims, strict=True)],
                [_member(trace, t, d) for t, d in zip(tangents, dims, strict=True)],
            )
        values = results.values(trace, outs, out_tangents)
        given = iter(values[len(outs) :])
        return values[: len(outs)], [
            Zero(aval_of(x).to_tangent_aval()) if is_zero(t) else next(given)
            for x, t in zip(values, out_tangents, strict=False)
        ]

    return batched


def _member(trace: BatchTrace, t: Operand, dim: int | None) -> Any:
    """The tangent of one member, of a batch of tangents."""
    if not is_zero(t):
        return trace.wrap(t, dim)
    return t if dim is None else Zero(unbatched_aval(t.aval, dim))


@final
class CustomJVPCall(CustomCall):
    """A function with its jvp rule, `jvp_rule`."""

    name = "custom_jvp_call"
    rule_name = "jvp_rule"
    push = staticmethod(apply_jvp_rule)
    record = staticmethod(linearize_jvp_rule)
    batched = staticmethod(batched_jvp_rule)

    def transpose(
        self, cts: Sequence[Operand], *operands: Operand, call_jaxpr: Jaxpr, **params: Param
    ) -> list[Any]:
        """In a program that is linear as it stands the function counts, not its derivative."""
        return backward_pass(call_jaxpr, operands, cts)


custom_jvp_call_p = CustomJVPCall()


class custom_jvp(HasRules):
    """Define the derivative of a function yourself, in forward mode.

    Args:
        fun: function of arrays or trees.
        nondiff_argnums, nondiff_argnames: arguments that are Python values; they come first among
            the arguments of the rule.

    Example:
        >>> import morphax as jax
        >>> import morphax.numpy as jnp
        >>> @jax.custom_jvp
        ... def f(x):
        ...     return jnp.sin(x)
        >>> @f.defjvp
        ... def f_jvp(primals, tangents):
        ...     (x,), (t,) = primals, tangents
        ...     return f(x), 2.0 * jnp.cos(x) * t
        >>> jax.grad(f)(0.0)
        Array(2., dtype=float32, weak_type=True)
    """

    _where = "custom_jvp"
    _primitive = custom_jvp_call_p

    def __init__(
        self,
        fun: Callable[..., Any],
        nondiff_argnums: Sequence[int] = (),
        nondiff_argnames: Sequence[str] = (),
    ) -> None:
        super().__init__(fun, nondiff_argnums, nondiff_argnames)
        self.jvp: Callable[..., Any] | None = None

    def defjvp(self, jvp: Callable[..., Any], symbolic_zeros: bool = False) -> Callable[..., Any]:
        """Set the rule: (nondiff arguments, primals, tangents) → (result, tangent of the result).

        Args:
            jvp: the rule; primals and tangents are tuples with one item per argument.
            symbolic_zeros: hand tangents that are known to be zero to the rule as `SymbolicZero`
                instead of arrays of zeros.
        """
        self.jvp = jvp
        self.symbolic_zeros = symbolic_zeros
        return jvp

    def defjvps(self, *jvps: Callable[..., Any] | None) -> None:
        """Set one rule per argument: (tangent, result, *arguments) → tangent of the result."""
        if self.nondiff_argnums:
            raise TypeError(
                message(
                    f"defjvps of {function_label(self.fun)}",
                    given=f"a function with nondiff_argnums={self.nondiff_argnums}",
                    expected="a function all of whose arguments are differentiated",
                    fix="Define one rule with defjvp.",
                )
            )

        def jvp(primals: Sequence[Operand], tangents: Sequence[Operand]) -> tuple[Any, Any]:
            out = self(*primals)
            # Zero times a slope that is infinite would be NaN: what does not move has no term.
            terms = [
                rule(tree.map(tangent_output, t), out, *primals)
                for rule, t in zip(jvps, tangents, strict=True)
                if rule is not None and not all(map(is_zero, tree.leaves(t)))
            ]
            if not terms:
                return out, tree.map(lambda x: instantiate(Zero(aval_of(x).to_tangent_aval())), out)
            return out, functools.reduce(lambda a, b: tree.map(add_tangents, a, b), terms)

        self.jvp, self.symbolic_zeros = jvp, True

    def _check_defined(self) -> None:
        if self.jvp is None:
            raise AttributeError(
                message(
                    f"custom_jvp function {function_label(self.fun)}",
                    given="a call before the derivative is defined",
                    expected="a rule",
                    fix="Define it with @f.defjvp.",
                )
            )

    def _rule(self, fixed: tuple[Any, ...], flat: FlatFunction, label: str) -> JVPRule:
        jvp, in_tree, symbolic = self.jvp, flat.in_tree, self.symbolic_zeros
        assert jvp is not None, "the rule is defined"

        def rule(
            primals: Sequence[Operand], tangents: Sequence[Operand]
        ) -> tuple[list[Any], list[Any]]:
            given = tangents if symbolic else map(tangent_output, tangents)
            result = jvp(*fixed, in_tree.unflatten(primals)[0], in_tree.unflatten(given)[0])
            if not (isinstance(result, (tuple, list)) and len(result) == 2):
                raise TypeError(
                    message(
                        f"the jvp rule of {label}",
                        given=described(result),
                        expected="a pair (result, tangent of the result)",
                        fix="Return a pair.",
                    )
                )
            where = f"the jvp rule of {label}"
            outs = checked_result(where, result[0], flat)
            pushed = flatten_like(where, result[1], flat.out_tree, "a tangent")
            pushed = [_checked_tangent(where, x, t) for x, t in zip(outs, pushed, strict=True)]
            # Integers have no derivative: what depends on them must not be differentiated.
            return outs, [_zero_of_integers(t) for t in pushed]

        return rule


def _zero_of_integers(tangent: Operand) -> Operand:
    if is_zero(tangent) or aval_of(tangent).dtype != dtypes.float0:
        return tangent
    return Zero(aval_of(tangent))


def _checked_tangent(where: str, out: Operand, tangent: Operand) -> Any:
    expected = aval_of(out).to_tangent_aval()
    given = tangent.aval if is_zero(tangent) else aval_of(tangent)
    fits = given.shape == expected.shape and given.dtype == expected.dtype
    if not fits or not given.vma <= expected.vma:
        raise TypeError(
            message(
                where,
                given=f"a tangent {given} of a result {aval_of(out)}",
                expected=f"a tangent {expected}",
                fix="Return tangents with the shapes and dtypes of the results, which vary over no "
                "further axes of a mesh.",
            )
        )
    return tangent if is_zero(tangent) else varying_over(tangent, expected.vma)
