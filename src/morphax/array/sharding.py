"""Shardings: on which devices the parts of an array lie.

`Sharding` is the abstract base; `SingleDeviceSharding` is that of an array that lies whole on one
device.  Shardings over meshes are defined in `morphax.sharding`.  A sharding is immutable; equal
ones hash alike.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, final

from ..engines.xla.device import Device
from ..util.memo import memoize
from ..util.messages import described, message

if TYPE_CHECKING:
    from .array import Array

Index = tuple[slice, ...]


class Sharding(ABC):
    """How an array is laid out over devices."""

    __slots__ = ()

    @property
    @abstractmethod
    def device_set(self) -> set[Device]:
        """All devices that hold a part of the array."""

    @property
    @abstractmethod
    def memory_kind(self) -> str | None:
        """Which memory of its devices the array lies in."""

    @property
    @abstractmethod
    def is_fully_replicated(self) -> bool:
        """Whether each device holds the whole array."""

    @abstractmethod
    def with_memory_kind(self, kind: str) -> Sharding:
        """The same layout in another memory."""

    @abstractmethod
    def devices_indices_map(self, global_shape: Sequence[int]) -> Mapping[Device, Index]:
        """For each device, the part that it holds of an array of the given shape."""

    @abstractmethod
    def shard_shape(self, global_shape: Sequence[int]) -> tuple[int, ...]:
        """The shape of each part of an array of the given shape."""

    @abstractmethod
    def distribute(self, x: Array, *, copy: bool = False) -> Array:
        """An array with the numbers of `x`, laid out so.

        Args:
            x: a concrete array.
            copy: whether the result must not share memory with `x`.
        """

    @property
    def num_devices(self) -> int:
        """The number of devices that hold a part."""
        return len(self.device_set)

    @property
    def addressable_devices(self) -> set[Device]:
        """The devices among `device_set` that belong to this process."""
        return {d for d in self.device_set if d.process_index == d.client.process_index()}

    @property
    def has_addressable_devices(self) -> bool:
        """Whether this process holds any part."""
        return bool(self.addressable_devices)

    @property
    def is_fully_addressable(self) -> bool:
        """Whether all devices belong to this process."""
        return self.addressable_devices == self.device_set

    def addressable_devices_indices_map(
        self, global_shape: Sequence[int]
    ) -> Mapping[Device, Index]:
        """`devices_indices_map` of this process's devices."""
        mine = self.addressable_devices
        parts = self.devices_indices_map(global_shape)
        return {device: index for device, index in parts.items() if device in mine}

    def is_equivalent_to(self, other: Sharding, ndim: int) -> bool:
        """Whether both lay out every array of `ndim` axes alike."""
        if self.memory_kind != other.memory_kind or self.device_set != other.device_set:
            return False
        if self.is_fully_replicated and other.is_fully_replicated:
            return True
        # Sizes that every way of splitting an axis over these devices divides.
        shape = (self.num_devices,) * ndim
        return self.devices_indices_map(shape) == other.devices_indices_map(shape)


@final
class SingleDeviceSharding(Sharding):
    """The whole array on one device.

    Args:
        device: the device.
        memory_kind: which of its memories, the default one if left out.

    Raises:
        TypeError: if `device` is no device.
        ValueError: if the device has no such memory.

    Example:
        >>> import morphax as jax
        >>> jax.sharding.SingleDeviceSharding(jax.devices("cpu")[0])
        SingleDeviceSharding(device=CpuDevice(id=0), memory_kind=device)
    """

    __slots__ = ("_device", "_memory_kind")

    def __init__(self, device: Device, memory_kind: str | None = None) -> None:
        if not isinstance(device, Device):
            raise TypeError(
                message(
                    "SingleDeviceSharding, argument device",
                    given=described(device),
                    expected="a device",
                    fix="Pass an element of jax.devices().",
                )
            )
        self._device = device
        self._memory_kind = _checked_kind(device, memory_kind)

    @property
    def device_set(self) -> set[Device]:
        return {self._device}

    @property
    def memory_kind(self) -> str:
        return self._memory_kind

    @property
    def is_fully_replicated(self) -> bool:
        return True

    @property
    def place(self) -> Device | SingleDeviceSharding:
        """How an `Array` names the place: the device alone if the memory is its default one."""
        return self._device if self._memory_kind == _default_kind(self._device) else self

    def with_memory_kind(self, kind: str | None) -> SingleDeviceSharding:
        return SingleDeviceSharding(self._device, kind)

    def devices_indices_map(self, global_shape: Sequence[int]) -> Mapping[Device, Index]:
        return {self._device: (slice(None),) * len(global_shape)}

    def shard_shape(self, global_shape: Sequence[int]) -> tuple[int, ...]:
        return tuple(global_shape)

    def distribute(self, x: Array, *, copy: bool = False) -> Array:
        return (x.copied() if copy else x).placed(self.place, committed=True)

    def __eq__(self, other: object) -> bool:
        if type(other) is not SingleDeviceSharding:
            return NotImplemented
        return self._device is other._device and self._memory_kind == other._memory_kind

    def __hash__(self) -> int:
        return hash((self._device, self._memory_kind))

    def __repr__(self) -> str:
        return f"SingleDeviceSharding(device={self._device!r}, memory_kind={self._memory_kind})"


@memoize
def whole_on(device: Device) -> SingleDeviceSharding:
    """The sharding of arrays that lie whole in the default memory of a device."""
    return SingleDeviceSharding(device)


def _default_kind(device: Device) -> str:
    return str(device.default_memory().kind)


def _checked_kind(device: Device, kind: str | None) -> str:
    if kind is None:
        return _default_kind(device)
    known = [str(memory.kind) for memory in device.addressable_memories()]
    if kind not in known:
        raise ValueError(
            message(
                "SingleDeviceSharding, argument memory_kind",
                given=f"{kind!r} for {device!r}",
                expected=f"one of {', '.join(known)}",
                fix="Name one of these memories, or none for the default one.",
            )
        )
    return kind
