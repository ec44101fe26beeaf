"""`SingleDeviceSharding`, and what `Sharding` derives from the abstract members."""

from __future__ import annotations

import copy
import subprocess
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

import morphax as jax
import morphax.numpy as jnp
from morphax.array import Array
from morphax.runtime import sharding
from morphax.runtime.gspmd_sharding import repeated_on
from morphax.runtime.places import Places
from morphax.runtime.sharding import Index, Sharding, SingleDeviceSharding


def test_facts(two_devices: list[Any]) -> None:
    _, device = two_devices
    s = SingleDeviceSharding(device)
    whole = (slice(None), slice(None))
    assert s.device_set == s.addressable_devices == {device}
    assert s.memory_kind == "device"
    assert s.has_addressable_devices
    assert s.is_fully_addressable
    assert s.is_fully_replicated
    assert s.num_devices == 1
    assert s.shard_shape((2, 3)) == (2, 3)
    assert s.devices_indices_map((2, 3)) == {device: whole}
    assert s.addressable_devices_indices_map((2, 3)) == {device: whole}
    assert s.devices_indices_map(()) == {device: ()}
    assert repr(s) == "SingleDeviceSharding(device=CpuDevice(id=1), memory_kind=device)"


def test_equality(two_devices: list[Any]) -> None:
    first, second = two_devices
    s = SingleDeviceSharding(first)
    assert s == SingleDeviceSharding(first, "device")
    assert hash(s) == hash(SingleDeviceSharding(first, "device"))
    assert s != SingleDeviceSharding(second)
    assert s != SingleDeviceSharding(first, "pinned_host")
    assert s != first
    assert s.with_memory_kind("pinned_host") == SingleDeviceSharding(first, "pinned_host")
    assert s.with_memory_kind("pinned_host").with_memory_kind(None) == s


def test_places_are_interned(two_devices: list[Any]) -> None:
    for device in two_devices:
        place = SingleDeviceSharding(device)
        assert SingleDeviceSharding(device, "device") is place
        assert copy.copy(place) is place
        assert jax.device_put(1.0, device).sharding is place
        pinned = place.with_memory_kind("pinned_host")
        assert pinned is SingleDeviceSharding(device, "pinned_host")
        assert pinned.own_memory is place.own_memory is place
    assert SingleDeviceSharding(two_devices[0]) is jnp.arange(3).sharding is sharding.home
    assert jax.jit(jnp.sin)(1.0).sharding is sharding.home


def test_whole_on_each_of_several_devices(two_devices: list[Any]) -> None:
    first, second = two_devices
    place = repeated_on((first, second))
    assert place is repeated_on((first, second)) is copy.copy(place)
    assert place is not repeated_on((second, first))
    assert repeated_on((second,)) is SingleDeviceSharding(second)
    assert place.device_assignment == (first, second)
    assert place.is_fully_replicated
    assert place.shard_shape((2, 3)) == (2, 3)
    pinned = place.with_memory_kind("pinned_host")
    assert (pinned.memory_kind, pinned.own_memory is place) == ("pinned_host", True)
    x = place.distribute(jnp.arange(3))
    assert (x.sharding is place, x.committed, x.tolist()) == (True, True, [0, 1, 2])
    assert repr(place) == "GSPMDSharding({replicated}, memory_kind=device)"


def test_equal_places_of_programs_are_one_object(two_devices: list[Any]) -> None:
    first, second = map(SingleDeviceSharding, two_devices)
    places = Places.all_at(first, 2, 1)
    assert places is Places((first, first), (first,), (two_devices[0],))
    assert places is not Places.all_at(second, 2, 1)
    assert places is not Places.all_at(first, 1, 2)
    assert places.whole is first
    both = Places.on_devices_of(repeated_on(tuple(two_devices)), [None, None], [None])
    assert set(both.operands) == {both.whole}
    assert both.results == (None,)
    assert both.with_results([both.whole]).results == (both.whole,)
    assert "devices=" in repr(both)


def test_a_deleted_array_keeps_its_place(two_devices: list[Any]) -> None:
    x = jax.device_put(jnp.arange(3.0), two_devices[1])
    x.delete()
    assert (x.is_deleted(), x.committed) == (True, False)
    assert x.sharding is SingleDeviceSharding(two_devices[1])


def test_the_home_place_is_found_when_it_is_asked_for() -> None:
    program = """if True:
        import sys
        import morphax as jax, morphax.numpy as jnp
        from morphax.runtime import sharding
        from morphax.extend.backend import clear_backends
        x = jnp.arange(3.0) + 1
        assert x.place is sharding.home and "jaxlib" not in sys.modules
        y = jax.jit(lambda x: 2 * x)(x)
        assert x.device is y.device is jax.devices()[0]
        assert x.place is y.place is jax.sharding.SingleDeviceSharding(jax.devices()[0])
        clear_backends()
        assert sharding.home is not y.place
        z = jax.jit(lambda x, y: x + y)(x, y)
        assert z.place is sharding.home and z.device is jax.devices()[0] is not y.device
        print(z.tolist())"""
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (ran.stdout, ran.returncode) == ("[3.0, 6.0, 9.0]\n", 0), ran.stderr


def test_equivalence(two_devices: list[Any]) -> None:
    first, second = (SingleDeviceSharding(device) for device in two_devices)
    assert first.is_equivalent_to(SingleDeviceSharding(two_devices[0]), 2)
    assert not first.is_equivalent_to(second, 2)
    assert not first.is_equivalent_to(first.with_memory_kind("pinned_host"), 2)


class Rows(Sharding):
    """The first axis split over two devices."""

    def __init__(self, devices: list[Any], axis: int = 0) -> None:
        self.parts = devices
        self.axis = axis

    @property
    def device_set(self) -> set[Any]:
        return set(self.parts)

    @property
    def memory_kind(self) -> str:
        return "device"

    @property
    def is_fully_replicated(self) -> bool:
        return False

    def with_memory_kind(self, kind: str) -> Sharding:
        return self

    def devices_indices_map(self, global_shape: Sequence[int]) -> Mapping[Any, Index]:
        half = global_shape[self.axis] // 2
        cuts = (slice(0, half), slice(half, None))
        whole = [slice(None)] * len(global_shape)
        return {
            device: tuple(cut if i == self.axis else s for i, s in enumerate(whole))
            for device, cut in zip(self.parts, cuts, strict=True)
        }

    def shard_shape(self, global_shape: Sequence[int]) -> tuple[int, ...]:
        return (global_shape[0] // 2, *global_shape[1:])

    def distribute(self, x: Array, *, copy: bool = False) -> Array:
        return x


def test_derived_members(two_devices: list[Any]) -> None:
    s = Rows(two_devices)
    assert s.num_devices == 2
    assert s.is_fully_addressable
    assert s.is_equivalent_to(Rows(two_devices), 2)
    assert not s.is_equivalent_to(Rows(two_devices, axis=1), 2)
    assert set(s.addressable_devices_indices_map((4,))) == set(two_devices)


def test_the_base_class_is_abstract() -> None:
    with pytest.raises(TypeError, match="abstract"):
        Sharding()  # type: ignore[abstract]


def test_refused_arguments(two_devices: list[Any]) -> None:
    with pytest.raises(TypeError, match=r"(?s)'cpu' of type str.*fix:"):
        SingleDeviceSharding("cpu")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"(?s)'foo'.*device, pinned_host, unpinned_host.*fix:"):
        SingleDeviceSharding(two_devices[0], "foo")
