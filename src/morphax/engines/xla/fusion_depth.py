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


def too_deep(jaxpr: Jaxpr) -> frozenset[Any]:
    """The variables of a program whose values are brought to memory for that."""
    if _length(jaxpr) <= DEEPEST:
        return frozenset()
    depths: dict[Any, int] = {}
    cuts: set[Any] = set()
    for eqn in jaxpr.eqns:
        own = _depth(eqn)
        if not own:
            continue
        depth = own + max([depths.get(a, 0) for a in eqn.invars if type(a) is not Literal] + [0])
        if depth > DEEPEST:
            cuts.update(eqn.outvars)
        else:
            depths.update(dict.fromkeys(eqn.outvars, depth))
    return frozenset(cuts)


def called_by(eqn: Equation) -> Jaxpr | None:
    """The program that an equation is, if it is no more than that."""
    primitive = eqn.primitive
    name = "jaxpr" if primitive.is_call else primitive.plain_program
    program = eqn.params.get(name) if name is not None else None
    return program if type(program) is Jaxpr else None


def _depth(eqn: Equation) -> int:
    """So many operations depend on each other at most, 0 where the result is in memory."""
    called = called_by(eqn)
    if called is not None:
        return min(_length(called), DEEPEST)
    return 0 if eqn.primitive.reads is None else 1


@memoize
def _length(jaxpr: Jaxpr) -> int:
    """The operations of a program and of those that it calls, counted as far as it matters."""
    programs, count = [jaxpr], 0
    while programs and count <= DEEPEST:
        eqns = programs.pop().eqns
        count += len(eqns)
        programs += filter(None, map(called_by, eqns))
    return count
