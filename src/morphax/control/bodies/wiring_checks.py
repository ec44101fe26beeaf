"""What an application of an operation with bodies must satisfy: its programs fit its operands.

Users of `lax.scan` and the like never get here with what does not fit, for these functions look
first.  Authors of operations and of interpreters do, when they count operands wrongly.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ...core import AbstractRef, Atom, ShapedArray
from ...util.messages import message
from .wiring import Wiring

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
    parts = wiring.parts(avals, params)
    sizes = {role: params[n] if isinstance(n, str) else n for role, n in wiring.roles}
    if sum(map(len, parts.values())) != len(avals) or not all(
        [size in (None, len(parts[role])) for role, size in sizes.items()]
    ):
        raise ValueError(_miscounted(f"{name}, operands", len(avals), sizes))
    for body in wiring.bodies:
        programs = body.programs(params)
        for jaxpr in programs:
            start = 0
            for role in body.takes:
                length = (params[wiring.length],) if role in wiring.stacked else ()
                variables = jaxpr.invars[start : start + len(parts[role])]
                _check_avals(name, f"operand {role}", parts[role], variables, length)
                start += len(variables)
            taken = {role: len(parts[role]) for role in body.takes}
            if sum(taken.values()) != len(jaxpr.invars):
                where = f"{name}, operands of {body.param}"
                raise ValueError(_miscounted(where, len(jaxpr.invars), taken))
            # A decision is a truth value, a carry keeps its avals, and branches give the same.
            role, expected = "decision", (_TRUTH,)
            if body.gives:
                role = body.gives[0]
                expected = parts[role] if role == wiring.carried else programs[0].out_avals
            further = len(jaxpr.outvars) - len(expected)
            if further < 0 or (further and len(body.gives) < 2):
                where = f"{name}, results of {body.param}"
                raise ValueError(_miscounted(where, len(jaxpr.outvars), {role: len(expected)}))
            _check_avals(name, f"result {role}", expected, jaxpr.outvars)


def _check_avals(
    name: str,
    role: str,
    avals: Sequence[Any],
    atoms: Sequence[Atom],
    length: tuple[int, ...] = (),
) -> None:
    """Variables of a program have these avals, or those of their slices; weak types may differ."""
    for i, (aval, atom) in enumerate(zip(avals, atoms, strict=False)):
        own: Any = atom.aval
        if (aval is own and not length) or (
            aval.shape == length + own.shape
            and aval.dtype == own.dtype
            and (type(aval) is AbstractRef) == (type(own) is AbstractRef)
        ):
            continue
        steps = f" for each of {length[0]} steps" if length else ""
        raise TypeError(
            message(
                f"{name}, {role}[{i}]",
                given=f"{aval}; in the program {own}{steps}",
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
