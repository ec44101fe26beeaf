"""The primitive `while`: repeat a program as long as another says so."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any, NamedTuple, final

from ...array import Array
from ...core import (
    BatchAxes,
    Jaxpr,
    apply_jaxpr,
    aval_of,
    call_program,
    extended_name_stack,
    has_ordered,
    is_zero,
    jaxpr_axis_names,
    moved_effects,
    stage_closed,
    without_references,
)
from ...core.effects import Effects
from ...engines.reference.eager import RunsOnArrays, as_array
from ...engines.xla.stablehlo import Builder, Value
from ...lax.reductions import reduce_or
from ...lax.ref_binding import TakesReferences
from ...lax.selection import select_n
from ...lax.spine import broadcast_in_dim_p, instantiate
from ...transforms.batching import batch_jaxpr, to_axis
from ...transforms.jvp import jvp_jaxpr
from ...transforms.known_parts import KnownPart, Mask, known_program
from ...transforms.linearize import Linearization
from ...util.messages import message
from ..batched_effects import check_repeatable
from ..calls import interpreted_operations, run_compiled, split_tangents
from ..checks.batched_checks import batch_with_checks
from ..checks.check_primitive import has_checks
from ..ref_bodies import discharge_while
from .scan_parts import settled
from .while_lowering import carrying_condition


class WhileParts(NamedTuple):
    """The operands of `while`, by role."""

    cond_consts: list[Any]
    body_consts: list[Any]
    carry: list[Any]


@final
class While(RunsOnArrays, TakesReferences):
    """Apply `body_jaxpr` to the carry while `cond_jaxpr` of it is true.

    Params:
        cond_jaxpr, cond_nconsts: constants and carry → a boolean; how many constants it has.
        body_jaxpr, body_nconsts: constants and carry → carry; how many constants it has.

    Operands: constants of the condition, constants of the body, carry.
    """

    name = "while"
    multiple_results = True
    # The condition and the body may close over the same reference.
    takes_twice = True

    def abstract_eval(self, *avals: Any, body_jaxpr: Jaxpr, **_: Any) -> Sequence[Any]:
        return body_jaxpr.out_avals

    def effects(
        self, *, cond_jaxpr: Jaxpr, cond_nconsts: int, body_jaxpr: Jaxpr, **_: Any
    ) -> Effects:
        return cond_jaxpr.effects | moved_effects(body_jaxpr.effects, cond_nconsts)

    def axis_names(self, *, cond_jaxpr: Jaxpr, body_jaxpr: Jaxpr, **_: Any) -> tuple[Any, ...]:
        return tuple(dict.fromkeys(jaxpr_axis_names(cond_jaxpr) + jaxpr_axis_names(body_jaxpr)))

    @staticmethod
    def parts(
        values: Sequence[Any], *, cond_nconsts: int, body_nconsts: int, **_: Any
    ) -> WhileParts:
        """Split operands (or what belongs to them) by role."""
        n, m = cond_nconsts, cond_nconsts + body_nconsts
        return WhileParts(list(values[:n]), list(values[n:m]), list(values[m:]))

    def interpret(self, *operands: Any, **params: Any) -> list[Any]:
        cond_consts, body_consts, carry = self.parts(operands, **params)
        cond_jaxpr = without_references(params["cond_jaxpr"])
        body_jaxpr = without_references(params["body_jaxpr"])
        for step in itertools.count():
            with extended_name_stack(f"step {step} of while"):
                if not bool(apply_jaxpr(cond_jaxpr, *cond_consts, *carry)[0]):
                    break
                carry = apply_jaxpr(body_jaxpr, *body_consts, *carry)
        return carry

    def execute(self, *operands: Array, **params: Any) -> list[Array]:
        cond_consts, body_consts, carry = self.parts(operands, **params)
        cond_jaxpr = without_references(params["cond_jaxpr"])
        body_jaxpr = without_references(params["body_jaxpr"])
        budget = interpreted_operations(cond_jaxpr, body_jaxpr)
        cost = len(cond_jaxpr.eqns) + len(body_jaxpr.eqns)
        while budget > 0:
            if not bool(as_array(apply_jaxpr(cond_jaxpr, *cond_consts, *carry)[0]).to_host()):
                return carry
            carry = [as_array(x) for x in apply_jaxpr(body_jaxpr, *body_consts, *carry)]
            budget -= cost
        return run_compiled(self, [*cond_consts, *body_consts, *carry], params)

    def discharge(self, *operands: Any, **params: Any) -> list[Any]:
        return discharge_while(self, operands, params)

    def lower(
        self, b: Builder, outs: Sequence[Any], *operands: Value, **params: Any
    ) -> list[Value]:
        if has_ordered(params["cond_jaxpr"].effects):
            return b.inline(carrying_condition(self, [v.aval for v in operands], params), *operands)
        cond_consts, body_consts, carry = self.parts(operands, **params)
        avals = [v.aval for v in carry]
        ordered = has_ordered(params["body_jaxpr"].effects)
        condition = b.region(
            avals,
            lambda inner, *c: inner.inline(params["cond_jaxpr"], *cond_consts, *c),
            takes_token=ordered,
        )
        body = b.region(
            avals,
            lambda inner, *c: inner.inline(params["body_jaxpr"], *body_consts, *c),
            takes_token=ordered,
            gives_token=ordered,
        )
        regions = [condition, body]
        return b.ops(
            "stablehlo.while",
            outs,
            *carry,
            regions=regions,
            takes_token=ordered,
            gives_token=ordered,
        )

    def jvp(
        self, primals: Sequence[Any], tangents: Sequence[Any], **params: Any
    ) -> tuple[list[Any], list[Any]]:
        cond_consts, body_consts, carry = self.parts(primals, **params)
        _, const_tangents, carry_tangents = self.parts(tangents, **params)
        cond_jaxpr, body_jaxpr = params["cond_jaxpr"], params["body_jaxpr"]
        const_active = tuple([not is_zero(t) for t in const_tangents])
        active = active_carry(
            body_jaxpr, const_active, tuple([not is_zero(t) for t in carry_tangents])
        )
        given_consts = [t for t in const_tangents if not is_zero(t)]
        given = [instantiate(t) for t, on in zip(carry_tangents, active, strict=True) if on]
        body = _tangents_behind_carry(body_jaxpr, const_active, active)
        results = self.bind(
            *cond_consts,
            *body_consts,
            *given_consts,
            *carry,
            *given,
            cond_jaxpr=_ignoring_last(cond_jaxpr, [aval_of(t) for t in given]),
            cond_nconsts=len(cond_consts),
            body_jaxpr=body,
            body_nconsts=len(body_consts) + len(given_consts),
        )
        return split_tangents(results, active, body_jaxpr.out_avals)

    def linearize(
        self, avals: Sequence[Any], active: tuple[bool, ...], params: dict[str, Any]
    ) -> Linearization:
        """The linear program runs the loop again, now with tangents."""
        forward = call_program(self, avals, params)
        forward = forward.replace(outvars=(*forward.outvars, *forward.invars))
        _, const_active, carry_active = self.parts(active, **params)
        out_active = active_carry(params["body_jaxpr"], const_active, carry_active)
        fragment = jvp_jaxpr(call_program(self, avals, params), active)
        linear = fragment.jaxpr.replace(outvars=fragment.jaxpr.outvars[len(out_active) :])
        return Linearization(forward, linear, out_active, len(avals))

    def transpose(self, cts: Sequence[Any], *operands: Any, **params: Any) -> list[Any]:
        raise ValueError(
            message(
                "reverse-mode derivative of lax.while_loop (or of fori_loop with bounds that are "
                "not known while tracing)",
                given="a loop whose number of steps is not known in advance",
                expected="a loop with a fixed number of steps, for memory grows with it",
                fix="Use lax.scan, or lax.fori_loop with Python ints as bounds, or call the "
                "function inside `with reverse_while(max_steps=...):`; forward mode (jvp, jacfwd) "
                "works through while_loop as it is.",
            )
        )

    def known_part(self, unknown: Mask, **params: Any) -> KnownPart | None:
        cond_jaxpr, body_jaxpr = params["cond_jaxpr"], params["body_jaxpr"]
        cond_consts, body_consts, carry = self.parts(unknown, **params)

        def step(carry: list[bool]) -> list[bool]:
            return [not on for on in known_program(body_jaxpr, (*body_consts, *carry)).results]

        carry = settled(carry, step)
        condition, decided = known_program(cond_jaxpr, (*cond_consts, *carry))
        if not all(decided):
            return None
        known = tuple([not on for on in carry])
        named = {
            "cond_jaxpr": condition,
            "cond_nconsts": len(cond_consts) - sum(cond_consts),
            "body_jaxpr": known_program(body_jaxpr, (*body_consts, *carry), known).jaxpr,
            "body_nconsts": len(body_consts) - sum(body_consts),
        }
        operands = tuple([not on for on in (*cond_consts, *body_consts, *carry)])
        return KnownPart(operands, known, params | named)

    def batch(
        self, axes: BatchAxes, operands: Sequence[Any], dims: tuple[int | None, ...], **params: Any
    ) -> tuple[list[Any], Sequence[int | None]]:
        if has_checks(self.effects(**params)):
            return batch_with_checks(self, axes, operands, dims, params)
        cond_jaxpr, body_jaxpr = params["cond_jaxpr"], params["body_jaxpr"]
        at_front = [None if d is None else 0 for d in dims]
        moved = [
            x if d is None else to_axis(axes, x, d, 0) for x, d in zip(operands, dims, strict=True)
        ]
        cond_dims, body_dims, carry_dims = self.parts(at_front, **params)
        batched, differs = _batched_carry(
            axes, cond_jaxpr, body_jaxpr, cond_dims, body_dims, carry_dims
        )
        carry_at = tuple([0 if on else None for on in batched])
        condition = batch_jaxpr(cond_jaxpr, (*cond_dims, *carry_at), axes, (differs,)).jaxpr
        body = batch_jaxpr(body_jaxpr, (*body_dims, *carry_at), axes, batched).jaxpr
        cond_consts, body_consts, carry = self.parts(moved, **params)
        if differs:
            check_repeatable("lax.while_loop", cond_jaxpr.effects | body_jaxpr.effects)
            body = _stopping_members(condition, body, len(cond_consts), len(body_consts))
            condition = _any_member(condition)
            body_consts = [*cond_consts, *body_consts]
        carry = [
            to_axis(axes, x, d, 0) if on else x
            for x, d, on in zip(carry, carry_dims, batched, strict=True)
        ]
        outs = self.bind(
            *cond_consts,
            *body_consts,
            *carry,
            cond_jaxpr=condition,
            cond_nconsts=len(cond_consts),
            body_jaxpr=body,
            body_nconsts=len(body_consts),
        )
        return outs, carry_at

    collect = batch


def active_carry(
    body: Jaxpr, const_active: Sequence[bool], carry_active: Sequence[bool]
) -> tuple[bool, ...]:
    """Which components of a loop's carry get a tangent, in the end."""

    def step(carry: list[bool]) -> Sequence[bool]:
        return jvp_jaxpr(body, (*const_active, *carry)).out_active[: len(carry)]

    return tuple(settled(carry_active, step))


