"""From whole arrays to the shards of members, and back, as specs say.

A spec names for each axis of an array the axes of the mesh that it is split over.  A shard varies
over the axes that its spec names, and is the same for all members along the others.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple, final

from ...core import AbstractMesh
from ...core.partition_spec import PartitionSpec
from ...runtime.mesh import Mesh
from ...util.messages import described, message

_WHOLE = PartitionSpec()
AnyMesh = Mesh | AbstractMesh
Specs = tuple[PartitionSpec, ...]


@final
class InferFromArgs:
    """Stands for specs that follow from the types of the arguments."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "jax.sharding.Infer"


Infer = InferFromArgs()


def inferred_spec(aval: Any, mesh: AnyMesh, manual_axes: frozenset[Hashable]) -> PartitionSpec:
    """The spec that the type of an argument says; `ValueError` if it says none."""
    explicit = frozenset(mesh.explicit_axes)
    if not manual_axes <= explicit:
        raise ValueError(
            message(
                "shard_map, argument in_specs",
                given=f"none, for a mesh whose axes {_listed(manual_axes - explicit)} are not "
                "explicit",
                expected="specs, where types do not say how arguments are split",
                fix="Pass in_specs, or make the axes of the mesh AxisType.Explicit.",
            )
        )
    if aval.split is None:
        return PartitionSpec()
    kept = [tuple([n for n in split if n in manual_axes]) for split in aval.split.spec]
    sums = {name: getattr(aval.split, name) & manual_axes for name in ("unreduced", "reduced")}
    return PartitionSpec(*[names or None for names in kept], **sums)


class Members(NamedTuple):
    """Who runs a program of members.

    Args:
        mesh: the devices, or their axes alone.
        manual_axes: the axes of the mesh along which there are members; the compiler splits the
            work of each over the others.
        check_vma: whether types say over which axes values vary.
    """

    mesh: AnyMesh
    manual_axes: frozenset[Hashable]
    check_vma: bool

    @property
    def inner_mesh(self) -> AbstractMesh:
        """The mesh as a member sees it."""
        return self.mesh.abstract_mesh.with_members(self.manual_axes)

    def part(self, aval: Any, spec: PartitionSpec) -> Any:
        """The type of a member's part of a whole."""
        return aval.shard(self.mesh, self.manual_axes, self.check_vma, spec)

    def whole(self, aval: Any, spec: PartitionSpec) -> Any:
        """The type of the whole, of which members have such parts."""
        return aval.unshard(self.mesh, self.check_vma, spec)


def check_shards(avals: Sequence[Any], own: Sequence[Any], specs: Specs, members: Members) -> None:
    """Raise `TypeError` unless the parts of operands are what a program takes."""
    for i, (aval, spec, expected) in enumerate(zip(avals, specs, own, strict=True)):
        shard = members.part(aval, spec)
        if shard.strip_weak_type() is not expected.strip_weak_type():
            raise TypeError(
                message(
                    f"shard_map, operand {i}",
                    given=f"{aval}, of which a member has {shard} by {spec!r}",
                    expected=f"{expected}, which the program takes",
                    fix="Give operands in the order of the specs.",
                )
            )


def check_joined(avals: Sequence[Any], specs: Specs, members: Members) -> None:
    """Raise `TypeError` unless results of members vary over just the axes that specs name."""
    mesh, manual_axes, _ = members
    for i, (aval, spec) in enumerate(zip(avals, specs, strict=True)):
        if frozenset(mesh.in_types(aval.vma & manual_axes)) != frozenset(
            mesh.in_types(spec.all_names)
        ):
            raise TypeError(
                message(
                    f"shard_map, result {i} of the program of a member",
                    given=f"{aval}, to be joined by {spec!r}",
                    expected="a result that varies over the axes that the spec names",
                    fix="Sum it over the others, or cast it with core.varying.varying_over.",
                )
            )


def check_specs(
    argument: str, specs: Sequence[Any], mesh: AnyMesh, manual_axes: frozenset[Hashable]
) -> None:
    """Raise an error unless all are specs over axes that the members have."""
    for spec in specs:
        if not isinstance(spec, PartitionSpec):
            raise (ValueError if spec is None else TypeError)(
                message(
                    f"shard_map, argument {argument}",
                    given=described(spec),
                    expected="a tree of jax.P, such as jax.P('x')",
                    fix="Give a jax.P for each argument or result; jax.P() if it is whole.",
                )
            )
        pending = (spec.unreduced | spec.reduced) - frozenset(mesh.explicit_axes)
        if pending & frozenset(mesh.axis_names):
            raise ValueError(
                message(
                    f"shard_map, argument {argument}",
                    given=f"{spec!r}, for a mesh whose axes {_listed(pending)} are not explicit",
                    expected="unreduced and reduced axes that are Explicit",
                    fix="Leave them out, and take sums by lax.psum; or make the axes of the mesh "
                    "AxisType.Explicit.",
                )
            )
        unknown = spec.all_names - manual_axes
        if unknown:
            raise ValueError(
                message(
                    f"shard_map, argument {argument}",
                    given=f"{spec!r}, which names {', '.join(map(repr, unknown))}",
                    expected=f"axes that the members have: {_listed(manual_axes)}, of {mesh!r}",
                    fix="Name an axis of the mesh; if axis_names is given, one of these.",
                )
            )


