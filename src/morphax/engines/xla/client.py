"""jaxlib behind one door: the client, its devices, and what differs between versions.

jaxlib is imported on first use, so that eager programs on the CPU never load it.  Versions:
0.10.1 (``xc._version`` 452) on Python 3.11, 0.12.x (505) on Python 3.12 and later.
"""

from __future__ import annotations

import os
import threading
import warnings
from functools import cache
from typing import Any

from ...config import current as current_config

_FIRST_VERSION_WITH_SKIPPED_CHECKS_GONE = 495
_FIRST_VERSION_WITH_RIGHT_DOT_FUSION = 495

# jaxlib before 0.11 fuses a dot with a following reduction wrongly on the CPU (jax issue 39103);
# fusing single dots only avoids it.
_AVOID_WRONG_DOT_FUSION = (
    "xla_cpu_experimental_ynn_fusion_type",
    "LIBRARY_FUSION_TYPE_INDIVIDUAL_DOT",
)

_lock = threading.Lock()


@cache
def xla_client() -> Any:
    """The module `jaxlib.xla_client`."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "1")
    from jaxlib import xla_client

    return xla_client


@cache
def extension() -> Any:
    """The extension module `jaxlib._jax`."""
    xla_client()
    from jaxlib import _jax

    return _jax


@cache
def handler_keywords() -> dict[str, bool]:
    """Keywords that result handlers need in this version of jaxlib."""
    old = xla_client()._version < _FIRST_VERSION_WITH_SKIPPED_CHECKS_GONE
    return {"_skip_checks": True} if old else {}


@cache
def _cpu_client() -> Any:
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(before=_warn_of_fork)
    count = current_config().num_cpu_devices
    keywords = {"num_devices": count} if count and count > 0 else {}
    return xla_client().make_cpu_client(**keywords)


def _warn_of_fork() -> None:
    warnings.warn(
        "os.fork() was called while XLA's threads are running; compiling in the child will hang. "
        "Start child processes with the 'spawn' method.",
        RuntimeWarning,
        stacklevel=3,
    )


def client(platform: str = "cpu") -> Any:
    """The PJRT client of a platform, made on first use."""
    with _lock:
        return _cpu_client() if platform == "cpu" else _plugin_client(platform)


@cache
def _plugin_client(platform: str) -> Any:
    xc = xla_client()
    xc.initialize_pjrt_plugin(platform)
    return xc.make_c_api_client(platform, {})


@cache
def device_list(device: Any) -> Any:
    """jaxlib's list of one device."""
    return extension().DeviceList((device,))


@cache
def placement(device: Any) -> Any:
    """jaxlib's own sharding object for an array that lives whole on one device."""
    return extension().GSPMDSharding(device_list(device), xla_client().HloSharding.replicate())


def compile_options(device: Any, overrides: tuple[tuple[str, Any], ...] = ()) -> Any:
    """Options for a program on one device; `overrides` are XLA flags by name."""
    import numpy as np

    xc = xla_client()
    options = xc.CompileOptions()
    assignment = xc.DeviceAssignment.create(np.array([[device.id]], np.int32))
    for target in (options, options.executable_build_options):
        target.num_replicas = target.num_partitions = 1
        target.device_assignment = assignment
    flags = list(overrides)
    if device.platform == "cpu" and xc._version < _FIRST_VERSION_WITH_RIGHT_DOT_FUSION:
        flags.append(_AVOID_WRONG_DOT_FUSION)
    options.env_option_overrides = flags
    return options
