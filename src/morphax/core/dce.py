"""Dead code elimination: keep the equations that results or effects depend on.

An equation is kept or dropped as a whole, unless its primitive has the rule `dce`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..util.memo import memoize
from .atoms import Literal
from .jaxpr import Equation, Jaxpr, jaxprs_in_params, joined_effects


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
        if _is_removable(eqn) and live.isdisjoint(eqn.outvars):
            continue
        rest = eqn
        if eqn.primitive.dce is not None:
            _, rest = eqn.primitive.dce([v in live for v in eqn.outvars], eqn)
        if rest is not None:
            kept.append(rest)
            live.update([a for a in rest.invars if type(a) is not Literal])
    constants = [
        (var, value)
        for var, value in zip(jaxpr.constvars, jaxpr.consts, strict=True)
        if var in live
    ]
    if jaxpr.effects:
        binders = [*jaxpr.invars, *[var for var, _ in constants]]
        jaxpr = jaxpr.replace(effects=joined_effects(kept, binders))
    smaller = jaxpr.replace(
        outvars=outvars,
        eqns=tuple(reversed(kept)),
        constvars=tuple([var for var, _ in constants]),
        consts=tuple([value for _, value in constants]),
    )
    return smaller, [v in live for v in jaxpr.invars]


@memoize
def holds_only_transposed(jaxpr: Jaxpr) -> bool:
    """Whether a program has an equation, here or in a body, that nothing can compute."""
    return any(
        eqn.primitive.only_transposed
        or any(map(holds_only_transposed, jaxprs_in_params(eqn.params)))
        for eqn in jaxpr.eqns
    )


def _is_removable(eqn: Equation) -> bool:
    return all([effect.removable for effect in eqn.effects])


def dce_call(used_outputs: Sequence[bool], eqn: Equation) -> tuple[list[bool], Equation | None]:
    """The rule `dce` of a call of the program `call_jaxpr`, whose operands are those of the call.

    Args:
        used_outputs: which results of the call are used.
        eqn: the call.

    Returns:
        Which operands are used, and the call of the smaller program, `None` if nothing is left.
    """
    if not any(used_outputs) and _is_removable(eqn):
        return [False] * len(eqn.invars), None
    program, used = _without_unused(eqn.params["call_jaxpr"], tuple(used_outputs))
    rest = eqn.replace(
        invars=[a for a, on in zip(eqn.invars, used, strict=True) if on],
        outvars=[v for v, on in zip(eqn.outvars, used_outputs, strict=True) if on],
        params=eqn.params | {"call_jaxpr": program},
        effects=program.effects,
    )
    return list(used), rest


@memoize
def _without_unused(jaxpr: Jaxpr, used_outputs: tuple[bool, ...]) -> tuple[Jaxpr, tuple[bool, ...]]:
    """A program without what results that are not used need, and the operands it still takes."""
    smaller, used = eliminate_dead_code(jaxpr, used_outputs)
    invars = tuple([v for v, on in zip(smaller.invars, used, strict=True) if on])
    effects = joined_effects(smaller.eqns, invars + smaller.constvars)
    return smaller.replace(invars=invars, effects=effects), tuple(used)
