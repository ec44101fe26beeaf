"""Between host memory and device memory.

On the CPU both are the same memory: a 64-byte aligned, C-contiguous NumPy array becomes a device
buffer without a copy, and a device buffer is read as a NumPy array without a copy.  Sharing is safe
because the memory of an `Array` is never written to after the array is made; memory that belongs to
the user is copied before it gets here.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .client import client, extension, placement


def to_device(host: np.ndarray[Any, Any], device: Any) -> Any:
    """A device buffer with the contents of `host`, sharing its memory where possible."""
    return extension().batched_device_put(
        _HostAval(host), placement(device), [host], [device], True, enable_x64=True
    )


class _HostAval:
    """What jaxlib wants to know of host memory."""

    __slots__ = ("dtype", "shape", "weak_type")

    def __init__(self, host: np.ndarray[Any, Any]) -> None:
        self.shape = host.shape
        self.dtype = host.dtype
        self.weak_type = False


def to_host(buffer: Any) -> np.ndarray[Any, Any]:
    """The contents of a device buffer as a read-only NumPy array; waits for the computation."""
    return buffer._single_device_array_to_np_array_did_copy()[0]  # type: ignore[no-any-return]


def default_device() -> Any:
    """The first CPU device."""
    return client("cpu").local_devices()[0]
