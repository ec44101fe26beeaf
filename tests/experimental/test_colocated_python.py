"""`experimental.colocated_python` in one process: functions are called here, as they are."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp
from morphax import NamedSharding, P
from morphax.experimental.colocated_python import (
    colocated_cpu_devices,
    colocated_python,
    colocated_python_class,
)
from morphax.sharding import Mesh, SingleDeviceSharding

DEVICES = jax.devices("cpu")[:4]
MESH = Mesh(np.array(DEVICES).reshape(2, 2), ("x", "y"))
X = jax.device_put(np.ones(4, np.float32), DEVICES[1])


def test_devices_of_the_cpu_are_their_own() -> None:
    assert colocated_cpu_devices(tuple(DEVICES)) == tuple(DEVICES)
    assert colocated_cpu_devices(MESH) is MESH
    for wrong in (3, [3]):
        with pytest.raises(TypeError, match="devices_or_mesh"):
            colocated_cpu_devices(wrong)


@pytest.mark.parametrize(
    "sharding", [SingleDeviceSharding(DEVICES[1]), NamedSharding(MESH, P("x"))]
)
def test_functions_see_arrays_as_they_lie(sharding: Any) -> None:
    seen: list[Any] = []

    @colocated_python
    def f(tree: Any, by: Any = None) -> Any:
        """What it is for."""
        seen.append(tree["x"].sharding)
        return {"sum": tree["x"] + by, "same": (tree["x"],)}

    x = jax.device_put(np.ones(4, np.float32), sharding)
    result = f({"x": x}, by=x)
    np.testing.assert_array_equal(result["sum"], 2 * np.ones(4))
    assert result["sum"].sharding is sharding is result["same"][0].sharding is seen[0]
    assert (f.__name__, f.__doc__) == ("f", "What it is for.")
    assert colocated_python(lambda x: None)(x) is None


def test_what_is_said_of_a_function() -> None:
    made = colocated_python(lambda: jnp.ones(2)).specialize(devices=DEVICES[:1])  # type: ignore[attr-defined]
    np.testing.assert_array_equal(made(), np.ones(2))
    split = NamedSharding(MESH, P("x"))
    spread = colocated_python(lambda x: x + 1).specialize(  # type: ignore[attr-defined]
        in_specs=((X,), {}),
        out_specs_fn=lambda x: jax.ShapeDtypeStruct(x.shape, x.dtype, sharding=split),
    )
    assert spread(X).sharding is split
    np.testing.assert_array_equal(spread(X), 2 * np.ones(4))
    with pytest.raises(ValueError, match="as was specialized"):
        spread(X[:2])
    with pytest.raises(ValueError, match="argument devices"):
        made.specialize(devices=DEVICES[:1])
    wrong = colocated_python(lambda x: x).specialize(out_specs_fn=lambda x: x.update(shape=(9,)))  # type: ignore[attr-defined]
    with pytest.raises(ValueError, match="results"):
        wrong(X)


def test_objects_are_made_when_they_are_needed() -> None:
    made: list[float] = []

    @colocated_python_class
    class Adder:
        def __init__(self, term: float) -> None:
            made.append(term)
            self.term = term

        def add(self, x: Any) -> Any:
            return x + self.term

    adder: Any = Adder(2.0)
    assert made == []
    np.testing.assert_array_equal(adder.add(adder.add(X)), 5 * np.ones(4))
    assert made == [2.0]
    assert not hasattr(adder, "term")


@pytest.mark.parametrize(
    "call",
    [
        lambda f: f(np.ones(4)),
        lambda f: f(X, 2),
        lambda f: f(),
        lambda f: f(X, jax.device_put(X, DEVICES[2])),
        lambda f: jax.jit(f)(X),
        lambda f: colocated_python(lambda x: 2.0)(X),
    ],
)
def test_wrong_calls(call: Any) -> None:
    with pytest.raises(ValueError, match="colocated_python"):
        call(colocated_python(lambda *args: args))


def test_exceptions_arrive_as_they_are() -> None:
    with pytest.raises(KeyError, match="oops"):
        colocated_python(lambda x: {}["oops"])(X)
    with pytest.raises(TypeError, match="argument fun"):
        colocated_python(3)  # type: ignore[arg-type]
