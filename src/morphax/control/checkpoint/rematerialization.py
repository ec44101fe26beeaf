"""Rematerialisation: which equations the backward pass repeats, and which values it is given.

A program computes *used* outputs, needed in the forward pass, and *wanted* outputs, needed in the
backward pass only.  It is partitioned (`core.partition`): an equation whose results are wanted is
either kept, and its results saved, or repeated, and its operands wanted.  An equation is not
repeated if it has effects.

Equations that carry programs (`jit`, `scan`, `cond`) are divided inside, by the rule
`rematerialize` of their primitive; others are kept or repeated as a whole.  See
docs/design/rematerialization.md.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...core import Atom, Equation, Jaxpr, Var, infer
from ...core.partition import Partition, needed, partition, program, selected
from ...util.memo import memoize
from .checkpoint_policies import Policy, is_kept


@memoize
def divide(
    jaxpr: Jaxpr, used: tuple[bool, ...], wanted: tuple[bool, ...], policy: Policy | None
) -> Partition:
    """Divide a program.

    Args:
        jaxpr: the program.
        used: outputs that the forward pass needs.
        wanted: outputs that the backward pass needs.
        policy: tells which values are saved; see `checkpoint_policies`.
    """

    def divide_equation(eqn: Equation, used: Sequence[bool], wanted: Sequence[bool]) -> Partition:
        if eqn.primitive.rematerialize is not None:
            return eqn.primitive.rematerialize(eqn, used, wanted, policy)  # type: ignore[no-any-return]
        # What depends on nothing is not worth its memory.
        depends = any([type(a) is Var for a in eqn.invars])
        if eqn.effects or (depends and is_kept(policy, eqn)):
            return Partition((eqn,), (), selected(eqn.outvars, wanted))
        return Partition((eqn,) if any(used) else (), (eqn,))

    live, asked = selected(jaxpr.outvars, used), selected(jaxpr.outvars, wanted)
    return partition(jaxpr, live, asked, divide=divide_equation)


def divide_call(
    eqn: Equation,
    used: Sequence[bool],
    wanted: Sequence[bool],
    policy: Policy | None,
    calling: Callable[[Jaxpr], dict[str, Any]],
) -> Partition:
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
    forward = program(jaxpr, inner.first, jaxpr.invars, outs)
    results = (*selected(eqn.outvars, used), *[named[v] for v in unnamed])
    asked = selected(jaxpr.outvars, wanted)
    operands = needed(jaxpr.invars, inner.second, asked)
    repeated = program(
        jaxpr, inner.second, (*selected(jaxpr.invars, operands), *inner.saved), asked
    )
    given = (*selected(eqn.invars, operands), *[named[v] for v in inner.saved])
    return Partition(
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


def without_repetition(*groups: Sequence[Var]) -> tuple[Var, ...]:
    """The variables of all groups, each once."""
    return tuple(dict.fromkeys([v for group in groups for v in group]))
