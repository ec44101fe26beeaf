"""How `checkify` treats operations with a body: the body is checked, its state becomes a result.

A body starts with a clear state, whatever failed before it, and the program around it merges the
two (`Ledger.take`).  So the checked body does not depend on where it is used.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from itertools import accumulate, takewhile
from typing import TYPE_CHECKING, Any, final

import numpy as np

from ...core import (
    Equation,
    Jaxpr,
    Operand,
    Param,
    Primitive,
    Zero,
    apply_jaxpr,
    aval_of,
    current_trace,
    stage_closed,
)
from ...lax.elementwise.bitwise import bitwise_and
from ...lax.elementwise.comparison import eq
from ...lax.reduction.reductions import reduce_or
from ...lax.shape.shape_operations import broadcast
from ...util.memo import memoize
from ...util.records import dataclass
from ..bodies.body_primitive import HasBodies
from ..bodies.lifting import looking_on
from ..bodies.wiring import Body, Parts, Wiring
from .check_ledger import first_failure, renumbered
from .check_sites import CheckState, Layout, Site, layout_of, no_failure

if TYPE_CHECKING:
    from .checked_programs import Interpreter


@final
@dataclass(frozen=True, slots=True, eq=False)
class CheckedProgram:
    """A program whose results begin with a packed state.

    Args:
        jaxpr: the program.
        sites: that the state numbers.
        changed: whether the program it was made from will not do: it has sites, or checks of
            categories that are not asked for.
    """

    jaxpr: Jaxpr
    sites: tuple[Site, ...]
    changed: bool

    @property
    def layout(self) -> Layout:
        return layout_of(self.sites)

    @property
    def state_size(self) -> int:
        """How many of the results are the state."""
        return 2 + sum(map(len, self.layout))

    def run(self, *operands: Operand) -> tuple[CheckState, list[Any]]:
        """State and results, in the current trace."""
        return CheckState.unpack(apply_jaxpr(self.jaxpr, *operands), self.layout)


class HasCheckedForm(Primitive):
    """An operation that says itself how it is applied where programs are checked."""

    @abstractmethod
    def apply_checked(
        self, interpreter: Interpreter, eqn: Equation, operands: Sequence[Operand]
    ) -> list[Any]:
        """Results of an equation; failures of its program go into the interpreter's ledger."""


# (interpreter, equation, operands) → results
Rule = Callable[["Interpreter", Equation, Sequence[Any]], list[Any]]


def apply_unchanged(eqn: Equation, operands: Sequence[Operand]) -> list[Any]:
    """The results of an equation, in the current trace."""
    result = current_trace().process(eqn.primitive, operands, eqn.params)
    return list(result) if eqn.primitive.multiple_results else [result]


def apply_changed(eqn: Equation, operands: Sequence[Operand], **changes: Any) -> list[Any]:
    """The results of an operation with other parameters."""
    return apply_unchanged(eqn.replace(params=eqn.params | changes), operands)


def check_bodies(interpreter: Interpreter, eqn: Equation, operands: Sequence[Operand]) -> list[Any]:
    """The state of a loop is carried, that of branches is a result.

    Branches number their sites one after the other, and pack states in one layout.
    """
    primitive: Any = eqn.primitive
    wiring, params = primitive.wiring, eqn.params
    deciding = [jaxpr for body in wiring.deciding for jaxpr in body.programs(params)]
    if any([interpreter.program(jaxpr).changed for jaxpr in deciding]):
        # A condition has no place for a state, but the body has.
        loop = stage_closed(
            lambda *x: primitive.with_carried_condition(x, params), tuple(map(aval_of, operands))
        )
        return interpreter.run(loop, operands)
    giving = wiring.giving
    programs = [interpreter.program(jaxpr) for jaxpr in giving.programs(params)]
    if not any([program.changed for program in programs]):
        return apply_unchanged(eqn, operands)
    sites = tuple([site for program in programs for site in program.sites])
    layout = layout_of(sites)
    parts = wiring.parts(operands, params)
    changes: dict[str, Any] = {}
    if len(programs) == 1 and wiring.carried is None:
        bodies = [programs[0].jaxpr]
    elif wiring.carried is None:
        offsets = accumulate([len(program.sites) for program in programs], initial=0)
        bodies = [
            _in_layout(p, offset, layout) for p, offset in zip(programs, offsets, strict=False)
        ]
    else:
        state = no_failure.pack(layout)
        state_avals = list(map(aval_of, state))
        bodies = [_with_carried_state(programs[0], _before_carry(wiring, giving, parts))]
        for body in wiring.deciding:
            place = _before_carry(wiring, body, parts)
            (jaxpr,) = body.programs(params)
            avals = [*jaxpr.in_avals[:place], *state_avals, *jaxpr.in_avals[place:]]
            places = [*range(place), *range(place + len(state_avals), len(avals))]
            changes |= body.holding([looking_on(jaxpr, tuple(avals), tuple(places))], params)
        parts[wiring.carried] = state + parts[wiring.carried]
    changes |= giving.holding(bodies, params) | wiring.counts(parts)
    results = apply_changed(eqn, parts.flat, **changes)
    return interpreter.ledger.take(results, sites, layout)


def _before_carry(wiring: Wiring, body: Body, parts: Parts) -> int:
    """How many operands a program of a loop has before the carry."""
    return sum([len(parts[name]) for name in takewhile(lambda n: n != wiring.carried, body.takes)])


