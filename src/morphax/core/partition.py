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
from typing import Any, NamedTuple, TypeVar, final

from ..util.records import dataclass
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


class Demand(NamedTuple):
    """The question that the hook `partition` of a primitive answers for an equation.

    Args:
        live: results that the first pass computes.
        live_second: results that the second pass needs; empty where there is no second pass.
        saves: whether the results of an equation, here or in a program that the operation holds,
            are saved by the first pass for the second; none are, if left out.
        unknown: operands that the first pass is not given.  Then it computes all results that need
            none of them, the second pass carries out the whole, and the rest of the demand is
            empty.
    """

    live: Sequence[bool] = ()
    live_second: Sequence[bool] = ()
    saves: Callable[[Equation], bool] | None = None
    unknown: Sequence[bool] = ()


# An equation, which of its results each pass needs → what each pass does.
Divide = Callable[[Equation, Sequence[bool], Sequence[bool]], Partition]


def split(eqn: Equation, demand: Demand) -> Partition:
    """What two passes do of an equation."""
    rule = eqn.primitive.partition
    if rule is None:
        return whole(eqn, demand)
    parts: Partition = rule(eqn, demand)
    return parts


def whole(eqn: Equation, demand: Demand) -> Partition:
    """What two passes do of an equation that is not taken apart."""
    if demand.unknown:
        return Partition((), (eqn,))
    used = any(demand.live)
    if not any(demand.live_second):
        return Partition((eqn,) if used or not is_removable(eqn) else ())
    # What depends on nothing is not worth its memory.
    depends = any([type(a) is Var for a in eqn.invars])
    if eqn.effects or (depends and demand.saves is not None and demand.saves(eqn)):
        return Partition((eqn,), (), selected(eqn.outvars, demand.live_second))
    return Partition((eqn,) if used else (), (eqn,))


def partition(
    jaxpr: Jaxpr,
    live: Iterable[Atom],
    live_second: Iterable[Atom] = (),
    waiting: Mapping[Equation, Equation | None] | None = None,
    divide: Divide | None = None,
) -> Partition:
    """Split the equations of a program.

    Args:
        jaxpr: the program.
        live: results that the first pass computes.
        live_second: results that the second pass computes, or goes back from.
        waiting: equations that the first pass cannot carry out, and of each the part that it can.
        divide: decides about an equation of the first pass that the second needs results of; these
            are saved if it is left out.
    """
    needed_first, needed_second = set(live), set(live_second)
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
        for rest in _without_dead_code(eqn, needed_first):
            first.append(rest)
            needed_first.update(rest.invars)
    return Partition(tuple(reversed(first)), tuple(reversed(second)), tuple(reversed(saved)))


def _unread(eqn: Equation, *needed: set[Atom]) -> bool:
    return all([variables.isdisjoint(eqn.outvars) for variables in needed])


def _without_dead_code(eqn: Equation, live: set[Atom]) -> Sequence[Equation]:
    """An equation without what nobody needs, if anything is left."""
    if live.isdisjoint(eqn.outvars) and is_removable(eqn):
        return ()
    if eqn.primitive.partition is None:
        return (eqn,)
    return split(eqn, Demand([v in live for v in eqn.outvars])).first


def is_removable(eqn: Equation) -> bool:
    """Whether an equation does nothing but compute its results."""
    return not eqn.effects or all([effect.removable for effect in eqn.effects])


def program(
    source: Jaxpr, eqns: Sequence[Equation], invars: Sequence[Var], outvars: Sequence[Atom]
) -> Jaxpr:
    """A program that consists of equations of `source`, with the constants that it needs."""
    read = needed(source.constvars, eqns, outvars) if source.constvars else ()
    constvars = selected(source.constvars, read)
    return Jaxpr(
        invars=tuple(invars),
        outvars=tuple(outvars),
        eqns=tuple(eqns),
        constvars=constvars,
        consts=selected(source.consts, read),
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
