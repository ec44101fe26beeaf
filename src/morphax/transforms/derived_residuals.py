"""Residuals of a loop's body that follow from others in a few quick operations.

The derivative of σ(x) reads σ(x)·(1 − σ(x)), and that of a product with it σ(x): the one follows
from the other.  A loop would stack both, once per step, and read both back, which takes longer than
a subtraction and a multiplication; so the second is computed again (docs/design/tape.md).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from ..core import Atom, Equation, Var


def divided(
    equations: Sequence[Equation], residuals: Sequence[Var], is_constant: Callable[[Var], bool]
) -> tuple[list[Var], list[Equation]]:
    """The residuals to keep, and the equations that give the others again.

    An equation is computed again if its primitive is quick (`Primitive.quick`) and its operands are
    literals, constants, residuals that are kept, or results of such equations.  So nothing is kept
    that would not have been, and values are made by the same operations on the same operands.

    Args:
        equations: of the program that computes the residuals, in order.
        residuals: operands or results of them.
        is_constant: whether a variable is a constant that the backward program has as well.
    """
    wanted = set(residuals)
    given = wanted.difference([v for eqn in equations for v in eqn.outvars])
    made: dict[Var, Equation] = {}
    for eqn in equations:
        if eqn.primitive.quick and all(
            type(a) is not Var or a in given or a in made or is_constant(a) for a in eqn.invars
        ):
            made[eqn.outvars[0]] = eqn
        else:
            given.update(wanted.intersection(eqn.outvars))
    needed = {v for v in residuals if v in made}
    again = []
    for v, eqn in reversed(made.items()):
        if v in needed:
            again.append(eqn)
            needed.update([a for a in eqn.invars if type(a) is Var])
    return [v for v in residuals if v not in made], again[::-1]


def without_unused(
    equations: Sequence[Equation], droppable: Collection[Equation], results: Sequence[Atom]
) -> list[Equation]:
    """The equations without those of `droppable` that no other, and no result, depends on."""
    candidates = {eqn.outvars[0] for eqn in droppable}
    needed = {a for a in results if type(a) is Var}
    live = []
    for eqn in reversed(equations):
        if candidates.isdisjoint(eqn.outvars) or not needed.isdisjoint(eqn.outvars):
            live.append(eqn)
            needed.update([a for a in eqn.invars if type(a) is Var])
    return live[::-1]
