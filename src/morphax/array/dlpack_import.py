"""Arrays from other libraries through DLPack: NumPy, PyTorch, CuPy and others.

The rule of `foreign` holds here too: memory that its owner may write to is copied, unless the
caller says ``copy=False``.  DLPack itself seldom tells whether that is so, hence all but NumPy
arrays and our own are taken for writeable.

Reference: https://dmlc.github.io/dlpack/latest/python_spec.html.
"""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

from ..core import ShapedArray
from ..runtime import buffers
from ..runtime.devices import devices, host_device
from ..runtime.laid_out import laid_out
from ..runtime.sharding import Sharding, SingleDeviceSharding, whole_on
from ..util.messages import described, message
from .array import Array
from .dlpack import DLDeviceType
from .foreign import array_from_numpy


def from_dlpack(external_array: Any, device: Any = None, copy: bool | None = None) -> Array:
    """An array with the numbers of an array of another library.

    Args:
        external_array: an object with ``__dlpack__`` and ``__dlpack_device__``: an array of NumPy,
            PyTorch, CuPy, …
        device: where the result shall be, a device or sharding; by default where the numbers are.
        copy: true copies; false shares the memory, and the caller sees to it that nobody writes
            there; `None` shares it if nobody can.

    Returns:
        An array that is committed to its device.

    Raises:
        TypeError: if `external_array` does not speak DLPack.
        ValueError: if `copy` is false and the memory cannot be shared.

    Example:
        >>> import numpy as np
        >>> import morphax as jax
        >>> jax.dlpack.from_dlpack(np.arange(3, dtype=np.float32))
        Array([0., 1., 2.], dtype=float32)
    """
    if not (hasattr(external_array, "__dlpack__") and hasattr(external_array, "__dlpack_device__")):
        raise TypeError(
            message(
                "from_dlpack, argument external_array",
                given=described(external_array),
                expected="an array with the methods __dlpack__ and __dlpack_device__",
                fix="Pass the array itself, not a capsule; convert sequences with jnp.asarray.",
            )
        )
    sharding = _target(device)
    if type(external_array) is Array:
        result = external_array.copied() if copy else external_array
        return (
            result.placed(result.place.own_memory, committed=True)
            if sharding is None
            else (sharding.distribute(result))
        )
    kind, number = external_array.__dlpack_device__()
    if kind == DLDeviceType.kDLCPU:
        home = host_device()
        result = _from_host_memory(external_array, copy)
    else:
        home = _device_numbered(kind, number)
        result = _from_device_memory(external_array, home, copy)
    return (SingleDeviceSharding(home) if sharding is None else sharding).distribute(result)


def _target(device: Any) -> Sharding | None:
    if device is None or isinstance(device, Sharding):
        return device
    return SingleDeviceSharding(device)


def _from_host_memory(x: Any, copy: bool | None) -> Array:
    if isinstance(x, np.ndarray):
        return array_from_numpy(x, copy=copy, where="from_dlpack")
    try:
        view = np.from_dlpack(x)
    except (BufferError, RuntimeError, TypeError):
        # NumPy has not the dtypes of ml_dtypes, jaxlib has.
        view = buffers.to_host(buffers.from_dlpack(x.__dlpack__(), host_device(), None))
    # That NumPy sees the memory as read-only does not keep its owner from writing.
    return array_from_numpy(view, copy=copy is not False, where="from_dlpack")


def _from_device_memory(x: Any, device: Any, copy: bool | None) -> Array:
    stream = device.get_stream_for_external_ready_events()
    capsule = x.__dlpack__(stream=stream)
    aval = _aval_of_capsule(capsule)
    place = whole_on(device)
    buffer = buffers.from_dlpack(capsule, device, stream)
    own = buffer if copy is False else buffers.moved(buffer, aval.ndim, place)
    layout = buffers.layout(own, aval.ndim)
    return Array(aval, None, own, laid_out(place, None if layout.is_row_major else layout))


def _device_numbered(kind: int, number: int) -> Any:
    platforms = {DLDeviceType.kDLCUDA: "cuda", DLDeviceType.kDLROCM: "rocm"}
    if kind in platforms:
        for device in devices(platforms[DLDeviceType(kind)]):
            if device.local_hardware_id == number:
                return device
    raise ValueError(
        message(
            "from_dlpack, argument external_array",
            given=f"an array on DLPack's device {int(kind)}:{number}",
            expected="an array on a CPU, or on a GPU that jax.devices() lists",
            fix="Copy the array to the CPU with its own library first.",
        )
    )


class _Tensor(ctypes.Structure):
    """The beginning of what a capsule named ``dltensor`` points to."""

    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
    )


_KINDS = {0: "int", 1: "uint", 2: "float", 4: "bfloat", 5: "complex", 6: "bool"}


def _aval_of_capsule(capsule: Any) -> ShapedArray:
    """Shape and dtype of an unversioned capsule, of which jaxlib keeps none."""
    pointer_of = ctypes.pythonapi.PyCapsule_GetPointer
    pointer_of.restype, pointer_of.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
    tensor = ctypes.cast(pointer_of(capsule, b"dltensor"), ctypes.POINTER(_Tensor)).contents
    kind = _KINDS[tensor.code]
    dtype = kind if kind == "bool" else f"{kind}{tensor.bits}"
    return ShapedArray(tensor.shape[: tensor.ndim], dtype)
