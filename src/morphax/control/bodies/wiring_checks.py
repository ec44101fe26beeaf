"""What an application of an operation with bodies must satisfy: its programs fit its operands.

Users of `lax.scan` and the like never get here with what does not fit, for these functions look
first.  Authors of operations and of interpreters do, when they count operands wrongly.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ...core import AbstractRef, Jaxpr, ShapedArray
from ...util.messages import message
from .wiring import Body, Parts, Wiring

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
    if _plainly_fits(wiring, parts, params):
        return
    if sum(map(len, parts.values())) != len(avals) or not all(
        [n is None or len(parts[role]) == params.get(n, n) for role, n in wiring.roles]
    ):
        sizes = {role: params.get(n, n) for role, n in wiring.roles}
        raise ValueError(_miscounted(f"{name}, operands", len(avals), sizes))
    for body in wiring.bodies:
        for jaxpr in body.programs(params):
            _check_operands(name, wiring, body, jaxpr, parts, params)
            _check_results(name, wiring, body, jaxpr, parts, params)


def _plainly_fits(wiring: Wiring, parts: Parts, params: Mapping[str, Any]) -> bool:
    """Whether all avals of a loop are the very ones of its programs, as most are; this is fast."""
    if wiring.carried is None or wiring.roles[-1].count is not None:
        return False
    for body in wiring.bodies:
        for jaxpr in body.programs(params):
            invars, outvars, start = jaxpr.invars, jaxpr.outvars, 0
            for role in body.takes:
                length = (params[wiring.length],) if role in wiring.stacked else None
                for aval, v in zip(parts[role], invars[start:], strict=False):
                    if aval is not v.aval and not (length and _agree(aval, v.aval, length)):
                        return False
                start += len(parts[role])
            expected = parts[wiring.carried] if body.gives else (_TRUTH,)
            further = len(outvars) - len(expected)
            if start != len(invars) or further < 0 or (further and len(body.gives) < 2):
                return False
            for aval, v in zip(expected, outvars, strict=False):
                if aval is not v.aval:
                    return False
    return True


def _check_operands(
    name: str,
    wiring: Wiring,
    body: Body,
    jaxpr: Jaxpr,
    parts: Parts,
    params: Mapping[str, Any],
) -> None:
    """A program takes what its roles have, or slices of it."""
    invars, start = jaxpr.invars, 0
    for role in body.takes:
        given = parts[role]
        length = (params[wiring.length],) if role in wiring.stacked else ()
        for i, (aval, v) in enumerate(zip(given, invars[start:], strict=False)):
            if (aval is not v.aval or length) and not _agree(aval, v.aval, length):
                what = f"{v.aval} for each of {length[0]} steps" if length else f"{v.aval}"
                raise TypeError(_disagreeing(f"{name}, operand {role}[{i}]", body, aval, what))
        start += len(given)
    if start != len(invars):
        sizes = {role: len(parts[role]) for role in body.takes}
        where = f"{name}, operands of {body.param}"
        raise ValueError(_miscounted(where, len(invars), sizes))


def _check_results(
    name: str,
    wiring: Wiring,
    body: Body,
    jaxpr: Jaxpr,
    parts: Parts,
    params: Mapping[str, Any],
) -> None:
    """A decision is a truth value, a carry keeps its avals, and branches give the same."""
    if not body.gives:
        role, expected = "decision", [_TRUTH]
    elif wiring.carried is not None:
        role, expected = wiring.carried, parts[wiring.carried]
    else:
        first = body.programs(params)[0]
        if jaxpr is first:
            return
        role, expected = body.gives[0], list(first.out_avals)
    outs = jaxpr.outvars
    if len(outs) < len(expected) or (len(outs) > len(expected) and len(body.gives) < 2):
        where = f"{name}, results of {body.param}"
        raise ValueError(_miscounted(where, len(outs), {role: len(expected)}))
    for i, (aval, v) in enumerate(zip(expected, outs, strict=False)):
        if aval is not v.aval and not _agree(aval, v.aval):
            where = f"{name}, result {role}[{i}] of {body.param}"
            raise TypeError(_disagreeing(where, body, v.aval, f"{aval}"))


def _agree(aval: Any, own: Any, length: tuple[int, ...] = ()) -> bool:
    """Whether an operand, or a slice of it, may be that of a program; weak types may differ."""
    return (  # type: ignore[no-any-return]
        aval.shape == length + own.shape
        and aval.dtype == own.dtype
        and (type(aval) is AbstractRef) == (type(own) is AbstractRef)
    )


def _disagreeing(where: str, body: Body, given: Any, expected: str) -> str:
    return message(
        where,
        given=f"{given}",
        expected=f"{expected}: {body.param} takes {', '.join(body.takes)}",
        fix="Give operands in the order of their roles, and a carry that keeps its type.",
    )


def _miscounted(where: str, given: int, sizes: Mapping[str, int | None]) -> str:
    roles = [f"{role}: {'the others' if n is None else n}" for role, n in sizes.items()]
    return message(
        where,
        given=f"{given}",
        expected=", ".join(roles),
        fix="Make the parameters count the operands of each role.",
    )
