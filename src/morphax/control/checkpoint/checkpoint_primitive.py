"""The primitive behind `jax.checkpoint`: a program whose intermediate values are not kept.

Undifferentiated it is a call of its program.  Its linearization divides the linearized program by
the policy: the forward program is inlined and hands out the results, the saved values, and the
operands that the rest needs; the linear program is one equation of the same primitive, marked
`differentiated`, that repeats the other equations and then applies the linear map.  Transposed, it
repeats them once per backward pass.  A `differentiated` call is compiled behind an optimization
barrier, or the compiler would merge it with the forward pass.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, final

from ...core import (
    Equation,
    Jaxpr,
    apply_jaxpr,
    call_program,
    captures_as_operands,
    discharge,
    is_undefined_primal,
    is_zero,
    jaxprs_in_params,
    operands_as_captures,
    stage_closed,
    values_of,
)
from ...core.partition import Partition, needed, program, selected
from ...engines.xla.stablehlo import Builder, Value
from ...lax.reference.ref_binding import TakesReferences
from ...lax.shape.optimization_barrier import optimization_barrier_p
from ...transforms.jvp import open_jvp
from ...transforms.known_parts import KnownPart, Mask, known_program
from ...transforms.linearize import Linearization
from ...transforms.staged_linearization import linearize_jaxpr
from ...transforms.transposition import open_transpose
from ...util.memo import memoize
from ..calls import split_tangents
from ..program_call import ProgramCall
from ..ref_bodies import handed_back
from .checkpoint_policies import Policy
from .rematerialization import divide, divide_call

# Whether merging with the forward pass is prevented: for all operands, or for each.
PreventCSE = bool | tuple[bool, ...]


@final
class Checkpoint(ProgramCall, TakesReferences):
    """Apply `jaxpr`; differentiation computes its intermediate values again.

    Params:
        jaxpr: the program.
        policy: tells which values are kept all the same; see `checkpoint_policies`.
        prevent_cse: whether the operands of a repeated program pass a barrier, each or all.
        differentiated: whether the program is part of a derivative, and so repeats another.
    """

    name = "remat2"

    def discharge(self, *operands: Any, jaxpr: Jaxpr, **params: Any) -> list[Any]:
        pure, changed = discharge(jaxpr)
        results = self.bind(*values_of(operands), jaxpr=pure, **params)
        return handed_back(results, operands, changed)

    def lower(
        self,
        b: Builder,
        outs: Sequence[Any],
        *operands: Value,
        jaxpr: Jaxpr,
        prevent_cse: PreventCSE,
        differentiated: bool,
        policy: Policy | None,
    ) -> list[Value]:
        if not differentiated:
            return b.call("checkpoint", jaxpr, *operands)
        barriers = prevent_cse if isinstance(prevent_cse, tuple) else (prevent_cse,) * len(operands)
        hidden = [x for x, on in zip(operands, barriers, strict=True) if on]
        passed = iter(optimization_barrier_p.lower(b, [x.aval for x in hidden], *hidden))
        given = [next(passed) if on else x for x, on in zip(operands, barriers, strict=True)]
        return b.call("rematted_computation", jaxpr, *given)

    def jvp(
        self,
        primals: Sequence[Any],
        tangents: Sequence[Any],
        *,
        jaxpr: Jaxpr,
        prevent_cse: PreventCSE,
        **params: Any,
    ) -> tuple[list[Any], list[Any]]:
        fragment = open_jvp(jaxpr, tuple([not is_zero(t) for t in tangents]))
        given = [t for t in tangents if not is_zero(t)]
        closed, captured = captures_as_operands(fragment.jaxpr)
        params["prevent_cse"] = _extended(prevent_cse, len(given))
        pushed = self.preceded(closed, params, len(captured))
        results = self.bind(*captured, *primals, *given, **pushed)
        return split_tangents(results, fragment.out_active, jaxpr.out_avals)

    def preceded(self, jaxpr: Jaxpr, params: dict[str, Any], count: int) -> dict[str, Any]:
        barriers = _preceded(params["prevent_cse"], count)
        return params | {"jaxpr": jaxpr, "prevent_cse": barriers}

    def linearize(
        self, avals: Sequence[Any], active: tuple[bool, ...], params: dict[str, Any]
    ) -> Linearization:
        policy = params["policy"]
        rule = linearize_jaxpr(under_policy(params["jaxpr"], policy), active)
        assert rule.forward is not None, "a program is split, it is not run"
        source, captured = captures_as_operands(rule.forward)
        count = len(rule.out_active)
        results, asked = source.outvars[:count], source.outvars[count:]
        used = tuple([i < count for i in range(len(source.outvars))])
        part = divide(source, used, tuple([not on for on in used]), policy)
        operands = needed(source.invars, part.second, asked)
        forward = program(source, part.first, source.invars, (*results, *part.saved))
        recomputed = program(
            source, part.second, (*selected(source.invars, operands), *part.saved), asked
        )
        linear = _composed(recomputed, rule.linear)
        given = _preceded(params["prevent_cse"], len(captured))
        barriers = _chosen(given, operands)
        repeated = params | {
            "jaxpr": linear,
            "prevent_cse": _extended(barriers, len(linear.invars) - sum(operands)),
            "differentiated": True,
        }
        if params["differentiated"]:
            # What repeats a program stays behind its barrier in further derivatives.
            behind = params | {"jaxpr": forward, "prevent_cse": given}
            forward = call_program(self, forward.in_avals, behind)
        kept = selected(forward.invars, operands)
        outs = (*forward.outvars[:count], *kept, *forward.outvars[count:])
        return Linearization(
            operands_as_captures(forward.replace(outvars=outs), captured),
            call_program(self, linear.in_avals, repeated),
            rule.out_active,
            num_residuals=len(recomputed.invars),
        )

    def transpose(
        self,
        cts: Sequence[Any],
        *operands: Any,
        jaxpr: Jaxpr,
        prevent_cse: PreventCSE,
        **params: Any,
    ) -> list[Any]:
        linear = tuple([is_undefined_primal(x) for x in operands])
        fragment = open_transpose(jaxpr, linear, tuple([not is_zero(ct) for ct in cts]))
        closed, captured = captures_as_operands(fragment.jaxpr)
        known = [x for x in operands if not is_undefined_primal(x)]
        given = [ct for ct in cts if not is_zero(ct)]
        barriers = _preceded(_chosen(prevent_cse, [not on for on in linear]), len(captured))
        results = iter(
            self.bind(
                *captured,
                *known,
                *given,
                jaxpr=closed,
                prevent_cse=_extended(barriers, len(given)),
                **params,
            )
        )
        return [next(results) if on else None for on in fragment.active]

    def known_part(
        self, unknown: Mask, *, jaxpr: Jaxpr, prevent_cse: PreventCSE, **params: Any
    ) -> KnownPart:
        program, results = known_program(jaxpr, unknown)
        operands = tuple([not on for on in unknown])
        barriers = _chosen(prevent_cse, operands)
        return KnownPart(operands, results, params | {"jaxpr": program, "prevent_cse": barriers})

    def rematerialize(
        self, eqn: Equation, used: Sequence[bool], wanted: Sequence[bool], policy: Policy | None
    ) -> Partition:
        params = eqn.params | {"prevent_cse": eqn.params["prevent_cse"] is not False}
        return divide_call(eqn, used, wanted, policy, lambda jaxpr: params | {"jaxpr": jaxpr})


def _chosen(prevent_cse: PreventCSE, mask: Sequence[bool]) -> PreventCSE:
    """The barriers of some of the operands."""
    return selected(prevent_cse, mask) if isinstance(prevent_cse, tuple) else prevent_cse


def _extended(prevent_cse: PreventCSE, count: int) -> PreventCSE:
    """The barriers of the operands, and of further ones: saved values and tangents."""
    return (*prevent_cse, *[True] * count) if isinstance(prevent_cse, tuple) else prevent_cse


def _preceded(prevent_cse: PreventCSE, count: int) -> PreventCSE:
    """The barriers of the operands, and of captured values before them."""
    return (*[True] * count, *prevent_cse) if isinstance(prevent_cse, tuple) else prevent_cse


def _composed(first: Jaxpr, second: Jaxpr) -> Jaxpr:
    """The program that passes the results of `first`, and further operands, to `second`."""
    n = len(first.invars)
    further = second.in_avals[len(first.outvars) :]
    return stage_closed(
        lambda *x: apply_jaxpr(second, *apply_jaxpr(first, *x[:n]), *x[n:]),
        [*first.in_avals, *further],
        first.debug_info,
    )


checkpoint_p = Checkpoint()


@memoize
def under_policy(jaxpr: Jaxpr, policy: Policy | None) -> Jaxpr:
    """`jaxpr` with the checkpoints in it under `policy`, if there is one: the outermost decides."""
    if policy is None or not _holds_checkpoints(jaxpr):
        return jaxpr
    eqns = [eqn.replace(params=_params_under(policy, eqn)) for eqn in jaxpr.eqns]
    return jaxpr.replace(eqns=tuple(eqns))


@memoize
def _holds_checkpoints(jaxpr: Jaxpr) -> bool:
    return any(
        eqn.primitive is checkpoint_p or any(map(_holds_checkpoints, jaxprs_in_params(eqn.params)))
        for eqn in jaxpr.eqns
    )


def _params_under(policy: Policy, eqn: Equation) -> dict[str, Any]:
    def ruled(value: Any) -> Any:
        if type(value) is tuple:
            return tuple(map(ruled, value))
        return under_policy(value, policy) if type(value) is Jaxpr else value

    params = {name: ruled(value) for name, value in eqn.params.items()}
    return params | {"policy": policy} if eqn.primitive is checkpoint_p else params
