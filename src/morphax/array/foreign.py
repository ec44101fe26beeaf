"""Arrays from memory that others own: NumPy arrays and whatever speaks DLPack.

An `Array` never changes, so memory that somebody may still write to is copied.  It is shared without
a copy where nobody can: a NumPy array that is read-only down to its owner.  A caller who asks for
``copy=False`` vouches that the memory stays as it is.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import dtypes
from ..core import ShapedArray, aval_of
from ..engines.devices import default_device, devices, host_device
from ..engines.xla import buffers
from ..util import host_memory
from ..util.messages import message
from .array import Array
from .dlpack import DLDeviceType
from .sharding import Sharding, SingleDeviceSharding


def array_from_numpy(
    x: np.ndarray[Any, Any], *, copy: bool | None = None, where: str = "array from NumPy"
) -> Array:
    """An array with the numbers of a NumPy array, 64-bit dtypes narrowed.

    Args:
        x: any array of numbers.
        copy: true copies; false shares the memory; `None` shares it if it is aligned and nobody
            can write to it.
        where: the function in whose name an error speaks.

    Raises:
        TypeError: if the elements are no numbers.
        ValueError: if `copy` is false and the memory cannot be shared.
    """
    aval = aval_of(x)
    dtypes.check_numeric(aval.dtype, where)
    fits = x.dtype == aval.dtype and x.flags.c_contiguous
    if copy is False:
        if not fits:
            raise ValueError(
                message(
                    f"{where}, argument copy",
                    given=f"copy=False for {x.dtype}{list(x.shape)} with strides {x.strides}",
                    expected=f"elements of dtype {aval.dtype} in row-major order",
                    fix="Allow the copy, or convert with numpy.ascontiguousarray first.",
                )
            )
        return Array(aval, _read_only(x))
    if copy is None and fits and host_memory.is_aligned(x) and _nobody_writes(x):
        return Array(aval, x)
    return Array.from_host(x)


def _read_only(x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    view = x.view()
    view.flags.writeable = False
    return view


def _nobody_writes(x: Any) -> bool:
    """Whether the memory of `x` is read-only for all NumPy arrays that share it."""
    while isinstance(x, np.ndarray):
        if x.flags.writeable:
            return False
        x = x.base
    # The owner may be anything that exports memory; of these, bytes never change.
    return x is None or isinstance(x, bytes)


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
                given=f"{external_array!r:.80} of type {type(external_array).__name__}",
                expected="an array with the methods __dlpack__ and __dlpack_device__",
                fix="Pass the array itself, not a capsule; convert sequences with jnp.asarray.",
            )
        )
    sharding = _target(device)
    if type(external_array) is Array:
        result = external_array.copied() if copy else external_array
        return result.placed(result.device, committed=True) if sharding is None else (
            sharding.distribute(result)
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
    buffer = buffers.from_dlpack(x.__dlpack__(stream=stream), device, stream)
    aval = ShapedArray(buffer.shape, buffer.dtype)
    return Array(aval, None, buffer if copy is False else buffers.moved(buffer, device), device)


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
