"""What stands for devices where Python runs: those of the CPU beside them."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...runtime.device import Device
from ...runtime.devices import local_devices
from ...runtime.mesh import Mesh
from ...util.messages import described, message

DeviceList = tuple[Device, ...]


def colocated_cpu_devices(devices_or_mesh: Any) -> Any:
    """The devices of the CPU that belong to devices: themselves, or those of the same host.

    Args:
        devices_or_mesh: a sequence of devices, or a mesh.

    Returns:
        A tuple of devices in the same order, or a mesh with the same axes.

    Raises:
        TypeError: if it is something else.
        ValueError: if the CPU has fewer devices than the accelerator, see ``jax_num_cpu_devices``.

    Example:
        >>> import morphax as jax
        >>> from morphax.experimental.colocated_python import colocated_cpu_devices
        >>> colocated_cpu_devices(jax.devices("cpu")[:1])
        (CpuDevice(id=0),)
    """
    if isinstance(devices_or_mesh, Mesh):
        mesh = devices_or_mesh
        found = np.array([_cpu_of(d) for d in mesh.device_assignment], dtype=object)
        return Mesh(found.reshape(mesh.axis_sizes), mesh.axis_names, mesh.axis_types)
    devices = devices_or_mesh if isinstance(devices_or_mesh, (tuple, list)) else [devices_or_mesh]
    for device in devices:
        if not isinstance(device, Device):
            raise TypeError(
                message(
                    "colocated_cpu_devices, argument devices_or_mesh",
                    given=described(device),
                    expected="a tuple of devices, or a mesh",
                    fix="Pass tuple(jax.devices()), or a jax.sharding.Mesh.",
                )
            )
    return tuple([_cpu_of(device) for device in devices])


def _cpu_of(device: Device) -> Device:
    if device.platform == "cpu":
        return device
    beside, here = local_devices(backend=device.platform), local_devices(backend="cpu")
    if len(here) < len(beside) or device not in beside:
        raise ValueError(
            message(
                "colocated_cpu_devices, argument devices_or_mesh",
                given=f"{device!r}, one of {len(beside)}; the CPU has {len(here)}",
                expected="devices of this process, and a device of the CPU for each",
                fix=f"Call jax.config.update('jax_num_cpu_devices', {len(beside)}) at the start.",
            )
        )
    return here[beside.index(device)]
