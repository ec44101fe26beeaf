"""Rematerialisation: which equations the backward pass repeats, and which values it is given.

A program computes *used* outputs, needed in the forward pass, and *wanted* outputs, needed in the
backward pass only.  `divide` walks it once, from the end: an equation whose results are asked for
is either kept, and its results saved, or repeated, and its operands asked for.  An equation is not
repeated if it has effects.

Equations that carry programs (`jit`, `scan`, `cond`) are divided inside, by the rule
`rematerialize` of their primitive; others are kept or repeated as a whole.  See
docs/design/rematerialization.md.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, final

from ...core import Atom, Equation, Jaxpr, Var, infer
from ...core.jaxpr import joined_effects
from ...util.memo import memoize
from .checkpoint_policies import Policy, is_kept


@final
@dataclass(frozen=True, slots=True)
class Division:
    """A program, or one equation, divided between forward and backward pass.

    Args:
        forward: equations of the forward pass.
        again: equations of the backward pass; they bind variables of the program anew.
        saved: variables of the forward pass that the backward pass is given.  Those that are
            operands of the program do not count: it is given them anyway.
    """

    forward: tuple[Equation, ...]
    again: tuple[Equation, ...] = ()
    saved: tuple[Var, ...] = ()


@memoize
def divide(
    jaxpr: Jaxpr, used: tuple[bool, ...], wanted: tuple[bool, ...], policy: Policy | None
) -> Division:
    """Divide a program.

    Args:
        jaxpr: the program.
        used: outputs that the forward pass needs.
        wanted: outputs that the backward pass needs.
        policy: tells which values are saved; see `checkpoint_policies`.
    """
    live = variables(selected(jaxpr.outvars, used))
    asked = variables(selected(jaxpr.outvars, wanted))
    forward: list[Equation] = []
    again: list[Equation] = []
    saved: list[Var] = []
    for eqn in reversed(jaxpr.eqns):
        part = _divide_equation(
            eqn, [v in live for v in eqn.outvars], [v in asked for v in eqn.outvars], policy
        )
        live |= variables_read(part.forward)
        asked |= variables_read(part.again)
        forward += reversed(part.forward)
        again += reversed(part.again)
        saved += reversed(part.saved)
    return Division(tuple(reversed(forward)), tuple(reversed(again)), tuple(reversed(saved)))


def _divide_equation(
    eqn: Equation, used: Sequence[bool], wanted: Sequence[bool], policy: Policy | None
) -> Division:
    runs = (eqn,) if any(used) or eqn.effects else ()
    if not any(wanted):
        return Division(runs)
    if eqn.primitive.rematerialize is not None:
        return eqn.primitive.rematerialize(eqn, used, wanted, policy)  # type: ignore[no-any-return]
    # What depends on nothing is not worth its memory.
    depends = any([type(a) is Var for a in eqn.invars])
    if eqn.effects or (depends and is_kept(policy, eqn)):
        return Division((eqn,), (), selected(eqn.outvars, wanted))
    return Division(runs, (eqn,))


def divide_call(
    eqn: Equation,
    used: Sequence[bool],
    wanted: Sequence[bool],
    policy: Policy | None,
    calling: Callable[[Jaxpr], dict[str, Any]],
) -> Division:
    """Divide the call of the program `jaxpr`.

    Args:
        eqn: the call.
        used, wanted: which of its results the two passes need.
        policy: for the equations of the program.
        calling: a program → the parameters of the call of it.
    """
    jaxpr: Jaxpr = eqn.params["jaxpr"]
    used, wanted, direct = directly_saved(jaxpr, used, wanted, policy)
    inner = divide(jaxpr, tuple(used), tuple(wanted), policy)
    named = dict(zip(selected(jaxpr.outvars, used), selected(eqn.outvars, used), strict=True))
    unnamed = [v for v in inner.saved if v not in named]
    named |= {v: Var(v.aval) for v in unnamed}
    outs = [*selected(jaxpr.outvars, used), *unnamed]
    forward = program(jaxpr, inner.forward, jaxpr.invars, outs)
    results = (*selected(eqn.outvars, used), *[named[v] for v in unnamed])
    asked = selected(jaxpr.outvars, wanted)
    operands = needed(jaxpr.invars, inner.again, asked)
    repeated = program(jaxpr, inner.again, (*selected(jaxpr.invars, operands), *inner.saved), asked)
    given = (*selected(eqn.invars, operands), *[named[v] for v in inner.saved])
    return Division(
        (applied(eqn, eqn.invars, results, calling(forward)),)
        if results or forward.effects
        else (),
        (applied(eqn, given, selected(eqn.outvars, wanted), calling(repeated)),) if asked else (),
        without_repetition(selected(eqn.outvars, direct), [named[v] for v in inner.saved]),
    )


def applied(
    eqn: Equation, invars: Sequence[Atom], outvars: Sequence[Var], params: dict[str, Any]
) -> Equation:
    """The operation of an equation on other operands, with other parameters."""
    _, effects = infer(eqn.primitive, params, tuple([a.aval for a in invars]))
    return eqn.replace(invars=tuple(invars), outvars=tuple(outvars), params=params, effects=effects)


def directly_saved(
    jaxpr: Jaxpr, used: Sequence[bool], wanted: Sequence[bool], policy: Policy | None
) -> tuple[list[bool], list[bool], list[bool]]:
    """Outputs that the policy saves: they are used in the forward pass, and no more wanted.

    Returns:
        What is used, what is wanted, and what is saved.
    """
    saved = divide(jaxpr, (False,) * len(used), tuple(wanted), policy).saved
    direct = [on and v in saved for v, on in zip(jaxpr.outvars, wanted, strict=True)]
    used = [a or b for a, b in zip(used, direct, strict=True)]
    return used, [a and not b for a, b in zip(wanted, direct, strict=True)], direct


def program(
    source: Jaxpr, eqns: Sequence[Equation], invars: Sequence[Var], outvars: Sequence[Atom]
) -> Jaxpr:
    """A program that consists of equations of `source`, with the constants that it needs."""
    kept = needed(source.constvars, eqns, outvars)
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
    read = variables_read(eqns) | variables(outvars)
    return [v in read for v in operands]


def variables_read(eqns: Sequence[Equation]) -> set[Var]:
    """The variables that equations have as operands."""
    return {a for eqn in eqns for a in eqn.invars if type(a) is Var}


def variables(atoms: Sequence[Atom]) -> set[Var]:
    """Those that are not literals."""
    return {a for a in atoms if type(a) is Var}


def without_repetition(*groups: Sequence[Var]) -> tuple[Var, ...]:
    """The variables of all groups, each once."""
    return tuple(dict.fromkeys([v for group in groups for v in group]))


def selected(items: Sequence[Any], mask: Sequence[bool]) -> tuple[Any, ...]:
    """The items at which `mask` is true."""
    return tuple([x for x, on in zip(items, mask, strict=True) if on])
