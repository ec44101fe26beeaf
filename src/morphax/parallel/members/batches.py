"""Batches of programs of members.

Each member has its part of every array of a batch.  Where `vmap` names axes of the mesh, or types
say that the batch is split over explicit ones, members along these have different arrays besides:
their part of the batch is one of the batch axis too, so that it varies over these axes.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import replace
from typing import Any

from ...core import AbstractSharding, BatchAxes, Jaxpr, jaxpr_axis_names
from ...core.partition_spec import PartitionSpec
from ...lax.shape.resharding import resharded
from ...util.messages import message
from .specs import Members, Specs

_Names = tuple[Hashable, ...]


def dealt(
    axes: BatchAxes, program: Jaxpr, specs: Specs, members: Members
) -> tuple[_Names, BatchAxes]:
    """The axes of the mesh along which members have different arrays of a batch, and their part.

    If the compiler splits the work along one of them, or members communicate along it or along the
    batch, all have the whole of the batch.

    Raises:
        KeyError: if the mesh has no such axis.
        ValueError: if a spec splits operands or results along it, or parts would differ in size.
    """
    names = axes.spmd_names or _typed_names(axes, members)
    sharding = _left_to_compiler(axes, members)
    if not names:
        return (), replace(axes, sharding=sharding)
    _check_names(names, specs, members)
    if not members.manual_axes.issuperset(names) or _communicates(program, axes, names):
        return (), replace(axes, spmd_names=(), sharding=sharding)
    sizes = dict(members.mesh.shape_tuple)
    count = math.prod([sizes[name] for name in names])
    if axes.size % count:
        raise ValueError(
            message(
                "vmap, argument spmd_axis_name",
                given=f"{names} for {axes.size} members, along which a shard_map has {count} parts",
                expected="a number of members that the parts divide",
                fix="Map over a multiple of it, or leave spmd_axis_name out.",
            )
        )
    varies = axes.varies.union(names if members.check_vma else ())
    return names, BatchAxes(axes.size // count, sharding=sharding, varies=varies)


def must_be_whole(axes: BatchAxes, program: Jaxpr, members: Members) -> bool:
    """Whether a batch that types split over members must not be, as these communicate along it."""
    return _communicates(program, axes, _typed_names(axes, members))


def unsplit(axes: BatchAxes, members: Members) -> BatchAxes:
    """The axes of a batch that is not split over members."""
    assert axes.sharding is not None, "types say that the batch is split"
    kept = tuple([name for name in axes.sharding.spec[0] if name not in members.manual_axes])
    return replace(axes, sharding=AbstractSharding(axes.sharding.mesh, (kept,)), spmd_names=())


def split_along(axes: BatchAxes, xs: Sequence[Any], dims: Sequence[int | None]) -> list[Any]:
    """Arrays whose batch axes are split as `axes` says."""
    return [
        x
        if dim is None
        else resharded(x, x.aval.split.without_axis(dim).with_axis(dim, axes.sharding))
        for x, dim in zip(xs, dims, strict=True)
    ]


def with_axes(specs: Specs, dims: Sequence[int | None], names: _Names) -> Specs:
    """The specs of batches, whose axes are split over the axes `names` of the mesh."""
    return tuple([_with_axis(spec, dim, names) for spec, dim in zip(specs, dims, strict=True)])


def _with_axis(spec: PartitionSpec, dim: int | None, names: _Names) -> PartitionSpec:
    if dim is None or (dim >= len(spec) and not names):
        return spec
    entries = (*spec, *[None] * (dim - len(spec)))
    along = names[0] if len(names) == 1 else names or None
    return spec.update((*entries[:dim], along, *entries[dim:]))


def _typed_names(axes: BatchAxes, members: Members) -> _Names:
    split = () if axes.sharding is None else axes.sharding.spec[0]
    return tuple([name for name in split if name in members.manual_axes])


def _left_to_compiler(axes: BatchAxes, members: Members) -> AbstractSharding | None:
    """How a member's part of a batch is split over axes along which there are no members."""
    mesh = members.inner_mesh
    if axes.sharding is None or not mesh.explicit_axes:
        return None
    return AbstractSharding(mesh, ((),)).without_axis(0).with_axis(0, axes.sharding)


def _communicates(program: Jaxpr, axes: BatchAxes, names: _Names) -> bool:
    """Whether members communicate along axes of the mesh that deal out a batch, or along it."""
    return bool(names) and not {*names, axes.name}.isdisjoint(jaxpr_axis_names(program))


def _check_names(names: _Names, specs: Specs, members: Members) -> None:
    where = "vmap, of a function with a shard_map"
    known = members.mesh.axis_names
    if unknown := [name for name in names if name not in known]:
        raise KeyError(
            message(
                where,
                given=f"{unknown[0]!r} as spmd_axis_name, for the axes {known} of the mesh",
                expected="axes of the mesh",
                fix="Name one of these, or leave spmd_axis_name out.",
            )
        )
    for spec in specs:
        if taken := spec.all_names.intersection(names):
            raise ValueError(
                message(
                    where,
                    given=f"a batch that is split over {min(taken, key=str)!r}, and {spec} among "
                    "in_specs and out_specs",
                    expected="another axis of the mesh, which no spec names",
                    fix="Name one as spmd_axis_name, or split the batch over it.",
                )
            )
