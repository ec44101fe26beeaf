"""Programs on several devices: operands in parts, results in parts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, final

import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp
from morphax import lax
from morphax.array import Array
from morphax.control.jit.compiled import Compiled, CompiledProgram
from morphax.core import ShapedArray
from morphax.engines.engine import Options
from morphax.engines.xla.engine import XLA
from morphax.runtime.layouts import Tiling, tiling
from morphax.runtime.places import Places
from morphax.runtime.sharding import Index, Sharding, SingleDeviceSharding, whole_on


@final
class Split(Sharding):
    """Arrays in as many parts as there are devices, along one axis; whole on each for `None`."""

    def __init__(self, devices: Sequence[Any], axis: int | None) -> None:
        self._devices = tuple(devices)
        self._axis = axis

    @property
    def device_set(self) -> set[Any]:
        return set(self._devices)

    @property
    def device_assignment(self) -> tuple[Any, ...]:
        return self._devices

    @property
    def memory_kind(self) -> str:
        return "device"

    @property
    def is_fully_replicated(self) -> bool:
        return self._axis is None

    def with_memory_kind(self, kind: str) -> Sharding:
        return self

    def shard_shape(self, global_shape: Sequence[int]) -> tuple[int, ...]:
        count = len(self._devices)
        return tuple([n // count if i == self._axis else n for i, n in enumerate(global_shape)])

    def devices_indices_map(self, global_shape: Sequence[int]) -> Mapping[Any, Index]:
        size = self.shard_shape(global_shape)
        return {
            device: tuple(
                [
                    slice(k * n, (k + 1) * n) if axis == self._axis else slice(None)
                    for axis, n in enumerate(size)
                ]
            )
            for k, device in enumerate(self._devices)
        }

    def distribute(self, x: Array, *, copy: bool = False) -> Array:
        return x.placed(self, committed=True)


X = np.arange(24, dtype=np.float32).reshape(4, 6)
Y = np.arange(6, dtype=np.float32)


def compiled(function: Any, avals: Sequence[Any], places: Places, **options: Any) -> Any:
    jaxpr = jax.make_jaxpr(function)(*avals).jaxpr
    return XLA.compile(jaxpr, places, Options("f", **options))


@pytest.mark.parametrize("backwards", [False, True])
@pytest.mark.parametrize("axis", [0, 1, None])
def test_arrays_in_parts(axis: int | None, backwards: bool, two_devices: list[Any]) -> None:
    place = Split(two_devices[:: -1 if backwards else 1], axis)
    x = place.distribute(Array.from_host(X))
    assert (x.place, x.committed, x.is_fully_replicated) == (place, True, axis is None)
    x._host = None
    np.testing.assert_array_equal(x, X)
    back = x.placed(whole_on(two_devices[1]), committed=False)
    np.testing.assert_array_equal(back, X)


def test_tiling(two_devices: list[Any]) -> None:
    assert tiling(Split(two_devices, 1), 3) == Tiling((1, 2, 1), 1, (0, 1))
    assert tiling(Split(two_devices, None), 2) == Tiling((1, 1), 2, (0, 1))
    assert tiling(whole_on(two_devices[1]), 2) == Tiling((1, 1), 1, (0,))


@pytest.mark.parametrize("backwards", [False, True])
def test_a_program_of_operands_in_parts(backwards: bool, two_devices: list[Any]) -> None:
    devices = tuple(two_devices[:: -1 if backwards else 1])
    rows, columns, all_of_it = (Split(devices, axis) for axis in (0, 1, None))
    places = Places((rows, all_of_it), (rows, all_of_it, columns), devices)
    big = np.arange(20_000, dtype=np.float32)

    def f(x: Any, y: Any) -> Any:
        return x + y, (x * y).sum() + big.sum() + jnp.asarray(big)[3], jnp.sin(x)

    plan = compiled(f, [X, Y], places)
    assert plan.places is places
    x, y = (p.distribute(Array.from_host(v)) for p, v in zip(places.operands, (X, Y), strict=True))
    for operands in ([x, y], [Array.from_host(X), y]):
        a, b, c = plan.run(operands, True)
        assert [r.place for r in (a, b, c)] == [rows, all_of_it, columns]
        np.testing.assert_allclose(a, X + Y)
        np.testing.assert_allclose(b, (X * Y).sum() + big.sum() + 3, rtol=1e-6)
        np.testing.assert_allclose(c, np.sin(X), rtol=1e-6)
    assert [f.sharding for f in plan.operand_formats()] == list(places.operands)


def test_donated_and_forwarded_operands_in_parts(two_devices: list[Any]) -> None:
    rows = Split(two_devices, 0)
    aval = ShapedArray((4, 6), np.float32)
    places = Places((rows, rows), (rows, rows), rows.device_assignment)
    plan = compiled(lambda x, y: (x * 2, y), [aval, aval], places, donated=(0,))
    x, y = (rows.distribute(Array.from_host(X)) for _ in range(2))
    doubled, same = plan.run([x, y], True)
    assert (x.is_deleted(), x.place) == (True, rows)
    np.testing.assert_array_equal(doubled, 2 * X)
    np.testing.assert_array_equal(same, X)


def test_memory_is_not_taken_over_at_another_place(two_devices: list[Any]) -> None:
    rows, whole = Split(two_devices, 0), Split(two_devices, None)
    aval = ShapedArray((4, 6), np.float32)
    places = Places((rows,), (whole,), rows.device_assignment)
    with pytest.warns(UserWarning, match=r"(?s)donation to f.*fix:"):
        plan = compiled(lambda x: x * 2, [aval], places, donated=(0,))
    x = rows.distribute(Array.from_host(X))
    np.testing.assert_array_equal(plan.run([x], True)[0], 2 * X)
    np.testing.assert_array_equal(x, X)


def test_the_call_plan_has_a_place_for_each(two_devices: list[Any]) -> None:
    rows, whole = Split(two_devices, 0), Split(two_devices, None)
    places = Places((rows, whole), (whole,), rows.device_assignment)
    plan = compiled(lambda x, y: x.sum() + y, [X, 1.0], places).call_plan()
    assert plan.operand_places is places.operands
    assert plan.result_places is places.results


def test_the_compiled_call_compares_places(two_devices: list[Any]) -> None:
    rows, whole = Split(two_devices, 0), Split(two_devices, None)
    places = Places((rows, whole), (whole,), rows.device_assignment)
    traced = jax.jit(lambda x, y: x.sum() + y).trace(X, np.float32(1))
    plan = XLA.compile(traced.jaxpr, places, Options("f"))
    program = CompiledProgram("f", plan, ("x", "y"), traced.bind)
    f = Compiled(program, [], traced.args_info, traced.out_tree)
    x, y = rows.distribute(Array.from_host(X)), whole.distribute(Array.from_host(np.float32(1)))
    # The first call is Python's, the others are compiled.
    for operands in ((x, y), (x, y), (Array.from_host(X), y), (X, np.float32(1))):
        result = f(*operands)
        assert (float(result), result.place) == (X.sum() + 1, whole)
    elsewhere = jax.device_put(np.float32(1), two_devices[1])
    for operands in ((whole.distribute(x), y), (x, elsewhere)):
        with pytest.raises(ValueError, match=r"(?s)compiled .*arguments.*fix:"):
            f(*operands)


def test_one_place_for_all(two_devices: list[Any]) -> None:
    place = whole_on(two_devices[1])
    places = Places.all_at(place, 2, 1)
    assert places is Places((place, place), (place,), (two_devices[1],))
    assert places.platform == "cpu"
    text = partial(compiled, jnp.negative, [1.0])(Places.all_at(place, 1, 1)).program.text
    assert "sdy" not in text


def test_sharding_constraint_in_a_program(two_devices: list[Any]) -> None:
    rows, columns = Split(two_devices, 0), Split(two_devices, 1)

    def f(x: Any) -> Any:
        return lax.with_sharding_constraint(jnp.sin(x), columns) * 2

    x = rows.distribute(Array.from_host(X))
    for function, truth in ((f, 2 * np.sin(X)), (jax.grad(lambda x: f(x).sum()), 2 * np.cos(X))):
        program = jax.jit(function)
        for _ in range(2):
            np.testing.assert_allclose(program(x), truth, rtol=1e-6)
        assert program.lower(x).as_text().count("sdy.sharding_constraint") == 1
    # Nothing else says where the program runs.
    y = jax.jit(f)(X)
    np.testing.assert_allclose(y, 2 * np.sin(X), rtol=1e-6)
    assert y.committed
    assert y.sharding.is_equivalent_to(columns, 2)
    here = SingleDeviceSharding(two_devices[0])
    with pytest.raises(ValueError, match=r"(?s)constraint in a.*runs on.*device_put"):
        jax.jit(lambda x: lax.with_sharding_constraint(x, here) * 2)(x)
    with pytest.raises(ValueError, match="vmap"):
        jax.vmap(f)(X[None])


def test_sharding_constraint_of_a_batch_leaves_its_axis_open(two_devices: list[Any]) -> None:
    whole = Split(two_devices, None)
    f = jax.vmap(lambda x: lax.with_sharding_constraint(jnp.sin(x), whole), 1)
    x = whole.distribute(Array.from_host(X))
    program = jax.jit(f)
    np.testing.assert_allclose(program(x), np.sin(X.T), rtol=1e-6)
    assert "[{?}, {}]" in program.lower(x).as_text()


def test_sharding_constraint_at_once(two_devices: list[Any]) -> None:
    rows = Split(two_devices, 0)
    y = lax.with_sharding_constraint(X, rows)
    assert (y.place, y.committed) == (rows, True)
    np.testing.assert_array_equal(y, X)
    here = jax.device_put(X, two_devices[0])
    with pytest.raises(ValueError, match=r"committed to.*(?s:.*)fix:.*device_put"):
        lax.with_sharding_constraint(here, rows)
