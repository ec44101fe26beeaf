"""Where jitted functions run: operands on two devices, bound to them or not, used or not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp
from morphax import lax
from morphax.array import Array
from morphax.config import override
from morphax.control.plans import binding_operands, place_of_call
from morphax.runtime.gspmd_sharding import repeated_on
from morphax.runtime.places import Places
from morphax.runtime.sharding import default_place, whole_on

from ...engines.test_several_devices import Split

X = np.arange(4, dtype=np.float32)


@pytest.fixture
def operands(two_devices: list[Any]) -> dict[str, Array]:
    """Committed to the first device, to the second, and to none."""
    first, second = two_devices
    return {
        "0": jax.device_put(X, first),
        "1": jax.device_put(X, second),
        "-": jnp.asarray(X),
        "u": jax.device_put(X, whole_on(second)).placed(whole_on(second), committed=False),
    }


# Recorded from JAX 0.10.1 on two CPU devices: device of the result, and whether it is committed.
# The functions use both operands, the first, none; hand both on; keep the operand they do not use.
BOTH, FIRST, NONE, ON, KEPT = range(5)
RULES = {
    (BOTH, "00"): (0, True), (BOTH, "11"): (1, True), (BOTH, "0-"): (0, True),
    (BOTH, "-1"): (1, True), (BOTH, "--"): (0, False), (BOTH, "01"): None, (BOTH, "10"): None,
    (BOTH, "u-"): (0, False), (BOTH, "uu"): (0, False), (BOTH, "0u"): (0, True),
    (FIRST, "01"): (0, True), (FIRST, "10"): (1, True), (FIRST, "-1"): (0, False),
    (FIRST, "1-"): (1, True), (NONE, "11"): (0, False), (NONE, "01"): (0, False),
    (ON, "01"): None, (ON, "-1"): (1, True), (ON, "1-"): (1, True), (ON, "--"): (0, False),
    (KEPT, "01"): None, (KEPT, "-1"): (1, True), (KEPT, "1-"): (1, True),
}  # fmt: skip


def function(kind: int) -> Any:
    bodies = {
        BOTH: lambda x, y: x + y,
        FIRST: lambda x, y: 2 * x,
        NONE: lambda x, y: jnp.zeros(3),
        ON: lambda x, y: (y, x),
        KEPT: lambda x, y: 2 * x,
    }
    return jax.jit(bodies[kind], keep_unused=kind == KEPT)


@pytest.mark.parametrize(("kind", "given"), RULES)
def test_committed_operands_decide(
    kind: int, given: str, operands: dict[str, Array], two_devices: list[Any]
) -> None:
    f, expected = function(kind), RULES[kind, given]
    x, y = (operands[name] for name in given)
    # The first call is Python's, later ones are compiled, with another plan known meanwhile.
    for call in (f, f, lambda x, y: (f(X, X), f(x, y))[1]):
        if expected is None:
            pattern = r"(?s)^jit of .*argument x, .*argument y, .*fix:"
            with pytest.raises(ValueError, match=pattern):
                call(x, y)
            continue
        for result in jax.tree.leaves(call(x, y)):
            assert (result.device, result.committed) == (two_devices[expected[0]], expected[1])


def test_the_default_device(operands: dict[str, Array], two_devices: list[Any]) -> None:
    f = function(BOTH)
    with override(default_device=two_devices[1]):
        for given, place in {"--": (1, False), "0-": (0, True), "u-": (1, False)}.items():
            for _ in range(2):
                result = f(*[operands[name] for name in given])
                assert (result.device, result.committed) == (two_devices[place[0]], place[1])
        result = f(1.0, 2.0)
        assert (result.device, result.committed) == (two_devices[1], False)


def test_numbers_and_numpy_arrays_bind_nothing(operands: dict[str, Array]) -> None:
    f = function(BOTH)
    for other in (1.0, X, np.float32(2)):
        for _ in range(2):
            result = f(operands["1"], other)
            assert (result.place, result.committed) == (operands["1"].place, True)
            np.testing.assert_array_equal(result, X + other)


def test_a_plan_is_found_by_its_places(operands: dict[str, Array], two_devices: list[Any]) -> None:
    traced = jax.jit(lambda x, y: x - y).trace(X, X)
    for given in ("00", "11", "--", "1-"):
        for _ in range(2):
            traced.apply([operands[name] for name in given])
    here, there = map(whole_on, two_devices)
    assert set(traced._plans) == {here, there}
    assert default_place() is here
    for place, plan in traced._plans.items():
        assert plan.places is Places.all_at(place, 2, 1)
        assert plan.places is Places((place,) * 2, (place,), plan.places.devices)


def test_operands_in_parts_stay_as_they_lie(two_devices: list[Any]) -> None:
    rows = Split(two_devices, 0)
    whole = repeated_on(tuple(two_devices))
    x = rows.distribute(Array.from_host(X))
    f = jax.jit(lambda x, y: (x * y, x.sum(), y))
    jaxpr = f.trace(x, 2.0).jaxpr
    assert binding_operands(jaxpr, keeps_unused=False) == (0, 1)
    places, committed = place_of_call(jaxpr, [x, jnp.float32(2)], (0, 1))
    assert committed
    assert places is Places((rows, whole), (None,) * 3, tuple(two_devices))
    for _ in range(3):
        product, total, same = f(x, np.float32(2))
        assert [r.place for r in (total, same)] == [whole] * 2
        assert product.place.is_equivalent_to(rows, X.ndim)
        assert product.committed
        np.testing.assert_array_equal(product, 2 * X)
        assert (float(total), float(same)) == (X.sum(), 2)
    np.testing.assert_array_equal(x + x, 2 * X)
    assert (x + 1).place is product.place
    # One order of the devices is not the other; nor is one of them both.
    for other in (Split(two_devices[::-1], 0).distribute(x), jax.device_put(X, two_devices[0])):
        for g in (f, jnp.add):
            with pytest.raises(ValueError, match=r"(?s)same devices, in the same order.*fix:"):
                g(x, other)


# An operation with a body runs on one device, and all its results are bound to it: in JAX 0.10.1
# too, but for what a loop hands on as it is.
EAGER = {
    "scan": lambda x, y: lax.scan(lambda c, v: (c + v, (2 * v, 1.0)), x[0], y),
    "while": lambda x, y: lax.while_loop(
        lambda c: c[0] < 3, lambda c: (c[0] + 1, c[1] + c[2], c[2]), (0, x, y)
    ),
    "cond": lambda x, y: lax.cond(True, lambda x, y: (x, 1.0), lambda x, y: (y, 2.0), x, y),
    "long": lambda x, y: lax.fori_loop(0, 100, lambda i, c: (c[0] + c[1], c[1]), (x, y)),
}


@pytest.mark.parametrize("name", EAGER)
@pytest.mark.parametrize("given", ["00", "11", "0-", "-0", "1-", "-1", "--", "01"])
def test_eager_operations_with_a_body(
    name: str, given: str, operands: dict[str, Array], two_devices: list[Any]
) -> None:
    x, y = (operands[which] for which in given)
    if given == "01":
        with pytest.raises(ValueError, match=r"(?s)committed to one device.*fix:"):
            EAGER[name](x, y)
        return
    place = two_devices[int("1" in given)]
    results = jax.tree.leaves(EAGER[name](x, y))
    assert {(r.device, r.committed) for r in results} == {(place, given != "--")}


@pytest.mark.parametrize("given", ["00", "11", "-1", "1-", "--", "1n"])
def test_lowered_for_the_place_of_the_arguments(
    given: str, operands: dict[str, Array], two_devices: list[Any]
) -> None:
    operands["n"] = jax.ShapeDtypeStruct((4,), np.float32)
    f = function(BOTH)
    arguments = [operands[name] for name in given]
    compiled = f.lower(*arguments).compile()
    device = two_devices[int("1" in given)]
    result = compiled(*[X if x is operands["n"] else x for x in arguments])
    assert (result.device, result.committed) == (device, given != "--")
    assert compiled(X, X).device is device
    other = operands["0" if "1" in given else "1"]
    with pytest.raises(ValueError, match=r"(?s)compiled .*fix:"):
        compiled(other, X)
    # The place is that of this lowering, not of the function.
    assert f(X, X).device is two_devices[0]
    assert f.lower(X, X).compile()(X, X).device is two_devices[0]


def test_arguments_on_two_devices_are_not_lowered(operands: dict[str, Array]) -> None:
    with pytest.raises(ValueError, match=r"(?s)^jit of .*argument x, .*argument y, .*fix:"):
        function(BOTH).lower(operands["0"], operands["1"])
    assert function(FIRST).lower(operands["1"], operands["0"]).compile()(X, X).device.id == 1
