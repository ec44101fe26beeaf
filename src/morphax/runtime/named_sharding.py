"""`NamedSharding`: the axes of an array split over the axes of a mesh."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any, ClassVar, final
from weakref import WeakValueDictionary

import numpy as np

from ..config import current as current_config
from ..core.abstract_sharding import AbstractSharding
from ..core.mesh import AbstractMesh
from ..core.partition_spec import PartitionSpec, names_of
from ..util.memo import memoize
from ..util.messages import described, message
from .device import Device
from .mesh import Mesh
from .sharding import Index, Sharding, checked_kind, default_kind

_WHERE = "NamedSharding"


@final
class NamedSharding(Sharding):
    """The axes of an array split over the axes of a mesh; equal ones are one object.

    Args:
        mesh: the mesh; one without devices says only how arrays are split.
        spec: for each axis of an array, the axes of the mesh that it is split over.
        memory_kind: which memory of the devices, the default one if left out.

    Raises:
        TypeError: if `mesh` is no mesh or `spec` no `PartitionSpec`.
        ValueError: if `spec` names an axis that the mesh has not, or one axis twice; or the
            devices have no such memory.

    Example:
        >>> import morphax as jax
        >>> mesh = jax.sharding.Mesh(jax.devices("cpu")[:1], "x")
        >>> jax.NamedSharding(mesh, jax.P("x"))
        NamedSharding(mesh=Mesh('x': 1, axis_types=(Auto,)), spec=P('x',), memory_kind=device)
    """

    __slots__ = ("__weakref__", "_is_own_memory", "_memory_kind", "mesh", "spec")
    _known: ClassVar[WeakValueDictionary[Any, NamedSharding]] = WeakValueDictionary()

    mesh: Mesh | AbstractMesh
    spec: PartitionSpec
    _memory_kind: str | None
    _is_own_memory: bool

    def __new__(
        cls, mesh: Mesh | AbstractMesh, spec: PartitionSpec, memory_kind: str | None = None
    ) -> NamedSharding:
        if not isinstance(mesh, (Mesh, AbstractMesh)):
            raise _wrong_type("mesh", mesh, "a mesh", "Make one by jax.make_mesh.")
        if not isinstance(spec, PartitionSpec):
            raise _wrong_type("spec", spec, "a jax.P", "Write jax.P('x', None), for instance.")
        if isinstance(mesh, Mesh) and not mesh.empty:
            memory_kind = checked_kind(mesh.device_assignment[0], memory_kind, _WHERE)
        key = mesh, spec, memory_kind
        known = cls._known.get(key)
        if known is not None:
            return known
        _check_axes(mesh, spec)
        _check_sums(mesh, spec)
        made = object.__new__(cls)
        made.mesh, made.spec, made._memory_kind = key
        made._is_own_memory = isinstance(mesh, AbstractMesh) or (
            mesh.empty or memory_kind == default_kind(mesh.device_assignment[0])
        )
        return cls._known.setdefault(key, made)

    @property
    def memory_kind(self) -> str | None:
        return self._memory_kind

    @property
    def device_set(self) -> set[Device]:
        return set(self.device_assignment)

    @property
    def device_assignment(self) -> tuple[Device, ...]:
        if isinstance(self.mesh, AbstractMesh):
            raise ValueError(
                message(
                    f"devices of a {_WHERE}",
                    given=f"one over {self.mesh!r}, which has no devices",
                    expected="a sharding over a jax.sharding.Mesh",
                    fix="Make the mesh by jax.make_mesh, or make it the current one by "
                    "jax.set_mesh and pass only the jax.P.",
                )
            )
        return self.mesh.device_assignment

    @property
    def num_devices(self) -> int:
        return self.mesh.size

    @property
    def is_fully_replicated(self) -> bool:
        every = (*self.spec.splits(0), tuple(self.spec.unreduced))
        parts = [self.mesh.parts(names) for names in every]
        return all([n == 1 for n in parts])

    @property
    def replicated_axes(self) -> frozenset[Hashable]:
        """The axes of the mesh over which arrays are repeated."""
        return frozenset(self.mesh.axis_names) - self.spec.names - self.spec.unreduced

    @property
    def own_memory(self) -> Sharding:
        return self if self._is_own_memory else NamedSharding(self.mesh, self.spec)

    def splits(self, ndim: int) -> tuple[tuple[Hashable, ...], ...]:
        """For each axis of arrays of `ndim` axes, those of the mesh that it is split over.

        Raises:
            ValueError: if more axes are named, or one is left to the compiler.
        """
        if PartitionSpec.UNCONSTRAINED in self.spec:
            raise ValueError(
                message(
                    f"{_WHERE}, argument spec",
                    given=f"{self.spec}",
                    expected="names or None for each axis: only jax.lax.with_sharding_constraint "
                    "can leave an axis to the compiler",
                    fix="Say how each axis is split.",
                )
            )
        if len(self.spec) > ndim:
            raise ValueError(
                message(
                    f"{_WHERE} of an array",
                    given=f"{self.spec}, which speaks of {len(self.spec)} axes, for an array of "
                    f"{ndim}",
                    expected="no more entries than the array has axes",
                    fix="Leave out the entries that are too many.",
                )
            )
        return self.spec.splits(ndim)

    def abstract(self, ndim: int) -> AbstractSharding | None:
        if not self.mesh.explicit_axes:
            return None
        return _abstract(self, ndim, current_config().remove_size_one_mesh_axis_from_type)

    def devices_indices_map(self, global_shape: Sequence[int]) -> Mapping[Device, Index]:
        if self.spec.unreduced:
            raise NotImplementedError(
                message(
                    f"{_WHERE} of an array",
                    given=f"{self.spec}, whose parts are still to be summed",
                    expected="a spec that says which part each device holds",
                    fix="Leave unreduced out, and take the sum where it arises.",
                )
            )
        sizes = self.shard_shape(global_shape)
        starts = self._parts(len(sizes)) * np.array(sizes, np.int64)
        whole = [size == n for size, n in zip(sizes, global_shape, strict=True)]
        return {
            device: tuple(
                [
                    slice(None) if is_whole else slice(start, start + size)
                    for start, size, is_whole in zip(row, sizes, whole, strict=True)
                ]
            )
            for device, row in zip(self.device_assignment, starts.tolist(), strict=True)
        }

    def shard_shape(self, global_shape: Sequence[int]) -> tuple[int, ...]:
        splits = self.splits(len(global_shape))
        parts = [self.mesh.parts(names) for names in splits]
        for axis, (size, count) in enumerate(zip(global_shape, parts, strict=True)):
            if size % count:
                raise ValueError(
                    message(
                        f"{_WHERE} of an array",
                        given=f"{self.spec} over {self.mesh}, which cuts axis {axis} into {count} "
                        f"parts, for the shape {tuple(global_shape)}",
                        expected=f"a size of axis {axis} that {count} divides, not {size}",
                        fix="Pad the array, or split another axis.",
                    )
                )
        return tuple([size // count for size, count in zip(global_shape, parts, strict=True)])

    def check_compatible_aval(self, aval_shape: Sequence[int]) -> None:
        """Raise `ValueError` unless arrays of a shape can be split so."""
        self.splits(len(aval_shape))

    def with_memory_kind(self, kind: str) -> NamedSharding:
        return self.update(memory_kind=kind)

    def update(self, **kwargs: Any) -> NamedSharding:
        """The sharding with another mesh, spec or memory kind."""
        own = {"mesh": self.mesh, "spec": self.spec, "memory_kind": self._memory_kind}
        return NamedSharding(**(own | kwargs))

    def _parts(self, ndim: int) -> np.ndarray[Any, np.dtype[np.int64]]:
        """For each device, which part it holds along each axis of an array."""
        mesh = self.mesh
        places = np.indices(mesh.axis_sizes).reshape(len(mesh.axis_sizes), -1)
        parts = np.zeros((mesh.size, ndim), np.int64)
        for axis, names in enumerate(self.splits(ndim)):
            for name in names:
                along = mesh.axis_names.index(name)
                parts[:, axis] = parts[:, axis] * mesh.axis_sizes[along] + places[along]
        return parts

    def __reduce__(self) -> Any:
        return NamedSharding, (self.mesh, self.spec, self._memory_kind)

    def __repr__(self) -> str:
        kind = "" if self._memory_kind is None else f", memory_kind={self._memory_kind}"
        return f"NamedSharding(mesh={self.mesh!s}, spec={self.spec}{kind})"


@memoize
def _abstract(sharding: NamedSharding, ndim: int, only_larger: bool) -> AbstractSharding:
    """How types say it: of axes that the compiler or the program splits over they do not speak.

    `only_larger` is the option that leaves out axes of one device, by which results differ.
    """
    mesh = sharding.mesh.abstract_mesh
    said = frozenset(mesh.explicit_axes)
    splits: list[Any] = [tuple([n for n in names if n in said]) for names in sharding.splits(ndim)]
    spec = sharding.spec
    return AbstractSharding(mesh, tuple(splits), spec.unreduced & said, spec.reduced & said)


def named(split: AbstractSharding, mesh: Mesh | AbstractMesh | None = None) -> NamedSharding:
    """What types say as a sharding over their own mesh, or over a mesh with the same axes."""
    entries = [names or None for names in split.spec]
    spec = PartitionSpec(*entries, unreduced=split.unreduced, reduced=split.reduced)
    return NamedSharding(split.mesh if mesh is None else mesh, spec)


def _wrong_type(argument: str, given: object, expected: str, fix: str) -> TypeError:
    where = f"{_WHERE}, argument {argument}"
    return TypeError(message(where, given=described(given), expected=expected, fix=fix))


def _check_axes(mesh: Mesh | AbstractMesh, spec: PartitionSpec) -> None:
    """Raise `ValueError` unless a spec names axes of the mesh, each once."""
    named = [name for entry in spec for name in names_of(entry)]
    unknown = [n for n in (*named, *spec.unreduced, *spec.reduced) if n not in mesh.axis_names]
    if unknown:
        given, expected = f"{spec}, which names {unknown[0]!r}", f"axes of the mesh {mesh}"
    elif len(set(named)) < len(named):
        given, expected = f"{spec}", "each axis of the mesh at most once"
    else:
        return
    fix = f"The axes of the mesh are {', '.join(map(repr, mesh.axis_names))}."
    raise ValueError(message(f"{_WHERE}, argument spec", given=given, expected=expected, fix=fix))


def _check_sums(mesh: Mesh | AbstractMesh, spec: PartitionSpec) -> None:
    """Raise `ValueError` if sums are to be taken over axes that the compiler splits over."""
    auto = (spec.unreduced | spec.reduced) & frozenset(mesh.auto_axes)
    if auto:
        raise ValueError(
            message(
                f"{_WHERE}, argument spec",
                given=f"{spec} over {mesh}, whose axes {', '.join(map(repr, auto))} are Auto",
                expected="unreduced and reduced axes that are Explicit",
                fix="Leave them out: the compiler takes sums over Auto axes.",
            )
        )
