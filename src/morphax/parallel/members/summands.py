"""What members do with their summands of an operand whose sum is still to be taken.

A spec with ``unreduced={"x"}`` gives each member along x its summand: the operand is their sum.
Members apply an operation f to what they have, which is right if f(Σₖ xₖ) = Σₖ f(xₖ), as in
`core.pending_sums`: if f is linear in the summands, together, and the others are the same along x.
Otherwise the result would depend on how the sum was parted.  With ``reduced={"x"}`` all members
have the same, and the whole has the sum of their cotangents: it is no summand, nor may it be
summed.

Types do not tell these two from what varies, so the program of members is followed once it is
traced, through all programs within.  Along each axis a value has one of four *kinds*; where paths
meet, it is at least what it is on each: ``SAME`` < ``REDUCED`` < ``OWN``.  ``SUMMED`` compares with
none, for a value that is a summand on one path has to be one on all.  An operation of which nothing
is known gives ``OWN``, and takes no summands.  So a program that is accepted computes on summands
what it would compute on the sum; that it is not too much is checked in `tests/parallel`.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from enum import IntEnum
from typing import Any, Final, NoReturn, final

from ...control.bodies.wiring import Wiring
from ...control.program_call import HoldsProgram
from ...core import AbstractRef, Equation, Jaxpr, aval_of, jaxprs_in_params
from ...core.partition_spec import PartitionSpec
from ...util.messages import message
from ..gathering import all_gather_p, reduce_scatter_p
from ..reductions import psum_p
from ..varying import psum_invariant_p, pvary_p, vary_unreduced_cast_p

Names = frozenset[Hashable]


@final
class Kind(IntEnum):
    """What members along an axis have of a value."""

    SAME = 0
    REDUCED = 1
    OWN = 2
    SUMMED = 3


Kinds = Mapping[Hashable, Kind]
"""Of a value, by axis; it is the same along axes that are not there."""

_LINEAR: Final = (
    "an operation that is linear in the summands, together, with others that are the same for all "
    "members"
)
_ALIKE: Final = "a summand whichever way the program goes"


def check_summands(
    program: Jaxpr, in_specs: Sequence[PartitionSpec], out_specs: Sequence[PartitionSpec]
) -> None:
    """Follow what members do with their summands.

    Raises:
        TypeError: if an operation or a choice is not linear in summands.
        ValueError: if members tell each other their summands, but for the sum; if they sum what is
            reduced; or if the specs of results are of another kind than the results.
    """
    has_sums = any([spec.unreduced or spec.reduced for spec in (*in_specs, *out_specs)])
    if not has_sums and not _begins_sums(program):
        return
    operands = [
        _of_part(var.aval, spec) for var, spec in zip(program.invars, in_specs, strict=True)
    ]
    results = _Followed().program(program, operands)
    for x, kinds, spec in zip(program.outvars, results, out_specs, strict=True):
        _check_result(x, kinds, spec)


def _begins_sums(program: Jaxpr) -> bool:
    return any(
        [
            eqn.primitive is vary_unreduced_cast_p
            or any([_begins_sums(inner) for inner in jaxprs_in_params(eqn.params)])
            for eqn in program.eqns
        ]
    )


def _of_part(aval: Any, spec: PartitionSpec) -> Kinds:
    """Of a member's part of an operand."""
    kinds = dict.fromkeys(_varies(aval) - spec.all_names, Kind.OWN)
    kinds |= dict.fromkeys(_varies(aval) & spec.names, Kind.OWN)
    kinds |= dict.fromkeys(spec.reduced, Kind.REDUCED)
    return kinds | dict.fromkeys(spec.unreduced, Kind.SUMMED)


def _check_result(x: Any, kinds: Kinds, spec: PartitionSpec) -> None:
    where = "a result of shard_map"  # Errors are those of `specs.check_result`.
    for name, kind in kinds.items():
        if kind is Kind.SUMMED and name not in spec.unreduced:
            _refuse(where, name, [x], f"not {spec}, but one that says that it is unreduced")
        if kind is Kind.REDUCED and name in spec.unreduced:
            _refuse(where, name, [x], "summands, of which a value that is reduced is none")
        if kind is Kind.OWN and name in spec.reduced:
            _refuse(where, name, [x], "a result that is the same for all members, to be reduced")


@final
class _Followed:
    """Follows a program and those within, each once for operands of the same kinds."""

    def __init__(self) -> None:
        self._known: dict[Any, list[Kinds]] = {}

    def program(self, program: Jaxpr, operands: Sequence[Kinds]) -> list[Kinds]:
        """The kinds of results."""
        key = (program, *[frozenset(kinds.items()) for kinds in operands])
        if key not in self._known:
            self._known[key] = self._followed(program, operands)
        return self._known[key]

    def _followed(self, program: Jaxpr, operands: Sequence[Kinds]) -> list[Kinds]:
        known: dict[Any, Kinds] = dict(zip(program.invars, operands, strict=True))
        for eqn in program.eqns:
            inputs = [_of(known, x) for x in eqn.invars]
            for var, kinds in zip(eqn.outvars, self._results(eqn, inputs), strict=True):
                # What does not vary is the same for all members, and a reference holds its own.
                varies, is_ref = _varies(var.aval), type(var.aval) is AbstractRef
                own = dict.fromkeys(varies, Kind.OWN)
                kept = {name: kind for name, kind in kinds.items() if name in varies}
                known[var] = own if is_ref else kept
        return [_of(known, x) for x in program.outvars]

    def _results(self, eqn: Equation, operands: Sequence[Kinds]) -> Sequence[Kinds]:
        primitive, params = eqn.primitive, eqn.params
        if primitive.wiring is not None:
            return self._wired(eqn, primitive.wiring, operands)
        if isinstance(primitive, HoldsProgram):
            return self.program(params[primitive.program], operands)
        if primitive.separate:
            return operands
        return [_of_operation(eqn, operands)] * len(eqn.outvars)

    def _wired(self, eqn: Equation, wiring: Wiring, operands: Sequence[Kinds]) -> list[Kinds]:
        """The kinds of results of an operation that is made of programs."""
        params = eqn.params
        parts = wiring.parts(operands, params)
        choices = list(parts[wiring.chooses]) if wiring.chooses is not None else []
        carried = wiring.carried
        while True:
            taken = wiring.giving.taken(parts)
            rows = [self.program(p, taken) for p in wiring.giving.programs(params)]
            results = [_joined(eqn, kinds) for kinds in zip(*rows, strict=True)]
            for body in wiring.deciding:
                choices += self.program(body.programs(params)[0], body.taken(parts))
            results = [_chosen(eqn, kinds, choices) for kinds in results]
            if carried is None:
                return results
            before = parts[carried]
            pairs = zip(before, results[: len(before)], strict=True)
            after = [_joined(eqn, pair) for pair in pairs]
            if after == before:
                return [*after, *results[len(before) :]]
            parts = parts.replaced(**{carried: after})


