"""Values that one branch of a `cond` hands to the same branch of another.

All branches of a `cond` have the same results and operands, so there are *places* for the values of
whichever branch is taken: branches share a place for values of the same aval.  Residuals that are
operands of the `cond` need no place.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

from ...core import Jaxpr, Var, apply_jaxpr, stage_closed
from ...lax.ground.linear_structure import zeros
from ...transforms.linearize import Linearization
from ..closing import closed_programs


class Places(NamedTuple):
    """The avals of all places, and for each branch the places of its values."""

    avals: list[Any]
    of_branches: list[list[int]]


def shared_places(values: Sequence[Sequence[Any]]) -> Places:
    """Places for the values, of which the avals are given, of each branch."""
    avals: list[Any] = []
    known: dict[Any, list[int]] = {}
    of_branches = []
    for branch in values:
        taken: Counter[Any] = Counter()
        own = []
        for aval in branch:
            candidates = known.setdefault(aval, [])
            if taken[aval] == len(candidates):
                candidates.append(len(avals))
                avals.append(aval)
            own.append(candidates[taken[aval]])
            taken[aval] += 1
        of_branches.append(own)
    return Places(avals, of_branches)


def with_common_captures(
    rules: Sequence[Linearization],
) -> tuple[list[Linearization], list[Any]]:
    """The linearizations with all values that their forward programs capture as first operands."""
    joined, extended = closed_programs([_programs(rule)[0] for rule in rules])
    if not joined:
        return list(rules), joined
    return [
        Linearization(forward, rule.linear, rule.out_active, rule.num_residuals)
        for rule, forward in zip(rules, extended, strict=True)
    ], joined


def residual_operands(rule: Linearization) -> list[bool]:
    """Which operands of a linearized branch are among its residuals."""
    forward, _ = _programs(rule)
    residuals = set(forward.outvars[len(rule.out_active) :])
    return [v in residuals for v in forward.invars]


def with_operands_apart(rule: Linearization, given: Sequence[bool]) -> tuple[Jaxpr, Jaxpr]:
    """Forward and linear program of a branch that is `given` some operands as residuals.

    The forward program hands out the other residuals; the linear program takes these, then the
    operands, then tangents.
    """
    forward, linear = _programs(rule)
    count = len(rule.out_active)
    known = dict(zip(forward.outvars[count:], linear.invars, strict=False))
    operands = [v for v, on in zip(forward.invars, given, strict=True) if on]
    apart = set(operands)
    computed = [v for v in known if v not in apart]
    residuals = [known.get(v) or Var(v.aval) for v in operands]
    return (
        forward.replace(outvars=(*forward.outvars[:count], *computed)),
        linear.replace(
            invars=(*[known[v] for v in computed], *residuals, *linear.invars[len(known) :])
        ),
    )


def _programs(rule: Linearization) -> tuple[Jaxpr, Jaxpr]:
    assert rule.forward is not None, "a branch is split, it is not run"
    return rule.forward, rule.linear


def with_places(forward: Jaxpr, branch: int, places: Places) -> Jaxpr:
    """`forward`, of which the last results are the values of a branch, with results for all places.

    Places that the branch does not use are zero.
    """
    own = places.of_branches[branch]

    def function(*operands: Any) -> list[Any]:
        results = apply_jaxpr(forward, *operands)
        count = len(results) - len(own)
        values = dict(zip(own, results[count:], strict=True))
        return [
            *results[:count],
            *[values[i] if i in values else zeros(a) for i, a in enumerate(places.avals)],
        ]

    return stage_closed(function, forward.in_avals, forward.debug_info)


def taking_places(program: Jaxpr, branch: int, places: Places) -> Jaxpr:
    """`program`, whose first operands are the values of a branch, with all places instead."""
    own = places.of_branches[branch]
    given = dict(zip(own, program.invars, strict=False))
    operands = [given.get(i) or Var(aval) for i, aval in enumerate(places.avals)]
    return program.replace(invars=(*operands, *program.invars[len(own) :]))
