"""`GSPMDSharding`: arrays cut into a grid of parts, as compilers say it, without a mesh.

Reference: Xu et al., GSPMD: General and Scalable Parallelization for ML Computation Graphs,
arXiv:2105.04663, section 3.1.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any, NamedTuple, final

import numpy as np

from ..util.memo import memoize
from ..util.messages import described, message
from .client import xla_client
from .device import Device
from .sharding import Index, Sharding, SingleDeviceSharding, checked_kind, default_kind

_WHERE = "GSPMDSharding"


class Tiling(NamedTuple):
    """How the parts of an array are dealt out to devices.

    Args:
        parts: into how many each axis is split.
        copies: how many devices hold each part.
        order: numbers of devices, part by part in row-major order, copies next to each other.
    """

    parts: tuple[int, ...]
    copies: int
    order: tuple[int, ...]

    @classmethod
    def of(cls, split: Any, ndim: int | None = None) -> Tiling:
        """What jaxlib's sharding means, for arrays of so many axes if that is known."""
        sizes = tuple(split.tile_assignment_dimensions())
        parts = sizes[: (len(sizes) - split.replicate_on_last_tile_dim()) if ndim is None else ndim]
        numbers = np.array(split.tile_assignment_devices()).reshape(prod(parts), -1)
        order = np.sort(numbers, axis=1).ravel().tolist()
        return cls(parts, numbers.shape[1], tuple(order))

    def split(self) -> Any:
        """The same as jaxlib says it."""
        if self.copies == len(self.order):
            return xla_client().HloSharding.replicate()
        count = len(self.order)
        in_order = self.order == tuple(range(count))
        numbers = f"<=[{count}]" if in_order else ",".join(map(str, self.order))
        last = self.copies > 1
        sizes = ",".join(map(str, (*self.parts, *[self.copies] * last)))
        text = f"{{devices=[{sizes}]{numbers}{' last_tile_dim_replicate' * last}}}"
        return xla_client().HloSharding.from_string(text)