@memoize
def _in_layout(program: CheckedProgram, offset: int, layout: Layout) -> Jaxpr:
    """The program with its state in a larger table of sites."""

    def function(*operands: Operand) -> list[Any]:
        state, outs = program.run(*operands)
        return [*renumbered(state, offset).pack(layout), *outs]

    return stage_closed(function, program.jaxpr.in_avals, program.jaxpr.debug_info)


@memoize
def _with_carried_state(program: CheckedProgram, place: int) -> Jaxpr:
    """The program with the state of the steps before among its operands."""

    def function(*operands: Operand) -> list[Any]:
        earlier, rest = CheckState.unpack(operands[place:], program.layout)
        later, outs = program.run(*operands[:place], *rest)
        return [*first_failure(earlier, later).pack(program.layout), *outs]

    avals = program.jaxpr.in_avals
    state = program.jaxpr.out_avals[: program.state_size]
    in_avals = [*avals[:place], *state, *avals[place:]]
    return stage_closed(function, in_avals, program.jaxpr.debug_info)


def check_custom_jvp(
    interpreter: Interpreter, eqn: Equation, operands: Sequence[Operand]
) -> list[Any]:
    """The state comes from the function, and has no derivative; the rule has no checks."""
    program = interpreter.program(eqn.params["call_jaxpr"])
    if not program.changed:
        return apply_unchanged(eqn, operands)
    n, rule = eqn.params["num_consts"], eqn.params["jvp_rule"]

    def checked_rule(
        primals: Sequence[Operand], tangents: Sequence[Operand]
    ) -> tuple[list[Any], Any]:
        count = len(primals) - n

        def flat_rule(values: Sequence[Any]) -> list[Any]:
            outs, out_tangents = rule(values[:count], values[count:])
            return [*outs, *out_tangents]

        state = _state_of(program, primals)
        results = interpreter.without_checks(flat_rule, [*primals[n:], *tangents[n:]])
        outs, out_tangents = results[: len(results) // 2], results[len(results) // 2 :]
        return [*state, *outs], [*map(_no_tangent, state), *out_tangents]

    return _apply_custom(interpreter, eqn, operands, program, jvp_rule=checked_rule)


def check_custom_vjp(
    interpreter: Interpreter, eqn: Equation, operands: Sequence[Operand]
) -> list[Any]:
    """As for `custom_jvp`."""
    program = interpreter.program(eqn.params["call_jaxpr"])
    if not program.changed:
        return apply_unchanged(eqn, operands)
    n, forward = eqn.params["num_consts"], eqn.params["forward"]
    num_outs = len(eqn.outvars)

    def checked_forward(
        primals: Sequence[Operand], perturbed: Sequence[bool]
    ) -> tuple[list[Any], list[Any], Any]:
        pulls = []

        def flat_forward(values: Sequence[Any]) -> list[Any]:
            outs, residuals, pull = forward(values, perturbed[n:])
            pulls.append(pull)
            return [*outs, *residuals]

        state = _state_of(program, primals)
        results = interpreter.without_checks(flat_forward, primals[n:])

        def checked_pull(residuals: Sequence[Operand], cts: Sequence[Operand]) -> list[Any]:
            count = len(residuals)
            own = interpreter.without_checks(
                lambda values: pulls[0](values[:count], values[count:]),
                [*residuals, *cts[len(state) :]],
            )
            return [*[None] * n, *own]

        return [*state, *results[:num_outs]], results[num_outs:], checked_pull

    return _apply_custom(interpreter, eqn, operands, program, forward=checked_forward)


def _apply_custom(
    interpreter: Interpreter,
    eqn: Equation,
    operands: Sequence[Operand],
    program: CheckedProgram,
    **rule: Param,
) -> list[Any]:
    """A function with a rule that sees all operands, the constants too."""
    results = apply_changed(eqn, operands, call_jaxpr=program.jaxpr, num_consts=0, **rule)
    return interpreter.ledger.take(results, program.sites, program.layout)


def _state_of(program: CheckedProgram, operands: Sequence[Operand]) -> list[Any]:
    state, _ = program.run(*operands)
    return state.pack(program.layout)


def _no_tangent(x: Operand) -> Zero:
    return Zero(aval_of(x).to_tangent_aval())


def check_check(interpreter: Interpreter, eqn: Equation, operands: Sequence[Operand]) -> list[Any]:
    """A check becomes an entry of the ledger, or nothing if its category is not asked for."""
    sites = eqn.params["sites"]
    state, _ = CheckState.unpack(operands, layout_of(sites))
    enabled = [site.category in interpreter.errors for site in sites]
    if not any(enabled):
        return []
    if not all(enabled):
        codes = np.flatnonzero(enabled).astype(np.int32)
        state = state._replace(pred=bitwise_and(state.pred, _is_one_of(state.code, codes)))
    interpreter.ledger.add(state, sites)
    return []


def _is_one_of(code: Operand, codes: Operand) -> Any:
    return reduce_or(eq(broadcast(code, codes.shape), codes), (0,))


# The table belongs to checkify, because what a check means is its affair alone.  It is by name, so
# that operations may use checked programs in turn.
_RULES: dict[str, Rule] = {
    "custom_jvp_call": check_custom_jvp,
    "custom_vjp_call": check_custom_vjp,
    "check": check_check,
}


def rule_of(primitive: Primitive) -> Rule | None:
    """How to apply an operation that has a program, `None` for those applied as they are."""
    if isinstance(primitive, HasCheckedForm):
        return primitive.apply_checked
    return check_bodies if isinstance(primitive, HasBodies) else _RULES.get(primitive.name)
