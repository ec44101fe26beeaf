"""What a module that MLIR rules emit into is compiled for: options, devices."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

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
