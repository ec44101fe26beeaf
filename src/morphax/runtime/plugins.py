"""Find the PJRT plugins that are installed: shared libraries through which XLA reaches a device.

A plugin for GPUs is a package under the namespace ``jax_plugins`` with a library beside its Python
files; that for TPUs is ``libtpu``.  Only the library is of use here: the Python files are written
for another frontend and are never imported.  Nothing here imports jaxlib.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import final

from ..util.records import dataclass

_GPU_PACKAGE = re.compile(r"xla_(?P<platform>cuda|rocm)(?P<version>\d*)")

# Libraries of the NVIDIA wheels that the CUDA plugin links to, dependencies first.
_CUDA_LIBRARIES = (
    "cudart", "nvJitLink", "nvrtc", "cublasLt", "cublas", "cusparse", "cusolver", "cufft", "cupti",
    "cudnn", "nccl", "nvshmem_host",
)  # fmt: skip


@final
@dataclass(frozen=True, slots=True)
class Plugin:
    """An installed plugin.

    Args:
        platform: its name for PJRT: ``"cuda"``, ``"rocm"``, ``"tpu"``, …
        library: the shared library.
        kernels: the package with the kernels that programs call by name, if it has one.
    """

    platform: str
    library: Path
    kernels: str | None = None


@cache
def installed() -> dict[str, Plugin]:
    """The installed plugins by platform; of several for one platform, that of the last name."""
    found = (*_libtpu(), *_namespace_plugins())
    return {plugin.platform: plugin for plugin in found}


def _libtpu() -> Iterator[Plugin]:
    for folder in _folders("libtpu"):
        if (folder / "libtpu.so").is_file():
            yield Plugin("tpu", folder / "libtpu.so")


def _namespace_plugins() -> Iterator[Plugin]:
    for folder in _folders("jax_plugins"):
        for package in sorted(p for p in folder.iterdir() if p.is_dir()):
            libraries = sorted(package.glob("*plugin*.so"))
            if libraries:
                yield _plugin(package.name, libraries[0])


def _plugin(package: str, library: Path) -> Plugin:
    gpu = _GPU_PACKAGE.fullmatch(package)
    if gpu is None:
        return Plugin(package, library)
    platform, version = gpu.group("platform", "version")
    return Plugin(platform, library, f"jax_{platform}{version}_plugin")


def _folders(package: str) -> list[Path]:
    """Where a top-level package lies; it is not imported."""
    spec = find_spec(package)
    locations = spec.submodule_search_locations if spec is not None else None
    return [Path(location) for location in locations or ()]


def load_dependencies(plugin: Plugin) -> None:
    """Load the libraries that a plugin links to, where they come as Python wheels.

    A library that is missing here may be installed on the system: its absence is for the dynamic
    linker to report.
    """
    if plugin.platform != "cuda":
        return
    folders = [path for root in _folders("nvidia") for path in sorted(root.glob("*/lib"))]
    for name in _CUDA_LIBRARIES:
        for library in (p for folder in folders for p in folder.glob(f"lib{name}.so.*")):
            try:
                ctypes.CDLL(str(library), mode=ctypes.RTLD_GLOBAL)
            except OSError:
                continue
            break
