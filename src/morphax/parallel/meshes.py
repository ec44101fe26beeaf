"""`make_mesh`: all devices, or the first of them, in a grid."""

from __future__ import annotations

import math
from collections.abc import Sequence
from operator import index
from typing import Any

import numpy as np

from ..core.mesh import AxisType, checked_axes, names_of_axes
from ..runtime.device import Device
from ..runtime.devices import devices as all_devices
from ..runtime.mesh import Mesh
from ..util.messages import described, message
from .device_grids import create_device_mesh


def make_mesh(
    axis_shapes: Sequence[int],
    axis_names: Sequence[str],
    axis_types: tuple[AxisType, ...] | None = None,
    *,
    devices: Sequence[Device] | None = None,
) -> Mesh:
    """Devices in a grid with named axes.

    The last axis joins devices that are numbered one after another.

    Args:
        axis_shapes: the number of devices along each axis.
        axis_names: as many names.
        axis_types: one for each axis; ``Explicit`` if left out.
        devices: of which the first are taken, all of the default platform if left out.

    Raises:
        TypeError: if a size is no number, or what should be a device is none.
        ValueError: if there are too few devices, or not as many names as axes.

    Example:
        >>> import morphax as jax
        >>> jax.make_mesh((1, 1), ("data", "model"))
        Mesh(axis_sizes=(1, 1), axis_names=('data', 'model'), axis_types=(Explicit, Explicit))
    """
    sizes = _checked_sizes(axis_shapes)
    names = names_of_axes(axis_names)
    known = all_devices() if devices is None else list(_checked_devices(devices))
    needed = math.prod(sizes)
    if needed > len(known):
        raise ValueError(
            message(
                "make_mesh, argument axis_shapes",
                given=f"{sizes}, a grid of {needed} devices",
                expected=f"at most as many devices as there are: {len(known)}",
                fix="Make the grid smaller; jax.config.update('jax_num_cpu_devices', n), before "
                "anything runs, makes n devices of the CPU.",
            )
        )
    kinds = checked_axes(
        "make_mesh", sizes, names, AxisType.Explicit if axis_types is None else axis_types
    )
    return Mesh(create_device_mesh(sizes, known[:needed]), names, kinds)


def _checked_sizes(sizes: Any) -> tuple[int, ...]:
    try:
        numbers = tuple([index(size) for size in sizes])
    except TypeError:
        numbers = (0,)
    if min(numbers, default=1) > 0:
        return numbers
    raise (ValueError if isinstance(sizes, (tuple, list)) else TypeError)(
        message(
            "make_mesh, argument axis_shapes",
            given=described(sizes),
            expected="a tuple of positive ints",
            fix="Pass the number of devices along each axis: (4, 2), for instance.",
        )
    )


def _checked_devices(devices: Any) -> Sequence[Device]:
    if isinstance(devices, (list, tuple)) and all([isinstance(d, Device) for d in devices]):
        return devices
    if isinstance(devices, np.ndarray) and devices.dtype == object:
        return _checked_devices(devices.ravel().tolist())
    raise TypeError(
        message(
            "make_mesh, argument devices",
            given=described(devices),
            expected="a sequence of devices",
            fix="Pass jax.devices(), or some of them.",
        )
    )
