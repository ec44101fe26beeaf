"""The primitives of `custom_vjp`: a function with its own pullback, and the linear map behind it.

The forward rule runs in place of the function and keeps residuals; the backward rule maps residuals
and cotangents of the results to cotangents of the arguments.  There is no forward-mode derivative.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, final

from ... import dtypes
from ...core import (
    AbstractValue,
    BatchAxes,
    Operand,
    Param,
    Primitive,
    ShapedArray,
    Zero,
    attributed_to_running_line,
    aval_of,
    call_program,
    is_undefined_primal,
    is_zero,
    not_differentiable,
    set_current_trace,
)
from ...core.partition import selected
from ...engines.xla.stablehlo import Builder, Value
from ...lax.ground.linear_structure import batched_first, moved_axis, reduce_sum, zeros
from ...transforms.batching import BatchTrace, unbatched_aval
from ...transforms.derivatives import is_differentiable
from ...transforms.jvp import JVPTrace
from ...transforms.linearize import Linearization, LinearizeTrace
from ...util.messages import message
from .batched_rules import BatchedResults, TraceOfMembers
from .custom_call import CustomCall
from .custom_jvp import apply_jvp_rule

# Residuals and cotangents of all results (`Zero` where it is zero) → one cotangent per operand,
# `None` where it is zero.
Pull = Callable[[Sequence[Any], Sequence[Any]], list[Any]]
# Operands and which of them have a tangent → results, residuals, the pullback that goes with them.
Forward = Callable[[Sequence[Any], Sequence[bool]], tuple[list[Any], list[Any], Pull]]

_NO_FORWARD_MODE = "a function with a custom_vjp rule has no forward-mode derivative"


@final
class CustomVJPLinear(Primitive):
    """The linear map of which only the transpose is known: the user's pullback.

    Params:
        pull: the pullback.
        num_residuals: how many of the operands are residuals; the others are tangents.
        active: which operands of the function have a tangent.
        out_avals: tangent avals of all results of the function.
    """

    name = "custom_lin"
    multiple_results = True
    only_transposed = True
    typed_on_mesh = takes_high_types = True

    jvp = not_differentiable(_NO_FORWARD_MODE)

    def abstract_eval(
        self, *avals: AbstractValue, out_avals: tuple[Any, ...], **_: Param
    ) -> Sequence[Any]:
        return out_avals

    def evaluate(self, *operands: Operand, **params: Param) -> list[Any]:
        raise TypeError(_forward_mode_text())

    def lower(
        self, b: Builder, outs: Sequence[ShapedArray], *operands: Value, **params: Param
    ) -> list[Value]:
        raise TypeError(_forward_mode_text())

    def batch(self, *arguments: Operand, **params: Param) -> Any:
        raise TypeError(_forward_mode_text())

    def transpose(
        self,
        cts: Sequence[Operand],
        *operands: Operand,
        pull: Pull,
        num_residuals: int,
        active: tuple[bool, ...],
        **_: Param,
    ) -> list[Any]:
        residuals = operands[:num_residuals]
        assert not any(map(is_undefined_primal, residuals)), "residuals are known"
        with attributed_to_running_line():
            results = pull(residuals, cts)
        given = [r for r, on in zip(results, active, strict=True) if on]
        avals = [x.aval.to_ct_aval() for x in operands[num_residuals:]]
        return [None] * num_residuals + list(map(_stated, given, avals))


def _stated(ct: Operand | None, aval: Any) -> Any:
    """A cotangent of a rule, zeros for `None`: what comes before is transposed all the same.

    Rules of the user may give more than the derivative, whatever cotangent they are given.
    """
    is_vector = not aval.is_high and aval.dtype != dtypes.float0
    return zeros(aval) if ct is None and is_vector else ct


def _forward_mode_text() -> str:
    return message(
        "forward-mode derivative (jvp, jacfwd, linearize)",
        given="a function with a custom_vjp rule",
        expected="a function that can be differentiated in forward mode",
        fix="Define its derivative with custom_jvp, or use reverse mode (grad, vjp, jacrev).",
    )


custom_lin_p = CustomVJPLinear()


def push_through(trace: JVPTrace, operands: Sequence[Operand], forward: Forward) -> list[Any]:
    """Forward mode: the tangent is left to the linear map, which only transposition can use."""

    def rule(
        primals: Sequence[Operand], tangents: Sequence[Operand]
    ) -> tuple[list[Any], list[Any]]:
        active = tuple([not is_zero(t) for t in tangents])
        outs, residuals, pull = forward(primals, active)
        given = [t for t in tangents if not is_zero(t)]
        params = _linear_params(outs, residuals, active, pull)
        pushed = custom_lin_p.bind(*residuals, *given, **params)
        return outs, [
            t if is_differentiable(x) else Zero.from_primal_value(x)
            for x, t in zip(outs, pushed, strict=True)
        ]

    return apply_jvp_rule(trace, operands, rule)


def _linear_params(
    outs: Sequence[Any], residuals: Sequence[Operand], active: tuple[bool, ...], pull: Pull
) -> dict[str, Any]:
    """The parameters of the linear map of a function that gave these results and residuals."""
    return {
        "pull": pull,
        "num_residuals": len(residuals),
        "active": active,
        "out_avals": tuple([aval_of(x).to_tangent_aval() for x in outs]),
    }


def record_rules(trace: LinearizeTrace, operands: Sequence[Operand], forward: Forward) -> list[Any]:
    """Reverse mode: run the forward rule, put the pullback on the tape."""
    pairs = [trace.split(x) for x in operands]
    assert trace.parent is not None, "differentiation has a parent"
    active = tuple([slot is not None for _, slot in pairs])
    with set_current_trace(trace.parent):
        outs, residuals, pull = forward([p for p, _ in pairs], active)
    out_active = tuple([is_differentiable(x) for x in outs])
    params = _linear_params(outs, residuals, active, pull)
    tangent_avals = [aval_of(p).to_tangent_aval() for p, slot in pairs if slot is not None]
    ct_avals = [aval_of(p).to_ct_aval() for p, slot in pairs if slot is not None]
    linear = call_program(custom_lin_p, [*map(aval_of, residuals), *tangent_avals], params)
    tangents_out = selected(linear.outvars, out_active)

    def pull_active(given: Sequence[Any], cts: Sequence[Operand]) -> list[Any]:
        active_cts = iter(cts)
        full = [next(active_cts) if on else None for on in out_active]
        pairs = zip(full, params["out_avals"], strict=True)
        results = pull(given, [Zero(aval) if ct is None else ct for ct, aval in pairs])
        given_back = [r for r, on in zip(results, active, strict=True) if on]
        return list(map(_stated, given_back, ct_avals))

    entry = Linearization(
        None, linear.replace(outvars=tangents_out), out_active, len(residuals), pull_active
    )
    return trace.record(entry, operands, [*outs, *residuals])


def batched_forward(
    forward: Forward, members: TraceOfMembers, dims: Sequence[int | None], results: BatchedResults
) -> Forward:
    """The rules of a batched function."""

    def batched(
        operands: Sequence[Operand], perturbed: Sequence[bool]
    ) -> tuple[list[Any], list[Any], Pull]:
        with members() as trace:
            outs, residuals, pull = forward(
                [trace.wrap(x, d) for x, d in zip(operands, dims, strict=True)], perturbed
            )
        split_residuals = [trace.split(x) for x in residuals]
        values = results.values(trace, outs)
        pull = _batched_pull(pull, members, dims, [d for _, d in split_residuals], results.batched)
        return values, [x for x, _ in split_residuals], pull

    return batched


def _batched_pull(
    pull: Pull,
    members: TraceOfMembers,
    dims: Sequence[int | None],
    residual_dims: Sequence[int | None],
    outs_batched: bool,
) -> Pull:
    def batched(residuals: Sequence[Operand], cts: Sequence[Operand]) -> list[Any]:
        with members() as trace:
            results = pull(
                [trace.wrap(x, d) for x, d in zip(residuals, residual_dims, strict=True)],
                [_member(trace, ct) for ct in cts] if outs_batched else cts,
            )
        return [
            None if r is None else _unmapped(trace.axes, *trace.split(r), d, outs_batched)
            for r, d in zip(results, dims, strict=True)
        ]

    return batched


def _member(trace: BatchTrace, ct: Operand) -> Any:
    """The cotangent of one member, of a batch of cotangents along axis 0."""
    if is_zero(ct):
        return Zero(unbatched_aval(ct.aval, 0))
    return trace.wrap(ct, 0)


def _unmapped(
    axes: BatchAxes, ct: Operand, ct_dim: int | None, dim: int | None, outs_batched: bool
) -> Any:
    """A batch of cotangents where the operand has its batch axis; summed if it has none."""
    if not outs_batched and ct_dim is None and dim is None:
        return ct
    whole = batched_first(axes, ct, ct_dim)
    return reduce_sum(whole, (0,)) if dim is None else moved_axis(whole, 0, dim)


@final
class CustomVJPCall(CustomCall):
    """A function with its forward rule, `forward`, which returns the pullback."""

    name = "custom_vjp_call"
    rule_name = "forward"
    push = staticmethod(push_through)
    record = staticmethod(record_rules)
    batched = staticmethod(batched_forward)


custom_vjp_call_p = CustomVJPCall()
