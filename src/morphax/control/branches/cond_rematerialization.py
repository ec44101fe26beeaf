"""Rematerialisation of `cond`: each branch is divided, and hands what it saves to itself."""

from __future__ import annotations

from collections.abc import Sequence

from ...core import Equation, Jaxpr, Var
from ...core.partition import Partition, needed, program, selected
from ..bodies.fixpoint import any_of
from ..checkpoint.checkpoint_policies import Policy
from ..checkpoint.rematerialization import applied, divide
from .branch_residuals import shared_places, taking_places, with_places


def rematerialize_cond(
    eqn: Equation, used: Sequence[bool], wanted: Sequence[bool], policy: Policy | None
) -> Partition:
    """Divide a cond; see `rematerialization`."""
    branches: tuple[Jaxpr, ...] = eqn.params["branches"]
    parts = [divide(branch, tuple(used), tuple(wanted), policy) for branch in branches]
    places = shared_places([[v.aval for v in part.saved] for part in parts])
    saved = tuple(map(Var, places.avals))
    asked = [selected(branch.outvars, wanted) for branch in branches]
    # An operand that one branch needs is given to all.
    operands = any_of(
        [
            needed(branch.invars, part.second, outs)
            for branch, part, outs in zip(branches, parts, asked, strict=True)
        ]
    )
    forward, recomputed = [], []
    for i, (branch, part) in enumerate(zip(branches, parts, strict=True)):
        outs = selected(branch.outvars, used)
        first = program(branch, part.first, branch.invars, (*outs, *part.saved))
        forward.append(with_places(first, i, places))
        invars = (*part.saved, *selected(branch.invars, operands))
        recomputed.append(taking_places(program(branch, part.second, invars, asked[i]), i, places))
    index, *others = eqn.invars
    results = (*selected(eqn.outvars, used), *saved)
    runs = bool(results) or any([branch.effects for branch in forward])
    return Partition(
        (applied(eqn, eqn.invars, results, {"branches": tuple(forward)}),) if runs else (),
        (
            applied(
                eqn,
                (index, *saved, *selected(others, operands)),
                selected(eqn.outvars, wanted),
                {"branches": tuple(recomputed)},
            ),
        ),
        saved,
    )
