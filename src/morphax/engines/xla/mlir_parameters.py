"""What a module that MLIR rules emit into is compiled for: options, devices."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, final

from ...core.mesh import AbstractMesh
from ...runtime.mesh import Mesh
from ...util.records import dataclass

DEVICE_TO_DEVICE_TYPE, SEND_TO_HOST_TYPE, RECV_FROM_HOST_TYPE = 1, 2, 3
"""Kinds of StableHLO's channels, by which programs send and receive."""


@final
@dataclass(frozen=True, slots=True)
class LoweringParameters:
    """Options of lowering; programs are compiled here and now, so none but the defaults has effect.

    Args:
        override_lowering_rules: pairs of primitive and rule, which take precedence.
        global_constant_computation, for_export, export_ignore_forward_compatibility,
            hoist_constants_as_args: accepted for compatibility.
    """

    override_lowering_rules: tuple[tuple[Any, Any], ...] | None = None
    global_constant_computation: bool = False
    for_export: bool = False
    export_ignore_forward_compatibility: bool = False
    hoist_constants_as_args: bool = False


@final
@dataclass(frozen=True, slots=True)
class ShardingContext:
    """The devices of a program whose arrays are laid out by shardings.

    Args:
        num_devices: how many.
        device_assignment: which, if that is known.
        abstract_mesh: their mesh, if they form one.
    """

    num_devices: int
    device_assignment: tuple[Any, ...] | None = None
    abstract_mesh: Any = None


@final
@dataclass(frozen=True, slots=True)
class SPMDAxisContext:
    """The mesh whose members run what is lowered, each on its part.

    Args:
        mesh: the devices; their axes alone if they are not known.
        manual_axes: the axes along which there are members.
    """

    mesh: Mesh | AbstractMesh
    manual_axes: frozenset[Hashable] = frozenset()


AxisContext = SPMDAxisContext | ShardingContext
"""Whose program is lowered: that of members of a mesh, or one of whole arrays."""


@final
@dataclass(frozen=True, slots=True)
class ShapePolyLoweringState:
    """What a program that serves many sizes, or many platforms, takes besides its operands.

    Args:
        dim_vars: symbols of sizes, whose values it takes.
        lowering_platforms: what it is lowered for; of several it takes the number of the one that
            it runs on.
    """

    dim_vars: tuple[str, ...]
    lowering_platforms: tuple[str, ...] | None

    @property
    def uses_dim_vars(self) -> bool:
        """Whether sizes are values of the program."""
        return bool(self.dim_vars)

    @property
    def has_platform_index_argument(self) -> bool:
        """Whether it takes the number of a platform."""
        return self.lowering_platforms is not None and len(self.lowering_platforms) > 1
