"""Rematerialisation of `cond`: each branch is divided, and hands what it saves to itself."""

from __future__ import annotations

from collections.abc import Sequence

from ...core import Equation, Jaxpr, Var
from ...core.partition import Division, needed, program, selected
from ..checkpoint.checkpoint_policies import Policy
from ..checkpoint.rematerialization import applied, divide
from .branch_residuals import shared_places, taking_places, with_places


def rematerialize_cond(
    eqn: Equation, used: Sequence[bool], wanted: Sequence[bool], policy: Policy | None
) -> Division:
    """Divide a cond; see `rematerialization`."""
    branches: tuple[Jaxpr, ...] = eqn.params["branches"]
    parts = [divide(branch, tuple(used), tuple(wanted), policy) for branch in branches]
    places = shared_places([[v.aval for v in part.saved] for part in parts])
    saved = tuple(map(Var, places.avals))
    asked = [selected(branch.outvars, wanted) for branch in branches]
    # An operand that one branch needs is given to all.
    operands = [
        any(column)
        for column in zip(
            *[
                needed(branch.invars, part.again, outs)
                for branch, part, outs in zip(branches, parts, asked, strict=True)
            ],
            strict=True,
        )
    ]
    forward, again = [], []
    for i, (branch, part) in enumerate(zip(branches, parts, strict=True)):
        outs = selected(branch.outvars, used)
        first = program(branch, part.forward, branch.invars, (*outs, *part.saved))
        forward.append(with_places(first, i, places))
        invars = (*part.saved, *selected(branch.invars, operands))
        again.append(taking_places(program(branch, part.again, invars, asked[i]), i, places))
    index, *others = eqn.invars
    results = (*selected(eqn.outvars, used), *saved)
    runs = bool(results) or any([branch.effects for branch in forward])
    return Division(
        (applied(eqn, eqn.invars, results, {"branches": tuple(forward)}),) if runs else (),
        (
            applied(
                eqn,
                (index, *saved, *selected(others, operands)),
                selected(eqn.outvars, wanted),
                {"branches": tuple(again)},
            ),
        ),
        saved,
    )
