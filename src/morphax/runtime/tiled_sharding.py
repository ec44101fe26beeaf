"""`TiledSharding`: arrays cut into a grid of parts, as compilers say it, without a mesh."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any, NamedTuple, final

import numpy as np

from ..util.memo import memoize
from .device import Device
from .sharding import Index, Sharding, checked_kind, default_kind


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


@final
class TiledSharding(Sharding):
    """Arrays of a fixed number of axes, cut into a grid of equal parts; `tiled_on` makes them.

    Args:
        devices: in the order in which programs number them.
        tiling: which of them holds which part.
        memory_kind: which of their memories.
    """

    __slots__ = ("_devices", "_memory_kind", "_tiling")

    def __init__(self, devices: tuple[Device, ...], tiling: Tiling, memory_kind: str) -> None:
        self._devices = devices
        self._tiling = tiling
        self._memory_kind = memory_kind

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
        return prod(self._tiling.parts) == 1

    @property
    def own_memory(self) -> Sharding:
        return tiled_on(self._devices, self._tiling)

    def with_memory_kind(self, kind: str) -> Sharding:
        return tiled_on(self._devices, self._tiling, checked_kind(self._devices[0], kind))

    def devices_indices_map(self, global_shape: Sequence[int]) -> Mapping[Device, Index]:
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
        parts = self._tiling.parts
        if len(parts) != len(global_shape) or any(
            [size % count for size, count in zip(global_shape, parts, strict=True)]
        ):
            raise ValueError(f"{self} does not fit the shape {tuple(global_shape)}")
        return tuple([size // count for size, count in zip(global_shape, parts, strict=True)])

    def __reduce__(self) -> Any:
        return tiled_on, (self._devices, self._tiling, self._memory_kind)

    def __repr__(self) -> str:
        return (
            f"TiledSharding(parts={self._tiling.parts}, devices={self._devices}, "
            f"memory_kind={self._memory_kind})"
        )


def tiled_on(
    devices: tuple[Device, ...], tiling: Tiling, memory_kind: str | None = None
) -> Sharding:
    """The sharding of arrays that are cut so; equal ones are one object."""
    return _tiled(devices, tiling, memory_kind or default_kind(devices[0]))


_tiled = memoize(TiledSharding)
