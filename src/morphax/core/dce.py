"""Dead code elimination: keep the equations that results or effects depend on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .atoms import Literal
from .jaxpr import Jaxpr


def eliminate_dead_code(
    jaxpr: Jaxpr, used_outputs: Sequence[bool] | None = None
) -> tuple[Jaxpr, list[bool]]:
    """Drop equations that contribute to no used output and have no effect.

    Args:
        jaxpr: the program; it stays as it is.
        used_outputs: which outputs to keep, all if left out.

    Returns:
        The smaller program with all operands kept, and which operands it still uses.
    """
    outvars = jaxpr.outvars
    if used_outputs is not None:
        outvars = tuple([v for v, used in zip(outvars, used_outputs, strict=True) if used])
    live: set[Any] = {v for v in outvars if type(v) is not Literal}
    kept = []
    for eqn in reversed(jaxpr.eqns):
        if eqn.effects or not live.isdisjoint(eqn.outvars):
            kept.append(eqn)
            live.update([a for a in eqn.invars if type(a) is not Literal])
    constants = [
        (var, value)
        for var, value in zip(jaxpr.constvars, jaxpr.consts, strict=True)
        if var in live
    ]
    smaller = jaxpr.replace(
        outvars=outvars,
        eqns=tuple(reversed(kept)),
        constvars=tuple([var for var, _ in constants]),
        consts=tuple([value for _, value in constants]),
    )
    return smaller, [v in live for v in jaxpr.invars]
