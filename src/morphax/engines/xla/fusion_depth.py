"""Where a chain of operations is cut that would end the process of XLA's compiler for the CPU.

It fuses operations on elements however many there are, and looks through a fusion by functions that
call themselves, with stacks of 8 MiB: a chain of 10,000 operations is compiled, one of 30,000 is
not.  So a value is brought to memory where so many operations depend on each other.

See docs/design/fusion-cuts.md.
"""

from __future__ import annotations

from typing import Any, Final

from ...core import Equation, Jaxpr, Literal
from ...util.memo import memoize

DEEPEST: Final = 2500
"""Operations that depend on each other, with no value in memory between them."""

WORTH_A_CUT: Final = 1500
"""As many operations take as long as it does to bring a value to memory, at the least."""

_OF_AN_ELEMENT: Final = 16
"""As many operations take as long as it does to bring one element to memory and back."""


def is_worth_a_cut(operations: int, size: int) -> bool:
    """Whether so many operations for each of `size` elements take longer than memory does."""
    return operations * size > WORTH_A_CUT + _OF_AN_ELEMENT * size


def too_deep(jaxpr: Jaxpr) -> frozenset[Any]:
    """The variables of a program whose values are brought to memory for that."""
    if _length(jaxpr) <= DEEPEST:
        return frozenset()
    depths: dict[Any, int] = {}
    cuts: set[Any] = set()
    for eqn in jaxpr.eqns:
        primitive, own = eqn.primitive, 1
        if primitive.is_call or primitive.plain_program is not None:
            own = _depth_of_call(eqn)
        elif primitive.reads is None:
            continue
        depth = own
        for atom in eqn.invars:
            if type(atom) is not Literal and atom in depths and depths[atom] + own > depth:
                depth = depths[atom] + own
        for var in eqn.outvars:
            if depth > DEEPEST:
                cuts.add(var)
            elif own:
                depths[var] = depth
    return frozenset(cuts)


def called_by(eqn: Equation) -> Jaxpr | None:
    """The program that an equation is, if it is no more than that."""
    primitive = eqn.primitive
    name = "jaxpr" if primitive.is_call else primitive.plain_program
    program = eqn.params.get(name) if name is not None else None
    return program if type(program) is Jaxpr else None


def _depth_of_call(eqn: Equation) -> int:
    """So many operations depend on each other at most, 0 where the result is in memory."""
    called = called_by(eqn)
    return 0 if called is None else min(_length(called), DEEPEST)


@memoize
def _length(jaxpr: Jaxpr) -> int:
    """The operations of a program and of those that it calls, counted as far as it matters."""
    programs, count = [jaxpr], 0
    while programs and count <= DEEPEST:
        eqns = programs.pop().eqns
        count += len(eqns)
        calls = [x for x in eqns if x.primitive.is_call or x.primitive.plain_program is not None]
        programs += filter(None, map(called_by, calls))
    return count
