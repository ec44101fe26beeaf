"""The class of arrays: facts, conversion to Python and NumPy, immutability, deletion, pickling."""

from __future__ import annotations

import copy
import operator
import pickle
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from morphax.array import Array
from morphax.array.public import Array as PublicArray
from morphax.config import override
from morphax.core import ShapedArray, Tracer, stage
from morphax.dtypes import KeyType, float0

BF16 = np.dtype(ml_dtypes.bfloat16)


def array(value: Any, dtype: Any = np.float32) -> Array:
    return Array.from_host(np.asarray(value, dtype))


def keys(*shape: int) -> Array:
    host = np.zeros(shape, np.uint64)
    return Array(ShapedArray(shape, KeyType("fry", (2,), np.uint64)), host)


def test_facts() -> None:
    x = array(np.ones((2, 3)))
    assert (x.shape, x.dtype, x.ndim, x.size, len(x)) == ((2, 3), np.float32, 2, 6, 2)
    assert (x.itemsize, x.nbytes, x.on_device_size_in_bytes()) == (4, 24, 24)
    assert not x.weak_type
    assert Array.from_host(2.0).weak_type
    assert array([1, 2], ml_dtypes.int4).nbytes == 2
    assert keys(3).nbytes == 24


def test_length_of_a_scalar() -> None:
    with pytest.raises(TypeError, match="unsized"):
        len(array(1))


SCALARS = {
    "float32": array(1.5),
    "int32": array(3, np.int32),
    "bool": array(True, bool),
    "complex64": array(1 + 2j, np.complex64),
    "bfloat16": array(2, BF16),
    "int4": array(3, ml_dtypes.int4),
}
NUMBERS = {
    (int, "float32"): 1, (int, "int32"): 3, (int, "bool"): 1, (int, "bfloat16"): 2,
    (int, "int4"): 3, (float, "float32"): 1.5, (float, "int32"): 3.0, (float, "bool"): 1.0,
    (float, "bfloat16"): 2.0, (complex, "float32"): 1.5 + 0j, (complex, "complex64"): 1 + 2j,
    (bool, "float32"): True, (bool, "complex64"): True, (bool, "bfloat16"): True,
    (operator.index, "int32"): 3, (operator.index, "int4"): 3, (hex, "int32"): "0x3",
    (oct, "int32"): "0o3",
}  # fmt: skip


@pytest.mark.parametrize(("kind", "name"), NUMBERS)
def test_python_numbers(kind: Callable[[Any], Any], name: str) -> None:
    result = kind(SCALARS[name])
    assert result == NUMBERS[kind, name]
    assert type(result) is type(NUMBERS[kind, name])


@pytest.mark.parametrize(
    ("kind", "x", "error", "text"),
    [
        (int, array([1]), TypeError, r"int\(\).*f32\[1\].*1 axes"),
        (float, array([[1]]), TypeError, "without axes"),
        (complex, array([]), TypeError, "without axes"),
        (int, SCALARS["complex64"], TypeError, r"\(1\+2j\).*x\.real"),
        (float, SCALARS["complex64"], TypeError, "a real number"),
        (operator.index, SCALARS["float32"], TypeError, r"f32\[\].*integer array"),
        (operator.index, SCALARS["bool"], TypeError, "integer array"),
        (operator.index, array([1], np.int32), TypeError, "integer array"),
        (hex, SCALARS["float32"], TypeError, "integer array"),
        (bool, array([1, 2]), ValueError, r"2 elements.*x\.any\(\)"),
        (bool, array([]), ValueError, r"0 elements.*x\.size"),
        (bool, keys(), TypeError, "random keys.*key_data"),
        (int, keys(), TypeError, "random keys"),
        (np.asarray, keys(), TypeError, "random keys"),
        (Array.tolist, keys(2), TypeError, "random keys"),
    ],
)
def test_refused_conversions(
    kind: Callable[[Any], Any], x: Array, error: type[Exception], text: str
) -> None:
    with pytest.raises(error, match=f"(?s){text}") as caught:
        kind(x)
    assert "fix:" in str(caught.value)


def test_one_element_has_a_truth_value() -> None:
    assert bool(array([[1.5]]))
    assert not bool(array([0]))


def test_item() -> None:
    x = array(np.arange(6).reshape(2, 3))
    assert array([7]).item() == 7.0
    assert x.item(4) == x.item(1, 1) == x.item((1, 1)) == x.item(-2) == 4.0
    assert type(SCALARS["bfloat16"].item()) is float
    assert type(SCALARS["int4"].item()) is int


@pytest.mark.parametrize(
    ("args", "error"),
    [((), ValueError), ((9,), IndexError), ((1, 1, 1), ValueError), ((1.5,), TypeError)],
)
def test_refused_items(args: tuple[Any, ...], error: type[Exception]) -> None:
    with pytest.raises(error, match=r"(?s)Array\.item.*f32\[2,3\].*fix:"):
        array(np.zeros((2, 3))).item(*args)


