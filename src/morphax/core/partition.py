"""Partition: which equations of a program a first pass carries out, and which a second one.

Whoever splits a program asks two things of it: results that the first pass is to compute, and
results that wait for a second.  One walk over the equations, from the end, answers for all:

==================  ============================  ================================================
                    the first pass computes       the second pass
==================  ============================  ================================================
dead code           the results in use            there is none
known program       results that need no unknown  there is none
                    operand
transposition       what linear equations read    goes back through the linear equations
rematerialisation   the results, and what is      computes residuals, from operands and what is
                    saved                         saved
==================  ============================  ================================================

See docs/design/partition.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar, final

from .atoms import Atom, Var
from .jaxpr import Equation, Jaxpr, joined_effects

T = TypeVar("T")


@final
@dataclass(frozen=True, slots=True)
class Partition:
    """A program, or one equation, divided between two passes.

    Args:
        first: equations of the first pass.
        second: equations of the second pass; those that are in both bind their variables anew.
        saved: variables of the first pass that the second one is given.  Those that are operands
            of the program do not count: it is given them anyway.
    """

    first: tuple[Equation, ...]
    second: tuple[Equation, ...] = ()
    saved: tuple[Var, ...] = ()


# An equation, which of its results each pass needs → what each pass does.
Divide = Callable[[Equation, Sequence[bool], Sequence[bool]], Partition]


def partition(
    jaxpr: Jaxpr,
    live: Iterable[Atom],
    asked: Iterable[Atom] = (),
    waiting: Mapping[Equation, Equation | None] | None = None,
    divide: Divide | None = None,
) -> Partition:
    """Split the equations of a program.

    Args:
        jaxpr: the program.
        live: results that the first pass computes.
        asked: results that the second pass computes, or goes back from.
        waiting: equations that the first pass cannot carry out, and of each the part that it can.
        divide: decides about an equation of the first pass that the second needs results of; these
            are saved if it is left out.
    """
    needed_first, needed_second = set(live), set(asked)
    first: list[Equation] = []
    second: list[Equation] = []
    saved: list[Var] = []
    for whole in reversed(jaxpr.eqns):
        eqn = whole
        if waiting and whole in waiting:
            known = waiting[whole]
            if not needed_second.isdisjoint(whole.outvars):
                second.append(whole)
                needed_second.update(whole.invars)
                # Its effects happen there, so nobody misses a known part that nobody reads.
                if known is not None and _unread(known, needed_first, needed_second):
                    continue
            if known is None:
                continue
            eqn = known
        if not needed_second.isdisjoint(eqn.outvars):
            if divide is not None:
                part = divide(
                    eqn,
                    [v in needed_first for v in eqn.outvars],
                    [v in needed_second for v in eqn.outvars],
                )
                first += reversed(part.first)
                second += reversed(part.second)
                saved += reversed(part.saved)
                needed_first |= variables_read(part.first)
                needed_second |= variables_read(part.second)
                continue
            results = [v for v in eqn.outvars if v in needed_second]
            saved += reversed(results)
            needed_first.update(results)
        rest = _still_needed(eqn, needed_first)
        if rest is not None:
            first.append(rest)
            needed_first.update(rest.invars)
    return Partition(tuple(reversed(first)), tuple(reversed(second)), tuple(reversed(saved)))


def _unread(eqn: Equation, *needed: set[Atom]) -> bool:
    return all([variables.isdisjoint(eqn.outvars) for variables in needed])


def _still_needed(eqn: Equation, live: set[Atom]) -> Equation | None:
    """An equation without what nobody needs; `None` if nothing is left."""
    if live.isdisjoint(eqn.outvars) and is_removable(eqn):
        return None
    if eqn.primitive.dce is None:
        return eqn
    rest: Equation | None = eqn.primitive.dce([v in live for v in eqn.outvars], eqn)[1]
    return rest


def is_removable(eqn: Equation) -> bool:
    """Whether an equation does nothing but compute its results."""
    return not eqn.effects or all([effect.removable for effect in eqn.effects])


def program(
    source: Jaxpr, eqns: Sequence[Equation], invars: Sequence[Var], outvars: Sequence[Atom]
) -> Jaxpr:
    """A program that consists of equations of `source`, with the constants that it needs."""
    kept = needed(source.constvars, eqns, outvars) if source.constvars else ()
    constvars = selected(source.constvars, kept)
    return Jaxpr(
        invars=tuple(invars),
        outvars=tuple(outvars),
        eqns=tuple(eqns),
        constvars=constvars,
        consts=selected(source.consts, kept),
        effects=joined_effects(eqns, (*invars, *constvars)),
        debug_info=source.debug_info,
    )


def needed(
    operands: Sequence[Atom], eqns: Sequence[Equation], outvars: Sequence[Atom]
) -> list[bool]:
    """Which of `operands` the equations or the results refer to."""
    read: set[Atom] = variables_read(eqns).union(outvars)
    return [v in read for v in operands]


def variables_read(eqns: Sequence[Equation]) -> set[Any]:
    """The variables that equations have as operands."""
    return {a for eqn in eqns for a in eqn.invars if type(a) is Var}


def selected(items: Sequence[T], mask: Sequence[bool]) -> tuple[T, ...]:
    """The items at which `mask` is true."""
    return tuple([x for x, on in zip(items, mask, strict=True) if on])
