"""Places as jaxlib knows them."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from functools import cache
from math import prod
from typing import Any

from ..core.partition_spec import PartitionSpec
from .client import device_list, extension, on_forget_clients
from .device import Device
from .gspmd_sharding import Tiling, tiled_on
from .membership import own_devices
from .mesh import Mesh
from .named_sharding import NamedSharding
from .sharding import Sharding


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
def deals_alike(place: Sharding, other: Sharding, ndim: int) -> bool:
    """Whether two places give each of their devices, one by one, the same part of an array."""
    own, others = of_summands(place), of_summands(other)
    if own is place and others is other:
        return tiling(place, ndim) == tiling(other, ndim)
    # Of sums each device has a summand, which is no part.
    return own is not place and others is not other and _sum_alike(place, other, ndim)


def _sum_alike(place: Any, other: Any, ndim: int) -> bool:
    same = place.mesh == other.mesh and place.spec.unreduced == other.spec.unreduced
    return same and place.splits(ndim) == other.splits(ndim)


@cache
def lies_alike(place: Sharding, other: Sharding, ndim: int) -> bool:
    """Whether an array at one place is at the other too."""
    return (
        place.device_assignment == other.device_assignment
        and place.memory_kind == other.memory_kind
        and place.element_order == other.element_order
        and deals_alike(place, other, ndim)
    )


def shard_shape(split: Any, shape: Sequence[int]) -> tuple[int, ...]:
    """The shape of each part of an array, by jaxlib's sharding; the last part may be padded."""
    if split.is_replicated():
        return tuple(shape)
    parts = split.tile_assignment_dimensions()[: len(shape)]
    return tuple([-(-size // count) for size, count in zip(shape, parts, strict=True)])


def place_of(split: Any, ndim: int, devices: tuple[Device, ...], mesh: Mesh | None) -> Sharding:
    """The place that jaxlib's sharding of an array means.

    Args:
        split: as the executable says it.
        ndim: how many axes the array has.
        devices: of the program.
        mesh: of which the place is to speak, if it can.
    """
    count = len(devices)
    found = Tiling((1,) * ndim, count, tuple(range(count)))
    if split is not None and not split.is_replicated():
        found = Tiling.of(split, ndim)
    if mesh is not None and mesh.device_assignment == devices:
        for spec in _specs(found.parts, mesh.shape_tuple):
            place = NamedSharding(mesh, PartitionSpec(*spec))
            # The same numbers of parts may be dealt out otherwise.
            if tiling(place, ndim) == found:
                return place
    return tiled_on(devices, found)


Axes = Sequence[tuple[Hashable, int]]


def _specs(parts: Sequence[int], axes: Axes) -> Iterator[tuple[tuple[Hashable, ...], ...]]:
    """The ways to cut the axes of an array into so many parts over axes of a mesh."""
    if prod(parts) == 1:
        yield ()
        return
    for names, left in _orders(parts[0], axes):
        for rest in _specs(parts[1:], left):
            yield (names, *rest)


def _orders(parts: int, axes: Axes) -> Iterator[tuple[tuple[Hashable, ...], Axes]]:
    """The axes of a mesh, in order, that make so many parts together, and those left over."""
    if parts == 1:
        yield (), axes
        return
    for i, (name, size) in enumerate(axes):
        if size > 1 and parts % size == 0:
            for names, left in _orders(parts // size, (*axes[:i], *axes[i + 1 :])):
                yield (name, *names), left


@cache
def layout_of(place: Sharding, ndim: int) -> tuple[Any, list[Device]]:
    """Jaxlib's sharding for arrays of `ndim` axes at a place, and its devices in this process.

    Whoever makes a buffer asks, so that none whose elements lie row by row gets to another place:
    those that make one in another order say that they know, by asking for the plain place.
    """
    assert place.element_order is None, f"a buffer that is made row by row gets to {place!r}"
    devices = place.device_assignment
    # Of the default memory jaxlib is faster without the name.
    kind = None if place is place.own_memory else place.memory_kind
    split = split_of(of_summands(place), ndim)
    return extension().GSPMDSharding(device_list(*devices), split, kind), own_devices(place)


def of_summands(place: Sharding) -> Sharding:
    """Where an array lies, or each of those of which it is the sum."""
    if not isinstance(place, NamedSharding) or not place.spec.unreduced:
        return place
    return place.update(spec=place.spec.update(unreduced=()))


def split_of(place: Sharding, ndim: int) -> Any:
    """How a place splits arrays of `ndim` axes, in jaxlib's words, of numbers of its devices."""
    return tiling(place, ndim).split()


for _known in (deals_alike, lies_alike, layout_of):
    on_forget_clients(_known.cache_clear)
