"""`Shard`: the part of an array that one device holds."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, final

from ..runtime.buffers import parts_of
from ..runtime.client import on_forget_clients
from ..runtime.device import Device
from ..runtime.laid_out import Order, laid_out
from ..runtime.membership import own_devices
from ..runtime.sharding import Index, Sharding, SingleDeviceSharding
from ..util.messages import message

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
        self._data: Array | _Part | None = data

    @property
    def device(self) -> Device:
        """The device that holds the part."""
        return self._device

    @property
    def data(self) -> Array | None:
        """The part, `None` if it is another process's."""
        if type(self._data) is _Part:
            self._data = self._data.array(self._device, self._sharding)
        return self._data

    @property
    def index(self) -> Index:
        """Which part of the whole array it is."""
        return _indices_and_replicas(self._sharding, self._global_shape)[self._device][0]

    @property
    def replica_id(self) -> int:
        """How many devices before this one hold the same part."""
        return _indices_and_replicas(self._sharding, self._global_shape)[self._device][1]

    def __repr__(self) -> str:
        facts = f"device={self._device!r}, index={self.index}, replica_id={self.replica_id}"
        data = f", data={self.data}" if self._data is not None else ""
        return f"Shard({facts}{data})"


@final
class _Part:
    """A part of an array that nobody has asked for yet: most are asked for one or none.

    Args:
        buffer: the whole.
        position: of the part among those of this process.
        aval: of the part.
        order: of its elements in memory.
        kind: the class of arrays.
    """

    __slots__ = ("_aval", "_buffer", "_kind", "_order", "_position")

    def __init__(
        self, buffer: Any, position: int, aval: Any, order: Order, kind: type[Array]
    ) -> None:
        self._buffer, self._position = buffer, position
        self._aval, self._order, self._kind = aval, order, kind

    def array(self, device: Device, whole: Sharding) -> Array:
        """The part as an array on its device.

        Raises:
            RuntimeError: if the memory of the whole was given away since the part was named.
        """
        if self._buffer.is_deleted():
            raise RuntimeError(
                message(
                    "Shard.data",
                    given=f"a part of an array that was donated, {self._aval.str_short()}",
                    expected="an array that still has its memory",
                    fix="Copy the part before the call that the array is donated to.",
                )
            )
        place = laid_out(SingleDeviceSharding(device, whole.memory_kind), self._order)
        part = parts_of(self._buffer)[self._position]
        return self._kind(self._aval, None, part, place, True)


@lru_cache(maxsize=1024)
def _indices_and_replicas(
    place: Sharding, shape: tuple[int, ...]
) -> dict[Device, tuple[Index, int]]:
    """Which part each device holds, and how many devices before it hold the same."""
    found: dict[Device, tuple[Index, int]] = {}
    seen: dict[Any, int] = {}
    for device, index in place.devices_indices_map(shape).items():
        # Slices have no hash before Python 3.12.
        key = tuple([(s.start, s.stop, s.step) for s in index])
        seen[key] = seen.get(key, -1) + 1
        found[device] = index, seen[key]
    return found


on_forget_clients(_indices_and_replicas.cache_clear)


def shards_of(x: Array, *, addressable: bool) -> list[Shard]:
    """The parts of an array, device by device.

    Args:
        x: the array.
        addressable: whether to leave out those of other processes, which have no data.
    """
    place, order, shape = x.sharding, x.place.element_order, x.shape
    if type(place) is SingleDeviceSharding:
        if place.is_fully_addressable:
            return [Shard(place.device, place, shape, x)]
        return [] if addressable else [Shard(place.device, place, shape)]
    buffer = x.buffer_at(x.place)
    aval = x.aval.update(shape=place.shard_shape(shape), sharding=None)
    shards, mine = [], own_devices(place)
    for device in mine if addressable else place.device_assignment:
        shards.append(shard := Shard(device, place, shape))
        if device in mine:
            shard._data = _Part(buffer, mine.index(device), aval, order, type(x))
    return shards
