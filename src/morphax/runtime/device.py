"""`Device`: what is known of one processor that arrays live on.

The objects are jaxlib's own; `client` registers their class here when jaxlib is first imported, so
that `isinstance(x, Device)` needs no jaxlib.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Final

GPUS: Final = ("cuda", "rocm")
"""The platforms of GPUs, as plugins and lowering rules name them; a device calls itself "gpu"."""


class Device(ABC):
    """One processor: a CPU, a GPU or a core of a TPU, as listed by `morphax.devices`.

    Devices are never made by hand; equal devices are the same object.

    Example:
        >>> import morphax as jax
        >>> device = jax.devices("cpu")[0]
        >>> device, device.id, device.platform, isinstance(device, jax.Device)
        (CpuDevice(id=0), 0, 'cpu', True)
    """

    @property
    @abstractmethod
    def id(self) -> int:
        """Its number, unique among all devices of the platform in all processes."""

    @property
    @abstractmethod
    def platform(self) -> str:
        """The kind of processor: ``"cpu"``, ``"gpu"`` or ``"tpu"``."""

    @property
    @abstractmethod
    def device_kind(self) -> str:
        """The vendor's name of the model."""

    @property
    @abstractmethod
    def process_index(self) -> int:
        """The process that can address it."""

    @property
    @abstractmethod
    def host_id(self) -> int:
        """`process_index` under its old name."""

    @property
    @abstractmethod
    def local_hardware_id(self) -> int | None:
        """Its number within the machine, `None` if it is another machine's."""

    @property
    @abstractmethod
    def client(self) -> Any:
        """The jaxlib client it belongs to."""

    @abstractmethod
    def memory(self, kind: str) -> Any:
        """The memory of the given kind that it can address."""

    @abstractmethod
    def default_memory(self) -> Any:
        """The memory that arrays are put in unless another is named."""

    @abstractmethod
    def addressable_memories(self) -> list[Any]:
        """All memories that it can address."""

    @abstractmethod
    def memory_stats(self) -> dict[str, int] | None:
        """Bytes in use, peak and limit of its memory; `None` where the platform keeps no count."""


def program_platform(device: Any) -> str:
    """The platform that programs are written for: that of the device, of a GPU one of `GPUS`."""
    if device.platform != "gpu":
        return str(device.platform)
    return "rocm" if "rocm" in device.client.platform_version.lower() else "cuda"
