"""Show an array to other libraries through DLPack, without a copy.

The capsule keeps the memory alive.  The consumer must not write to it: consumers that ask for a
version of DLPack which can say so are told that it is read-only, where jaxlib can.

Reference: https://dmlc.github.io/dlpack/latest/python_spec.html.
"""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING, Any

from .. import dtypes
from ..runtime import buffers
from ..runtime.device import program_platform
from ..runtime.devices import host_device
from ..runtime.sharding import whole_on
from ..util.messages import message

if TYPE_CHECKING:
    from .array import Array


class DLDeviceType(IntEnum):
    """DLPack's numbers of the kinds of devices that arrays may be on."""

    kDLCPU = 1
    kDLCUDA = 2
    kDLROCM = 10


def is_supported_dtype(dtype: Any) -> bool:
    """Whether arrays of a dtype can be passed through DLPack.

    Example:
        >>> import morphax as jax
        >>> jax.dlpack.is_supported_dtype("float32"), jax.dlpack.is_supported_dtype("int4")
        (True, False)
    """
    return dtypes.dtype(dtype) in _SUPPORTED


_SUPPORTED = frozenset(
    dtype
    for dtype, row in dtypes.SCALARS.items()
    if row.bits >= 16 or row.name in ("bool", "int8", "uint8")
)


def device(x: Array) -> tuple[DLDeviceType, int]:
    """DLPack's name of the device that `x` is on."""
    if (count := x.place.num_devices) > 1:
        raise BufferError(
            message(
                "__dlpack_device__",
                given=f"an array over {count} devices",
                expected="an array on one device",
                fix="Put the array on one device with jax.device_put, or pass one of its shards.",
            )
        )
    place = x.device
    if place.platform == "cpu":
        return DLDeviceType.kDLCPU, 0
    if place.platform == "gpu":
        is_cuda = program_platform(place) == "cuda"
        kind = DLDeviceType.kDLCUDA if is_cuda else DLDeviceType.kDLROCM
        return kind, place.local_hardware_id
    raise BufferError(
        message(
            "__dlpack_device__",
            given=f"an array on {place!r}",
            expected="an array on a CPU or GPU",
            fix="Move the array to the host first: jax.device_put(x, jax.devices('cpu')[0]).",
        )
    )


def cuda_interface(x: Array) -> dict[str, Any]:
    """What CUDA's libraries ask of an array: address, shape and dtype of its memory."""
    if x.is_deleted() or x.platform() != "gpu":
        raise AttributeError(
            message(
                "__cuda_array_interface__",
                given=f"an array on {x.device!r}",
                expected="an array on a GPU of NVIDIA",
                fix="Move the array there with jax.device_put, or use DLPack.",
            ),
            name="__cuda_array_interface__",
            obj=x,
        )
    interface: dict[str, Any] = x.buffer_at(x.place.own_memory).__cuda_array_interface__
    return interface


def capsule(
    x: Array,
    stream: int | None,
    max_version: tuple[int, int] | None,
    dl_device: tuple[int, int] | None,
    copy: bool | None,
) -> Any:
    """A DLPack capsule of `x`; the arguments are those of the standard's ``__dlpack__``."""
    if x.aval.dtype not in _SUPPORTED:
        raise BufferError(
            message(
                "__dlpack__",
                given=f"an array of {x.aval.dtype}",
                expected="a dtype that DLPack knows",
                fix="Convert the array with x.astype, or keys with jax.random.key_data, first.",
            )
        )
    own = device(x)
    source = x
    if dl_device is not None and tuple(dl_device) != own:
        source = _on_host(x, dl_device, copy)
    elif copy:
        source = x.copied()
    if source.platform() == "cpu" and stream is not None:
        raise ValueError(
            message(
                "__dlpack__, argument stream",
                given=f"{stream!r} for an array on the CPU",
                expected="None, for the CPU has no streams",
                fix="Leave the argument out.",
            )
        )
    return buffers.to_dlpack(source.buffer_at(source.place.own_memory), stream, max_version)


def _on_host(x: Array, dl_device: tuple[int, int], copy: bool | None) -> Array:
    """`x` on the CPU, which is the one other device that it may be asked for."""
    if tuple(dl_device) == (DLDeviceType.kDLCPU, 0) and copy is not False:
        return x.placed(whole_on(host_device()), committed=False)
    raise BufferError(
        message(
            "__dlpack__, argument dl_device",
            given=f"{tuple(dl_device)} for an array on {x.device!r}, copy={copy}",
            expected="the device of the array, or the CPU if a copy is allowed",
            fix="Move the array with jax.device_put first.",
        )
    )
