"""Dead code elimination: keep the equations that results or effects depend on.

An equation is kept or dropped as a whole, unless its primitive has the hook `partition`.  See
`core.partition`.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..util.memo import memoize
from .jaxpr import Equation, Jaxpr, jaxprs_in_params
from .partition import Demand, Partition, is_removable, needed, partition, program, selected, whole


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
        outvars = selected(outvars, used_outputs)
    live = partition(jaxpr, outvars).first
    return program(jaxpr, live, jaxpr.invars, outvars), needed(jaxpr.invars, live, outvars)


@memoize
def holds_only_transposed(jaxpr: Jaxpr) -> bool:
    """Whether a program has an equation, here or in a body, that nothing can compute."""
    return any(
        eqn.primitive.only_transposed
        or any(map(holds_only_transposed, jaxprs_in_params(eqn.params)))
        for eqn in jaxpr.eqns
    )


def without_dead_code(eqn: Equation, demand: Demand) -> Partition:
    """The hook `partition` of operations that are taken apart by the rule `dce` alone.

    The rule is an attribute of the primitive, with the arguments and results of `dce_call`.
    """
    rule = getattr(eqn.primitive, "dce", None)
    if rule is None or demand.unknown or any(demand.live_second):
        return whole(eqn, demand)
    rest: Equation | None = rule(list(demand.live), eqn)[1]
    return Partition(() if rest is None else (rest,))


def dce_call(used_outputs: Sequence[bool], eqn: Equation) -> tuple[list[bool], Equation | None]:
    """The rule `dce` of a call of the program `call_jaxpr`, whose operands are those of the call.

    Args:
        used_outputs: which results of the call are used.
        eqn: the call.

    Returns:
        Which operands are used, and the call of the smaller program, `None` if nothing is left.
    """
    if not any(used_outputs) and is_removable(eqn):
        return [False] * len(eqn.invars), None
    program, used = _without_unused(eqn.params["call_jaxpr"], tuple(used_outputs))
    rest = eqn.replace(
        invars=selected(eqn.invars, used),
        outvars=selected(eqn.outvars, used_outputs),
        params=eqn.params | {"call_jaxpr": program},
        effects=program.effects,
    )
    return list(used), rest


@memoize
def _without_unused(jaxpr: Jaxpr, used_outputs: tuple[bool, ...]) -> tuple[Jaxpr, tuple[bool, ...]]:
    """A program without what results that are not used need, and the operands it still takes."""
    smaller, used = eliminate_dead_code(jaxpr, used_outputs)
    invars = selected(smaller.invars, used)
    return program(smaller, smaller.eqns, invars, smaller.outvars), tuple(used)
