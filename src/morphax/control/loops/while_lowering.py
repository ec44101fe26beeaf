"""A `while` whose condition has ordered effects, for the compiler.

In a StableHLO loop the condition gives a truth value and nothing else, so it can take a token but
not hand one on.  Such a condition is worked out in the body, and carried.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...core import Jaxpr, Primitive, apply_jaxpr, stage_closed


def carrying_condition(loop: Primitive, avals: Sequence[Any], params: dict[str, Any]) -> Jaxpr:
    """The program that computes a `while` with these operands and parameters in that way."""
    cond_jaxpr, body_jaxpr = params["cond_jaxpr"], params["body_jaxpr"]
    n = params["cond_nconsts"]
    m = n + params["body_nconsts"]
    state_avals = [*cond_jaxpr.out_avals, *avals[m:]]

    def condition(goes_on: Any, *carry: Any) -> list[Any]:
        return [goes_on]

    def body(*operands: Any) -> list[Any]:
        carry = apply_jaxpr(body_jaxpr, *operands[n:m], *operands[m + 1 :])
        return [*apply_jaxpr(cond_jaxpr, *operands[:n], *carry), *carry]

    def whole(*operands: Any) -> list[Any]:
        consts, carry = operands[:m], operands[m:]
        results: list[Any] = loop.bind(
            *consts,
            *apply_jaxpr(cond_jaxpr, *operands[:n], *carry),
            *carry,
            cond_jaxpr=stage_closed(condition, state_avals),
            cond_nconsts=0,
            body_jaxpr=stage_closed(body, [*avals[:m], *state_avals]),
            body_nconsts=m,
        )
        return results[1:]

    return stage_closed(whole, avals)
