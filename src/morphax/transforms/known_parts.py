"""What an operation computes without operands that are not known.

An operation that carries a program may have results that depend on unknown operands and results
that do not: the jvp of a `scan` has tangents and primals, say.  Its hook `partition` gives the
operation of the same kind that computes the latter alone.  Who splits programs (partial evaluation,
transposition) carries it out at once, so that the results are known to what comes after.  See
docs/design/known-parts.md, and docs/design/partition.md for programs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ..core import Atom, Equation, Jaxpr, without_references
from ..core.partition import Demand, partition, program, selected, split
from ..util.memo import memoize

Mask = tuple[bool, ...]


class KnownProgram(NamedTuple):
    """The known operands → known results part of a program, and which results these are."""

    jaxpr: Jaxpr
    results: Mask


def known_equation(eqn: Equation, unknown: Sequence[bool]) -> Equation | None:
    """The part of an equation that needs no unknown operand, `None` if it has no result."""
    known = split(eqn, Demand(unknown=unknown)).first
    return known[0] if known else None


class Dependence(NamedTuple):
    """What of a program depends on unknown operands.

    Args:
        variables: those whose values do.
        equations: those that do, and of each the part that does not.
    """

    variables: set[Atom]
    equations: dict[Equation, Equation | None]


def dependence(jaxpr: Jaxpr, unknown: Mask) -> Dependence:
    """What of a program depends on unknown operands."""
    variables: set[Atom] = set(selected(jaxpr.invars, unknown))
    equations: dict[Equation, Equation | None] = {}
    for eqn in jaxpr.eqns:
        if not variables.isdisjoint(eqn.invars):
            part = None
            if eqn.primitive.partition is not None:
                part = known_equation(eqn, [a in variables for a in eqn.invars])
            equations[eqn] = part
            variables.update(eqn.outvars)
            if part is not None:
                variables.difference_update(part.outvars)
    return Dependence(variables, equations)


@memoize
def known_program(jaxpr: Jaxpr, unknown: Mask, live: Mask | None = None) -> KnownProgram:
    """The part of a program that needs no unknown operand.

    Args:
        jaxpr: the program.
        unknown: which operands are not known.
        live: results to compute if they are known; all, if left out.
    """
    jaxpr = without_references(jaxpr)
    waiting = dependence(jaxpr, unknown)
    results = tuple([a not in waiting.variables for a in jaxpr.outvars])
    if live is not None:
        results = tuple([a and b for a, b in zip(results, live, strict=True)])
    invars = selected(jaxpr.invars, [not on for on in unknown])
    outvars = selected(jaxpr.outvars, results)
    eqns = partition(jaxpr, outvars, waiting=waiting.equations).first
    return KnownProgram(program(jaxpr, eqns, invars, outvars), results)
