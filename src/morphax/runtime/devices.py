"""Platforms and devices: which there are, and which one computes what nothing binds to a device.

The *home device* is the first device of the default platform.  Arrays in host memory count as
living there, and move there when a compiled program first needs them.  On the CPU, home and host
are the same memory, and to find out that the CPU is the default platform takes no jaxlib unless a
plugin is installed.

The default platform is resolved when it is first asked for: changing ``jax_platforms`` afterwards
has no effect, because programs and arrays of the old one exist.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import cache
from typing import Any

from ..config import Config, check_updates
from ..config import current as current_config
from ..util.frames import user_frame
from ..util.messages import described, message
from . import plugins
from .client import client, factories, forget_clients, is_running
from .device import GPUS, Device

# Among the priorities that users give their factories.
_PRIORITY_OF_PLUGINS = 400
_ALIASES = {"gpu": GPUS, "cuda": ("cuda",), "rocm": ("rocm",)}


def _check_can_be_made(count: int) -> None:
    """Raise `RuntimeError` if the CPU has its devices, and not so many."""
    if not is_running("cpu") or count in (current_config().num_cpu_devices, number_of("cpu")):
        return
    raise RuntimeError(
        message(
            "jax.config.update, option jax_num_cpu_devices",
            given=f"{count}, while the CPU has {number_of('cpu')} devices, which are in use",
            expected="to be set before anything asks for devices or runs on them",
            fix="Set it at the start of the program, or call jax.extend.backend.clear_backends().",
        )
    )


def number_of(platform: str) -> int:
    """How many devices a platform has."""
    return int(client(platform).device_count())


check_updates("num_cpu_devices", _check_can_be_made)


@cache
def default_platform() -> str:
    """The platform of the home device: the first one configured, or that has a device."""
    settings = current_config()
    if settings.platforms is not None:
        names = [name.strip() for name in settings.platforms.split(",") if name.strip()]
        return _first_of(names, "jax_platforms")
    if settings.platform_name:
        return _first_of([settings.platform_name.lower()], "jax_platform_name")
    return next((name for name in _preferred() if _starts(name)), "cpu")


def _preferred() -> list[str]:
    """The platforms that go before the CPU, the most preferred first."""
    priorities = dict.fromkeys(plugins.installed(), _PRIORITY_OF_PLUGINS)
    priorities |= {name: factory.priority for name, factory in factories.items()}
    chosen = [name for name, priority in priorities.items() if priority > 0]
    return sorted(chosen, key=lambda name: -priorities[name])


def known_platforms() -> list[str]:
    """The platforms that can be asked for by name."""
    return list(dict.fromkeys(["cpu", *plugins.installed(), *factories]))


def forget_platforms() -> None:
    """Forget all clients, and which platform is the default one."""
    forget_clients()
    for remembered in (default_platform, host_device, home_device):
        remembered.cache_clear()
    for forget in _forgetters:
        forget()


_forgetters: list[Callable[[], None]] = []


def on_forget_platforms(forget: Callable[[], None]) -> None:
    """Have `forget` called whenever the platforms are forgotten."""
    _forgetters.append(forget)


def _first_of(names: list[str], option: str) -> str:
    for name in names:
        platform = _installed_platform(name)
        if platform is None:
            raise RuntimeError(_unknown_platform(f"config option {option}", name))
        if platform == "cpu":
            return platform
        _client(platform, f"config option {option}")
        return platform
    return "cpu"


def _starts(platform: str) -> bool:
    """Whether a plugin or factory that nobody asked for finds its devices."""
    try:
        client(platform)
    except RuntimeError as error:
        factory = factories.get(platform)
        if factory is not None:
            if factory.fails_quietly:
                return False
            raise
        text = f"The plugin for {platform} is installed but cannot be used, so the CPU computes: "
        frame = user_frame()
        file, line = (frame.file, frame.line) if frame else (__file__, 0)
        warnings.warn_explicit(f"{text}{error}", RuntimeWarning, file, line)
        return False
    return True


def _installed_platform(name: str) -> str | None:
    """The platform that a user's name for it means, `None` if there is no such plugin."""
    candidates = _ALIASES.get(name, (name,))
    known = known_platforms()
    return next((platform for platform in candidates if platform in known), None)


def _unknown_platform(where: str, name: str) -> str:
    known = ", ".join(known_platforms())
    return message(
        where,
        given=f"Unknown backend: {name!r}",
        expected=f"a platform with an installed plugin; here: {known}",
        fix=f"Install the PJRT plugin for {name}, or name one of these platforms.",
    )


def _client(platform: str, where: str) -> Any:
    try:
        return client(platform)
    except RuntimeError as error:
        raise RuntimeError(
            message(
                where,
                given=f"the platform {platform!r}, whose plugin reports: {error}",
                expected="a platform with a device that can be used",
                fix="Check the driver and the machine's devices, or set jax_platforms='cpu'.",
            )
        ) from error


def client_of(backend: Any = None, where: str = "jax.devices, argument backend") -> Any:
    """The client of a platform.

    Args:
        backend: a platform's name, a client itself, or `None` for the default platform.
        where: who asks, for error text.

    Raises:
        RuntimeError: if there is no such platform, or it has no usable device.
    """
    if backend is None:
        return client(default_platform())
    if not isinstance(backend, str):
        if hasattr(backend, "local_devices"):
            return backend
        raise TypeError(
            message(
                where,
                given=described(backend),
                expected="the name of a platform, or None",
                fix="Pass 'cpu', 'gpu' or 'tpu'.",
            )
        )
    return _client(platform_named(backend, where), where)


