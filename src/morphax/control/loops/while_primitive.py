"""The primitive `while`: repeat a program as long as another says so."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any, final

from ...array import Array
from ...core import (
    BatchAxes,
    Jaxpr,
    Operand,
    Param,
    Var,
    apply_jaxpr,
    call_program,
    discharge,
    extended_name_stack,
    has_ordered,
    stage_closed,
    values_of,
    without_references,
)
from ...engines import loops
from ...engines.reference.bodies import apply_body, known_kernels
from ...engines.reference.float_errors import without_float_errors
from ...engines.xla.moved_bits import bits_of, is_moved_as_bits, moved_value
from ...engines.xla.stablehlo import Builder, Value
from ...lax.indexing.dynamic_slicing import DynamicUpdateSlice
from ...lax.indexing.scatter_rules import Scattering
from ...transforms.jvp import jvp_jaxpr
from ...transforms.linearize import Linearization
from ...util.memo import memoize
from ...util.messages import message
from ..batched_effects import batch_with_checks, check_repeatable
from ..bodies.body_primitive import HasBodies
from ..bodies.reference_values import first_places, write_back
from ..bodies.wiring import Body, Parts, Role, Wiring
from ..calls import applied_at, bound, interpreted_operations, no_scope, run_compiled
from ..checks.check_primitive import has_checks
from .divergence import (
    Members,
    any_member,
    in_blocks,
    members_apart,
    members_of,
    note_members,
    stopping_members,
)

_UPDATES = (DynamicUpdateSlice, Scattering)
"""Primitives whose result is their first operand but for some elements."""


class Loops(HasBodies):
    """Base of `while` and of what computes the same."""

    repeats_programs = True
    # The condition and the body may close over the same reference.
    takes_twice = True
    narrow_in_loops = "kept"
    wiring = Wiring(
        roles=(
            Role("cond_consts", "cond_nconsts"),
            Role("body_consts", "body_nconsts"),
            Role("carry"),
        ),
        bodies=(
            Body("cond_jaxpr", takes=("cond_consts", "carry")),
            Body("body_jaxpr", takes=("body_consts", "carry"), gives=("carry",)),
        ),
        carried="carry",
    )

    def interpret(self, *operands: Operand, **params: Param) -> list[Any]:
        parts = self.wiring.parts(operands, params)
        condition = without_references(params["cond_jaxpr"])
        body = without_references(params["body_jaxpr"])
        return _steps(parts, condition, body, lambda i: extended_name_stack(f"step {i} of while"))[
            0
        ]

    def execute(self, *operands: Array, **params: Param) -> list[Array]:
        parts = self.wiring.parts(operands, params)
        condition = without_references(params["cond_jaxpr"])
        body = without_references(params["body_jaxpr"])
        cost = max(len(condition.eqns) + len(body.eqns), 1)
        place, committed = applied_at(self, operands, params)
        most = -(-interpreted_operations(place, condition, body) // cost)
        kernels = known_kernels(operands, condition, body)
        if kernels is not None:
            hosts, steps = parts.map(Array.to_host), (condition, body, no_scope, most, kernels)
            values, is_over = without_float_errors(_steps, hosts, *steps)
            values = list(map(Array, body.out_avals, values))
        else:
            values, is_over = _steps(parts, condition, body, no_scope, most, apply_body)
        carry = bound(values, place, committed)
        return carry if is_over else run_compiled(self, parts.replaced(carry=carry).flat, params)

    def with_carried_condition(
        self, operands: Sequence[Operand], params: dict[str, Param]
    ) -> list[Any]:
        """The results, by a loop that works out the condition in its body, and carries it.

        There a condition may do more than decide: in a StableHLO loop it can take a token but not
        hand one on, and it has no place for the state of checks.
        """
        parts = self.wiring.parts(operands, params)
        goes_on = apply_jaxpr(params["cond_jaxpr"], *parts["cond_consts"], *parts["carry"])
        num_carry = len(parts["carry"])
        consts = operands[: len(operands) - num_carry]
        named = _carrying_condition(tuple(params.items()))
        results: list[Any] = self.bind(*consts, *goes_on, *parts["carry"], **named)
        return results[1:]

    def discharge(self, *operands: Operand, **params: Param) -> list[Any]:
        """A condition that changes references becomes part of the body."""
        pure, changed = discharge(params["cond_jaxpr"])
        if not changed:
            return super().discharge(*operands, **params)
        parts = self.wiring.parts(operands, params)
        tested = [*parts["cond_consts"], *parts["carry"]]
        goes_on = write_back(apply_jaxpr(pure, *values_of(tested)), tested, changed)
        consts = [*parts["cond_consts"], *parts["body_consts"]]
        same = first_places(consts)
        named = _carrying_condition(tuple(params.items()), same)
        distinct = [consts[i] for i in sorted(set(same))]
        return super().discharge(*distinct, *goes_on, *parts["carry"], **named)[1:]

    def lower(
        self, b: Builder, outs: Sequence[Any], *operands: Value, **params: Param
    ) -> list[Value]:
        if has_ordered(params["cond_jaxpr"].effects):
            program = stage_closed(
                lambda *x: self.with_carried_condition(x, params), [v.aval for v in operands]
            )
            return b.inline(program, *operands)
        cond_consts, body_consts, carry = self.wiring.parts(operands, params).values()
        members = members_of(b.module, params["body_jaxpr"])
        if members is not None:
            own = body_consts[len(cond_consts) :]
            return b.inline(in_blocks(self, members), *cond_consts, *own, *carry)
        avals = [v.aval for v in carry]
        carried = _carried(b, params["body_jaxpr"], avals)
        ordered = has_ordered(params["body_jaxpr"].effects)

        regions = []
        with b.module.repeating():
            # Not by `region`, whose frames would be more of them where loops are nested.
            for name, consts in (("cond_jaxpr", cond_consts), ("body_jaxpr", body_consts)):
                is_body = name == "body_jaxpr"
                region = b.open_region(
                    carried, takes_token=ordered, gives_token=ordered and is_body
                )
                state = _read_as(region.inner, region.arguments, avals)
                results = region.inner.inline(params[name], *consts, *state)
                if is_body:
                    results = _read_as(region.inner, results, carried)
                regions.append(region.closed(results))
        results = b.ops(
            "stablehlo.while",
            [
                out if out.dtype == aval.dtype else aval
                for out, aval in zip(outs, carried, strict=True)
            ],
            *_read_as(b, carry, carried),
            regions=regions,
            takes_token=ordered,
            gives_token=ordered,
        )
        return _read_as(b, results, outs)

    def to_loops(
        self, b: loops.Builder, outs: Sequence[Any], *operands: loops.Value, **params: Param
    ) -> list[loops.Value]:
        cond_consts, body_consts, carry = [
            list(map(b.settled, role)) for role in self.wiring.parts(operands, params).values()
        ]
        members = members_apart(params["body_jaxpr"])
        own = body_consts[len(cond_consts) :]
        most = self.most_steps(**params)
        if members:
            return _loop_of_each(b, members, outs, (cond_consts, own, carry), most)
        return loops.control.repeated_while(
            b,
            lambda values: b.inline(params["cond_jaxpr"], *cond_consts, *values),
            lambda values: b.inline(params["body_jaxpr"], *body_consts, *values),
            body_consts,
            carry,
            most,
        )

    def programs_in_loops(self, *, cond_jaxpr: Jaxpr, body_jaxpr: Jaxpr, **_: Param) -> list[Jaxpr]:
        """Those of one member, where each has a loop of its own."""
        members = members_apart(body_jaxpr)
        return [members[-1].condition, members[-1].body] if members else [cond_jaxpr, body_jaxpr]

    def most_steps(self, **_: Param) -> int | None:
        """How many steps it takes at most, where that is said; a hint."""
        return None

    def linearize(
        self, avals: Sequence[Any], active: tuple[bool, ...], params: dict[str, Param]
    ) -> Linearization:
        """The linear program runs a second loop, with tangents."""
        forward = call_program(self, avals, params)
        forward = forward.replace(outvars=(*forward.outvars, *forward.invars))
        fragment = jvp_jaxpr(call_program(self, avals, params), active)
        count = len(fragment.out_active)
        linear = fragment.jaxpr.replace(outvars=fragment.jaxpr.outvars[count:])
        return Linearization(forward, linear, fragment.out_active, len(avals))

    def transpose(self, cts: Sequence[Operand], *operands: Operand, **params: Param) -> list[Any]:
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

    def batch(
        self,
        axes: BatchAxes,
        operands: Sequence[Operand],
        dims: tuple[int | None, ...],
        **params: Param,
    ) -> tuple[list[Any], Sequence[int | None]]:
        if has_checks(self.effects(**params)):
            return batch_with_checks(self, axes, operands, dims, params)
        values, changed, out_dims = self.batched(axes, operands, dims, params)
        condition = changed["cond_jaxpr"]
        if condition.out_avals[0].shape:
            check_repeatable("lax.while_loop", self.effects(**params))
            n, m = len(values["cond_consts"]), len(values["body_consts"])
            body = stopping_members(condition, changed["body_jaxpr"], n, m)
            if (n, m) == (params["cond_nconsts"], params["body_nconsts"]):
                differ = [d is not None for d in dims]
                programs = params["cond_jaxpr"], params["body_jaxpr"]
                masks = tuple(differ[:n]), tuple(differ[n : n + m])
                note_members(body, axes, Members(*programs, *masks, axes.size))
            values["body_consts"] = values["cond_consts"] + values["body_consts"]
            changed |= {"cond_jaxpr": any_member(condition), "body_jaxpr": body}
        return self.apply(values, changed), out_dims

    collect = batch


@final
class While(Loops):
    """Apply `body_jaxpr` to the carry while `cond_jaxpr` of it is true.

    Params:
        cond_jaxpr, cond_nconsts: constants and carry → a boolean; how many constants it has.
        body_jaxpr, body_nconsts: constants and carry → carry; how many constants it has.

    Operands: constants of the condition, constants of the body, carry.
    """

    name = "while"


def _loop_of_each(
    b: loops.Builder,
    members: Sequence[Members],
    avals: Sequence[Any],
    groups: Sequence[Sequence[loops.Value]],
    most: int | None,
) -> list[loops.Value]:
    """The carries after each member's own loop; of members that are batches, after each of these.

    Args:
        b: the builder.
        members: of the loop, of its members, and so on.
        avals: of the results.
        groups: the operands: constants of the condition, those of the body, the carry.
        most: the steps that one takes at most, as a hint.
    """
    (condition, body, *masks, size), *inner = members

    def loop(own: Sequence[Sequence[loops.Value]]) -> Sequence[loops.Value]:
        tested, stepped, initial = own
        if inner:
            of_inner = tested, stepped[len(tested) :], initial
            return _loop_of_each(b, inner, body.out_avals, of_inner, most)
        return loops.control.repeated_while(
            b,
            lambda values: b.inline(condition, *tested, *values),
            lambda values: b.inline(body, *stepped, *values),
            stepped,
            initial,
            most,
        )

    differ = (*masks, (True,) * len(groups[-1]))
    return loops.control.for_each_member(b, size, avals, loop, groups, differ)


@memoize
def _carrying_condition(
    params: tuple[tuple[str, Any], ...], same: tuple[int, ...] | None = None
) -> dict[str, Any]:
    """Parameters of the loop on (constants, whether to go on, carry) that does the same.

    Args:
        params: of a `while`.
        same: for each constant, of the condition and then of the body, the number of the first that
            is the same reference, or its own number; the loop takes each number once.
    """
    named = dict(params)
    cond_jaxpr, body_jaxpr = named["cond_jaxpr"], named["body_jaxpr"]
    n, m = named["cond_nconsts"], named["body_nconsts"]
    numbers = tuple(range(n + m)) if same is None else same
    taken = sorted(set(numbers))
    avals = [*cond_jaxpr.in_avals[:n], *body_jaxpr.in_avals]
    state_avals = [*cond_jaxpr.out_avals, *avals[n + m :]]

    def body(*operands: Operand) -> list[Any]:
        known = dict(zip(taken, operands, strict=False))
        consts = [known[i] for i in numbers]
        carry = apply_jaxpr(body_jaxpr, *consts[n:], *operands[len(taken) + 1 :])
        return [*apply_jaxpr(cond_jaxpr, *consts[:n], *carry), *carry]

    decisions = tuple([Var(aval) for aval in state_avals])
    return named | {
        "cond_jaxpr": Jaxpr(decisions, decisions[:1], ()),
        "cond_nconsts": 0,
        "body_jaxpr": stage_closed(body, [*[avals[i] for i in taken], *state_avals]),
        "body_nconsts": len(taken),
    }


def _steps(
    operands: Parts,
    condition: Jaxpr,
    body: Jaxpr,
    scope: Callable[[int], AbstractContextManager[Any]],
    most: int | None = None,
    apply: Callable[..., list[Any]] = apply_jaxpr,
) -> tuple[list[Any], bool]:
    """The loop itself, in the current trace.

    Args:
        operands: by role.
        condition, body: the programs.
        scope: number of a step → the context in which it runs.
        most: steps to take at most.
        apply: how programs are applied.

    Returns:
        The last carry, and whether the loop is over.
    """
    cond_consts, body_consts, carry = operands.values()
    for step in itertools.count() if most is None else range(most):
        with scope(step):
            (goes_on,) = apply(condition, *cond_consts, *carry)
            if not (goes_on.to_host() if type(goes_on) is Array else bool(goes_on)):
                return carry, True
            carry = list(apply(body, *body_consts, *carry))
    return carry, False


def _carried(b: Builder, body: Jaxpr, avals: Sequence[Any]) -> list[Any]:
    """Avals of what a loop carries: of an array that the body updates, perhaps the bits."""
    updated = {v for eqn in body.eqns if isinstance(eqn.primitive, _UPDATES) for v in eqn.outvars}
    return [
        bits_of(aval) if out in updated and is_moved_as_bits(b, aval) else aval
        for out, aval in zip(body.outvars, avals, strict=True)
    ]


def _read_as(b: Builder, values: Sequence[Value], avals: Sequence[Any]) -> list[Value]:
    return [moved_value(b, x, aval) for x, aval in zip(values, avals, strict=True)]


while_p = While()
