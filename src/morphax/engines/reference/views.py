"""Results that lie in the memory of operands, and the order in which a program makes them.

A slice or a repetition is a copy, since a view of a small part would keep all of its operand in
memory.  Within a program it is none if only operations read it that are rounded exactly, so that it
does not matter where their operands lie.

Views take no time, nor do results of few numbers.  Those that are made of operands of the program
come first: then operations of many numbers that they stood between follow one another, and are one
chain.
"""

from __future__ import annotations

from collections.abc import Callable, Set
from typing import Any

from ...core import Atom, Equation, Jaxpr, Var, aval_of
from .fusion import operation_of

_FEW = 1024


def copied(jaxpr: Jaxpr) -> set[Atom]:
    """What may not lie in the memory of an operand.

    Results, which would keep all of it, and what others read than operations that are rounded
    exactly, wherever their operands lie, and of two operands or more, whose results are new.
    """
    read: set[Atom] = {a for a in jaxpr.outvars if type(a) is Var}
    for eqn in jaxpr.eqns:
        if len(eqn.invars) < 2 or operation_of(eqn) is None:
            read.update([a for a in eqn.invars if type(a) is Var])
    return read


def view_of(eqn: Equation, copied: Set[Atom]) -> Callable[..., Any] | None:
    """A kernel whose result lies in its operand's memory, where that may be."""
    if eqn.primitive.view is None or eqn.outvars[0] in copied:
        return None
    made: Callable[..., Any] | None = eqn.primitive.view(
        *[a.aval for a in eqn.invars], **eqn.params
    )
    return made


def views_first(jaxpr: Jaxpr, copied: Set[Atom]) -> Jaxpr:
    """A program without effects, where what takes no time comes first if it can."""
    early: set[Atom] = {*jaxpr.invars, *jaxpr.constvars}
    first: list[Equation] = []
    rest: list[Equation] = []
    for eqn in jaxpr.eqns:
        is_quick = _is_small(eqn) or view_of(eqn, copied) is not None
        comes_first = is_quick and all([type(a) is not Var or a in early for a in eqn.invars])
        (first if comes_first else rest).append(eqn)
        if comes_first:
            early.update(eqn.outvars)
    return jaxpr.replace(eqns=(*first, *rest))


def _is_small(eqn: Equation) -> bool:
    return all([aval_of(v).size <= _FEW for v in eqn.outvars])
