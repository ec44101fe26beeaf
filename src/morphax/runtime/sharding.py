"""Shardings: on which devices the parts of an array lie.

`Sharding` is the abstract base; `SingleDeviceSharding` is that of an array that lies whole on one
device.  Those over several devices are defined in modules of their own.  A sharding is immutable;
those of arrays, their places, are interned: equal ones are one object, and compared as such.

`home` is the place of arrays that are made in host memory.  Which device that is, is found when it
is first asked for, so that eager programs load no jaxlib.  See docs/design/placements.md.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from threading import RLock
from typing import TYPE_CHECKING, Any, final
from weakref import WeakValueDictionary

from ..config import current as current_config
from ..core.abstract_sharding import AbstractSharding
from ..core.layout import AutoLayout, Layout
from ..util.memo import memoize
from ..util.messages import described, message
from .device import Device, program_platform
from .devices import default_device, default_platform, home_device, on_forget_platforms
from .membership import own_devices

if TYPE_CHECKING:
    from ..array.array import Array

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

    def abstract(self, ndim: int) -> AbstractSharding | None:
        """What types say of arrays of `ndim` axes that lie so: nothing, or how they are split."""
        return None

    def typed(self, aval: Any) -> Any:
        """The aval of an array that lies so, from one that may say something else of that."""
        split = self.abstract(len(aval.shape))
        return aval if aval.split == split else aval.update(sharding=split)

    def distribute(self, x: Array, *, copy: bool = False) -> Array:
        """An array with the numbers of `x`, laid out so and committed to that.

        Args:
            x: a concrete array.
            copy: whether the result must not share memory with `x`.

        Raises:
            ValueError: if the layout does not fit the shape.
        """
        self.shard_shape(x.shape)
        return (x.copied() if copy else x).placed(self, committed=True)

    @property
    def own_memory(self) -> Sharding:
        """The same layout in the default memory of the devices, where programs compute."""
        return self

    @property
    def plain(self) -> Sharding:
        """The same, but that elements lie row by row in memory; see `runtime.laid_out`."""
        return self

    @property
    def element_order(self) -> Layout | AutoLayout | None:
        """How elements lie in memory, where that is not row by row."""
        return None

    @property
    def brief(self) -> Any:
        """What messages call the place."""
        return self

    @property
    def platform(self) -> str:
        """The platform of its devices: ``"cpu"``, ``"gpu"`` or ``"tpu"``."""
        return str(next(iter(self.device_set)).platform)

    @property
    def program_platform(self) -> str:
        """The platform that programs are written for: for GPUs ``"cuda"`` or ``"rocm"``."""
        platform = self.platform
        return program_platform(self.device_assignment[0]) if platform == "gpu" else platform

    @property
    def device_assignment(self) -> tuple[Device, ...]:
        """The devices in the order in which a program that runs on them numbers them."""
        return tuple(sorted(self.device_set, key=lambda device: device.id))

    @property
    def num_devices(self) -> int:
        """The number of devices that hold a part."""
        return len(self.device_set)

    @property
    def addressable_devices(self) -> set[Device]:
        """The devices among `device_set` that belong to this process."""
        return set(own_devices(self))

    @property
    def _addressable_device_assignment(self) -> tuple[Device, ...]:
        """The same in their order, under the name by which Orbax asks for them."""
        mine = self.addressable_devices
        return tuple([device for device in self.device_assignment if device in mine])

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
        if self.element_order != other.element_order:
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

    __slots__ = ("__weakref__", "_device", "_is_own_memory", "_memory_kind")

    _device: Device | None
    _is_own_memory: bool
    _memory_kind: str | None

    def __new__(cls, device: Device, memory_kind: str | None = None) -> SingleDeviceSharding:
        if not isinstance(device, Device):
            raise TypeError(
                message(
                    "SingleDeviceSharding, argument device",
                    given=described(device),
                    expected="a device",
                    fix="Pass an element of jax.devices().",
                )
            )
        return _interned(device, checked_kind(device, memory_kind))

    @property
    def device(self) -> Device:
        """The device that holds the array."""
        if self._device is None:
            _resolve_home(self)
        return self._device  # type: ignore[return-value]

    @property
    def device_set(self) -> set[Device]:
        return {self.device}

    @property
    def device_assignment(self) -> tuple[Device, ...]:
        return (self.device,)

    @property
    def num_devices(self) -> int:
        return 1

    @property
    def platform(self) -> str:
        if self._device is None and default_platform() == "cpu":
            # Known without the device itself, for which jaxlib would be loaded.
            return "cpu"
        return str(self.device.platform)

    @property
    def memory_kind(self) -> str:
        if self._memory_kind is None:
            _resolve_home(self)
        return self._memory_kind  # type: ignore[return-value]

    @property
    def is_fully_replicated(self) -> bool:
        return True

    @property
    def own_memory(self) -> SingleDeviceSharding:
        return self if self._is_own_memory else whole_on(self.device)

    @property
    def brief(self) -> Device | SingleDeviceSharding:
        return self.device if self._is_own_memory else self

    def with_memory_kind(self, kind: str | None) -> SingleDeviceSharding:
        return SingleDeviceSharding(self.device, kind)

    def devices_indices_map(self, global_shape: Sequence[int]) -> Mapping[Device, Index]:
        return {self.device: (slice(None),) * len(global_shape)}

    def shard_shape(self, global_shape: Sequence[int]) -> tuple[int, ...]:
        return tuple(global_shape)

    def __reduce__(self) -> Any:
        return SingleDeviceSharding, (self.device, self.memory_kind)

    def __repr__(self) -> str:
        return f"SingleDeviceSharding(device={self.device!r}, memory_kind={self.memory_kind})"


def make_single_device_sharding(
    device: Device, *, memory_kind: str | None = None
) -> SingleDeviceSharding:
    """The sharding of arrays that lie whole on a device; see `SingleDeviceSharding`.

    Args:
        device: the device.
        memory_kind: which of its memories, the default one if left out.

    Example:
        >>> import morphax as jax
        >>> jax.sharding.make_single_device_sharding(jax.devices("cpu")[0]).num_devices
        1
    """
    return SingleDeviceSharding(device, memory_kind)


_lock = RLock()
_places: WeakValueDictionary[tuple[Device, str], SingleDeviceSharding] = WeakValueDictionary()


def _interned(device: Device, kind: str) -> SingleDeviceSharding:
    known = _places.get((device, kind))
    if known is not None:
        return known
    is_own_memory = kind == default_kind(device)
    if is_own_memory and device is home_device():
        return _resolve_home(home)
    with _lock:
        return _places.setdefault((device, kind), _new(device, kind, is_own_memory))


def _new(
    device: Device | None, kind: str | None, is_own_memory: bool = True
) -> SingleDeviceSharding:
    place = object.__new__(SingleDeviceSharding)
    place._is_own_memory = is_own_memory
    place._device = device
    place._memory_kind = kind
    return place


home = _new(None, None)
"""The place of arrays in host memory: the default memory of the home device.

