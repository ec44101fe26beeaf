"""`Mesh`: devices in a grid with named axes."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Final, final
from weakref import WeakValueDictionary

import numpy as np

from ..config import make_user_context, override
from ..core.mesh import (
    AbstractDevice,
    AbstractMesh,
    AxisType,
    NamedAxes,
    checked_axes,
    names_of_axes,
)
from ..util.messages import described, message
from .device import Device
from .devices import devices as all_devices

if TYPE_CHECKING:
    from numpy.typing import NDArray

mesh_of_block: Final = make_user_context(None)
"""The mesh of the innermost ``with mesh:``."""

_Key = tuple[tuple[Device, ...], tuple[int, ...], tuple[Hashable, ...], tuple[AxisType, ...]]


@final
class Mesh(NamedAxes):
    """Devices in a grid, whose axes have names; equal meshes are one object.

    As a context it is the mesh that `with_sharding_constraint` takes a `PartitionSpec` to speak
    of; prefer `set_mesh`.

    Args:
        devices: an array of devices, one axis for each name; or a sequence.
        axis_names: the names, or the only one.
        axis_types: one for each axis; ``Auto`` if left out.

    Raises:
        TypeError: if something in `devices` is no device.
        ValueError: if there are not as many names as axes, or a device or a name is there twice.

    Example:
        >>> import morphax as jax
        >>> mesh = jax.sharding.Mesh(jax.devices("cpu")[:1], "x")
        >>> mesh, mesh.size, mesh.devices
        (Mesh(axis_sizes=(1,), axis_names=('x',), axis_types=(Auto,)), 1,
        array([CpuDevice(id=0)], dtype=object))
    """

    __slots__ = (
        *("__weakref__", "abstract_mesh", "axis_names", "axis_sizes", "axis_types"),
        *("device_assignment", "devices"),
    )
    _known: ClassVar[WeakValueDictionary[_Key, Mesh]] = WeakValueDictionary()

    devices: NDArray[np.object_]
    abstract_mesh: AbstractMesh
    device_assignment: tuple[Device, ...]

    def __new__(
        cls,
        devices: NDArray[np.object_] | Sequence[Device],
        axis_names: Hashable | Sequence[Hashable],
        axis_types: AxisType | Sequence[AxisType] | None = None,
    ) -> Mesh:
        grid = np.array(devices, dtype=object)
        names = names_of_axes(axis_names)
        key: _Key = (), (), (), ()
        # That without devices and axes is the current mesh where there is none.
        if grid.size or names:
            kinds = checked_axes("Mesh", grid.shape, names, axis_types)
            key = _checked_devices(grid), grid.shape, names, kinds
        known = cls._known.get(key)
        return known if known is not None else cls._known.setdefault(key, cls._new(grid, key))

    @classmethod
    def _new(cls, grid: NDArray[np.object_], key: _Key) -> Mesh:
        mesh = object.__new__(cls)
        mesh.device_assignment, mesh.axis_sizes, mesh.axis_names, mesh.axis_types = key
        grid.flags.writeable = False
        mesh.devices = grid
        first = key[0][0] if key[0] else None
        common = (
            None
            if first is None
            else AbstractDevice(
                first.device_kind, getattr(first, "num_cores", None), str(first.platform)
            )
        )
        mesh.abstract_mesh = AbstractMesh(key[1], key[2], key[3], common)
        return mesh

    @classmethod
    def with_axes_of(cls, axes: AbstractMesh) -> Mesh | None:
        """The one mesh that exists with such axes, whatever their types; `None` if not just one.

        Example:
            >>> import morphax as jax
            >>> mesh = jax.make_mesh((1,), ("only here",))
            >>> jax.sharding.Mesh.with_axes_of(mesh.abstract_mesh) is mesh
            True
        """
        alike = [m for m in list(cls._known.values()) if m.abstract_mesh.has_axes_of(axes)]
        return alike[0].update(axis_types=axes.axis_types) if _are_one(alike) else None

    def along(self, axes: AbstractMesh) -> Mesh | None:
        """The same devices in the same order along such axes; `None` if these are not as many.

        Example:
            >>> import morphax as jax
            >>> mesh = jax.make_mesh((1,), ("x",))
            >>> mesh.along(jax.sharding.AbstractMesh((1, 1), ("a", "b"))).axis_names
            ('a', 'b')
        """
        if axes.empty or axes.size != self.size:
            return None
        return Mesh(self.devices.reshape(axes.axis_sizes), axes.axis_names, axes.axis_types)

    @property
    def device_ids(self) -> NDArray[np.int64]:
        """The numbers of the devices, in the grid."""
        ids = [device.id for device in self.device_assignment]
        return np.array(ids, np.int64).reshape(self.axis_sizes)

    @property
    def local_devices(self) -> list[Device]:
        """Those of this process, row by row."""
        return [d for d in self.device_assignment if _is_local(d)]

    @property
    def is_multi_process(self) -> bool:
        """Whether some devices belong to other processes."""
        return len(self.local_devices) < len(self.device_assignment)

    @property
    def local_mesh(self) -> Mesh:
        """The part of the grid that belongs to this process.

        Raises:
            ValueError: if its devices do not form a grid.
        """
        mine = np.vectorize(_is_local, otypes=[bool])(self.devices)
        if mine.all():
            return self
        box = self.devices[np.ix_(*[np.unique(along) for along in np.nonzero(mine)])]
        if box.size != len(self.local_devices):
            raise ValueError(
                message(
                    "Mesh.local_mesh",
                    given=f"devices of this process at the places {np.argwhere(mine).tolist()}",
                    expected="devices that form a grid within the mesh",
                    fix="Order the devices of the mesh by process.",
                )
            )
        return Mesh(box, self.axis_names, self.axis_types)

    def update(
        self,
        devices: NDArray[np.object_] | None = None,
        axis_names: Sequence[Hashable] | None = None,
        axis_types: Sequence[AxisType] | None = None,
    ) -> Mesh:
        """The mesh with other devices, names or types."""
        return Mesh(
            self.devices if devices is None else devices,
            self.axis_names if axis_names is None else tuple(axis_names),
            self.axis_types if axis_types is None else axis_types,
        )

    def __enter__(self) -> Mesh:
        mesh_of_block(self).__enter__()
        return self

    def __exit__(self, *exc: Any) -> None:
        override().__exit__(*exc)

    def __reduce__(self) -> Any:
        return _rebuild, (self.device_ids, self.axis_names, self.axis_types, self._platform)

    @property
    def _platform(self) -> str | None:
        return str(self.device_assignment[0].platform) if self.device_assignment else None

    def __str__(self) -> str:
        return "Mesh()" if self.empty else f"Mesh({self._axes_text()})"

    def __repr__(self) -> str:
        types = "" if self.empty else f", axis_types={self.axis_types}"
        return f"Mesh(axis_sizes={self.axis_sizes}, axis_names={self.axis_names}{types})"


def _are_one(meshes: Sequence[Mesh]) -> bool:
    """Whether meshes differ in the types of axes at most, and there is one at all."""
    return len({mesh.device_assignment for mesh in meshes}) == 1


def _is_local(device: Device) -> bool:
    return device.process_index == device.client.process_index()


def _checked_devices(grid: NDArray[np.object_]) -> tuple[Device, ...]:
    """The devices of a grid, row by row."""
    flat: tuple[Any, ...] = tuple(grid.flat)
    for device in flat:
        if not isinstance(device, Device):
            raise TypeError(
                message(
                    "Mesh, argument devices",
                    given=described(device),
                    expected="an array of devices",
                    fix="Pass np.array(jax.devices()).reshape(...), or call jax.make_mesh.",
                )
            )
    if len(set(flat)) < len(flat):
        raise ValueError(
            message(
                "Mesh, argument devices",
                given=f"{[device.id for device in flat]}, by number",
                expected="devices that differ",
                fix="Name each device once.",
            )
        )
    return flat


def _rebuild(
    ids: NDArray[np.int64],
    names: tuple[Hashable, ...],
    kinds: tuple[AxisType, ...],
    platform: str | None,
) -> Mesh:
    """The mesh of the devices with these numbers, in this process."""
    if platform is None:
        return Mesh((), ())
    known = {device.id: device for device in all_devices(platform)}
    missing = [number for number in ids.ravel().tolist() if number not in known]
    if missing:
        raise ValueError(
            message(
                "unpickling a Mesh",
                given=f"{platform} devices with the numbers {missing}",
                expected=f"numbers of devices that are here: {sorted(known)}",
                fix="Make as many devices here as there were, or make another mesh.",
            )
        )
    grid = np.array([known[number] for number in ids.ravel().tolist()], dtype=object)
    return Mesh(grid.reshape(ids.shape), names, kinds)