def check_argument(name: str, aval: Any, spec: PartitionSpec, members: Members) -> None:
    """Raise `ValueError` unless an argument can be split as its spec says."""
    mesh = members.mesh
    if len(spec) > len(aval.shape):
        raise ValueError(
            message(
                f"shard_map, argument {name}",
                given=f"{spec!r} in in_specs, for {aval.str_short()}",
                expected=f"a spec with at most {len(aval.shape)} entries, one for each axis",
                fix="Shorten the spec, or give the argument further axes.",
            )
        )
    left = frozenset[Hashable]()
    if aval.split is not None:
        left = (aval.split.unreduced | aval.split.reduced) - members.manual_axes
    if left:
        raise ValueError(
            message(
                f"shard_map, argument {name}",
                given=f"{aval.str_short()}, for members along {_listed(members.manual_axes)}",
                expected="sums that are still to be taken over axes along which there are members",
                fix=f"Take the sum over {_listed(left)} with jax.sharding.reshard, or have members "
                "there.",
            )
        )
    splits = spec.splits(len(aval.shape))
    _check_type(name, aval, spec, members)
    for axis, (size, split) in enumerate(zip(aval.shape, splits, strict=True)):
        parts = mesh.parts(split)
        if size % parts:
            raise ValueError(
                message(
                    f"shard_map, argument {name}",
                    given=f"{aval.str_short()}, whose axis {axis} of size {size} is to be split "
                    f"over {_listed(split)} of {mesh!r}, as {spec!r} says",
                    expected=f"a multiple of {parts}",
                    fix="Pad the axis, split another one, or choose another mesh.",
                )
            )


def _check_type(name: str, aval: Any, spec: PartitionSpec, members: Members) -> None:
    """Raise `ValueError` if a spec names other explicit axes than the type of the argument."""
    split, mesh = aval.split, members.mesh
    sums = [frozenset(mesh.in_types(names)) for names in (spec.unreduced, spec.reduced)]
    if split is None:
        fits = not any(sums)
    else:
        typed = frozenset(mesh.explicit_axes).intersection(mesh.in_types(spec.names))
        said = [tuple([n for n in names if n in typed]) for names in spec.splits(aval.ndim)]
        own = [tuple([n for n in names if n in spec.names]) for names in split.spec]
        own_sums = [names & members.manual_axes for names in (split.unreduced, split.reduced)]
        fits = said == own and sums == own_sums
    if not fits:
        raise ValueError(
            message(
                f"shard_map, argument {name}",
                given=f"{spec!r} in in_specs, for {aval.str_short()}",
                expected="the split that the type of the argument says, over explicit axes",
                fix="Leave in_specs out, or split the argument anew with jax.sharding.reshard.",
            )
        )


def check_result(name: str, aval: Any, spec: PartitionSpec, varying: frozenset[Hashable]) -> None:
    """Raise `ValueError` unless results can be joined as a spec says.

    Args:
        name: of the result.
        aval: of the result of one member.
        spec: of the whole.
        varying: the axes of the mesh that the result may vary over.
    """
    if len(spec) > len(aval.shape):
        raise ValueError(
            message(
                f"shard_map, result {name}",
                given=f"{spec!r} in out_specs, for {aval.str_short()} of each member",
                expected=f"a spec with at most {len(aval.shape)} entries, one for each axis",
                fix="Shorten the spec, or give the result an axis along which parts are joined.",
            )
        )
    # Whether all have the same of what is to be reduced is found by `check_summands`.
    lost = varying - spec.all_names
    if lost:
        raise ValueError(
            message(
                f"shard_map, result {name}",
                given=f"{spec!r} in out_specs, for {aval.str_short()}, which varies over "
                f"{_listed(lost)}: members would disagree on what the whole is",
                expected="a result that is the same along axes of the mesh that its spec does not "
                "name",
                fix=f"Name {_listed(lost)} in the spec, or sum over the members with lax.psum; "
                "check_vma=False takes the value of one of them.",
            )
        )


def check_addends(name: str, aval: Any, spec: PartitionSpec) -> None:
    """Raise `ValueError` unless members have addends of their own of a result that is a sum."""
    alike = spec.unreduced - aval.vma
    if alike:
        raise ValueError(
            message(
                f"shard_map, result {name}",
                given=f"{spec!r} in out_specs, for {aval.str_short()}, which is the same along "
                f"{_listed(alike)}: it would be added to itself",
                expected="a result that varies over the axes along which the whole is a sum",
                fix="Return what each member adds, before lax.psum.",
            )
        )


def _listed(names: Sequence[Hashable] | frozenset[Hashable]) -> str:
    return ", ".join(sorted(map(repr, names)))
