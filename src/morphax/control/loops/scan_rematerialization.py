"""Rematerialisation of `scan`: a loop that stacks what is saved, and one that repeats the rest.

The backward pass runs the loop again with the components of the carry that wanted results depend
on, from their first values; what is saved of each step is a slice of a scanned array for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...core import Equation, Jaxpr, Var
from ...core.partition import Partition, needed, program, selected
from ..bodies.fixpoint import fixpoint
from ..bodies.wiring import Parts, stacked_aval
from ..checkpoint.checkpoint_policies import Policy
from ..checkpoint.rematerialization import applied, directly_saved, divide, without_repetition


def rematerialize_scan(
    eqn: Equation, used: Sequence[bool], wanted: Sequence[bool], policy: Policy | None
) -> Partition:
    """Divide a scan; see `rematerialization`."""
    jaxpr: Jaxpr = eqn.params["jaxpr"]
    n: int = eqn.params["num_carry"]
    used, wanted, direct = directly_saved(jaxpr, used, wanted, policy)
    # The forward pass carries everything; the backward pass what it needs, and stacks no carry.
    used_in_body = (*[True] * n, *used[n:])
    carried = jaxpr.invars[eqn.params["num_consts"] :][:n]

    def step(carry: list[bool]) -> list[bool]:
        mask = (*carry, *wanted[n:])
        recomputed = divide(jaxpr, used_in_body, mask, policy).second
        return needed(carried, recomputed, selected(jaxpr.outvars, mask))

    carry = fixpoint(wanted[:n], step)
    mask = (*carry, *wanted[n:])
    body = divide(jaxpr, used_in_body, mask, policy)
    named = dict(
        zip(selected(jaxpr.outvars[n:], used[n:]), selected(eqn.outvars[n:], used[n:]), strict=True)
    )
    unnamed = [v for v in body.saved if v not in named]
    named |= {v: Var(stacked_aval(v.aval, eqn.params["length"])) for v in unnamed}
    saved = without_repetition(selected(eqn.outvars, direct), [named[v] for v in body.saved])
    forward = _forward(eqn, body, used, unnamed, named)
    recomputed = _recomputed(eqn, body, mask, wanted, named) if any(wanted) else None
    runs = any(used) or bool(saved) or bool(forward.effects)
    return Partition(
        (forward,) if runs else (), (recomputed,) if recomputed is not None else (), saved
    )


def _forward(
    eqn: Equation,
    body: Partition,
    used: Sequence[bool],
    unnamed: Sequence[Var],
    named: dict[Any, Var],
) -> Equation:
    """The loop of the forward pass: the carry, the results that are used, stacks to save."""
    jaxpr, n = eqn.params["jaxpr"], eqn.params["num_carry"]
    outs = (*jaxpr.outvars[:n], *selected(jaxpr.outvars[n:], used[n:]), *unnamed)
    repeated = program(jaxpr, body.first, jaxpr.invars, outs)
    results = (
        *eqn.outvars[:n],
        *selected(eqn.outvars[n:], used[n:]),
        *[named[v] for v in unnamed],
    )
    return applied(eqn, eqn.invars, results, eqn.params | {"jaxpr": repeated})


def _recomputed(
    eqn: Equation,
    body: Partition,
    mask: Sequence[bool],
    wanted: Sequence[bool],
    named: dict[Any, Var],
) -> Equation:
    """The loop of the backward pass; `mask` tells what its body computes."""
    jaxpr, n = eqn.params["jaxpr"], eqn.params["num_carry"]
    outs = selected(jaxpr.outvars, mask)
    wiring = eqn.primitive.wiring  # type: ignore[attr-defined]
    roles = wiring.parts(jaxpr.invars, eqn.params)
    kept = Parts(
        consts=needed(roles["consts"], body.second, outs),
        carry=list(mask[:n]),
        xs=needed(roles["xs"], body.second, outs),
    )
    operands = wiring.parts(eqn.invars, eqn.params).where(kept)
    invars = (*roles.where(kept).flat, *body.saved)
    repeated = program(jaxpr, body.second, invars, outs)
    results = [v if on else Var(v.aval) for v, on in zip(eqn.outvars, wanted, strict=True)]
    return applied(
        eqn,
        (*operands.flat, *[named[v] for v in body.saved]),
        selected(results, mask),
        eqn.params | wiring.counts(operands) | {"jaxpr": repeated},
    )
