"""Programs that close over tracers of outer traces: the same captures in the same order for all."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

from ..core import (
    Jaxpr,
    Operand,
    ShapedArray,
    Var,
    apply_jaxpr,
    aval_of,
    captures_as_operands,
    stage_closed,
    with_operands,
)
from ..core.varying import varying_over
from ..lax.elementwise.convert import convert
from ..lax.shape.resharding import resharded


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


def with_result_avals(
    programs: Sequence[Jaxpr], varying: frozenset[Hashable] = frozenset()
) -> list[Jaxpr]:
    """The programs with results of the same types.

    They are weakly typed where those of the first are, vary over the axes of the mesh over which
    the result of some program does, and over `varying`, and are split as one that is on a mesh.
    """
    types = [
        first.update(
            vma=varying.union(*[a.vma for a in (first, *others)]),
            sharding=next((a.split for a in (first, *others) if a.split is not None), None),
        )
        if type(first) is ShapedArray
        else first
        for first, *others in zip(*[p.out_avals for p in programs], strict=True)
    ]
    return [converted_results(p, types) for p in programs]


def converted_results(jaxpr: Jaxpr, types: Sequence[Any]) -> Jaxpr:
    """`jaxpr` with results as weakly typed as `types`, varying over the same axes, split alike."""
    if all([_fits(a, wanted) for a, wanted in zip(jaxpr.out_avals, types, strict=True)]):
        return jaxpr

    def function(*operands: Operand) -> list[Any]:
        outs = apply_jaxpr(jaxpr, *operands)
        return [_converted(*each) for each in zip(outs, jaxpr.out_avals, types, strict=True)]

    return stage_closed(function, jaxpr.in_avals, jaxpr.debug_info)


def _fits(aval: Any, wanted: Any) -> bool:
    if aval.weak_type != wanted.weak_type or aval.vma != wanted.vma:
        return False
    return wanted.split is None or aval.split == wanted.split


def _converted(x: Operand, aval: Any, wanted: Any) -> Any:
    if _fits(aval, wanted):
        return x
    if aval.weak_type != wanted.weak_type:
        x = convert(x, aval.dtype, wanted.weak_type)
    return varying_over(resharded(x, wanted.split), wanted.vma)
