"""Lifting: what a transformation makes of programs, it makes of operations with bodies.

A transformation says what becomes of one program whose operands partly have a property (a tangent,
a batch axis, …).  `lifted` finds where the property gets to, transforms the programs accordingly,
and gives the parameters of the operation that they make up.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

from ...core import Jaxpr, Param, apply_jaxpr, stage_closed
from ...util.memo import memoize
from ..closing import closed_programs
from .fixpoint import Mask, spread
from .wiring import Parts, Wiring

Masks = tuple[Mask, ...]


def joined(masks: Masks) -> Mask:
    """The masks of roles as one mask."""
    return tuple([on for mask in masks for on in mask])


class Lift:
    """A transformation, as operations with bodies see it.

    Masks are given by role: one for each that a program takes, one for each that it gives.
    """

    # Whether decisions and choices may have the property, which then all results have.
    of_decisions: ClassVar[bool] = True

    def results(self, jaxpr: Jaxpr, operands: Mask) -> Sequence[bool]:
        """Which results have the property."""
        raise TypeError(f"{type(self).__name__} is abstract")

    def program(self, jaxpr: Jaxpr, operands: Masks, results: Masks) -> Jaxpr:
        """The transformed program; `results` have the property even if they need not."""
        raise TypeError(f"{type(self).__name__} is abstract")

    def condition(self, jaxpr: Jaxpr, operands: Masks) -> Jaxpr:
        """The same for a program that decides."""
        return self.program(jaxpr, operands, (tuple(self.results(jaxpr, joined(operands))),))


@memoize
def looking_on(jaxpr: Jaxpr, avals: tuple[Any, ...], places: tuple[int, ...]) -> Jaxpr:
    """A program that is given operands of these avals, and uses those at `places`."""
    return stage_closed(
        lambda *operands: apply_jaxpr(jaxpr, *[operands[i] for i in places]),
        avals,
        jaxpr.debug_info.of_derived(),
    )


class Lifted(NamedTuple):
    """A transformed operation.

    Args:
        params: its parameters, but for those that count operands.
        captured: values that its programs close over, by role; operands in front of the others.
        operands, results: which ones have the property.
    """

    params: dict[str, Param]
    captured: Parts
    operands: Parts
    results: Parts


def lifted(wiring: Wiring, params: Mapping[str, Any], mask: Parts, lift: Lift) -> Lifted:
    """Transform an operation, of whose operands those in `mask` have the property."""
    decided_by = lift.results if lift.of_decisions else None
    if decided_by is None and wiring.passive:
        mask = mask.replaced(**{name: [False] * len(mask[name]) for name in wiring.passive})
    mask, results = spread(wiring, params, mask, lift.results, decided_by)
    changed = dict(params)
    captured = Parts({name: [] for name in mask})
    outs = tuple(map(tuple, results.values()))
    for body in wiring.bodies:
        taken = tuple([tuple(mask[name]) for name in body.takes])
        values, transformed = closed_programs(
            [
                lift.program(jaxpr, taken, outs) if body.gives else lift.condition(jaxpr, taken)
                for jaxpr in body.programs(params)
            ]
        )
        captured[body.takes[0]] += values
        changed |= body.holding(transformed, params)
    return Lifted(changed, captured, mask, results)
