"""`Shard`: the part of an array that one device holds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, final

from ..runtime.buffers import parts_of
from ..runtime.device import Device
from ..runtime.laid_out import laid_out
from ..runtime.sharding import Index, Sharding, SingleDeviceSharding

if TYPE_CHECKING:
    from .array import Array


@final
class Shard:
    """The part of an array that one device holds.

    Args:
        device: the device.
        sharding: the layout of the whole array.
        global_shape: the shape of the whole array.
        data: the part as an array of its own; `None` if it is another process's.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.arange(3.0).addressable_shards
        [Shard(device=CpuDevice(id=0), index=(slice(None, None, None),), replica_id=0,
        data=[0. 1. 2.])]
    """

    __slots__ = ("_data", "_device", "_global_shape", "_sharding")

    def __init__(
        self,
        device: Device,
        sharding: Sharding,
        global_shape: Sequence[int],
        data: Array | None = None,
    ) -> None:
        self._device = device
        self._sharding = sharding
        self._global_shape = tuple(global_shape)
        self._data = data

    @property
    def device(self) -> Device:
        """The device that holds the part."""
        return self._device

    @property
    def data(self) -> Array | None:
        """The part, `None` if it is another process's."""
        return self._data

    @property
    def index(self) -> Index:
        """Which part of the whole array it is."""
        return self._sharding.devices_indices_map(self._global_shape)[self._device]

    @property
    def replica_id(self) -> int:
        """How many devices before this one hold the same part."""
        parts = self._sharding.devices_indices_map(self._global_shape)
        own = parts[self._device]
        return [device for device, index in parts.items() if index == own].index(self._device)

    def __repr__(self) -> str:
        facts = f"device={self._device!r}, index={self.index}, replica_id={self.replica_id}"
        data = f", data={self._data}" if self._data is not None else ""
        return f"Shard({facts}{data})"


def shards_of(x: Array) -> list[Shard]:
    """The parts of an array, device by device; those of other processes have no data."""
    place, order = x.sharding, x.place.element_order
    if isinstance(place, SingleDeviceSharding):
        return [Shard(place.device, place, x.shape, x if place.is_fully_addressable else None)]
    memory = place.memory_kind
    parts = iter(parts_of(x.buffer_at(x.place)))
    aval = x.aval.update(shape=place.shard_shape(x.shape), sharding=None)
    mine = place.addressable_devices

    def data_at(device: Device) -> Array | None:
        if device not in mine:
            return None
        own = laid_out(SingleDeviceSharding(device, memory), order)
        return type(x)(aval, None, next(parts), own, True)

    return [Shard(d, place, x.shape, data_at(d)) for d in place.device_assignment]
