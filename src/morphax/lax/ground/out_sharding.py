"""The arguments that say how a result is split over a mesh: a `jax.P`, or a `jax.NamedSharding`."""

from __future__ import annotations

from typing import Any

from ...core import AbstractMesh, AbstractSharding, aval_of
from ...core.partition_spec import PartitionSpec
from ...runtime.current_mesh import get_abstract_mesh
from ...runtime.named_sharding import NamedSharding
from ...util.messages import described, message


def check_kind(where: str, sharding: Any) -> None:
    """Raise `TypeError` unless an argument is one that says how a result is split."""
    if isinstance(sharding, (PartitionSpec, NamedSharding)):
        return
    raise TypeError(
        message(
            where,
            given=described(sharding),
            expected="a jax.P or a jax.NamedSharding",
            fix="Write jax.P('x', None) under `with jax.set_mesh(mesh):`, for instance.",
        )
    )


def says_nothing(sharding: Any) -> bool:
    """Whether a sharding leaves open how a result is split: it is over no axes of a mesh."""
    return sharding is None or (isinstance(sharding, NamedSharding) and sharding.mesh.empty)


def split_of(where: str, sharding: Any, aval: Any) -> AbstractSharding:
    """What a sharding given by the user says of arrays of an aval.

    Args:
        where: function and argument, for error text.
        sharding: a `jax.P` over the current mesh, a `jax.NamedSharding`.
        aval: of the array.

    Raises:
        TypeError: if it is something else.
        ValueError: if it names axes that are not explicit ones of the mesh, each at most once, if
            there is no mesh, or if a size is not divisible.
    """
    if type(sharding) is AbstractSharding:
        return sharding
    check_kind(where, sharding)
    if isinstance(sharding, PartitionSpec):
        mesh = _current_mesh(where, sharding)
        sharding = NamedSharding(mesh, _shortened(sharding, aval.ndim))
    mesh = sharding.mesh.abstract_mesh
    spec = sharding.spec
    if spec.unreduced or spec.reduced:
        raise ValueError(
            message(
                where,
                given=f"{spec}",
                expected="a spec without unreduced and reduced axes: types have none",
                fix="Let the operation take the sum, and say how its result is split.",
            )
        )
    splits = sharding.splits(aval.ndim)
    for name in [name for names in splits for name in names]:
        if name not in mesh.explicit_axes:
            raise ValueError(
                message(
                    where,
                    given=f"{spec}, where {name!r} is no explicit axis of {mesh}",
                    expected="axes of which types speak",
                    fix="Use jax.lax.with_sharding_constraint for axes of the type Auto, or make "
                    "the axis explicit: jax.make_mesh(..., axis_types=...).",
                )
            )
    sharding.shard_shape(aval.shape)
    return AbstractSharding(mesh, splits)


def _shortened(spec: PartitionSpec, ndim: int) -> PartitionSpec:
    """A spec without what it says of axes that are not there and not split."""
    too_many = spec[ndim:]
    return spec.update(spec[:ndim]) if too_many and not any(too_many) else spec


def split_beside(aval: Any, *others: Any) -> AbstractSharding | None:
    """How the cotangent of an operand is split: as the operand.

    One whose type leaves that open has a whole cotangent, where operands beside it are on a mesh.

    Args:
        aval: of the operand.
        *others: values from which its cotangent is computed.
    """
    if aval.split is not None:
        return aval.split
    meshes = [split.mesh for x in others if (split := aval_of(x).split) is not None]
    return AbstractSharding(meshes[0], ((),) * aval.ndim) if meshes else None


def _current_mesh(where: str, spec: PartitionSpec) -> AbstractMesh:
    mesh = get_abstract_mesh()
    if mesh.empty:
        raise ValueError(
            message(
                where,
                given=f"{spec!r} while there is no current mesh",
                expected="a mesh that it speaks of",
                fix="Call it under `with jax.set_mesh(mesh):`, or pass "
                "jax.NamedSharding(mesh, spec).",
            )
        )
    return mesh
