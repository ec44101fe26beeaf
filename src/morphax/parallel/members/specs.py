"""From whole arrays to the shards of members, and back, as specs say.

A spec names for each axis of an array the axes of the mesh that it is split over.  A shard varies
over the axes that its spec names, and is the same for all members along the others.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from itertools import chain
from typing import Any, NamedTuple, final

from ...core import AbstractMesh, AbstractRef, AbstractSharding, ShapedArray
from ...core.mesh import AxisType
from ...core.partition_spec import PartitionSpec
from ...runtime.mesh import Mesh
from ...util.messages import described, message

_WHOLE = PartitionSpec()
AnyMesh = Mesh | AbstractMesh
Specs = tuple[PartitionSpec, ...]
Splits = tuple[tuple[Hashable, ...], ...]


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
    return PartitionSpec(*[names or None for names in kept])


def splits_of(spec: PartitionSpec, ndim: int) -> Splits:
    """For each of as many axes, the axes of the mesh that it is split over."""
    named = [_names(entry) for entry in spec]
    return (*named, *[()] * (ndim - len(named)))


def names_in(spec: PartitionSpec) -> frozenset[Hashable]:
    """The axes of the mesh that a spec names."""
    return frozenset(chain.from_iterable(map(_names, spec)))


def _names(entry: Any) -> tuple[Hashable, ...]:
    if entry is None:
        return ()
    return tuple(entry) if isinstance(entry, tuple) else (entry,)


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
        kinds = dict.fromkeys(self.manual_axes, AxisType.Manual)
        return self.mesh.abstract_mesh.update_axis_types(kinds)


def shard_aval(aval: Any, spec: PartitionSpec, members: Members) -> Any:
    """The aval of the part of a member, of a whole that `spec` splits evenly.

    Of a reference a member has one to its part.
    """
    if type(aval) is AbstractRef:
        return aval.update(shard_aval(aval.inner_aval, spec, members))
    splits = splits_of(spec, len(aval.shape))
    shape = [n // members.mesh.parts(split) for n, split in zip(aval.shape, splits, strict=True)]
    vma = aval.vma | names_in(spec) if members.check_vma else aval.vma
    inner, split = members.inner_mesh, None
    if aval.split is not None and inner.explicit_axes:
        kept = [tuple([n for n in names if n in inner.explicit_axes]) for names in aval.split.spec]
        split = AbstractSharding(inner, tuple(kept))
    return ShapedArray(shape, aval.dtype, aval.weak_type, vma=vma, sharding=split)


def whole_aval(aval: Any, spec: PartitionSpec, members: Members) -> Any:
    """The aval of the parts of all members together, which `spec` says how to join."""
    mesh, splits = members.mesh.abstract_mesh, splits_of(spec, len(aval.shape))
    shape = [n * mesh.parts(split) for n, split in zip(aval.shape, splits, strict=True)]
    vma, split = aval.vma - members.manual_axes, None
    if mesh.explicit_axes:
        within = splits_of(_WHOLE, len(shape)) if aval.split is None else aval.split.spec
        named = [
            (*[n for n in names if n in mesh.explicit_axes], *kept)
            for names, kept in zip(splits, within, strict=True)
        ]
        split = AbstractSharding(mesh, tuple(named))
    return ShapedArray(shape, aval.dtype, aval.weak_type, vma=vma, sharding=split)


def check_shards(avals: Sequence[Any], own: Sequence[Any], specs: Specs, members: Members) -> None:
    """Raise `TypeError` unless the parts of operands are what a program takes."""
    for i, (aval, spec, expected) in enumerate(zip(avals, specs, own, strict=True)):
        shard = shard_aval(aval, spec, members)
        if shard.strip_weak_type() is not expected.strip_weak_type():
            raise TypeError(
                message(
                    f"shard_map, operand {i}",
                    given=f"{aval}, of which a member has {shard} by {spec!r}",
                    expected=f"{expected}, which the program takes",
                    fix="Give operands in the order of the specs.",
                )
            )


def check_joined(avals: Sequence[Any], specs: Specs, manual_axes: frozenset[Hashable]) -> None:
    """Raise `TypeError` unless results of members vary over just the axes that specs name."""
    for i, (aval, spec) in enumerate(zip(avals, specs, strict=True)):
        if aval.vma & manual_axes != names_in(spec):
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
            raise TypeError(
                message(
                    f"shard_map, argument {argument}",
                    given=described(spec),
                    expected="a tree of jax.P, such as jax.P('x')",
                    fix="Give a jax.P for each argument or result; jax.P() if it is whole.",
                )
            )
        if spec.unreduced or spec.reduced:
            raise ValueError(
                message(
                    f"shard_map, argument {argument}",
                    given=f"{spec!r}",
                    expected="a spec without unreduced and reduced axes: types have none",
                    fix="Leave them out, and take sums by lax.psum.",
                )
            )
        unknown = names_in(spec) - manual_axes
        if unknown:
            raise ValueError(
                message(
                    f"shard_map, argument {argument}",
                    given=f"{spec!r}, which names {', '.join(map(repr, unknown))}",
                    expected=f"axes that the members have: {_listed(manual_axes)}, of {mesh!r}",
                    fix="Name an axis of the mesh; if axis_names is given, one of these.",
                )
            )


def check_argument(name: str, aval: Any, spec: PartitionSpec, mesh: AnyMesh) -> None:
    """Raise `ValueError` unless an argument can be split as its spec says."""
    if len(spec) > len(aval.shape):
        raise ValueError(
            message(
                f"shard_map, argument {name}",
                given=f"{spec!r} in in_specs, for {aval.str_short()}",
                expected=f"a spec with at most {len(aval.shape)} entries, one for each axis",
                fix="Shorten the spec, or give the argument further axes.",
            )
        )
    splits = splits_of(spec, len(aval.shape))
    if aval.split is not None:
        _check_type(name, aval, spec, splits, mesh)
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


def _check_type(name: str, aval: Any, spec: PartitionSpec, splits: Splits, mesh: AnyMesh) -> None:
    """Raise `ValueError` if a spec names other explicit axes than the type of the argument."""
    said = [tuple([n for n in names if n in mesh.explicit_axes]) for names in splits]
    named = {n for names in splits for n in names}
    typed = [tuple([n for n in names if n in named]) for names in aval.split.spec]
    if said != typed:
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
    lost = varying - names_in(spec)
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


def _listed(names: Sequence[Hashable] | frozenset[Hashable]) -> str:
    return ", ".join(sorted(map(repr, names)))
