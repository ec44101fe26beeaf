"""What a report of a fault should say of the machine and the installation."""

from __future__ import annotations

import os
import platform
import sys
from importlib.metadata import PackageNotFoundError, version
from typing import Literal, overload

from .runtime.devices import devices, local_devices, process_count

_PACKAGES = ("jaxlib", "numpy", "ml_dtypes")
_PREFIXES = ("JAX_", "MORPHAX_", "XLA_", "CUDA_", "TF_GPU_")


@overload
def print_environment_info(return_string: Literal[False] = False) -> None: ...
@overload
def print_environment_info(return_string: Literal[True]) -> str: ...
def print_environment_info(return_string: bool = False) -> str | None:
    """Print versions, devices and environment variables that a report of a fault should contain.

    Args:
        return_string: return the text instead.

    Example:
        >>> import morphax as jax
        >>> print(jax.print_environment_info(return_string=True))
        morphax: ...
    """
    assert __package__ is not None, "this module is part of a package"
    facts = {__package__: sys.modules[__package__].__version__}
    facts |= {name: _version(name) for name in _PACKAGES}
    facts["python"] = sys.version.replace("\n", " ")
    kinds = ", ".join(sorted({device.device_kind for device in devices()}))
    facts["devices"] = f"{kinds}: {len(devices())}, of which {len(local_devices())} local"
    facts["processes"] = f"{process_count()}"
    facts["platform"] = f"{platform.platform()} on {platform.machine()}"
    facts |= {k: v for k, v in sorted(os.environ.items()) if k.startswith(_PREFIXES)}
    text = "\n".join(f"{name}: {value}" for name, value in facts.items())
    if return_string:
        return text
    print(text)
    return None


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"
