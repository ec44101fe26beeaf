"""Lowering of operations with bodies, of whose operands some are values of high types.

Such a value is passed on as the arrays that it is made of.  One that changes in place gives its
arrays as further results, if the programs are applied once; in a loop they are kept in references,
which the discharge of loops carries from step to step.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ...core import (
    AbstractRef,
    AvalQDD,
    Jaxpr,
    Operand,
    Param,
    apply_jaxpr,
    aval_of,
    memoize_fragment,
)
from ...lax.reference.ref_binding import get_p, swap_p
from ...lax.reference.ref_primitives import new_ref_p
from ...util.memo import memoize
from ...util.messages import message
from .lowered_types import (
    final_types,
    low_avals,
    lowered,
    lowered_values,
    raised_values,
    stage_lowered,
)
from .wiring import Parts, Wiring


class OnArrays(NamedTuple):
    """An operation with bodies on the arrays that values of high types are made of.

    Args:
        params: of the operation, but for those that tell roles apart.
        final: the types of the operands that change in place, by their number, at the end.
        results: types of the results.
    """

    params: dict[str, Param]
    final: dict[int, AvalQDD]
    results: tuple[Any, ...]


@memoize
def on_arrays(wiring: Wiring, params: tuple[tuple[str, Any], ...], count: int) -> OnArrays:
    """The operation on arrays, of one that has `count` operands."""
    named = dict(params)
    numbers = wiring.parts(range(count), named)
    final: dict[int, AvalQDD] = {}
    changed = dict(named)
    lower = (lambda jaxpr: lowered(jaxpr).jaxpr) if wiring.carried is None else lowered_onto_cells
    for body in wiring.bodies:
        taken, programs = body.taken(numbers), body.programs(named)
        for jaxpr in programs:
            final |= {taken[i]: aval for i, aval in final_types(jaxpr).items()}
        changed |= body.holding(list(map(lower, programs)), named)
    return OnArrays(changed, final, tuple(wiring.result_avals(named)))


@memoize_fragment
def lowered_onto_cells(jaxpr: Jaxpr) -> Jaxpr:
    """A program on arrays; those of operands that change in place are kept in references."""
    final, avals = final_types(jaxpr), jaxpr.in_avals
    given_avals = [
        AbstractRef(lo) if aval.has_qdd else lo for aval in avals for lo in low_avals([aval])
    ]

    def function(*given: Operand) -> list[Any]:
        kept = [type(aval) is AbstractRef for aval in given_avals]
        values = [_look_up(x) if on else x for x, on in zip(given, kept, strict=True)]
        operands = raised_values(avals, values)
        outs = lowered_values(apply_jaxpr(jaxpr, *operands))
        after = lowered_values([operands[i] for i in final])
        cells = [(x, v) for x, v, on in zip(given, values, kept, strict=True) if on]
        for (cell, before), value in zip(cells, after, strict=True):
            if value is not before:
                swap_p.bind(cell, value, indexers=())
        return outs

    return stage_lowered(function, given_avals, jaxpr.debug_info)


def _look_up(cell: Operand) -> Any:
    return get_p.bind(cell, indexers=())


def bind_lowered(primitive: Any, operands: Sequence[Operand], params: dict[str, Any]) -> list[Any]:
    """Bind an operation with bodies to values of high types, as one on their arrays."""
    wiring: Wiring = primitive.wiring
    call = on_arrays(wiring, tuple(params.items()), len(operands))
    cells = {} if wiring.carried is None else _cells(operands, call.final)
    _check_distinct(primitive, operands, call, cells)
    parts, numbers = Parts(), Parts()
    given = wiring.parts(list(enumerate(operands)), params)
    for name, role in given.items():
        lists = [cells[id(x)] if id(x) in cells else lowered_values([x]) for _, x in role]
        parts[name] = [lo for lo_values in lists for lo in lo_values]
        pairs = zip(role, lists, strict=True)
        numbers[name] = [i for (i, _), lo_values in pairs for _ in lo_values]
    outs = primitive.apply(parts, call.params, numbers.flat)
    count = len(low_avals(call.results))
    if cells:
        for i, aval in call.final.items():
            values = list(map(_look_up, cells[id(operands[i])]))
            aval.aval.update_from_loval2(aval.qdd, operands[i], values)
    else:
        _update(outs[count:], operands, call.final)
    return raised_values(call.results, outs[:count])


def _cells(operands: Sequence[Operand], final: dict[int, AvalQDD]) -> dict[int, list[Any]]:
    """References that hold the arrays of the operands that change in place, by identity."""
    return {
        id(operands[i]): [
            new_ref_p.bind(lo, memory_space=None, kind=None) for lo in lowered_values([operands[i]])
        ]
        for i in final
    }


def _update(values: Sequence[Any], operands: Sequence[Operand], final: dict[int, AvalQDD]) -> None:
    """Bring operands into the states, and make them of the arrays, that a program has left."""
    start = 0
    for i, aval in final.items():
        end = start + len(aval.lo_ty())
        aval.aval.update_from_loval2(aval.qdd, operands[i], values[start:end])
        start = end


def _check_distinct(
    primitive: Any, operands: Sequence[Operand], call: OnArrays, cells: dict[int, list[Any]]
) -> None:
    """Raise `ValueError` if a value that changes is given twice: one would miss the other."""
    places: dict[int, int] = {}
    for i in call.final:
        first = places.setdefault(id(operands[i]), i)
        if first != i and not cells:
            raise ValueError(
                message(
                    f"{primitive}, operands",
                    given=f"one value of {aval_of(operands[i]).str_short()}, which changes in "
                    f"place, as operands {first} and {i}",
                    expected="different values: a change of one would miss the other",
                    fix="Pass the value once.",
                )
            )