def platform_named(name: str, where: str) -> str:
    """The platform that a user's name for it means; `RuntimeError` if there is none."""
    platform = _installed_platform(name)
    if platform is None:
        raise RuntimeError(_unknown_platform(where, name))
    return platform


@cache
def host_device() -> Any:
    """The first CPU device, whose memory is the host's."""
    return client("cpu").local_devices()[0]


@cache
def home_device() -> Any:
    """The first device of the default platform."""
    return client(default_platform()).local_devices()[0]


def default_device() -> Any:
    """The device that computes what no committed array binds to another one."""
    chosen: Any = current_config().default_device
    if chosen is None:
        return home_device()
    if isinstance(chosen, str):
        return client_of(chosen, "config option jax_default_device").local_devices()[0]
    return chosen


def host_is_default(config: Config | None = None) -> bool:
    """Whether what no committed array binds to a device is computed in host memory.

    Args:
        config: the settings in force, if the caller has them.
    """
    if (config or current_config()).default_device is None:
        return default_platform() == "cpu"
    return default_device() is host_device()


def devices(backend: Any = None) -> list[Device]:
    """All devices of a platform, those of other processes included.

    Args:
        backend: a platform's name: ``"cpu"``, ``"gpu"``, ``"tpu"``; the default one if left out.

    Raises:
        RuntimeError: if there is no such platform here.

    Example:
        >>> import morphax as jax
        >>> jax.devices("cpu")[0]
        CpuDevice(id=0)
    """
    return list(client_of(backend).devices())


def local_devices(
    process_index: int | None = None, backend: Any = None, host_id: int | None = None
) -> list[Device]:
    """The devices of one process.

    Args:
        process_index: the process, this one if left out.
        backend: as in `devices`.
        host_id: an older name of `process_index`.

    Raises:
        ValueError: if there is no such process.

    Example:
        >>> import morphax as jax
        >>> jax.local_devices(backend="cpu")[0]
        CpuDevice(id=0)
    """
    owner = client_of(backend, "jax.local_devices, argument backend")
    wanted = host_id if process_index is None else process_index
    if wanted is None:
        return list(owner.local_devices())
    found = [device for device in owner.devices() if device.process_index == wanted]
    if not found:
        raise ValueError(
            message(
                "jax.local_devices, argument process_index",
                given=f"{wanted!r}",
                expected=f"one of {_processes_of(owner)}",
                fix="Pass an element of jax.process_indices().",
            )
        )
    return found


def device_count(backend: Any = None) -> int:
    """The number of devices of a platform, over all processes.

    Example:
        >>> import morphax as jax
        >>> jax.device_count("cpu") >= 1
        True
    """
    return len(client_of(backend, "jax.device_count, argument backend").devices())


def local_device_count(backend: Any = None) -> int:
    """The number of devices of a platform that this process can address.

    Example:
        >>> import morphax as jax
        >>> jax.local_device_count() == len(jax.local_devices())
        True
    """
    return len(client_of(backend, "jax.local_device_count, argument backend").local_devices())


def process_index(backend: Any = None) -> int:
    """The number of this process, from 0 to `process_count` - 1.

    Example:
        >>> import morphax as jax
        >>> jax.process_index()
        0
    """
    return int(client_of(backend, "jax.process_index, argument backend").process_index())


def process_count(backend: Any = None) -> int:
    """The number of processes that take part.

    Example:
        >>> import morphax as jax
        >>> jax.process_count()
        1
    """
    return 1 + max(process_indices(backend))


def process_indices(backend: Any = None) -> list[int]:
    """The numbers of all processes that take part, in order.

    Example:
        >>> import morphax as jax
        >>> jax.process_indices()
        [0]
    """
    return _processes_of(client_of(backend, "jax.process_indices, argument backend"))


def host_id(backend: Any = None) -> int:
    """`process_index` under its old name, deprecated."""
    _warn_of_old_name("host_id", "process_index")
    return process_index(backend)


def host_count(backend: Any = None) -> int:
    """`process_count` under its old name, deprecated."""
    _warn_of_old_name("host_count", "process_count")
    return process_count(backend)


def host_ids(backend: Any = None) -> list[int]:
    """`process_indices` under its old name, deprecated."""
    _warn_of_old_name("host_ids", "process_indices")
    return process_indices(backend)


def _warn_of_old_name(old: str, new: str) -> None:
    text = f"jax.{old} is an old name; call jax.{new}, which is the same"
    warnings.warn(text, DeprecationWarning, stacklevel=3)


def _processes_of(owner: Any) -> list[int]:
    return sorted({device.process_index for device in owner.devices()})


def default_backend() -> str:
    """The default platform: ``"cpu"``, ``"gpu"`` or ``"tpu"``.

    Example:
        >>> import morphax as jax
        >>> jax.default_backend() in ("cpu", "gpu", "tpu")
        True
    """
    platform = default_platform()
    return "cpu" if platform == "cpu" else str(client(platform).platform)