def _tangents_behind_carry(
    body: Jaxpr, const_active: tuple[bool, ...], carry_active: tuple[bool, ...]
) -> Jaxpr:
    """The body with tangents, its operands ordered consts, const tangents, carry, tangents."""
    fragment = jvp_jaxpr(body, const_active + carry_active, carry_active).jaxpr
    n, m, k = len(const_active), len(carry_active), sum(const_active)
    v = fragment.invars
    consts, carry, const_tangents, tangents = v[:n], v[n : n + m], v[n + m :][:k], v[n + m + k :]
    return fragment.replace(invars=consts + const_tangents + carry + tangents)


def _ignoring_last(jaxpr: Jaxpr, avals: Sequence[Any]) -> Jaxpr:
    """`jaxpr` with further operands that it does not use."""
    return stage_closed(
        lambda *x: apply_jaxpr(jaxpr, *x[: len(jaxpr.invars)]), [*jaxpr.in_avals, *avals]
    )


def _batched_carry(
    axes: BatchAxes,
    cond_jaxpr: Jaxpr,
    body_jaxpr: Jaxpr,
    cond_dims: Sequence[int | None],
    body_dims: Sequence[int | None],
    carry_dims: Sequence[int | None],
) -> tuple[tuple[bool, ...], bool]:
    """Which carry components end up batched; whether members may stop at different times."""

    def differs(carry: Sequence[bool]) -> bool:
        at = [0 if on else None for on in carry]
        return batch_jaxpr(cond_jaxpr, (*cond_dims, *at), axes).out_dims[0] is not None

    def step(carry: list[bool]) -> Sequence[bool]:
        if differs(carry):
            return [True] * len(carry)
        at = [0 if on else None for on in carry]
        return [d is not None for d in batch_jaxpr(body_jaxpr, (*body_dims, *at), axes).out_dims]

    batched = tuple(settled([d is not None for d in carry_dims], step))
    return batched, differs(batched)


def _any_member(condition: Jaxpr) -> Jaxpr:
    return stage_closed(
        lambda *x: [reduce_or(apply_jaxpr(condition, *x)[0], (0,))], condition.in_avals
    )


def _stopping_members(condition: Jaxpr, body: Jaxpr, cond_n: int, body_n: int) -> Jaxpr:
    """The body for members that stop at different times: those that have stopped stay."""

    def function(*operands: Any) -> list[Any]:
        cond_consts, rest = operands[:cond_n], operands[cond_n:]
        body_consts, carry = rest[:body_n], rest[body_n:]
        goes_on = apply_jaxpr(condition, *cond_consts, *carry)[0]
        changed = apply_jaxpr(body, *body_consts, *carry)
        return [_keep(goes_on, old, new) for old, new in zip(carry, changed, strict=True)]

    in_avals = [*condition.in_avals[:cond_n], *body.in_avals]
    return stage_closed(function, in_avals)


def _keep(goes_on: Any, old: Any, new: Any) -> Any:
    which = broadcast_in_dim_p.bind(
        goes_on, shape=new.aval.shape, broadcast_dimensions=(0,), sharding=None
    )
    return select_n(which, old, new)


while_p = While()
