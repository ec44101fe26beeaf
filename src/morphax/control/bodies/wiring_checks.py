"""What an application of an operation with bodies must satisfy: its programs fit its operands.

Users of `lax.scan` and the like never get here with what does not fit, for these functions look
first.  Authors of operations and of interpreters do, when they count operands wrongly.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ...core import AbstractRef, Jaxpr, ShapedArray, StateEffect, jaxpr_axis_names
from ...util.messages import message
from .wiring import Body, Parts, Wiring, stacked_aval

_TRUTH = ShapedArray((), np.bool_)


def check_application(
    name: str, wiring: Wiring, avals: Sequence[Any], params: Mapping[str, Any]
) -> None:
    """Raise an error that names the operand, if programs and operands do not fit.

    Args:
        name: of the operation.
        wiring: of the operation.
        avals: of its operands.
        params: of the operation.

    Raises:
        ValueError: numbers of operands or of results do not add up.
        TypeError: a program takes another aval than it is given, or gives a wrong one.
    """
    counted = 0
    for _, size in wiring.roles:
        counted += params[size] if isinstance(size, str) else size or 0
    if len(avals) < counted or (len(avals) > counted and wiring.roles[-1].size is not None):
        sizes = {role: params.get(str(size), size) for role, size in wiring.roles}
        raise ValueError(_miscounted(f"{name}, operands", len(avals), sizes))
    parts = wiring.parts(avals, params)
    for body in wiring.bodies:
        programs = body.programs(params)
        for jaxpr in programs:
            # Mostly the avals are the very same.
            if [v.aval for v in jaxpr.invars] != [a for role in body.takes for a in parts[role]]:
                _check_operands(name, wiring, body, jaxpr, parts, params)
            _check_results(name, wiring, body, jaxpr, parts, programs[0])
    _check_states(name, wiring, params)
    _check_divergence(name, wiring, parts, params)


def _check_states(name: str, wiring: Wiring, params: Mapping[str, Any]) -> None:
    """What changes in place keeps its state in a loop, and has the same after each branch."""
    for body in wiring.bodies:
        changes = [
            {e for e in jaxpr.effects if type(e) is StateEffect} for jaxpr in body.programs(params)
        ]
        if any([change != changes[0] for change in changes]) or (wiring.carried and any(changes)):
            told = sorted({f"operand {e.input_index}: {e.state}" for c in changes for e in c})
            raise TypeError(
                message(
                    f"{name}, {body.param}",
                    given=f"a program that changes the state of a value, {'; '.join(told)}",
                    expected="a state that stays in loops, and is the same after each branch",
                    fix="Bring the value into that state before, for instance with zeros.",
                )
            )


def _check_divergence(name: str, wiring: Wiring, parts: Parts, params: Mapping[str, Any]) -> None:
    """Members that may go different ways do not communicate on them, and differ in the end.

    They would wait for each other for ever.
    """
    choices = parts[wiring.chooses] if wiring.chooses is not None else []
    decisions = [p.out_avals[0] for body in wiring.deciding for p in body.programs(params)]
    differing = frozenset().union(*[aval.vma for aval in (*choices, *decisions)])
    if not differing:
        return
    programs = [p for body in wiring.bodies for p in body.programs(params)]
    for program in programs:
        communicating = differing.intersection(jaxpr_axis_names(program))
        if communicating:
            axes = ", ".join(map(repr, communicating))
            raise ValueError(
                message(
                    f"{name}, condition",
                    given=f"a condition that varies over the axes {axes} of the mesh, along which "
                    "its programs communicate (so do derivatives, where they sum cotangents of "
                    "values that are the same for all members)",
                    expected="a condition that is the same for all members that communicate",
                    fix="Let members agree, by lax.pmax of the condition for instance; or cast "
                    f"what the programs read before: lax.pcast(x, {axes}, to='varying').",
                )
            )
    for aval in wiring.giving.programs(params)[0].out_avals:
        if not differing <= aval.vma:
            raise TypeError(
                message(
                    f"{name}, results",
                    given=f"{aval}, of a program that is chosen by members each for itself",
                    expected=f"a result that varies over {', '.join(map(str, differing))}",
                    fix="Cast results of the programs with core.varying.varying_over.",
                )
            )


def _check_operands(
    name: str, wiring: Wiring, body: Body, jaxpr: Jaxpr, parts: Parts, params: Mapping[str, Any]
) -> None:
    """A program takes what there is in its roles, or slices of it."""
    own, start = jaxpr.in_avals, 0
    for role in body.takes:
        length = (params[wiring.length],) if role in wiring.stacked else ()
        _check_avals(f"{name}, operand {role}", parts[role], own[start:], length)
        start += len(parts[role])
    if start != len(own):
        sizes = {role: len(parts[role]) for role in body.takes}
        raise ValueError(_miscounted(f"{name}, operands of {body.param}", len(own), sizes))


def _check_results(
    name: str, wiring: Wiring, body: Body, jaxpr: Jaxpr, parts: Parts, first: Jaxpr
) -> None:
    """A decision is a truth value, a carry keeps its avals, and branches give the same."""
    role = "decision"
    expected: list[Any] = [_TRUTH]
    if body.gives:
        role = body.gives[0]
        expected = parts[role] if role == wiring.carried else list(first.out_avals)
    own = [atom.aval for atom in jaxpr.outvars]
    if not body.gives and own and type(own[0]) is ShapedArray:
        # How it may vary is for `_check_divergence`.
        expected = [_TRUTH.update(vma=own[0].vma)]
    further = len(own) - len(expected)
    if further < 0 or (further and len(body.gives) < 2):
        where = f"{name}, results of {body.param}"
        raise ValueError(_miscounted(where, len(own), {role: len(expected)}))
    if own[: len(expected)] != expected:
        _check_avals(f"{name}, result {role}", expected, own)


def check_varying(where: str, avals: Sequence[Any], own: Sequence[Any]) -> None:
    """Raise `TypeError` unless operands vary over the axes of a mesh that a program's do.

    What is in the program has been derived from that, and is not derived anew.
    """
    for i, (aval, expected) in enumerate(zip(avals, own, strict=True)):
        if (aval.is_on_mesh or expected.is_on_mesh) and aval.vma != expected.vma:
            raise TypeError(
                message(
                    f"{where}, operand {i}",
                    given=f"{aval}",
                    expected=f"{expected}, which the program takes",
                    fix="Cast it with core.varying.varying_over, or trace the program anew.",
                )
            )


def _check_avals(
    where: str, avals: Sequence[Any], own: Sequence[Any], length: tuple[int, ...] = ()
) -> None:
    """Operands of a program have these avals, or those of their slices; weak types may differ."""
    for i, (aval, expected) in enumerate(zip(avals, own, strict=False)):
        if aval.is_high or expected.is_high:
            if aval == (stacked_aval(expected, *length) if length else expected):
                continue
        elif (
            aval.shape == length + expected.shape
            and aval.dtype == expected.dtype
            and (type(aval) is AbstractRef) == (type(expected) is AbstractRef)
        ):
            check_varying(f"{where}, in order", [aval], [expected])
            continue
        steps = f" for each of {length[0]} steps" if length else ""
        raise TypeError(
            message(
                f"{where}[{i}]",
                given=f"{aval}; in the program {expected}{steps}",
                expected="the same shape and dtype",
                fix="Give operands in the order of their roles, and a carry that keeps its type.",
            )
        )


def _miscounted(where: str, given: int, sizes: Mapping[str, int | None]) -> str:
    roles = [f"{role}: {'the others' if n is None else n}" for role, n in sizes.items()]
    return message(
        where,
        given=f"{given}",
        expected=", ".join(roles),
        fix="Make the parameters count the operands of each role.",
    )