def _of_operation(eqn: Equation, operands: Sequence[Kinds]) -> Kinds:
    """The kinds of the results of an operation without programs."""
    primitive = eqn.primitive
    met = frozenset(primitive.axis_names(**eqn.params))
    if any(True for _ in jaxprs_in_params(eqn.params)) and not met:
        met = frozenset([name for kinds in operands for name in kinds])
    cast = eqn.params["axes"] if primitive is vary_unreduced_cast_p else ()
    names = met.union(cast, *operands)
    return {name: _along(eqn, name, operands, name in met) for name in names}


def _along(eqn: Equation, name: Hashable, operands: Sequence[Kinds], meets: bool) -> Kind:
    """The kind of the results along one axis, over which members may communicate."""
    primitive, kinds = eqn.primitive, [x.get(name, Kind.SAME) for x in operands]
    if primitive is pvary_p:
        return kinds[0]
    if meets and primitive in (psum_p, psum_invariant_p, reduce_scatter_p):
        return _sum(eqn, name, kinds)
    if primitive is vary_unreduced_cast_p and name in eqn.params["axes"]:
        if Kind.REDUCED in kinds:
            _refuse("lax.pcast", name, eqn.invars, "what varies, for what is reduced is no summand")
        return Kind.SUMMED
    if Kind.SUMMED in kinds:
        summed = [kind is Kind.SUMMED for kind in kinds]
        groups = primitive.additive(*[x.aval for x in eqn.invars], **eqn.params)
        alike = any([[i in group for i in range(len(kinds))] == summed for group in groups])
        if meets or not alike or Kind.OWN in kinds:
            error = ValueError if meets else TypeError
            _refuse(primitive.name, name, eqn.invars, _LINEAR, error)
        return Kind.SUMMED
    if meets:
        gathers = primitive is all_gather_p and eqn.params["axis_index_groups"] is None
        return Kind.SAME if gathers else Kind.OWN
    return max(kinds, default=Kind.SAME)


def _sum(eqn: Equation, name: Hashable, kinds: Sequence[Kind]) -> Kind:
    in_groups = eqn.params.get("axis_index_groups") is not None
    if Kind.SUMMED in kinds and in_groups:
        _refuse(eqn.primitive.name, name, eqn.invars, "the sum of all members, not one of groups")
    if Kind.REDUCED in kinds:
        _refuse(
            eqn.primitive.name,
            name,
            eqn.invars,
            "what varies: of a value that is reduced all members have the same, whose cotangents "
            "are summed outside",
        )
    return Kind.OWN if in_groups or eqn.primitive is reduce_scatter_p else Kind.SAME


def _joined(eqn: Equation, paths: Sequence[Kinds]) -> Kinds:
    """The kinds of a value that comes on one of several paths."""
    names = frozenset[Hashable]().union(*paths)
    kinds = {name: [path.get(name, Kind.SAME) for path in paths] for name in names}
    for name, each in kinds.items():
        if len({kind is Kind.SUMMED for kind in each}) > 1:
            _refuse(eqn.primitive.name, name, eqn.invars, _ALIKE, TypeError)
    return {name: max(each) for name, each in kinds.items()}


def _chosen(eqn: Equation, kinds: Kinds, choices: Sequence[Kinds]) -> Kinds:
    """The kinds of a value where members choose, along some axes each for itself."""
    differs = {name for choice in choices for name, kind in choice.items() if kind > Kind.REDUCED}
    for name in differs:
        if kinds.get(name) is Kind.SUMMED:
            expected = "a choice that all members make alike"
            _refuse(eqn.primitive.name, name, eqn.invars, expected, TypeError)
    return {**kinds, **dict.fromkeys(differs, Kind.OWN)}


def _of(known: Mapping[Any, Kinds], x: Any) -> Kinds:
    """Of a variable; literals are the same for all, and constants are what their types say."""
    try:
        return known[x]
    except (KeyError, TypeError):
        return dict.fromkeys(_varies(aval_of(x)), Kind.OWN)


def _varies(aval: Any) -> Names:
    varies: Names = getattr(aval, "vma", frozenset())
    return varies


def _refuse(
    where: str,
    name: Hashable,
    operands: Sequence[Any],
    expected: str,
    kind: type[Exception] = ValueError,
) -> NoReturn:
    raise kind(
        message(
            f"{where}, summands of members along {name!r}",
            given=" and ".join([str(aval_of(x)) for x in operands]) or "no operands",
            expected=expected,
            fix=f"Take the sum first: lax.psum(x, {name!r}), or lax.psum_scatter.",
        )
    )
