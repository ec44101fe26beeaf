"""What the compiler is told besides the program."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import numpy as np

from ...config import current as current_config
from ...runtime.client import fusions_are_chosen, xla_client
from ..effort_levels import EFFORTS, CompilerEffortLevel, effort_of
from . import library_fusions

# What XLA knows while it compiles it computes by an interpreter, and gets other results than the
# program would: leading zeros of negative integers, convolutions of integers (they saturate),
# maxima over NaN and signed zeros, powers and signs of complex numbers, log Γ, parts of bytes.
_FOLDING: Final = "constant_folding"
_REMATERIALIZATION: Final = "rematerialization"
_IN_A_HURRY: Final = (
    ("xla_backend_optimization_level", 0),
    ("xla_llvm_disable_expensive_passes", True),
)


def compile_options(
    *devices: Any, overrides: tuple[tuple[str, Any], ...] = (), fuses_reductions: bool = False
) -> Any:
    """Options for one program on some devices.

    Args:
        *devices: the devices, each of which runs its part.
        overrides: XLA flags, and levels of effort, by name.
        fuses_reductions: whether the kernel library for the CPU may compute reductions, where
            that is to be chosen: see `library_fusions`.
    """
    xc = xla_client()
    options = xc.CompileOptions()
    ids = [device.id for device in devices]
    assignment = xc.DeviceAssignment.create(np.array([ids], np.int32))
    build = options.executable_build_options
    for target in (options, build):
        target.num_replicas = 1
        target.num_partitions = len(devices)
        target.device_assignment = assignment
    if len(devices) > 1:
        build.use_spmd_partitioning = build.use_shardy_partitioner = True
    build.optimization_level = CompilerEffortLevel[current_config().optimization_level]
    flags = list(_flags_of_settings(devices[0].platform))
    for name, value in overrides:
        if name in EFFORTS:
            setattr(build, name, effort_of(name, value))
        else:
            flags.append((name, value))
    if devices[0].platform == "cpu" and fusions_are_chosen():
        flags.append(
            (library_fusions.FLAG, library_fusions.fusions(of_reductions=fuses_reductions))
        )
    options.env_option_overrides = flags
    return options


def _flags_of_settings(platform: str) -> Iterator[tuple[str, Any]]:
    """What all programs of the platform are compiled with; flags that are given come later."""
    settings = current_config()
    skipped = [_FOLDING] if platform == "cpu" else []
    if not settings.compiler_enable_remat_pass:
        skipped.append(_REMATERIALIZATION)
    if skipped:
        yield "xla_disable_hlo_passes", ",".join(skipped)
    if settings.disable_most_optimizations:
        yield from _IN_A_HURRY
