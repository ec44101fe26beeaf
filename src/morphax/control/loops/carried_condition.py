"""A `while` whose condition is worked out in the body, and carried.

That is how a condition may do more than decide: in a StableHLO loop it can take a token but not
hand one on, it has no place for the state of checks, and it cannot pass on a reference.
"""

from __future__ import annotations

from typing import Any

from ...core import Jaxpr, Var, apply_jaxpr, stage_closed
from ...util.memo import memoize


@memoize
def carrying_condition(
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

    def body(*operands: Any) -> list[Any]:
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