def test_tolist_and_bytes() -> None:
    assert array([[1, 2], [3, 4]], np.int32).tolist() == [[1, 2], [3, 4]]
    assert array(1.5, BF16).tolist() == 1.5
    assert array([1, 2], np.int16).tobytes() == b"\x01\0\x02\0"


def test_numpy_view_is_read_only_and_shares_memory() -> None:
    x = array([1, 2])
    view = np.asarray(x)
    assert np.shares_memory(view, x.to_host())
    assert not view.flags.writeable
    with pytest.raises(ValueError, match="cannot set WRITEABLE"):
        view.flags.writeable = True


def test_numpy_copies() -> None:
    x = array([1, 2])
    owned = np.array(x)
    owned[0] = 5
    assert x.tolist() == [1, 2]
    assert np.asarray(x, np.float64).dtype == np.float64
    assert x.__array__(copy=False).tolist() == [1, 2]
    with pytest.raises(ValueError, match=r"(?s)copy=False.*float64.*fix:"):
        x.__array__(np.float64, copy=False)


def test_float0_becomes_numpy_zeros() -> None:
    x = Array.from_host(np.zeros(2, float0))
    assert np.asarray(x).dtype == float0


def test_arrays_do_not_follow_numpy_memory() -> None:
    source = np.arange(4, dtype=np.float32)
    x = Array.from_host(source)
    source[:] = 9
    assert x.tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("dtype", ["U1", object, "M8[D]", ">f4", [("a", "f4")]])
def test_arrays_of_no_numbers_are_refused(dtype: Any) -> None:
    with pytest.raises(TypeError, match="fix:"):
        Array.from_host(np.zeros(2, dtype))


def test_assignment_names_the_functional_form() -> None:
    x = array([1, 2])
    with pytest.raises(TypeError, match=r"x\.at\[index\]\.set"):
        x[0] = 1  # type: ignore[index]


def test_deleted_arrays_keep_facts_and_say_why() -> None:
    x = array([1, 2])
    assert not x.is_deleted()
    x.delete()
    x.delete()
    assert x.is_deleted()
    assert (x.shape, x.dtype) == ((2,), np.float32)
    assert x.device.platform == x.sharding.device_set.pop().platform == "cpu"
    for use in (repr, np.asarray, Array.block_until_ready, Array.is_ready, Array.copied,
                Array.unsafe_buffer_pointer, pickle.dumps, Array.__dlpack__,
                lambda x: x.addressable_shards):  # fmt: skip
        with pytest.raises(RuntimeError, match=r"(?s)delete\(\) was called.*test_array\.py:.*fix:"):
            use(x)


def test_reason_of_deletion() -> None:
    x = array([1])
    x.delete("it was donated to step")
    with pytest.raises(RuntimeError, match="deleted because it was donated to step"):
        float(x)


def test_copies_outlive_the_original() -> None:
    x = array([1, 2])
    shallow, deep = copy.copy(x), copy.deepcopy(x)
    x.delete()
    assert shallow.tolist() == deep.tolist() == [1, 2]


@pytest.mark.parametrize(
    "x",
    [
        array([1, 2]),
        array(1.5, BF16),
        array([-1], ml_dtypes.int4),
        array(np.zeros((0, 3))),
        Array.from_host(2.0),
        keys(2),
        Array.from_host(np.zeros(2, float0)),
    ],
    ids=lambda x: x.aval.str_short(),
)
def test_pickle(x: Array) -> None:
    y = pickle.loads(pickle.dumps(x))
    assert y.aval is x.aval
    assert (y.to_host() == x.to_host()).all()


def test_pickled_64_bits_are_narrowed_like_those_of_numpy() -> None:
    with override(enable_x64=True):
        data = pickle.dumps(array([1, 2], np.int64))
        assert pickle.loads(data).dtype == np.int64
    assert pickle.loads(data).dtype == np.int32


def test_readiness_of_host_memory() -> None:
    x = array([1])
    assert x.is_ready()
    assert x.block_until_ready() is x
    x.copy_to_host_async()
    assert x.unsafe_buffer_pointer() == x.to_host().__array_interface__["data"][0]


def test_instances_of_the_public_class() -> None:
    assert isinstance(array(1), PublicArray)
    assert issubclass(Array, PublicArray)
    assert issubclass(Tracer, PublicArray)
    assert not isinstance(np.zeros(2), PublicArray)
    seen: list[bool] = []
    stage(lambda x: [seen.append(isinstance(x, PublicArray))][:0], [array(1).aval])
    assert seen == [True]


def test_public_class_cannot_be_called() -> None:
    with pytest.raises(TypeError, match="abstract"):
        PublicArray()  # type: ignore[abstract]


def test_subclasses_of_the_public_class_are_narrower() -> None:
    class Mine(PublicArray):
        pass

    assert not isinstance(array(1), Mine)


def test_namespace(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Array, "namespace", operator)
    assert array(1).__array_namespace__(api_version="2024.12") is operator
    with pytest.raises(ValueError, match=r"(?s)'1999'.*'2024\.12'"):
        array(1).__array_namespace__(api_version="1999")
