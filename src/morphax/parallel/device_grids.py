"""Devices in a grid, for `Mesh`: by their order, or by process."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

from ..runtime.device import Device
from ..runtime.devices import devices as all_devices
from ..util.messages import described, message

Grid = np.ndarray[Any, np.dtype[np.object_]]

device_kind_handler_dict: dict[str, Callable[..., Grid | None]] = {}
"""What puts devices of a kind into a grid, by `device_kind`, where their order will not do.

A function of the sizes of the grid, the devices, and the keyword `contiguous_submeshes`; if it
gives `None`, the order is taken.
"""


def create_device_mesh(
    mesh_shape: Sequence[int],
    devices: Sequence[Device] | None = None,
    *,
    contiguous_submeshes: bool = False,
    allow_split_physical_axes: bool = False,
) -> Grid:
    """All devices in a grid, row by row in their order.

    Devices that are next to each other along the last axis have numbers next to each other.

    Args:
        mesh_shape: the number of devices along each axis.
        devices: all of the default platform if left out.
        contiguous_submeshes, allow_split_physical_axes: for devices that stand in a physical grid
            of more than one axis; those known here do not.

    Raises:
        ValueError: if the grid takes more devices than there are, or fewer.

    Example:
        >>> import morphax as jax
        >>> from morphax.experimental import mesh_utils
        >>> mesh_utils.create_device_mesh((1, 1), jax.devices("cpu")[:1]).shape
        (1, 1)
    """
    known = list(all_devices() if devices is None else devices)
    if not isinstance(mesh_shape, Sequence):
        raise TypeError(
            message(
                "create_device_mesh, argument mesh_shape",
                given=described(mesh_shape),
                expected="a tuple of sizes",
                fix="Write (8,) for one axis.",
            )
        )
    if prod(mesh_shape) != len(known):
        raise ValueError(
            message(
                "create_device_mesh, argument mesh_shape",
                given=f"{tuple(mesh_shape)}, a grid of {prod(mesh_shape)} devices",
                expected=f"a grid of all {len(known)} devices",
                fix="Pass the devices that the grid is to have.",
            )
        )
    handler = device_kind_handler_dict.get(known[-1].device_kind) if known else None
    if handler is not None:
        grid = handler(mesh_shape, known, contiguous_submeshes=contiguous_submeshes)
        if grid is not None:
            return _checked_grid(grid, mesh_shape, known)
    return np.array(known, dtype=object).reshape(tuple(mesh_shape))


def _checked_grid(grid: Any, mesh_shape: Sequence[int], devices: Sequence[Device]) -> Grid:
    """What a handler gives; `ValueError` unless it is all devices in such a grid."""
    found = np.asarray(grid, dtype=object)
    if found.shape == tuple(mesh_shape) and set(found.ravel().tolist()) == set(devices):
        return found
    raise ValueError(
        message(
            f"create_device_mesh, device_kind_handler_dict[{devices[-1].device_kind!r}]",
            given=f"a function that returned {found.tolist()}",
            expected=f"the {len(devices)} devices in an array of the shape {tuple(mesh_shape)}",
            fix="Return such an array, or None.",
        )
    )


def create_hybrid_device_mesh(
    mesh_shape: Sequence[int],
    dcn_mesh_shape: Sequence[int],
    devices: Sequence[Device] | None = None,
    *,
    process_is_granule: bool = False,
    should_sort_granules_by_key: bool = True,
    allow_split_physical_axes: bool = False,
) -> Grid:
    """Devices in a grid of grids: the inner ones of devices with fast links, one for each granule.

    A granule is a process, or a slice of a TPU.  Along each axis, the outer grid counts slower.

    Args:
        mesh_shape: of the grid of one granule.
        dcn_mesh_shape: of the grid of granules, with as many axes.
        devices: all of the default platform if left out.
        process_is_granule: whether a granule is a process.
        should_sort_granules_by_key: take granules in the order of their numbers, else as found.
        allow_split_physical_axes: see `create_device_mesh`.

    Returns:
        the grid, of the shape `mesh_shape` times `dcn_mesh_shape`, axis by axis.

    Raises:
        ValueError: if devices belong to no slice, or there are not as many granules or devices.

    Example:
        >>> import morphax as jax
        >>> from morphax.experimental import mesh_utils
        >>> mesh_utils.create_hybrid_device_mesh(
        ...     (1,), (1,), jax.devices("cpu")[:1], process_is_granule=True
        ... ).shape
        (1,)
    """
    where = "create_hybrid_device_mesh"
    key = "process_index" if process_is_granule else "slice_index"
    granules: dict[int, list[Device]] = {}
    for device in all_devices() if devices is None else devices:
        number = getattr(device, key, None)
        if number is None:
            raise ValueError(
                message(
                    f"{where}, argument devices",
                    given=f"{device!r}, which belongs to no slice",
                    expected="devices with a slice_index",
                    fix="Pass process_is_granule=True, so that each process is a granule.",
                )
            )
        granules.setdefault(number, []).append(device)
    order = sorted(granules) if should_sort_granules_by_key else list(granules)
    if len(order) != prod(dcn_mesh_shape) or len(mesh_shape) != len(dcn_mesh_shape):
        raise ValueError(
            message(
                f"{where}, argument dcn_mesh_shape",
                given=f"{tuple(dcn_mesh_shape)} for {len(order)} granules in grids of "
                f"{tuple(mesh_shape)}",
                expected="as many granules as there are, and as many axes as mesh_shape",
                fix="Make the product of dcn_mesh_shape the number of granules.",
            )
        )
    inner = [create_device_mesh(mesh_shape, granules[number]) for number in order]
    stacked = np.array(inner, dtype=object).reshape((*dcn_mesh_shape, *mesh_shape))
    ndim = len(mesh_shape)
    axes = [axis for pair in zip(range(ndim), range(ndim, 2 * ndim), strict=True) for axis in pair]
    sizes = [n * k for n, k in zip(dcn_mesh_shape, mesh_shape, strict=True)]
    return stacked.transpose(axes).reshape(sizes)
