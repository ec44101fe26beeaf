"""Equations that repeat others: what is computed once need not be computed again.

Programs that are written by functions for one operation each ask the same questions again and
again: whether x is NaN, how many elements there are.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...core import Atom, Equation, Jaxpr, Literal, Var
from ...core.dce import eliminate_dead_code
from ...util.parameter_keys import key_of, params_key


def without_repeats(jaxpr: Jaxpr) -> Jaxpr:
    """A program without effects, where equal equations are one and each is of use."""
    known: dict[Any, Equation] = {}
    same: dict[Var, Var] = {}
    kept: list[Equation] = []
    for eqn in jaxpr.eqns:
        invars = _replaced(eqn.invars, same)
        key = _key(eqn, invars)
        first = None if key is None else known.get(key)
        if first is not None:
            same.update(zip(eqn.outvars, first.outvars, strict=True))
            continue
        if invars != list(eqn.invars):
            eqn = eqn.replace(invars=invars)
        if key is not None:
            known[key] = eqn
        kept.append(eqn)
    shorter = jaxpr.replace(eqns=tuple(kept), outvars=tuple(_replaced(jaxpr.outvars, same)))
    return eliminate_dead_code(shorter)[0]


def _replaced(atoms: Sequence[Atom], same: dict[Var, Var]) -> list[Atom]:
    return [same.get(a, a) if type(a) is Var else a for a in atoms]


def _key(eqn: Equation, invars: Sequence[Atom]) -> Any:
    """What an equation computes; None if nothing tells."""
    params = params_key(eqn.params)
    operands = [_literal_key(a) if type(a) is Literal else (a,) for a in invars]
    return None if params is None or None in operands else (eqn.primitive, params, tuple(operands))


def _literal_key(literal: Literal) -> Any:
    key = key_of(literal.val)
    return None if key is None else (key, literal.aval)
