"""`make_mesh`: all devices, or the first of them, in a grid."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ..core.mesh import AxisType
from ..runtime.device import Device
from ..runtime.devices import devices as all_devices
from ..runtime.mesh import Mesh
from ..util.messages import message


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
        ValueError: if there are too few devices, or not as many names as axes.

    Example:
        >>> import morphax as jax
        >>> jax.make_mesh((1, 1), ("data", "model"))
        Mesh(axis_sizes=(1, 1), axis_names=('data', 'model'), axis_types=(Explicit, Explicit))
    """
    known = list(all_devices() if devices is None else devices)
    needed = math.prod(axis_shapes)
    if needed > len(known):
        raise ValueError(
            message(
                "make_mesh, argument axis_shapes",
                given=f"{tuple(axis_shapes)}, a grid of {needed} devices",
                expected=f"at most as many devices as there are: {len(known)}",
                fix="Make the grid smaller; jax.config.update('jax_num_cpu_devices', n), before "
                "anything runs, makes n devices of the CPU.",
            )
        )
    if axis_types is None:
        axis_types = (AxisType.Explicit,) * len(axis_names)
    grid = np.array(known[:needed], dtype=object).reshape(tuple(axis_shapes))
    return Mesh(grid, tuple(axis_names), axis_types)
