"""The fixpoint over a carry, of which all rules of loops are made.

Whether a component of the carry has a tangent, a batch axis, coefficients of a series, an unknown
value, depends on what it starts with and on what a step makes of it.  So a mask of components grows
until a step maps it into itself.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ...core import Jaxpr
from .wiring import Parts, Wiring

Mask = tuple[bool, ...]


def fixpoint(carry: Sequence[bool], step: Callable[[list[bool]], Sequence[bool]]) -> list[bool]:
    """The least mask of carry components that contains `carry` and that one step maps into itself.

    Args:
        carry: components that have the property at the start.
        step: components that have it at the start of a step → those that have it at its end.
    """
    now = list(carry)
    while True:
        after = [a or b for a, b in zip(now, step(now), strict=True)]
        if after == now:
            return now
        now = after


def any_of(rows: Sequence[Sequence[bool]]) -> list[bool]:
    """Where at least one row is true."""
    return list(map(any, zip(*rows, strict=True)))


def spread(
    wiring: Wiring,
    params: Mapping[str, Any],
    mask: Parts,
    through: Callable[[Jaxpr, Mask], Sequence[bool]],
    decided_by: Callable[[Jaxpr, Mask], Sequence[bool]] | None = None,
) -> tuple[Parts, Parts]:
    """Which operands and which results have a property that programs pass on.

    Args:
        wiring: of the operation.
        params: of the operation.
        mask: operands that have the property.
        through: a program, which of its operands have the property → which of its results.
        decided_by: the same for programs that decide; given if all that comes out of a loop has the
            property as soon as the decision has it.
    """
    giving = wiring.giving
    programs = giving.programs(params)
    num_carry = 0 if wiring.carried is None else len(mask[wiring.carried])
    if decided_by is not None and wiring.chooses is not None and any(mask[wiring.chooses]):
        return mask, wiring.result_parts([True] * len(programs[0].outvars), 0)

    carried = wiring.carried
    # All in this frame, of which loops within loops take one for each level.
    while True:
        if decided_by is not None and carried is not None:
            for body in wiring.deciding:
                if any(decided_by(body.programs(params)[0], body.taken(mask))):
                    mask = mask.replaced(**{carried: [True] * num_carry})
        taken, rows = giving.taken(mask), []
        for jaxpr in programs:
            rows.append(through(jaxpr, taken))  # not in a comprehension, which has a frame
        outs = wiring.result_parts(any_of(rows) if len(rows) > 1 else rows[0], num_carry)
        if carried is None:
            return mask, outs
        before = list(mask[carried])
        after = [a or b for a, b in zip(before, outs[carried], strict=True)]
        if after == before:
            # What starts with the property has it in the end, for there may be no step.
            return mask, outs.replaced(**{carried: mask[carried]})
        mask = mask.replaced(**{carried: after})
