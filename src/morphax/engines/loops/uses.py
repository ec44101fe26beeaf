"""How often the variables of a program are read, and where for the last time."""

from __future__ import annotations

from typing import Any, final

from ...core import Jaxpr, Literal
from ...util.memo import memoize
from ...util.records import dataclass


@final
@dataclass(frozen=True, slots=True)
class Uses:
    """The readers of variables.

    Args:
        counts: how many there are, the results of the program among them.
        dying: for each equation, the variables that nobody reads after it.
    """

    counts: dict[Any, int]
    dying: tuple[tuple[Any, ...], ...]


@memoize
def uses_of(jaxpr: Jaxpr) -> Uses:
    """The readers of the variables of a program."""
    counts: dict[Any, int] = {}
    last: dict[Any, int] = {}
    for number, eqn in enumerate(jaxpr.eqns):
        for atom in eqn.invars:
            if type(atom) is not Literal:
                counts[atom] = counts.get(atom, 0) + 1
                last[atom] = number
    for atom in jaxpr.outvars:
        if type(atom) is not Literal:
            counts[atom] = counts.get(atom, 0) + 1
            last.pop(atom, None)
    dying: list[list[Any]] = [[] for _ in jaxpr.eqns]
    for var, number in last.items():
        dying[number].append(var)
    return Uses(counts, tuple(map(tuple, dying)))
