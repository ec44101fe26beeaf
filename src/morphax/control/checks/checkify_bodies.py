"""How `checkify` treats operations with a body: the body is checked, its state becomes a result.

A body starts with a clear state, whatever failed before it, and the program around it merges the
two (`Ledger.take`).  So the checked body does not depend on where it is used.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, final

import numpy as np

from ...core import (
    Equation,
    Jaxpr,
    Zero,
    apply_jaxpr,
    aval_of,
    current_trace,
    stage,
    stage_closed,
)
from ...lax.bitwise import bitwise_and
from ...lax.comparison import eq
from ...lax.reductions import reduce_or
from ...lax.shape import broadcast
from ...util.memo import memoize
from .check_ledger import Ledger, first_failure, renumbered
from .check_sites import CheckState, JaxException, Layout, Site, layout_of, no_failure


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

    def run(self, *operands: Any) -> tuple[CheckState, list[Any]]:
        """State and results, in the current trace."""
        return CheckState.unpack(apply_jaxpr(self.jaxpr, *operands), self.layout)


class Checker(Protocol):
    """The interpreter, as the rules see it."""

    errors: frozenset[type[JaxException]]
    ledger: Ledger

    def program(self, jaxpr: Jaxpr) -> CheckedProgram:
        """The checked form of a body."""

    def without_checks(
        self, function: Callable[[Sequence[Any]], Sequence[Any]], operands: Sequence[Any]
    ) -> list[Any]:
        """Apply a function of values, or of what stands for a missing value."""


Rule = Callable[[Checker, Equation, Sequence[Any]], list[Any]]


def apply_unchanged(eqn: Equation, operands: Sequence[Any]) -> list[Any]:
    """The results of an equation, in the current trace."""
    result = current_trace().process(eqn.primitive, operands, eqn.params)
    return list(result) if eqn.primitive.multiple_results else [result]


def apply_changed(eqn: Equation, operands: Sequence[Any], **changes: Any) -> list[Any]:
    """The results of an operation with other parameters."""
    return apply_unchanged(eqn.replace(params=eqn.params | changes), operands)


def check_call(checker: Checker, eqn: Equation, operands: Sequence[Any]) -> list[Any]:
    """An operation that applies `jaxpr` to its operands."""
    program = checker.program(eqn.params["jaxpr"])
    if not program.changed:
        return apply_unchanged(eqn, operands)
    results = apply_changed(eqn, operands, jaxpr=program.jaxpr)
    return checker.ledger.take(results, program.sites, program.layout)


def check_cond(checker: Checker, eqn: Equation, operands: Sequence[Any]) -> list[Any]:
    """Branches number their sites one after the other, and pack states in one layout."""
    programs = [checker.program(branch) for branch in eqn.params["branches"]]
    if not any([program.changed for program in programs]):
        return apply_unchanged(eqn, operands)
    sites = tuple([site for program in programs for site in program.sites])
    layout, offset, branches = layout_of(sites), 0, []
    for program in programs:
        branches.append(_in_layout(program, offset, layout))
        offset += len(program.sites)
    results = apply_changed(eqn, operands, branches=tuple(branches))
    return checker.ledger.take(results, sites, layout)


@memoize
def _in_layout(program: CheckedProgram, offset: int, layout: Layout) -> Jaxpr:
    """The program with its state in a larger table of sites."""

    def function(*operands: Any) -> list[Any]:
        state, outs = program.run(*operands)
        return [*renumbered(state, offset).pack(layout), *outs]

    return stage_closed(function, program.jaxpr.in_avals, program.jaxpr.debug_info)


def check_scan(checker: Checker, eqn: Equation, operands: Sequence[Any]) -> list[Any]:
    """The state is part of the carry."""
    program = checker.program(eqn.params["jaxpr"])
    if not program.changed:
        return apply_unchanged(eqn, operands)
    num_consts, layout = eqn.params["num_consts"], program.layout
    start = no_failure.pack(layout)
    results = apply_changed(
        eqn,
        [*operands[:num_consts], *start, *operands[num_consts:]],
        jaxpr=_scan_body(program, num_consts),
        num_carry=eqn.params["num_carry"] + len(start),
    )
    return checker.ledger.take(results, program.sites, layout)


@memoize
def _scan_body(program: CheckedProgram, num_consts: int) -> Jaxpr:
    def function(*operands: Any) -> list[Any]:
        earlier, rest = CheckState.unpack(operands[num_consts:], program.layout)
        later, outs = program.run(*operands[:num_consts], *rest)
        return [*first_failure(earlier, later).pack(program.layout), *outs]

    avals = program.jaxpr.in_avals
    state = map(aval_of, no_failure.pack(program.layout))
    in_avals = [*avals[:num_consts], *state, *avals[num_consts:]]
    return stage_closed(function, in_avals, program.jaxpr.debug_info)


def check_while(checker: Checker, eqn: Equation, operands: Sequence[Any]) -> list[Any]:
    """The carry holds whether to go on, and the state: a condition has no place for a state."""
    params = eqn.params
    condition, body = (checker.program(params[key]) for key in ("cond_jaxpr", "body_jaxpr"))
    if not (condition.changed or body.changed):
        return apply_unchanged(eqn, operands)
    sites = condition.sites + body.sites
    layout = layout_of(sites)
    cond_consts, body_consts, carry = eqn.primitive.parts(operands, **params)
    state, (goes_on,) = condition.run(*cond_consts, *carry)
    start = [goes_on, *state.pack(layout), *carry]
    loop = _while_body(condition, body, len(cond_consts), len(body_consts))
    results = apply_changed(
        eqn,
        [*cond_consts, *body_consts, *start],
        cond_jaxpr=_first_operand(loop.in_avals[-len(start) :]),
        cond_nconsts=0,
        body_jaxpr=loop,
        body_nconsts=len(cond_consts) + len(body_consts),
    )
    return checker.ledger.take(results[1:], sites, layout)


@memoize
def _while_body(condition: CheckedProgram, body: CheckedProgram, n: int, m: int) -> Jaxpr:
    """A step with the condition behind it; n and m constants of the condition and of the body."""
    sites = condition.sites + body.sites
    layout = layout_of(sites)

    def function(*operands: Any) -> list[Any]:
        cond_consts, body_consts = operands[:n], operands[n : n + m]
        state, carry = CheckState.unpack(operands[n + m + 1 :], layout)
        of_body, carry = body.run(*body_consts, *carry)
        state = first_failure(state, renumbered(of_body, len(condition.sites)))
        of_condition, (goes_on,) = condition.run(*cond_consts, *carry)
        return [goes_on, *first_failure(state, of_condition).pack(layout), *carry]

    constants = [*condition.jaxpr.in_avals[:n], *body.jaxpr.in_avals[:m]]
    goes_on = condition.jaxpr.out_avals[-1]
    state = map(aval_of, no_failure.pack(layout))
    return stage_closed(
        function, [*constants, goes_on, *state, *body.jaxpr.in_avals[m:]], body.jaxpr.debug_info
    )


@memoize
def _first_operand(avals: tuple[Any, ...]) -> Jaxpr:
    jaxpr, _ = stage(lambda *operands: operands[:1], avals)
    return jaxpr


def check_custom_jvp(checker: Checker, eqn: Equation, operands: Sequence[Any]) -> list[Any]:
    """The state comes from the function, and has no derivative; the rule has no checks."""
    program = checker.program(eqn.params["call_jaxpr"])
    if not program.changed:
        return apply_unchanged(eqn, operands)
    n, rule = eqn.params["num_consts"], eqn.params["jvp_rule"]

    def checked_rule(primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], Any]:
        count = len(primals) - n

        def flat_rule(values: Sequence[Any]) -> list[Any]:
            outs, out_tangents = rule(values[:count], values[count:])
            return [*outs, *out_tangents]

        state = _state_of(program, primals)
        results = checker.without_checks(flat_rule, [*primals[n:], *tangents[n:]])
        outs, out_tangents = results[: len(results) // 2], results[len(results) // 2 :]
        return [*state, *outs], [*map(_no_tangent, state), *out_tangents]

    return _apply_custom(checker, eqn, operands, program, jvp_rule=checked_rule)


def check_custom_vjp(checker: Checker, eqn: Equation, operands: Sequence[Any]) -> list[Any]:
    """As for `custom_jvp`."""
    program = checker.program(eqn.params["call_jaxpr"])
    if not program.changed:
        return apply_unchanged(eqn, operands)
    n, forward = eqn.params["num_consts"], eqn.params["forward"]
    num_outs = len(eqn.outvars)

    def checked_forward(
        primals: Sequence[Any], perturbed: Sequence[bool]
    ) -> tuple[list[Any], list[Any], Any]:
        pulls = []

        def flat_forward(values: Sequence[Any]) -> list[Any]:
            outs, residuals, pull = forward(values, perturbed[n:])
            pulls.append(pull)
            return [*outs, *residuals]

        state = _state_of(program, primals)
        results = checker.without_checks(flat_forward, primals[n:])

        def checked_pull(residuals: Sequence[Any], cts: Sequence[Any]) -> list[Any]:
            count = len(residuals)
            own = checker.without_checks(
                lambda values: pulls[0](values[:count], values[count:]),
                [*residuals, *cts[len(state) :]],
            )
            return [*[None] * n, *own]

        return [*state, *results[:num_outs]], results[num_outs:], checked_pull

    return _apply_custom(checker, eqn, operands, program, forward=checked_forward)


def _apply_custom(
    checker: Checker,
    eqn: Equation,
    operands: Sequence[Any],
    program: CheckedProgram,
    **rule: Any,
) -> list[Any]:
    """A function with a rule that sees all operands, the constants too."""
    results = apply_changed(eqn, operands, call_jaxpr=program.jaxpr, num_consts=0, **rule)
    return checker.ledger.take(results, program.sites, program.layout)


def _state_of(program: CheckedProgram, operands: Sequence[Any]) -> list[Any]:
    state, _ = program.run(*operands)
    return state.pack(program.layout)


def _no_tangent(x: Any) -> Zero:
    return Zero(aval_of(x).to_tangent_aval())


def check_check(checker: Checker, eqn: Equation, operands: Sequence[Any]) -> list[Any]:
    """A check becomes an entry of the ledger, or nothing if its category is not asked for."""
    sites = eqn.params["sites"]
    state, _ = CheckState.unpack(operands, layout_of(sites))
    wanted = [site.category in checker.errors for site in sites]
    if not any(wanted):
        return []
    if not all(wanted):
        codes = np.flatnonzero(wanted).astype(np.int32)
        state = state._replace(pred=bitwise_and(state.pred, _is_one_of(state.code, codes)))
    checker.ledger.add(state, sites)
    return []


def _is_one_of(code: Any, codes: Any) -> Any:
    return reduce_or(eq(broadcast(code, codes.shape), codes), (0,))


# The table belongs to checkify, because what a check means is its affair alone.  It is by name, so
# that the operations may use checked programs in turn.  Those that it does not know of are applied
# as they are.
BODY_RULES: dict[str, Rule] = {
    "jit": check_call,
    "remat2": check_call,
    "cond": check_cond,
    "scan": check_scan,
    "while": check_while,
    "custom_jvp_call": check_custom_jvp,
    "custom_vjp_call": check_custom_vjp,
    "check": check_check,
}