@final
class GSPMDSharding(Sharding):
    """Arrays cut into a grid of equal parts, or whole on each of several devices.

    Equal ones are one object.

    Args:
        devices: in the order in which programs number them.
        op_sharding: which of them holds which part: an `HloSharding` or `OpSharding` of jaxlib.
        memory_kind: which of their memories, the default one if left out.

    Raises:
        TypeError: if `op_sharding` is something else, or something is no device.
        ValueError: if it cuts no array into parts, is for another number of devices, or the devices
            have no such memory.

    Example:
        >>> import morphax as jax
        >>> from morphax.extend.sharding import GSPMDSharding
        >>> GSPMDSharding.get_replicated(jax.devices("cpu")[:1])
        GSPMDSharding({replicated}, memory_kind=device)
    """

    __slots__ = ("__weakref__", "_devices", "_memory_kind", "_tiling")

    _devices: tuple[Device, ...]
    _tiling: Tiling | None
    _memory_kind: str

    def __new__(
        cls, devices: Sequence[Device], op_sharding: Any, memory_kind: str | None = None
    ) -> GSPMDSharding:
        assignment = _checked_devices(devices)
        split = _checked_split(op_sharding, len(assignment))
        tiling = None if split.is_replicated() else Tiling.of(split)
        kind = checked_kind(assignment[0], memory_kind, _WHERE)
        return _interned(assignment, tiling, kind)

    @classmethod
    def get_replicated(
        cls, device_assignment: Sequence[Device], *, memory_kind: str | None = None
    ) -> GSPMDSharding:
        """Of arrays that each of some devices holds whole."""
        return cls(device_assignment, xla_client().HloSharding.replicate(), memory_kind)

    @property
    def device_set(self) -> set[Device]:
        return set(self._devices)

    @property
    def device_assignment(self) -> tuple[Device, ...]:
        return self._devices

    @property
    def memory_kind(self) -> str:
        return self._memory_kind

    @property
    def is_fully_replicated(self) -> bool:
        return self._tiling is None or prod(self._tiling.parts) == 1

    @property
    def own_memory(self) -> Sharding:
        return _interned(self._devices, self._tiling, default_kind(self._devices[0]))

    def with_memory_kind(self, kind: str) -> GSPMDSharding:
        return _interned(self._devices, self._tiling, checked_kind(self._devices[0], kind, _WHERE))

    def devices_indices_map(self, global_shape: Sequence[int]) -> Mapping[Device, Index]:
        if self._tiling is None:
            return dict.fromkeys(self._devices, (slice(None),) * len(global_shape))
        sizes = self.shard_shape(global_shape)
        parts, copies, order = self._tiling
        corners = np.indices(parts).reshape(len(parts), -1).T * np.array(sizes, np.int64)
        indices: dict[Device, Index] = {}
        for corner, number in zip(np.repeat(corners, copies, axis=0).tolist(), order, strict=True):
            each = zip(corner, sizes, parts, strict=True)
            indices[self._devices[number]] = tuple(
                [slice(None) if k == 1 else slice(start, start + n) for start, n, k in each]
            )
        return {device: indices[device] for device in self._devices}

    def shard_shape(self, global_shape: Sequence[int]) -> tuple[int, ...]:
        if self._tiling is None:
            return tuple(global_shape)
        parts = self._tiling.parts
        if len(parts) != len(global_shape) or any(
            [size % count for size, count in zip(global_shape, parts, strict=True)]
        ):
            raise ValueError(
                message(
                    f"{_WHERE} of an array",
                    given=f"the shape {tuple(global_shape)}",
                    expected=f"{len(parts)} axes whose sizes {parts} divide",
                    fix="Pad the array, or split other axes.",
                )
            )
        return tuple([size // count for size, count in zip(global_shape, parts, strict=True)])

    def __reduce__(self) -> Any:
        return _interned, (self._devices, self._tiling, self._memory_kind)

    def __repr__(self) -> str:
        split = "{replicated}" if self._tiling is None else self._tiling.split()
        return f"GSPMDSharding({split}, memory_kind={self._memory_kind})"


@memoize
def _interned(devices: tuple[Device, ...], tiling: Tiling | None, kind: str) -> GSPMDSharding:
    made = object.__new__(GSPMDSharding)
    made._devices, made._tiling, made._memory_kind = devices, tiling, kind
    return made


def tiled_on(devices: tuple[Device, ...], tiling: Tiling) -> Sharding:
    """The sharding of arrays that are cut so, in the default memory."""
    if tiling.copies == len(devices):
        return repeated_on(devices)
    return _interned(devices, tiling, default_kind(devices[0]))


def repeated_on(devices: tuple[Device, ...]) -> Sharding:
    """The sharding of arrays that each of some devices holds whole, in the default memory."""
    if len(devices) == 1:
        return SingleDeviceSharding(devices[0])
    return _interned(devices, None, default_kind(devices[0]))


def _checked_devices(devices: Any) -> tuple[Device, ...]:
    assignment = tuple(devices) if isinstance(devices, (list, tuple)) else ()
    if assignment and all([isinstance(device, Device) for device in assignment]):
        return assignment
    raise TypeError(
        message(
            f"{_WHERE}, argument devices",
            given=described(devices),
            expected="a sequence of devices",
            fix="Pass jax.devices(), or some of them.",
        )
    )


def _checked_split(split: Any, count: int) -> Any:
    classes = xla_client()
    if isinstance(split, classes.OpSharding):
        split = classes.HloSharding.from_proto(split)
    if not isinstance(split, classes.HloSharding):
        raise TypeError(
            message(
                f"{_WHERE}, argument op_sharding",
                given=described(split),
                expected="an HloSharding or an OpSharding of jaxlib",
                fix="Make one by jax.extend.sharding.get_hlo_sharding_from_serialized_proto.",
            )
        )
    if split.is_replicated() or (split.is_tiled() and _is_plain(split, count)):
        return split
    raise ValueError(
        message(
            f"{_WHERE}, argument op_sharding",
            given=f"{split} for {count} devices",
            expected="parts, each for as many of the devices, or the whole for each",
            fix="Pass a sharding made for so many devices, without subgroups.",
        )
    )


def _is_plain(split: Any, count: int) -> bool:
    """Whether the parts are for all of so many devices, and no axis is left to the program."""
    return not split.subgroup_types() and len(split.tile_assignment_devices()) == count
