"""The primitive behind `jax.checkpoint`: a program whose intermediate values are not saved.

Undifferentiated it is a call of its program.  Its linearization divides the linearized program by
the policy: the forward program is inlined and hands out the results, the saved values, and the
operands that the rest needs; the linear program is one equation of the same primitive, marked
`differentiated`, that recomputes the other equations and then applies the linear map.  Transposed,
it recomputes them once per backward pass.  A `differentiated` call is compiled behind an
optimization barrier, or the compiler would merge it with the forward pass.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any, Final, final

from ...config import current as current_config
from ...core import (
    Atom,
    Equation,
    Jaxpr,
    Param,
    apply_jaxpr,
    call_program,
    captures_as_operands,
    jaxprs_in_params,
    operands_as_captures,
    stage_closed,
)
from ...core.partition import needed, program, selected
from ...engines.xla.stablehlo import Builder, Value
from ...lax.shape.optimization_barrier import optimization_barrier_p
from ...transforms.linearize import Linearization
from ...transforms.staged_linearization import linearize_jaxpr
from ...util.memo import memoize
from ..bodies.division import divide
from ..program_call import Call, ProgramCall
from .checkpoint_policies import Policy, saved_by

_logger: Final = logging.getLogger(__name__)

# Whether merging with the forward pass is prevented: for all operands, or for each.
PreventCSE = bool | tuple[bool, ...]


@final
class Checkpoint(Call, ProgramCall):
    """Apply `jaxpr`; differentiation recomputes its intermediate values.

    Params:
        jaxpr: the program.
        policy: tells which values are saved all the same; see `checkpoint_policies`.
        prevent_cse: whether the operands of a recomputed program pass a barrier, each or all.
        differentiated: whether the program is part of a derivative, and so recomputes another.
    """

    name = "remat2"
    plain_program = "jaxpr"

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

    def operand_params(
        self, params: dict[str, Param], numbers: Sequence[int | None], *, shared: bool = False
    ) -> dict[str, Any]:
        """What is new, saved values and tangents, passes a barrier."""
        barriers = params["prevent_cse"]
        if not isinstance(barriers, tuple):
            return {}
        return {"prevent_cse": tuple([i is None or barriers[i] for i in numbers])}

    def linearize(
        self, avals: Sequence[Any], active: tuple[bool, ...], params: dict[str, Param]
    ) -> Linearization:
        policy = params["policy"]
        rule = linearize_jaxpr(under_policy(params["jaxpr"], policy), active)
        assert rule.forward is not None, "a program is split, it is not run"
        source, captured = captures_as_operands(rule.forward)
        count = len(rule.out_active)
        results, residuals = source.outvars[:count], source.outvars[count:]
        live = tuple([i < count for i in range(len(source.outvars))])
        part = divide(source, live, tuple([not on for on in live]), saved_by(policy))
        operands = needed(source.invars, part.second, residuals)
        forward = program(source, part.first, source.invars, (*results, *part.saved))
        recomputed = program(
            source, part.second, (*selected(source.invars, operands), *part.saved), residuals
        )
        linear = _composed(recomputed, rule.linear)
        numbers = [*[None] * len(captured), *range(len(avals))]
        operand_numbers = selected(numbers, operands)
        further = (None,) * (len(linear.invars) - len(operand_numbers))
        differentiated = self.calling(linear, params, operand_numbers + further, shared=True)
        if params["differentiated"]:
            # What recomputes a program stays behind its barrier in further derivatives.
            behind = self.calling(forward, params, numbers, shared=True)
            forward = call_program(self, forward.in_avals, behind)
        saved = selected(forward.invars, operands)
        if current_config().log_checkpoint_residuals:
            _report(forward, saved, forward.outvars[count:])
        outs = (*forward.outvars[:count], *saved, *forward.outvars[count:])
        return Linearization(
            operands_as_captures(forward.replace(outvars=outs), captured),
            call_program(self, linear.in_avals, differentiated | {"differentiated": True}),
            rule.out_active,
            num_residuals=len(recomputed.invars),
        )


def _report(forward: Jaxpr, inputs: Sequence[Atom], computed: Sequence[Atom]) -> None:
    """Tell users who ask for it (``jax_log_checkpoint_residuals``) what is kept, and how much."""
    lines = [f"checkpoint of {forward.debug_info.function} keeps, for the backward pass,"]
    for kind, values in (("inputs", inputs), ("intermediate results", computed)):
        shapes = ", ".join([value.aval.str_short() for value in values])
        lines.append(f"  {kind}: {shapes or 'none'}")
    _logger.warning("\n".join(lines))


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
    def ruled(value: object) -> Any:
        if type(value) is tuple:
            return tuple(map(ruled, value))
        return under_policy(value, policy) if type(value) is Jaxpr else value

    params = {name: ruled(value) for name, value in eqn.params.items()}
    return params | {"policy": policy} if eqn.primitive is checkpoint_p else params
