"""Values that one of several programs hands to the same program of another operation.

All branches of a `cond` have the same results and operands, so there are *places* for the values of
whichever branch is taken: branches share a place for values of the same aval.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

from ...core import Jaxpr, Operand, Var, apply_jaxpr, stage_closed
from ...lax.ground.linear_structure import zeros


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


def with_places(forward: Jaxpr, branch: int, places: Places) -> Jaxpr:
    """`forward`, of which the last results are the values of a branch, with results for all places.

    Places that the branch does not use are zero.
    """
    own = places.of_branches[branch]

    def function(*operands: Operand) -> list[Any]:
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
