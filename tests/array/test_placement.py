"""Arrays on several devices: `device_put`, commitment, waiting, and where operations run."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from morphax import lax
from morphax.array import Array
from morphax.array.colocation import placement_of
from morphax.array.placement import block_until_ready, copy_to_host_async, device_get, device_put
from morphax.config import override
from morphax.control.jit.jit import jit
from morphax.core import ShapedArray, stage
from morphax.dtypes import KeyType
from morphax.runtime.devices import default_device, home_device
from morphax.runtime.sharding import SingleDeviceSharding

VALUES = np.arange(3, dtype=np.float32)


def place(x: Array) -> tuple[int, bool]:
    return x.device.id, x.committed


@pytest.fixture
def x() -> Array:
    return Array.from_host(VALUES)


def test_uncommitted_arrays_stay(x: Array) -> None:
    assert device_put(x) is x
    assert place(device_put(VALUES)) == (0, False)
    assert device_put(1.5).weak_type


def test_put_commits(x: Array, two_devices: list[Any]) -> None:
    for device in two_devices:
        for value in (x, VALUES, [0.0, 1.0, 2.0][2]):
            y = device_put(value, device)
            assert place(y) == (device.id, True)
            assert y.sharding == SingleDeviceSharding(device)
    assert device_put(x, two_devices[1]).tolist() == [0, 1, 2]
    assert place(x) == (0, False)


def test_put_of_trees(x: Array, two_devices: list[Any]) -> None:
    first, second = two_devices
    tree = {"a": 1, "b": (VALUES, x)}
    same = device_put(tree, second)
    assert [place(y) for y in (same["a"], *same["b"])] == [(1, True)] * 3
    split = device_put(tree, {"a": second, "b": (None, first)})
    assert [place(y) for y in (split["a"], *split["b"])] == [(1, True), (0, False), (0, True)]
    assert device_put(None) is None


def test_put_with_a_sharding(x: Array, two_devices: list[Any]) -> None:
    pinned = SingleDeviceSharding(two_devices[1], "pinned_host")
    y = device_put(x, pinned)
    assert y.sharding == pinned
    assert y.device is two_devices[1]
    assert lax.neg(y).sharding == SingleDeviceSharding(two_devices[1])
    assert lax.neg(y).tolist() == [0, -1, -2]


def test_sharing_of_memory(x: Array) -> None:
    device = home_device()
    shared = device_put(x, device)
    assert shared.unsafe_buffer_pointer() == x.unsafe_buffer_pointer()
    x_copy = device_put(x, device, may_alias=False)
    assert x_copy.unsafe_buffer_pointer() != x.unsafe_buffer_pointer()
    x.delete()
    assert shared.tolist() == x_copy.tolist() == [0, 1, 2]


def test_user_memory_is_not_followed() -> None:
    source = np.ones(1000, np.float32)
    for may_alias in (None, False, True):
        y = device_put(source, home_device(), may_alias=may_alias)
        source[0] += 1
        assert y.tolist()[0] == source[0] - 1


def test_donation_keeps_memory_that_the_result_shares(x: Array, two_devices: list[Any]) -> None:
    y = device_put(x, two_devices[1], donate=True)
    assert not x.is_deleted()
    assert y.tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    ("arguments", "error", "text"),
    [
        (("foo",), TypeError, "'foo' of type str"),
        ((np.array(["a"]),), TypeError, "<U1"),
        ((1.0, "cpu"), ValueError, "'cpu' of type str.*a device, a sharding"),
        (([1, 2], [None]), ValueError, "device"),
    ],
)
def test_refused_puts(arguments: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=f"(?s){text}.*fix:"):
        device_put(*arguments)


def test_donated_arrays_have_nothing_to_share(x: Array) -> None:
    with pytest.raises(ValueError, match=r"(?s)donate and may_alias.*fix:"):
        device_put(x, home_device(), donate=True, may_alias=True)


def test_tracers_are_refused_here() -> None:
    with pytest.raises(TypeError, match=r"(?s)device_put.*f32\[3\].*fix:"):
        stage(lambda x: [device_put(x)], [ShapedArray((3,), np.float32)])


def test_get(x: Array) -> None:
    keys = Array(ShapedArray((), KeyType("fry", (2,), np.uint64)), np.zeros((), np.uint64))
    tree = device_get({"x": x, "n": 1, "s": "text", "keys": keys})
    assert type(tree["x"]) is np.ndarray
    assert not tree["x"].flags.writeable
    assert (tree["n"], tree["s"], tree["keys"]) == (1, "text", keys) or tree["keys"] is keys


def test_waiting(x: Array) -> None:
    computed = jit(lambda x: lax.add(x, x))(x)
    tree = {"a": 1, "b": computed, "c": "text"}
    assert block_until_ready(tree) is tree
    assert copy_to_host_async(tree) is tree
    assert computed.is_ready()
    assert computed.block_until_ready() is computed
    computed.delete()
    with pytest.raises(RuntimeError, match="deleted"):
        block_until_ready(tree)


def test_to_device(x: Array, two_devices: list[Any]) -> None:
    assert place(x.to_device(two_devices[1])) == (1, True)
    assert place(x.to_device(SingleDeviceSharding(two_devices[0]))) == (0, True)
    with pytest.raises(ValueError, match="fix:"):
        x.to_device("cpu")


def test_shards(x: Array, two_devices: list[Any]) -> None:
    y = device_put(x, two_devices[1])
    (shard,) = y.addressable_shards
    assert shard.device is two_devices[1]
    assert (shard.index, shard.replica_id) == ((slice(None),), 0)
    assert y.addressable_data(0).tolist() == [0, 1, 2]
    assert y.is_fully_addressable
    assert y.is_fully_replicated
    assert y.devices() == {two_devices[1]}
    assert repr(shard) == (
        "Shard(device=CpuDevice(id=1), index=(slice(None, None, None),), replica_id=0, "
        "data=[0. 1. 2.])"
    )
    assert [s.device for s in y.global_shards] == [two_devices[1]]


def test_operations_follow_committed_operands(x: Array, two_devices: list[Any]) -> None:
    for device in two_devices:
        y = device_put(x, device)
        for result in (lax.add(x, y), lax.add(y, VALUES), lax.neg(y)):
            assert place(result) == (device.id, True)
        assert lax.add(x, y).tolist() == [0, 2, 4]


def test_programs_follow_committed_operands(x: Array, two_devices: list[Any]) -> None:
    program = jit(lambda x, y: (lax.add(x, y), x, y))
    assert [place(r) for r in program(x, x)] == [(0, False)] * 3
    for device in two_devices:
        results = program(x, device_put(x, device))
        assert [place(r) for r in results] == [(device.id, True)] * 3
        assert [r.tolist() for r in results] == [[0, 2, 4], [0, 1, 2], [0, 1, 2]]
    assert [place(r) for r in program(x, x)] == [(0, False)] * 3


def test_constants_of_programs_do_not_bind(x: Array, two_devices: list[Any]) -> None:
    y = device_put(x, two_devices[0])
    assert place(jit(lambda z: lax.add(z, y))(device_put(x, two_devices[1]))) == (1, True)


def test_disagreement_names_both_devices(x: Array, two_devices: list[Any]) -> None:
    first, second = (device_put(x, device) for device in two_devices)
    for call in (lax.add, jit(lax.add), jit(lambda x, y: lax.add(x, y))):
        with pytest.raises(
            ValueError, match=r"(?s)f32\[3\] on CpuDevice\(id=0\).*CpuDevice\(id=1\).*device_put"
        ):
            call(first, second)


def test_disagreement_names_arguments(x: Array, two_devices: list[Any]) -> None:
    operands = [x, *(device_put(x, device) for device in two_devices)]
    with pytest.raises(ValueError, match=r"argument b, .* and argument c, "):
        placement_of(operands, "f", "abc".__getitem__)


def test_default_device(x: Array, two_devices: list[Any]) -> None:
    _, second = two_devices
    program = jit(lambda x: (lax.neg(x), x))
    with override(default_device=second):
        assert default_device() is second
        assert place(lax.neg(x)) == (1, False)
        assert [place(r) for r in program(x)] == [(1, False)] * 2
        assert place(device_put(VALUES)) == (1, False)
        assert place(device_put(x)) == (0, False)
        there = lax.neg(x)
        assert place(lax.add(there, device_put(x, two_devices[0]))) == (0, True)
    assert place(lax.neg(there)) == (0, False)
    assert place(x) == (0, False)


def test_default_device_by_platform(x: Array) -> None:
    with override(default_device="cpu"):
        assert place(lax.neg(x)) == (0, False)


def test_operations_with_parameters(x: Array, two_devices: list[Any]) -> None:
    y = device_put(x, two_devices[1])
    assert lax.reshape(y, (3, 1)).tolist() == [[0], [1], [2]]
    assert place(lax.reshape(y, (3, 1))) == (1, True)


def test_deleted_operands_are_reported(x: Array, two_devices: list[Any]) -> None:
    y = device_put(x, two_devices[1])
    y.delete()
    for call in (lax.neg, jit(lax.neg)):
        with pytest.raises(RuntimeError, match=r"delete\(\) was called"):
            call(y)


def test_donation_off_the_default_device(two_devices: list[Any]) -> None:
    step = jit(lambda x: lax.add(x, x), donate_argnums=0)
    given = device_put(np.ones(4, np.float32), two_devices[1])
    assert step(given).tolist() == [2] * 4
    assert given.is_deleted()
    with override(default_device=two_devices[1]):
        on_host = Array.from_host(np.ones(4, np.float32))
        assert step(on_host).tolist() == [2] * 4


@pytest.mark.parametrize("dtype", ["bfloat16", "int4", "bool", "complex64", "float8_e5m2"])
def test_dtypes_survive_the_move(dtype: str, two_devices: list[Any]) -> None:
    x = Array.from_host(np.array([[1, 0], [1, 1]], np.dtype(dtype)))
    y = device_put(x, two_devices[1])
    assert (repr(y), y.sharding) == (repr(x), SingleDeviceSharding(two_devices[1]))
    assert lax.reshape(y, (4,)).tolist() == [1, 0, 1, 1]


def test_keys_move(two_devices: list[Any]) -> None:
    aval = ShapedArray((2,), KeyType("fry", (2,), np.uint64))
    keys = device_put(Array(aval, np.arange(2, dtype=np.uint64)), two_devices[1])
    assert keys.aval is aval
    assert (lax.reshape(keys, (2, 1)).to_host() == [[0], [1]]).all()
    assert place(lax.reshape(keys, (2, 1))) == (1, True)
