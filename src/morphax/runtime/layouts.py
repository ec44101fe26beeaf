"""Places as jaxlib knows them."""

from __future__ import annotations

from functools import cache
from math import prod
from typing import Any, NamedTuple

from .client import device_list, extension, on_forget_clients, xla_client
from .device import Device
from .sharding import Sharding


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


def tiling(place: Sharding, ndim: int) -> Tiling:
    """How a place splits arrays of `ndim` axes."""
    count = place.num_devices
    if place.is_fully_replicated:
        return Tiling((1,) * ndim, count, tuple(range(count)))
    # Sizes that every way of splitting an axis over these devices divides.
    indices = place.devices_indices_map((count,) * ndim)
    starts = [[s.start or 0 for s in indices[device]] for device in place.device_assignment]
    parts = tuple([len(set(of_axis)) for of_axis in zip(*starts, strict=True)])
    order = sorted(range(count), key=starts.__getitem__)
    return Tiling(parts, count // prod(parts), tuple(order))


@cache
def layout_of(place: Sharding, ndim: int) -> tuple[Any, list[Device]]:
    """Jaxlib's sharding for arrays of `ndim` axes at a place, and its devices."""
    devices = place.device_assignment
    parts, copies, order = tiling(place, ndim)
    split = xla_client().HloSharding.replicate()
    if copies < len(devices):
        numbers = ",".join(map(str, order))
        sizes = ",".join(map(str, (*parts, copies)))
        text = f"{{devices=[{sizes}]{numbers} last_tile_dim_replicate}}"
        split = xla_client().HloSharding.from_string(text)
    # Of the default memory jaxlib is faster without the name.
    kind = None if place is place.own_memory else place.memory_kind
    return extension().GSPMDSharding(device_list(*devices), split, kind), list(devices)


on_forget_clients(layout_of.cache_clear)
