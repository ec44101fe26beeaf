"""Arrays of which each process brings its own part."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import prod
from typing import Any, NamedTuple

import numpy as np

from .. import tree
from ..runtime.device import Device
from ..runtime.sharding import Sharding
from ..util.messages import message
from .array import Array
from .assembly import checked_sharding, make_array_from_single_device_arrays
from .placement import device_put

_WHERE = "make_array_from_process_local_data"


def make_array_from_process_local_data(
    sharding: Any, local_data: Any, global_shape: Any = None
) -> Any:
    """An array of which this process has the numbers of its own devices, or a tree of such arrays.

    Along each axis the process passes what its devices hold together, or else the whole: as it
    does if other processes' devices hold the same part of the axis.

    Args:
        sharding: how the whole array lies; a prefix of the tree `local_data`.
        local_data: the numbers of this process, a NumPy array or a tree of them.
        global_shape: of the whole array; ``None`` for axes, or for the whole, that are found out
            from what part of it the devices of a process hold; or a prefix of the tree.

    Raises:
        TypeError: if `sharding` is none.
        ValueError: if the shapes do not fit, or the devices of this process hold no grid.

    Example:
        >>> import morphax as jax, numpy as np
        >>> mesh = jax.make_mesh((1,), ("x",))
        >>> jax.make_array_from_process_local_data(
        ...     jax.NamedSharding(mesh, jax.P("x")), np.arange(3)
        ... )
        Array([0, 1, 2], dtype=int32)
    """
    leaves, treedef = tree.flatten(local_data)
    places, shapes = (
        tree.broadcast_prefix(
            prefix, local_data, is_leaf, where=_WHERE, prefix_name=name, full_name="local_data"
        )
        for name, prefix, is_leaf in (
            ("sharding", sharding, lambda x: x is None),
            ("global_shape", global_shape, _is_shape),
        )
    )
    parts = zip(places, leaves, shapes, strict=True)
    return treedef.unflatten([_array_of_part(*part) for part in parts])


def _is_shape(x: Any) -> bool:
    return x is None or (
        isinstance(x, (tuple, list)) and all(n is None or isinstance(n, int) for n in x)
    )


def _array_of_part(sharding: Any, part: Any, global_shape: Sequence[int | None] | None) -> Array:
    place = checked_sharding(_WHERE, sharding)
    numbers = np.asarray(part)
    if global_shape is not None and len(global_shape) != numbers.ndim:
        raise _misfit(numbers.shape, global_shape, numbers.shape)
    known = (None,) * numbers.ndim if global_shape is None else tuple(global_shape)
    if place.is_fully_addressable:
        if any([n not in (None, size) for n, size in zip(known, numbers.shape, strict=True)]):
            raise _misfit(numbers.shape, known, numbers.shape)
        return device_put(numbers, place)
    return _of_parts(place, numbers, known)


class _Share(NamedTuple):
    """Which parts of an axis the devices of a process hold.

    Args:
        held: their numbers, in order.
        parts: into how many the axis is cut.
    """

    held: tuple[int, ...]
    parts: int


def _of_parts(place: Sharding, numbers: np.ndarray[Any, Any], known: Sequence[int | None]) -> Array:
    shares, cells = _shares(place, numbers.ndim, None in known)
    each = tuple(zip(numbers.shape, shares, strict=True))
    inferred = [size * share.parts // len(share.held) for size, share in each]
    shape = tuple([m if n is None else n for n, m in zip(known, inferred, strict=True)])
    sizes = place.shard_shape(shape)
    expected = tuple([s * len(share.held) for s, share in zip(sizes, shares, strict=True)])
    given = zip(numbers.shape, shape, expected, strict=True)
    if any([size not in (whole, part) for size, whole, part in given]):
        raise _misfit(numbers.shape, shape, expected)
    arrays = []
    for device, cell in cells.items():
        index = []
        for size, n, number, share, held in zip(
            sizes, shape, cell, shares, numbers.shape, strict=True
        ):
            start = size * (number if held == n else share.held.index(number))
            index.append(slice(start, start + size))
        arrays.append(device_put(numbers[tuple(index)], device))
    dtype = None if arrays else device_put(np.zeros((), numbers.dtype)).dtype
    return make_array_from_single_device_arrays(shape, place, arrays, dtype=dtype)


def _shares(
    place: Sharding, ndim: int, alike: bool
) -> tuple[list[_Share], dict[Device, tuple[int, ...]]]:
    """What this process holds along each axis, and which parts each of its devices has.

    Args:
        place: of an array.
        ndim: how many axes it has.
        alike: whether all processes must hold as much as this one, since the size of the whole is
            found out from its part.

    Raises:
        ValueError: if the parts form no grid, or not all processes hold as much as they must.
    """
    # Sizes that every way of splitting an axis over these devices divides.
    shape = (place.num_devices,) * ndim
    sizes = place.shard_shape(shape)
    cells: dict[int, dict[Device, tuple[int, ...]]] = {}
    for device, index in place.devices_indices_map(shape).items():
        pairs = zip(index, sizes, strict=True)
        cell = tuple([(part.start or 0) // size for part, size in pairs])
        cells.setdefault(device.process_index, {})[device] = cell
    own = cells.get(next(iter(place.device_set)).client.process_index(), {})
    grids = {process: _grid(found.values(), ndim) for process, found in cells.items()}
    held = _grid(own.values(), ndim)
    lengths = [len(along) for along in held]
    if len(set(own.values())) < prod(lengths):
        given, fix = "parts of it that form no grid", "Order the devices of the mesh by process."
    elif alike and any([[len(along) for along in g] != lengths for g in grids.values()]):
        given, fix = "as many parts as others do not have", "Pass global_shape."
    else:
        parts = [place.num_devices // size for size in sizes]
        return [_Share(*share) for share in zip(held, parts, strict=True)], own
    raise ValueError(
        message(
            f"{_WHERE}, argument sharding",
            given=f"{place!r}, by which process "
            f"{next(iter(place.device_set)).client.process_index()} has {given}",
            expected="a grid of parts, of as many in each process unless the shape is known",
            fix=fix,
        )
    )


def _grid(cells: Iterable[tuple[int, ...]], ndim: int) -> list[tuple[int, ...]]:
    """The different numbers along each axis."""
    rows = tuple(cells)
    return [tuple(sorted({row[axis] for row in rows})) for axis in range(ndim)]


def _misfit(local: Sequence[int], shape: Sequence[int | None], expected: Any) -> ValueError:
    return ValueError(
        message(
            f"{_WHERE}, argument local_data",
            given=f"numbers of the shape {tuple(local)} for a whole of the shape {tuple(shape)}",
            expected=f"the shape {tuple(expected)}: what the devices of this process hold together",
            fix="Pass this process's part, and the shape of the whole as global_shape.",
        )
    )
