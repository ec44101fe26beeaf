"""The base of operations with bodies: the rules that follow from their wiring."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import Any, ClassVar, final

from ...core import (
    BatchAxes,
    Effects,
    Jaxpr,
    Zero,
    aval_of,
    is_zero,
    jaxpr_axis_names,
    values_of,
)
from ...engines.reference.eager import RunsOnArrays
from ...lax.ref_binding import TakesReferences
from ...lax.spine import instantiate
from ...transforms.batching import open_batch, to_axis
from ...transforms.jvp import open_jvp
from ...transforms.known_parts import KnownPart, known_program
from .fixpoint import Mask
from .lifting import Lift, Lifted, Masks, joined, lifted, looking_on
from .reference_values import first_places, on_values
from .wiring import Parts, Wiring


class HasBodies(RunsOnArrays, TakesReferences):
    """An operation that is made of programs as its `wiring` says.

    Each transformation makes an operation of the same kind of the transformed programs.  Values
    that belong together (primals and tangents, say) stand side by side in each role.
    """

    multiple_results = True
    wiring: ClassVar[Wiring]

    def abstract_eval(self, *avals: Any, **params: Any) -> Sequence[Any]:
        return self.wiring.result_avals(params)

    def effects(self, **params: Any) -> Effects:
        return self.wiring.effects(params)

    def axis_names(self, **params: Any) -> tuple[Any, ...]:
        bodies = [jaxpr for body in self.wiring.bodies for jaxpr in body.programs(params)]
        return tuple(dict.fromkeys([name for jaxpr in bodies for name in jaxpr_axis_names(jaxpr)]))

    def apply(self, operands: Parts, params: dict[str, Any]) -> list[Any]:
        """Bind the operation to operands by role, which the parameters need not count."""
        return self.bind(*operands.flat, **params | self.wiring.counts(operands))  # type: ignore[no-any-return]

    def discharge(self, *operands: Any, **params: Any) -> list[Any]:
        """References that the bodies change are carried, stacked, or results of all branches."""
        call = on_values(self.wiring, tuple(params.items()), first_places(operands))
        values = values_of(operands)
        outs = self.bind(*[values[i] for i in call.operands], **call.params)
        return call.hand_back(outs, operands)

    def jvp(
        self, primals: Sequence[Any], tangents: Sequence[Any], **params: Any
    ) -> tuple[list[Any], list[Any]]:
        """One operation on primals and tangents together."""
        values = self.wiring.parts(primals, params)
        given = self.wiring.parts(tangents, params)
        call = lifted(self.wiring, params, given.map(_is_active), _Pushforward())
        pushed = given.where(call.operands).map(instantiate)
        outs = self.apply(call.captured.beside(values).beside(pushed), call.params)
        return _unpaired(outs, call.results)

    def known_part(self, unknown: Mask, **params: Any) -> KnownPart:
        mask = self.wiring.parts(unknown, params)
        call = lifted(self.wiring, params, mask, _KnownPart())
        known, results = call.operands.map(_not), call.results.map(_not)
        counts = self.wiring.counts(known.where(known))
        return KnownPart(tuple(known.flat), tuple(results.flat), call.params | counts)

    def batch(
        self, axes: BatchAxes, operands: Sequence[Any], dims: tuple[int | None, ...], **params: Any
    ) -> tuple[list[Any], Sequence[int | None]]:
        call = self.batched(axes, dims, params)
        moved = self.moved(axes, operands, dims, call, params)
        return self.apply(call.captured.beside(moved), call.params), self.result_dims(call)

    collect = batch

    def batched(
        self, axes: BatchAxes, dims: Sequence[int | None], params: dict[str, Any]
    ) -> Lifted:
        """The operation for whole batches: which operands and results are batches."""
        mask = self.wiring.parts(dims, params).map(_is_batch)
        return lifted(self.wiring, params, mask, _Batch(axes))

    def moved(
        self,
        axes: BatchAxes,
        operands: Sequence[Any],
        dims: Sequence[int | None],
        call: Lifted,
        params: dict[str, Any],
    ) -> Parts:
        """The operands with batch axes in front; the axis of a loop stays in front of them."""
        values, at = self.wiring.parts(operands, params), self.wiring.parts(dims, params)
        return Parts(
            {
                name: [
                    to_axis(axes, x, d, int(name in self.wiring.stacked)) if on else x
                    for x, d, on in zip(values[name], at[name], ons, strict=True)
                ]
                for name, ons in call.operands.items()
            }
        )

    def result_dims(self, call: Lifted) -> list[int | None]:
        """The batch axes of the results."""
        return [
            int(name in self.wiring.stacked) if on else None
            for name, ons in call.results.items()
            for on in ons
        ]


def _is_active(tangent: Any) -> bool:
    return not is_zero(tangent)


def _is_batch(dim: int | None) -> bool:
    return dim is not None


def _not(on: bool) -> bool:
    return not on


@final
class _Pushforward(Lift):
    """The property is to have a tangent; a decision has none.

    In each role, primals come first and then tangents.
    """

    of_decisions = False

    def results(self, jaxpr: Jaxpr, operands: Mask) -> Mask:
        return open_jvp(jaxpr, operands).out_active

    def program(self, jaxpr: Jaxpr, operands: Masks, results: Masks) -> Jaxpr:
        fragment = open_jvp(jaxpr, joined(operands))
        if fragment.out_active != joined(results):
            fragment = open_jvp(jaxpr, joined(operands), joined(results))
        return fragment.jaxpr.replace(
            invars=_role_by_role(fragment.jaxpr.invars, operands),
            outvars=_role_by_role(fragment.jaxpr.outvars, results),
        )

    def condition(self, jaxpr: Jaxpr, operands: Masks) -> Jaxpr:
        avals = [*jaxpr.in_avals]
        active = joined(operands)
        avals += [a.to_tangent_aval() for a, on in zip(jaxpr.in_avals, active, strict=True) if on]
        order = _role_by_role(range(len(avals)), operands)
        places = {number: place for place, number in enumerate(order)}
        return looking_on(
            jaxpr,
            tuple([avals[number] for number in order]),
            tuple([places[number] for number in range(len(active))]),
        )


def _role_by_role(values: Sequence[Any], roles: Masks) -> tuple[Any, ...]:
    """Primals and then tangents, as those of one role after those of the other."""
    primals, tangents = iter(values), islice(values, sum(map(len, roles)), None)
    return tuple(
        [
            x
            for role in roles
            for group in (islice(primals, len(role)), islice(tangents, sum(role)))
            for x in group
        ]
    )


def _unpaired(outs: Sequence[Any], active: Parts) -> tuple[list[Any], list[Any]]:
    """Results and their tangents, from those of one role after those of the other."""
    given = iter(outs)
    primals: list[Any] = []
    tangents: list[Any] = []
    for role in active.values():
        own = list(islice(given, len(role)))
        primals += own
        tangents += [
            next(given) if on else Zero(aval_of(x).to_tangent_aval())
            for x, on in zip(own, role, strict=True)
        ]
    return primals, tangents


@final
class _Batch(Lift):
    """The property is to have a batch axis, which programs have in front."""

    def __init__(self, axes: BatchAxes) -> None:
        self.axes = axes

    def results(self, jaxpr: Jaxpr, operands: Mask) -> list[bool]:
        fragment = open_batch(jaxpr, _in_front(operands), self.axes)
        return [d is not None for d in fragment.out_dims]

    def program(self, jaxpr: Jaxpr, operands: Masks, results: Masks) -> Jaxpr:
        dims, batched = _in_front(joined(operands)), joined(results)
        fragment = open_batch(jaxpr, dims, self.axes)
        if fragment.out_dims != _in_front(batched):
            fragment = open_batch(jaxpr, dims, self.axes, batched)
        return fragment.jaxpr


def _in_front(batched: Mask) -> tuple[int | None, ...]:
    return tuple([0 if on else None for on in batched])


@final
class _KnownPart(Lift):
    """The property is to depend on unknown operands; what has it is left out."""

    def results(self, jaxpr: Jaxpr, operands: Mask) -> list[bool]:
        return [not on for on in known_program(jaxpr, operands).results]

    def program(self, jaxpr: Jaxpr, operands: Masks, results: Masks) -> Jaxpr:
        wanted = tuple([not on for on in joined(results)])
        return known_program(jaxpr, joined(operands), wanted).jaxpr
