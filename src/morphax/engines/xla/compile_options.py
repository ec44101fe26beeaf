"""What the compiler is told besides the program."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from ...runtime.client import fusions_are_chosen, xla_client
from . import library_fusions

# What XLA knows while it compiles it computes by an interpreter, and gets other results than the
# program would: leading zeros of negative integers, convolutions of integers (they saturate),
# maxima over NaN and signed zeros, powers and signs of complex numbers, log Γ, parts of bytes.
_NO_FOLDING: Final = ("xla_disable_hlo_passes", "constant_folding")


def compile_options(
    *devices: Any, overrides: tuple[tuple[str, Any], ...] = (), fuses_reductions: bool = False
) -> Any:
    """Options for one program on some devices.

    Args:
        *devices: the devices, each of which runs its part.
        overrides: XLA flags by name.
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
    flags = list(overrides)
    if devices[0].platform == "cpu" and fusions_are_chosen():
        flags.append(
            (library_fusions.FLAG, library_fusions.fusions(of_reductions=fuses_reductions))
        )
    if devices[0].platform == "cpu":
        flags.insert(0, _NO_FOLDING)
    options.env_option_overrides = flags
    return options
