"""Operations on arrays that are sums still to be taken: each device applies them to its summand.

XLA's partitioner knows such arrays where a sum begins and where it is taken.  Of operations in
between it knows some, and takes the rest for operations on an array that is the same everywhere.
So what is done with summands is a program of members, along the axes over which there are several.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from functools import reduce
from typing import TYPE_CHECKING, Any

from ...core import AbstractMesh, AxisFlow, Equation, ShapedArray
from ...core.partition_spec import PartitionSpec
from ...core.primitive import types_itself
from .annotations import as_typed
from .members import member_program, position_along
from .mesh_axes import MeshAxes

if TYPE_CHECKING:
    from .stablehlo import Builder, Value

Names = frozenset[Hashable]


def sums_in(avals: Sequence[Any]) -> Names:
    """The axes of the mesh over which one of these is still to be summed."""
    splits = [split for a in avals if (split := getattr(a, "split", None)) is not None]
    return frozenset[Hashable]().union(*[split.unreduced for split in splits])


def lower_on_summands(
    b: Builder, eqn: Equation, inputs: Sequence[Value], rule: Callable[..., Any]
) -> Sequence[Value]:
    """Write an equation with results that are still to be summed.

    Args:
        b: of the block.
        eqn: the equation.
        inputs: its operands.
        rule: writes the operation.
    """

    def lower(block: Builder, avals: Sequence[Any], values: Sequence[Value]) -> Sequence[Value]:
        if eqn.primitive.multiple_results:
            written: Sequence[Value] = rule(block, avals, *values, **eqn.params)
            return written
        return (rule(block, avals[0], *values, **eqn.params),)

    outs: list[Any] = [v.aval for v in eqn.outvars]
    operands: list[Any] = [x.aval for x in inputs]
    flow = eqn.primitive.axis_flow and eqn.primitive.axis_flow(*operands, **eqn.params)
    if types_itself(eqn.primitive, eqn.params) or (flow and flow.changes_mesh):
        return lower(b, outs, inputs)
    mesh = next(a.split.mesh for a in outs if a.split is not None)
    carried, wanted = sums_in(operands), sums_in(outs)
    begun = frozenset([n for n in wanted - carried if flow and _is_summed(flow, operands, n)])
    own = [_without(aval, wanted - carried - begun) for aval in outs]
    if not (names := carried | begun):
        results = [as_typed(b, aval, x) for aval, x in zip(own, lower(b, own, inputs), strict=True)]
    else:
        parts = [_part(aval, names) for aval in operands]
        results = member_program(
            b,
            MeshAxes(mesh.axis_names, mesh.axis_sizes),
            names,
            parts,
            own,
            [_spec(aval, names) for aval in operands],
            [_spec(aval, names) for aval in own],
            inputs,
            lambda inner, *values: lower(inner, [_part(aval, names) for aval in own], values),
        )
    rest = wanted - carried - begun
    return [of_first(b, aval, x, rest) for aval, x in zip(outs, results, strict=True)]


def of_first(b: Builder, out: Any, x: Value, names: Names) -> Value:
    """A value that is whole along axes of a mesh as a sum over them: of it, and of zeros."""
    if not names or not names <= sums_in([out]):
        return x
    mesh: AbstractMesh = out.split.mesh

    def write(inner: Builder, value: Value) -> Sequence[Value]:
        number, flag = (ShapedArray((), dtype) for dtype in ("int32", "bool"))
        conditions = []
        for name in sorted(names, key=mesh.axis_names.index):
            position = position_along(inner, name, number)
            here = inner.op(
                "stablehlo.compare",
                flag,
                position,
                inner.constant(0, number),
                comparison_direction="#stablehlo<comparison_direction EQ>",
            )
            conditions.append(here)
        first = reduce(lambda one, other: inner.op("stablehlo.and", flag, one, other), conditions)
        return [inner.op("stablehlo.select", value.aval, first, value, inner.full(0, value.aval))]

    axes, inside = MeshAxes(mesh.axis_names, mesh.axis_sizes), sums_in([out])
    return member_program(
        b,
        axes,
        inside,
        [_part(out, inside)],
        [out],
        [_spec(_without(out, names), inside)],
        [_spec(out, inside)],
        [x],
        write,
    )[0]


def _is_summed(flow: AxisFlow, operands: Sequence[Any], name: Hashable) -> bool:
    """Whether operands are split along an axis of the mesh just where the operation sums."""
    kept = {label for labels in flow.results for label in labels}
    along = [
        label
        for aval, labels in zip(operands, flow.operands, strict=True)
        if aval.split is not None
        for names, label in zip(aval.split.spec, labels, strict=True)
        if name in names
    ]
    holders = [i for i, labels in enumerate(flow.operands) if not set(labels).isdisjoint(along)]
    return bool(along) and kept.isdisjoint(along) and len(holders) == len(along)


def _without(aval: Any, names: Names) -> Any:
    split = aval.split
    return aval.update(sharding=replace(split, unreduced=split.unreduced - names))


def _spec(aval: Any, names: Names) -> PartitionSpec:
    if aval.split is None:
        return PartitionSpec()
    kept = [tuple([n for n in split if n in names]) or None for split in aval.split.spec]
    return PartitionSpec(*kept, unreduced=aval.split.unreduced & names)


def _part(aval: Any, names: Names) -> Any:
    """What a member along these axes has of a value."""
    if aval.split is None:
        return aval
    shape = [
        n // aval.split.mesh.parts([name for name in split if name in names])
        for n, split in zip(aval.shape, aval.split.spec, strict=True)
    ]
    return ShapedArray(shape, aval.dtype, aval.weak_type)
