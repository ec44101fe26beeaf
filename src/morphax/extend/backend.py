"""`jax.extend.backend`: the clients of the platforms, and options of their compilers."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ..runtime import devices
from ..runtime.client import Factory, client, factories, is_running, xla_client
from ..runtime.device import Device
from ..util.memo import clear_all, on_clear
from ..util.messages import message

__all__ = [
    "backend_xla_version",
    "backends",
    "clear_backends",
    "clear_in_memory_compilation_cache",
    "get_backend",
    "get_compile_options",
    "get_default_device",
    "register_backend_cache",
    "register_backend_factory",
]


def backends() -> dict[str, Any]:
    """The clients of the CPU, of the default platform and of all factories, by platform.

    Raises:
        RuntimeError: if a client cannot be made that must be.
    """
    names = dict.fromkeys(["cpu", devices.default_platform(), *factories])
    return {name: client(name) for name in names if not _is_passed_over(name)}


def _is_passed_over(name: str) -> bool:
    """Whether the client of a platform cannot be made, and need not be."""
    if name not in factories or not factories[name].fails_quietly:
        return False
    try:
        client(name)
    except RuntimeError:
        return True
    return False


def clear_backends() -> None:
    """Forget all clients, devices and compiled programs: what comes next begins anew.

    Options that are read when a client is made, such as ``jax_num_cpu_devices``, take effect.
    Arrays keep their numbers, and go to the new devices where they are needed.
    """
    clear_all()
    devices.forget_platforms()


def register_backend_factory(
    name: str,
    factory: Callable[[], Any],
    *,
    priority: int = 0,
    fail_quietly: bool = True,
    experimental: bool = False,
    make_topology: Callable[..., Any] | None = None,
    c_api: Any = None,
) -> None:
    """Let a function make the client of a platform, when the platform is first asked for.

    Args:
        name: of the platform, which users pass to `morphax.devices` or set as ``jax_platforms``.
        factory: takes nothing, returns a client of jaxlib.
        priority: the platform of the highest is the default one; the CPU has 0, plugins have 400.
        fail_quietly: whether the platform is passed over if the factory raises an error, unless
            somebody asks for it by name.
        experimental: whether to log a warning when the platform is used.
        make_topology, c_api: accepted for compatibility.

    Raises:
        RuntimeError: if the platform has a client already.
    """
    if is_running(name):
        raise RuntimeError(
            message(
                "register_backend_factory, argument name",
                given=f"{name!r}, a platform whose client has been made",
                expected="a platform that nobody has used yet",
                fix="Register the factory before arrays are made, or call clear_backends() first.",
            )
        )
    factories[name] = Factory(name, factory, priority, fail_quietly, experimental)


def get_backend(platform: Any = None) -> Any:
    """The client of a platform, of the default one if `platform` is left out.

    Example:
        >>> from morphax.extend import backend
        >>> backend.get_backend("cpu").platform
        'cpu'
    """
    return devices.client_of(platform, "get_backend, argument platform")


def backend_xla_version(platform: Any = None) -> int | None:
    """The number of the change that XLA was built from, `None` if the platform does not tell."""
    found = re.search(r"cl/(\d+)", get_backend(platform).platform_version)
    return int(found[1]) if found else None


def get_default_device() -> Device:
    """The device that computes what nothing binds to another one.

    Example:
        >>> import morphax as jax
        >>> from morphax.extend import backend
        >>> backend.get_default_device() == jax.devices()[0]
        True
    """
    return devices.default_device()


def clear_in_memory_compilation_cache() -> None:
    """Forget all traced and compiled programs."""
    clear_all()


def register_backend_cache(cache: Any, for_what: str) -> None:
    """Empty a cache of somebody else, by its `cache_clear`, when ours are emptied."""
    on_clear(cache.cache_clear)


def get_compile_options(
    num_replicas: int,
    num_partitions: int,
    device_assignment: Any = None,
    env_options_overrides: Mapping[str, str] | None = None,
    fdo_profile: bytes | None = None,
    detailed_logging: bool = True,
    backend: Any = None,
) -> Any:
    """Options for compiling a module with the client of a platform.

    Args:
        num_replicas, num_partitions: how many copies of the program run, in how many parts each.
        device_assignment: numbers of the devices, of shape (num_replicas, num_partitions).
        env_options_overrides: XLA flags by name.
        fdo_profile: a profile that guides optimisation.
        detailed_logging: whether the compiler may log at length.
        backend: accepted for compatibility.
    """
    xc = xla_client()
    options = xc.CompileOptions()
    build = options.executable_build_options
    for target in (options, build):
        target.num_replicas, target.num_partitions = num_replicas, num_partitions
    if device_assignment is not None:
        numbers = np.asarray(device_assignment, np.int32).reshape(num_replicas, num_partitions)
        assignment = xc.DeviceAssignment.create(numbers)
        for target in (options, build):
            target.device_assignment = assignment
    build.use_spmd_partitioning = num_partitions > 1
    if env_options_overrides:
        options.env_option_overrides = list(env_options_overrides.items())
    if fdo_profile is not None:
        build.fdo_profile = fdo_profile
    build.debug_options.xla_detailed_logging = detailed_logging
    return options
