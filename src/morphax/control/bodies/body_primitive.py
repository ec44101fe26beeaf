"""The base of operations with bodies: the rules that follow from their wiring."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any, ClassVar, NamedTuple, final

from ...core import (
    AbstractValue,
    BatchAxes,
    Effects,
    Equation,
    Jaxpr,
    Operand,
    Param,
    Zero,
    aval_of,
    is_undefined_primal,
    is_zero,
    jaxpr_axis_names,
    stage_with_operands,
    values_of,
)
from ...core.partition import Demand, Partition, selected, whole
from ...engines.reference.eager import RunsOnArrays
from ...lax.ground.linear_structure import instantiate
from ...lax.reference.ref_binding import TakesReferences
from ...transforms.batching import open_batch, to_axis
from ...transforms.jvp import open_jvp
from ...transforms.known_parts import known_program
from ...transforms.transposition import open_transpose
from ...util.memo import memoize
from ..closing import closed_programs, common_captures
from .division import divided
from .fixpoint import Mask, spread
from .high_values import bind_lowered
from .lifting import Lift, Masks, joined, lifted, looking_on
from .reference_values import first_places, on_values
from .wiring import Parts, Wiring, slice_aval
from .wiring_checks import check_application


class HasBodies(RunsOnArrays, TakesReferences):
    """An operation that is made of programs as its `wiring` says.

    Each transformation makes an operation of the same kind of the transformed programs.  Values
    that belong together (primals and tangents, say) stand side by side in each role.
    """

    multiple_results = True
    takes_high_types = True
    wiring: ClassVar[Wiring]

    def abstract_eval(self, *avals: AbstractValue, **params: Param) -> Sequence[Any]:
        check_application(self.name, self.wiring, avals, params)
        return self.wiring.result_avals(params)

    def effects(self, **params: Param) -> Effects:
        return self.wiring.effects(params)

    def axis_names(self, **params: Param) -> tuple[Any, ...]:
        bodies = [jaxpr for body in self.wiring.bodies for jaxpr in body.programs(params)]
        return tuple(dict.fromkeys([name for jaxpr in bodies for name in jaxpr_axis_names(jaxpr)]))

    def operand_params(
        self, params: dict[str, Param], numbers: Sequence[int | None], *, shared: bool = False
    ) -> dict[str, Any]:
        """The parameters that say something of each operand, for other operands.

        Args:
            params: of the operation as it was.
            numbers: of the operands among those that it had, `None` for new ones.
            shared: whether it is taken apart, so that others read its operands too.
        """
        return {}

    def apply(
        self,
        operands: Parts,
        params: dict[str, Param],
        numbers: Sequence[int | None] | None = None,
    ) -> list[Any]:
        """Bind the operation to operands by role, which the parameters need not count.

        Args:
            operands: by role.
            params: other parameters.
            numbers: see `operand_params`; needed if the parameters are those of other operands.
        """
        params = params | self.wiring.counts(operands)
        if numbers is not None:
            params |= self.operand_params(params, numbers)
        return self.bind(*operands.flat, **params)

    def staged(self, functions: Mapping[str, Any], operands: Parts, **params: Param) -> list[Any]:
        """Bind the operation to the programs of functions; what they close over is an operand."""
        avals = operands.map(aval_of)
        for name in operands.keys() & self.wiring.stacked:
            avals[name] = [slice_aval(aval, params[self.wiring.length]) for aval in avals[name]]
        captured = Parts({name: [] for name in operands})
        for body in self.wiring.bodies:
            held = functions[body.param]
            staged = [
                stage_with_operands(function, body.taken(avals))
                for function in (held if type(held) is tuple else (held,))
            ]
            programs, captures = zip(*staged, strict=True)
            own = captures[0]
            if len(staged) > 1:
                own, programs = common_captures(programs, captures)
            captured[body.takes[0]] += own
            params |= body.holding(programs, functions)
        return self.apply(captured.beside(operands), params)

    def discharge(self, *operands: Operand, **params: Param) -> list[Any]:
        """References that the bodies change are carried, stacked, or results of all branches."""
        call = on_values(self.wiring, tuple(params.items()), first_places(operands))
        values, about = values_of(operands), self.operand_params(params, call.operands)
        outs = self.bind(*[values[i] for i in call.operands], **call.params | about)
        return call.write_back(outs, operands)

    def to_lojax(self, *operands: Operand, **params: Param) -> list[Any]:
        """Values of high types are passed on as the arrays that they are made of."""
        return bind_lowered(self, operands, params)

    def jvp(
        self, primals: Sequence[Operand], tangents: Sequence[Operand], **params: Param
    ) -> tuple[list[Any], list[Any]]:
        """One operation on primals and tangents together."""
        values = self.wiring.parts(primals, params)
        given = self.wiring.parts(tangents, params)
        mask = self.wiring.parts([not is_zero(t) for t in tangents], params)
        call = lifted(self.wiring, params, mask, _Pushforward())
        pushed = given.where(call.operands).map(instantiate)
        outs = self.apply(call.captured.beside(values).beside(pushed), call.params)
        return _unpaired(outs, call.results)

    def transpose(self, cts: Sequence[Operand], *operands: Operand, **params: Param) -> list[Any]:
        """The transposes of the programs, one of which is chosen as before.

        Loops have rules of their own: their steps go the other way.
        """
        wiring = self.wiring
        assert wiring.carried is None, "a loop says how it is transposed"
        programs = wiring.giving.programs(params)
        first = len(operands) - len(programs[0].invars)
        linear = tuple([is_undefined_primal(x) for x in operands[first:]])
        ct_active = tuple([not is_zero(ct) for ct in cts])
        # Branches must give the same.
        forced = len(programs) > 1
        fragments = [open_transpose(jaxpr, linear, ct_active, forced) for jaxpr in programs]
        captured, transposed = closed_programs([fragment.jaxpr for fragment in fragments])
        known = [i for i, on in enumerate(linear, first) if not on]
        given = [ct for ct in cts if not is_zero(ct)]
        numbers = [*range(first), *[None] * len(captured), *known, *[None] * len(given)]
        params |= self.operand_params(params, numbers, shared=True)
        params |= wiring.giving.holding(transposed, params)
        values = [*operands[:first], *captured, *[operands[i] for i in known], *given]
        results = iter(self.bind(*values, **params))
        return [None] * first + [next(results) if on else None for on in fragments[0].active]

    def partition(self, eqn: Equation, demand: Demand) -> Partition:
        """Programs are taken apart, but not to get rid of dead code: that is for compilers."""
        if demand.unknown:
            part = _known_part(self, tuple(eqn.params.items()), tuple(demand.unknown))
            if part is None:
                return whole(eqn, demand)
            known = selected(eqn.invars, part.operands)
            results = selected(eqn.outvars, part.results)
            place = (eqn.source, eqn.name_stack)
            first = Equation(self, known, results, part.params, part.effects, *place)
            return Partition((first,), (eqn,))
        if self.wiring.deciding or not any(demand.live_second):
            return whole(eqn, demand)
        return divided(self, eqn, demand)

    def batch(
        self,
        axes: BatchAxes,
        operands: Sequence[Operand],
        dims: tuple[int | None, ...],
        **params: Param,
    ) -> tuple[list[Any], Sequence[int | None]]:
        values, changed, out_dims = self.batched(axes, operands, dims, params)
        return self.apply(values, changed), out_dims

    collect = batch

    def batched(
        self,
        axes: BatchAxes,
        operands: Sequence[Operand],
        dims: tuple[int | None, ...],
        params: dict[str, Param],
    ) -> tuple[Parts, dict[str, Any], list[int | None]]:
        """Operands and parameters for whole batches, and the batch axes of results.

        Batch axes are in front, but behind the axis of what is stacked.
        """
        wiring = self.wiring
        values, where = wiring.parts(operands, params), wiring.parts(dims, params)
        call = lifted(wiring, params, where.map(_is_batch), _Batch(axes))
        moved = {
            name: [
                to_axis(axes, x, d, int(name in wiring.stacked)) if on else x
                for x, d, on in zip(role, where[name], call.operands[name], strict=True)
            ]
            for name, role in values.items()
        }
        out_dims = [
            int(name in wiring.stacked) if on else None
            for name, role in call.results.items()
            for on in role
        ]
        return call.captured.beside(Parts(moved)), call.params, out_dims


class _KnownPart(NamedTuple):
    """The operation on known operands that gives the results that depend on no others."""

    operands: Mask
    results: Mask
    params: dict[str, Param]
    effects: Effects


@memoize
def _known_part(
    primitive: HasBodies, params: tuple[tuple[str, Any], ...], unknown: Mask
) -> _KnownPart | None:
    named, wiring, lift = dict(params), primitive.wiring, _Known()
    waiting = wiring.parts(unknown, named)
    if all(spread(wiring, named, waiting, lift.results, lift.results)[1].flat):
        return None
    call = lifted(wiring, named, waiting, lift)
    known, results = call.operands.map(_not), call.results.map(_not)
    numbers = [i for i, on in enumerate(known.flat) if on]
    changed = call.params | wiring.counts(known.where(known))
    changed |= primitive.operand_params(named, numbers, shared=True)
    effects = primitive.effects(**changed)
    return _KnownPart(tuple(known.flat), tuple(results.flat), changed, effects)


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
        if len(operands) == 1:
            return fragment.jaxpr
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
class _Known(Lift):
    """The property is to depend on unknown operands; what has it is left out."""

    def results(self, jaxpr: Jaxpr, operands: Mask) -> list[bool]:
        return [not on for on in known_program(jaxpr, operands).results]

    def program(self, jaxpr: Jaxpr, operands: Masks, results: Masks) -> Jaxpr:
        known = known_program(jaxpr, joined(operands))
        live = tuple([not on for on in joined(results)])
        if known.results != live:
            known = known_program(jaxpr, joined(operands), live)
        return known.jaxpr
