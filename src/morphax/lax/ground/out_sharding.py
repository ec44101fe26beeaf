"""The arguments that say how a result is split over a mesh: a `jax.P`, or a `jax.NamedSharding`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...core import AbstractMesh, AbstractSharding, aval_of
from ...core.abstract_sharding import Names
from ...core.partition_spec import PartitionSpec
from ...runtime.current_mesh import get_abstract_mesh
from ...runtime.named_sharding import NamedSharding
from ...util.messages import described, message


def check_kind(where: str, sharding: Any) -> None:
    """Raise `TypeError` unless an argument says how a result is split; `ValueError` for `None`."""
    if isinstance(sharding, (PartitionSpec, NamedSharding)):
        return
    raise (ValueError if sharding is None else TypeError)(
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
    splits = sharding.splits(aval.ndim)
    for name in (*[n for names in splits for n in names], *spec.unreduced, *spec.reduced):
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
    return AbstractSharding(mesh, splits, spec.unreduced, spec.reduced)


def puts_off_sums(sharding: Any) -> bool:
    """Whether sums over some axes of the mesh are not to be taken yet."""
    return bool(getattr(getattr(sharding, "spec", sharding), "unreduced", None))


def names_along(aval: Any, axes: Sequence[int]) -> Names:
    """The axes of the mesh that axes of an array are split over."""
    return frozenset([n for i in axes for n in (() if aval.split is None else aval.split.spec[i])])


def unsummed(where: str, sharding: Any, result: Any, *summed: Names) -> AbstractSharding:
    """The type of a sum that is put off.

    Args:
        where: the function, for error text.
        sharding: given by the user.
        result: the aval, but for its sharding.
        *summed: for each operand, the axes of the mesh that what is summed is split over.

    Raises:
        TypeError: if the sum is to be put off over others.
    """
    split = split_of(f"{where}, argument out_sharding", sharding, result)
    if any([split.unreduced != names for names in summed]):
        raise TypeError(
            message(
                f"{where}, argument out_sharding",
                given=f"{sharding} for sums over {' and '.join([str(set(n)) for n in summed])}",
                expected="unreduced axes that are those over which what is summed is split, in "
                "all operands",
                fix="Split operands alike along what is summed, or leave unreduced out.",
            )
        )
    return split


def _shortened(spec: PartitionSpec, ndim: int) -> PartitionSpec:
    """A spec without what it says of axes that are not there and not split."""
    too_many = spec[ndim:]
    return spec.update(spec[:ndim]) if too_many and not any(too_many) else spec


def split_beside(aval: Any, *others: Any) -> AbstractSharding | None:
    """How the cotangent of an operand is split: as the operand, with its sums put off or taken.

    One whose type leaves that open has a whole cotangent, where operands beside it are on a mesh.

    Args:
        aval: of the operand.
        *others: values from which its cotangent is computed.
    """
    if aval.split is not None:
        return aval.split.of_cotangent()
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