One whose device is known is replaced when the platforms are forgotten, so read it in this module.
"""


def _resolve_home(place: SingleDeviceSharding) -> SingleDeviceSharding:
    """Find the device of `home`."""
    device = home_device()
    kind = default_kind(device)
    with _lock:
        place._device, place._memory_kind = device, kind
        _places[device, kind] = place
    return place


def _forget_home() -> None:
    global home
    if home._device is not None:
        home = _new(None, None)


on_forget_platforms(_forget_home)


@memoize
def whole_on(device: Device) -> SingleDeviceSharding:
    """The sharding of arrays that lie whole in the default memory of a device."""
    return SingleDeviceSharding(device)


def default_place() -> SingleDeviceSharding:
    """Where is computed what no committed array binds to another place."""
    return home if current_config().default_device is None else whole_on(default_device())


def default_kind(device: Device) -> str:
    """The memory of a device in which programs compute."""
    return str(device.default_memory().kind)


def checked_kind(device: Device, kind: str | None, where: str = "SingleDeviceSharding") -> str:
    """The name of a memory of a device, the default one for `None`; `ValueError` if it has none."""
    if kind is None:
        return default_kind(device)
    known = [str(memory.kind) for memory in device.addressable_memories()]
    if kind not in known:
        raise ValueError(
            message(
                f"{where}, argument memory_kind",
                given=f"{kind!r} for {device!r}",
                expected=f"one of {', '.join(known)}",
                fix="Name one of these memories, or none for the default one.",
            )
        )
    return kind
