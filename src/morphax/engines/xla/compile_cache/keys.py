"""The key of an executable: a digest of everything that decides what the compiler makes.

These are the text of the module, the options of the compilation (devices and XLA flags are among
them), the compiler (version of jaxlib, of the plugin, flags in the environment), and the machine
(kind of device; on the CPU its model, features and number of cores).  What is not known to be the
same is a different key: to compile once more is cheap, to run another machine's code is not.

Files that XLA flags name, such as profiles and tuning results, count by name, not by content.
"""

from __future__ import annotations

import os
import platform
from functools import cache
from typing import Any, Final

from ....runtime.client import jaxlib_module, xla_client

_FORMAT: Final = 1
"""Raised when entries made by earlier versions of this package must not be used any more."""

_VARIABLES: Final = ("XLA_FLAGS", "TF_XLA_FLAGS", "LIBTPU_INIT_ARGS", "NPROC")
_SAME_ON_ALL_CORES: Final = (
    "vendor_id", "cpu family", "model", "model name", "stepping", "flags",
    "CPU implementer", "CPU architecture", "CPU variant", "CPU part", "Features",
    "cpu", "isa", "uarch",
)  # fmt: skip
_FIRST_CORE_BYTES: Final = 8192


def key_of(text: str, options: Any, device: Any) -> str:
    """The key of a module compiled with some options for a device."""
    # Loads OpenSSL, which takes 3 ms: not where nothing is compiled.
    from hashlib import sha256

    digest = sha256()
    surroundings = repr((_FORMAT, _compiler(), _target(device)))
    for part in (surroundings.encode(), options.SerializeAsString(), text.encode()):
        digest.update(len(part).to_bytes(8, "little"))
        digest.update(part)
    return digest.hexdigest()


def digest_of_target(device: Any) -> str:
    """A digest of what must be the same for a compiled program to run: compiler and machine."""
    from hashlib import sha256

    client = device.client
    facts = client.platform, client.platform_version, device.device_kind
    host = (platform.system(), platform.machine(), processor())
    target = (_FORMAT, *_versions(), *facts, *(host if client.platform == "cpu" else ()))
    return sha256(repr(target).encode()).hexdigest()


@cache
def _compiler() -> tuple[Any, ...]:
    return (*_versions(), *[os.environ.get(name) for name in _VARIABLES])


def _versions() -> tuple[Any, ...]:
    version = jaxlib_module("version")
    return version.__version__, getattr(version, "_git_hash", None), xla_client()._version


@cache
def _target(device: Any) -> tuple[Any, ...]:
    client = device.client
    facts = client.platform, client.platform_version, device.device_kind, client.device_count()
    return (*facts, *_host()) if client.platform == "cpu" else facts


@cache
def _host() -> tuple[Any, ...]:
    """The CPU as the compiler sees it; the number of cores decides how loops are split."""
    return platform.system(), platform.machine(), processor(), _core_count()


def processor() -> str:
    """Model and features of the CPU; where the system does not tell, the name of the host."""
    try:
        with open("/proc/cpuinfo", "rb", buffering=0) as file:
            first_core = file.read(_FIRST_CORE_BYTES).partition(b"\n\n")[0].decode()
    except OSError:
        return platform.node()
    lines = [line for line in first_core.splitlines() if _name(line) in _SAME_ON_ALL_CORES]
    return "\n".join(lines) or platform.node()


def _name(line: str) -> str:
    return line.partition(":")[0].strip()


def _core_count() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
