"""`jax.experimental.topologies`: devices to compile for, without arrays on them."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, final

from ..parallel.device_grids import create_device_mesh
from ..runtime.device import Device
from ..runtime.devices import devices
from ..runtime.mesh import Mesh
from ..util.messages import message

__all__ = ["TopologyDescription", "get_attached_topology", "get_topology_desc", "make_mesh"]


@final
class TopologyDescription:
    """The devices of a machine.

    Args:
        devices: in the order of their numbers.
    """

    def __init__(self, devices: list[Device]) -> None:
        self.devices = devices


def get_attached_topology(platform: str | None = None) -> TopologyDescription:
    """The devices that this process has.

    Args:
        platform: which, if there are several.

    Raises:
        RuntimeError: there is no such platform.

    Example:
        >>> from morphax.experimental import topologies
        >>> topologies.get_attached_topology("cpu").devices[0].platform
        'cpu'
    """
    return TopologyDescription(devices(platform))


def get_topology_desc(
    topology_name: str = "", platform: str | None = None, **kwargs: Any
) -> TopologyDescription:
    """The devices of a machine that is not here.

    jaxlib describes such machines by plugins for TPUs and GPUs only, of which none is supported.

    Args:
        topology_name: of the kind of machine, as the plugin calls it.
        platform: ``"tpu"`` if left out.
        **kwargs: for the plugin.

    Raises:
        RuntimeError: for TPUs.
        NotImplementedError: for other platforms.
    """
    of_tpu = platform in (None, "tpu")
    raise (RuntimeError if of_tpu else NotImplementedError)(
        message(
            "topologies.get_topology_desc",
            given=f"topology_name={topology_name!r}, platform={platform!r}",
            expected="a platform whose plugin describes machines that are not here; there is none",
            fix="Use the devices that are here: topologies.get_attached_topology().",
        )
    )


def make_mesh(
    topo: TopologyDescription,
    mesh_shape: Sequence[int],
    axis_names: tuple[str, ...],
    *,
    contiguous_submeshes: bool = False,
) -> Mesh:
    """The devices of a topology as a mesh.

    Args:
        topo: has as many devices as the mesh.
        mesh_shape: sizes of its axes.
        axis_names: their names.
        contiguous_submeshes: keep slices of some axes next to each other, on TPUs.

    Raises:
        ValueError: the numbers of devices, or of sizes and names, differ.

    Example:
        >>> from morphax.experimental import topologies
        >>> one = topologies.TopologyDescription(topologies.get_attached_topology().devices[:1])
        >>> topologies.make_mesh(one, (1, 1), ("x", "y")).shape
        OrderedDict([('x', 1), ('y', 1)])
    """
    if prod(mesh_shape) != len(topo.devices):
        raise ValueError(
            message(
                "topologies.make_mesh, argument mesh_shape",
                given=f"{tuple(mesh_shape)}, that is {prod(mesh_shape)} devices",
                expected=f"{len(topo.devices)} devices, as the topology has",
                fix="Choose sizes whose product is the number of devices.",
            )
        )
    grid = create_device_mesh(
        tuple(mesh_shape), list(topo.devices), contiguous_submeshes=contiguous_submeshes
    )
    return Mesh(grid, axis_names)
