"""Exchange of memory with other libraries: DLPack and NumPy."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from morphax.array import Array
from morphax.array.dlpack import DLDeviceType, is_supported_dtype
from morphax.array.dlpack_import import _aval_of_capsule, from_dlpack
from morphax.array.foreign import array_from_numpy
from morphax.array.placement import device_put
from morphax.core import ShapedArray
from morphax.dtypes import KeyType
from morphax.runtime.sharding import SingleDeviceSharding
from morphax.util import host_memory


def array(value: Any, dtype: Any = np.float32) -> Array:
    return Array.from_host(np.asarray(value, dtype))


def aligned(value: Any, dtype: Any = np.float32) -> np.ndarray[Any, Any]:
    return host_memory.aligned_copy(np.asarray(value, dtype))


def address(x: np.ndarray[Any, Any]) -> int:
    pointer: int = x.__array_interface__["data"][0]
    return pointer


class Producer:
    """An array of a library that is not NumPy."""

    def __init__(self, values: Any) -> None:
        self.values = values

    def __dlpack__(self, **keywords: Any) -> Any:
        keywords.pop("max_version", None)
        return self.values.__dlpack__(**keywords)

    def __dlpack_device__(self) -> Any:
        return self.values.__dlpack_device__()


@pytest.mark.parametrize("dtype", ["float32", "int8", "uint16", "bool", "complex64", "float16"])
def test_export_to_numpy(dtype: str) -> None:
    x = array([[1, 0, 1]], dtype)
    view = np.from_dlpack(x)
    assert view.dtype == dtype
    assert not view.flags.writeable
    assert address(view) == x.unsafe_buffer_pointer()
    assert view.tolist() == x.tolist()


def test_exported_memory_outlives_the_array() -> None:
    x = array(np.arange(1000))
    view = np.from_dlpack(x)
    x.delete()
    del x
    assert (view == np.arange(1000)).all()


def test_export_of_results_of_programs_and_copies() -> None:
    x = array([1, 2])
    assert x.__dlpack_device__() == (DLDeviceType.kDLCPU, 0)
    x.__dlpack__(dl_device=(1, 0))
    copied = from_dlpack(Producer(array([1, 2])), copy=True)
    assert copied.tolist() == [1, 2]
    assert address(np.from_dlpack(x, copy=True)) != x.unsafe_buffer_pointer()


def test_export_from_a_second_device(two_devices: list[Any]) -> None:
    x = device_put(array([1, 2]), two_devices[1])
    assert x.__dlpack_device__() == (1, 0)
    assert np.from_dlpack(x).tolist() == [1, 2]


@pytest.mark.parametrize(
    ("x", "keywords", "error", "text"),
    [
        (array([1], ml_dtypes.int4), {}, BufferError, "an array of int4"),
        (Array(ShapedArray((), KeyType("fry", (2,), np.uint64)), np.zeros((), np.uint64)), {},
         BufferError, "key<fry>"),
        (array([1]), {"dl_device": (2, 0)}, BufferError, r"\(2, 0\)"),
        (array([1]), {"stream": 1}, ValueError, "no streams"),
    ],
)  # fmt: skip
def test_refused_exports(x: Array, keywords: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=f"(?s){text}"):
        x.__dlpack__(**keywords)


def test_supported_dtypes() -> None:
    assert all(map(is_supported_dtype, ["bool", "int8", "uint64", "bfloat16", "complex128"]))
    assert not any(map(is_supported_dtype, ["int4", "uint2", ml_dtypes.float8_e5m2]))


def test_writeable_memory_is_copied() -> None:
    for source in (aligned([1, 2]), Producer(aligned([1, 2]))):
        x = from_dlpack(source)
        values = source.values if isinstance(source, Producer) else source
        values[0] = 9
        assert x.tolist() == [1, 2]
        assert x.committed


def test_memory_that_nobody_writes_is_shared() -> None:
    fixed = np.frombuffer(np.arange(64, dtype=np.float32).tobytes(), np.float32)
    offset = (-address(fixed)) % 64 // 4
    x = array_from_numpy(fixed[offset : offset + 16])
    assert x.unsafe_buffer_pointer() == address(fixed) + 4 * offset
    # What does not begin on a 64-byte boundary would be copied by each program that uses it.
    assert array_from_numpy(fixed[offset + 1 :]).unsafe_buffer_pointer() % 64 == 0


def test_a_read_only_view_of_writeable_memory_is_copied() -> None:
    source = aligned([1, 2])
    view = source.view()
    view.flags.writeable = False
    x = array_from_numpy(view)
    source[0] = 9
    assert x.tolist() == [1, 2]


def test_copy_false_shares_what_the_caller_vouches_for() -> None:
    source = aligned([1, 2])
    for given in (source, Producer(source)):
        assert from_dlpack(given, copy=False).unsafe_buffer_pointer() == address(source)
    x = from_dlpack(source, copy=False)
    assert not np.asarray(x).flags.writeable
    assert source.flags.writeable


@pytest.mark.parametrize(
    "source", [np.zeros(2), np.zeros((2, 3), np.float32).T, np.zeros(4, np.float32)[::2]]
)
def test_copy_false_refuses_what_needs_a_copy(source: Any) -> None:
    with pytest.raises(ValueError, match=r"(?s)copy=False.*row-major.*fix:"):
        from_dlpack(source, copy=False)


@pytest.mark.parametrize(
    "source",
    [
        np.arange(12, dtype=np.float32).reshape(3, 4).T,
        np.arange(4, dtype=np.float32)[::-1],
        np.broadcast_to(np.float32(1), (3,)),
        np.array(1, np.int32),
        np.ones((0, 3), np.float32),
        np.arange(3.0),
        np.array([1, 2], ml_dtypes.bfloat16),
    ],
    ids=lambda x: f"{x.dtype}{x.shape}",
)
def test_import_of_any_layout(source: Any) -> None:
    x = from_dlpack(source)
    assert x.tolist() == source.tolist()


def test_import_of_own_arrays() -> None:
    x = array([1, 2])
    assert from_dlpack(x).unsafe_buffer_pointer() == x.unsafe_buffer_pointer()
    assert from_dlpack(x, copy=True).unsafe_buffer_pointer() != x.unsafe_buffer_pointer()


def test_import_of_dtypes_that_numpy_lacks() -> None:
    x = array([1, 2], ml_dtypes.bfloat16)
    y = from_dlpack(Producer(x))
    assert y.dtype == ml_dtypes.bfloat16
    assert y.tolist() == [1, 2]


def test_import_to_a_device(two_devices: list[Any]) -> None:
    source = np.ones(2, np.float32)
    for place in (two_devices[1], SingleDeviceSharding(two_devices[1])):
        x = from_dlpack(source, device=place)
        assert x.device is two_devices[1]
        assert x.committed


def test_refused_imports() -> None:
    for x in ([1, 2], array([1]).__dlpack__()):
        with pytest.raises(TypeError, match=r"(?s)__dlpack_device__.*fix:"):
            from_dlpack(x)
    with pytest.raises(TypeError, match="fix:"):
        from_dlpack(np.ones(2), device="cpu")


def test_devices_that_are_not_here() -> None:
    class Elsewhere(Producer):
        def __dlpack_device__(self) -> Any:
            return 8, 0

    with pytest.raises(ValueError, match=r"(?s)device 8:0.*fix:"):
        from_dlpack(Elsewhere(np.ones(2)))


@pytest.mark.parametrize("dtype", ["float32", "int16", "uint8", "bool", "complex64", "bfloat16"])
def test_facts_read_from_a_capsule(dtype: str) -> None:
    x = array(np.ones((2, 3)), np.dtype(dtype))
    assert _aval_of_capsule(x.__dlpack__()) is x.aval
