"""What members do with their summands of an operand whose sum is still to be taken.

A spec with ``unreduced={"x"}`` gives each member along x its summand: the operand is their sum.
Members apply an operation f to what they have, which is right if f(Σₖ xₖ) = Σₖ f(xₖ), as in
`core.pending_sums`: if f is linear in the summands, together, and the others are the same along x.
Otherwise the result would depend on how the sum was parted.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, Final, NamedTuple, NoReturn, final

from ...core import Equation, Jaxpr, aval_of, jaxprs_in_params
from ...core.partition_spec import PartitionSpec
from ...util.messages import message

Names = frozenset[Hashable]

_NONE: Final = Names()
_SUMS: Final = frozenset(["psum", "psum_invariant", "reduce_scatter"])


@final
class _Known(NamedTuple):
    """Of a value: the axes along which members have summands of it, or numbers of their own."""

    summed: Names
    own: Names


def check_summands(
    program: Jaxpr, in_specs: Sequence[PartitionSpec], out_specs: Sequence[PartitionSpec]
) -> None:
    """Raise `TypeError` unless members use their summands linearly, or sum them.

    Programs within, of loops and branches, are not looked into.
    """
    if not any([spec.unreduced for spec in in_specs]):
        return
    known: dict[Any, _Known] = {}
    for var, spec in zip(program.invars, in_specs, strict=True):
        varies: Names = getattr(var.aval, "vma", _NONE)
        known[var] = _Known(spec.unreduced, varies - spec.unreduced)

    def of(x: Any) -> _Known:
        try:
            return known.get(x) or _Known(_NONE, getattr(aval_of(x), "vma", _NONE))
        except TypeError:
            return _Known(_NONE, _NONE)

    for eqn in program.eqns:
        result = _of_results(eqn, [of(x) for x in eqn.invars])
        for var in eqn.outvars:
            varies = getattr(var.aval, "vma", _NONE)
            known[var] = _Known(result.summed & varies, result.own & varies)
    for x, spec in zip(program.outvars, out_specs, strict=True):
        if left := of(x).summed & spec.names:
            _refuse("a result of shard_map", min(left, key=str), [x], f"not one split by {spec}")


def _of_results(eqn: Equation, operands: Sequence[_Known]) -> _Known:
    summed = _NONE.union(*[x.summed for x in operands])
    own = _NONE.union(*[x.own for x in operands])
    if eqn.primitive.name == "pvary":
        return _Known(summed, own)
    met = frozenset(eqn.primitive.axis_names(**eqn.params))
    if any(True for _ in jaxprs_in_params(eqn.params)):
        return _Known(_NONE, own | summed | met)
    if eqn.primitive.name in _SUMS:
        return _Known(summed - met, own | met)
    for name in summed:
        is_summed = [name in x.summed for x in operands]
        groups = eqn.primitive.additive(*[x.aval for x in eqn.invars], **eqn.params)
        alike = any([[i in group for i in range(len(operands))] == is_summed for group in groups])
        if name in met or not alike or name in own:
            _refuse(
                eqn.primitive.name,
                name,
                eqn.invars,
                "an operation that is linear in the summands, together, with others that are the "
                "same for all members",
            )
    return _Known(summed, own | met)


def _refuse(where: str, name: Hashable, operands: Sequence[Any], expected: str) -> NoReturn:
    raise TypeError(
        message(
            f"{where}, summands of members along {name!r}",
            given=" and ".join([str(aval_of(x)) for x in operands]),
            expected=expected,
            fix=f"Take the sum first: lax.psum(x, {name!r}), or lax.psum_scatter.",
        )
    )
