"""Programs that close over tracers of outer traces: the same captures in the same order for all."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..core import (
    Jaxpr,
    Operand,
    Var,
    apply_jaxpr,
    aval_of,
    captures_as_operands,
    stage_closed,
    with_operands,
)
from ..lax.elementwise.convert import convert


def common_captures(
    programs: Sequence[Jaxpr], captures: Sequence[Sequence[Any]]
) -> tuple[list[Any], list[Jaxpr]]:
    """All captured tracers once, and the programs with all of them as leading operands."""
    joined: dict[int, Any] = {id(x): x for captured in captures for x in captured}
    extended = []
    for jaxpr, captured in zip(programs, captures, strict=True):
        own = {id(x): v for x, v in zip(captured, jaxpr.invars, strict=False)}
        leading = tuple([own.get(key) or Var(aval_of(x)) for key, x in joined.items()])
        extended.append(with_operands(jaxpr, leading + jaxpr.invars[len(captured) :]))
    return list(joined.values()), extended


def closed_programs(programs: Sequence[Jaxpr]) -> tuple[list[Any], list[Jaxpr]]:
    """What open programs capture, and the programs with all of that as first operands."""
    closed, captures = zip(*map(captures_as_operands, programs), strict=True)
    return common_captures(closed, captures) if any(captures) else ([], list(closed))


def with_result_avals(programs: Sequence[Jaxpr]) -> list[Jaxpr]:
    """The programs with results that are weakly typed where those of the first are."""
    weak = [a.weak_type for a in programs[0].out_avals]
    return [converted_results(p, weak) for p in programs]


def converted_results(jaxpr: Jaxpr, weak: Sequence[bool]) -> Jaxpr:
    """`jaxpr` with results that are weakly typed where `weak` says so."""
    if all(a.weak_type == w for a, w in zip(jaxpr.out_avals, weak, strict=True)):
        return jaxpr

    def function(*operands: Operand) -> list[Any]:
        return [
            convert(x, aval.dtype, w) if aval.weak_type != w else x
            for x, aval, w in zip(apply_jaxpr(jaxpr, *operands), jaxpr.out_avals, weak, strict=True)
        ]

    return stage_closed(function, jaxpr.in_avals, jaxpr.debug_info)
