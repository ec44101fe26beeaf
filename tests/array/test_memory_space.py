"""Memory spaces: arrays put in the memory of their device or of its host."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import morphax as jax
from morphax import numpy as jnp
from morphax.memory import Space


@pytest.mark.parametrize(("space", "kind"), [(Space.Device, "device"), (Space.Host, "pinned_host")])
@pytest.mark.parametrize("x", [2.0, np.arange(3.0), jnp.arange(3.0)], ids=["number", "numpy", "x"])
def test_device_put(x: Any, space: Space, kind: str) -> None:
    y = jax.device_put(x, space)
    assert (y.sharding.memory_kind, y.committed) == (kind, True)
    np.testing.assert_array_equal(y, x)


def test_there_and_back(two_devices: list[Any]) -> None:
    x = jax.device_put(jnp.arange(3.0), two_devices[1])
    there = jax.device_put(x, Space.Host)
    back = jax.device_put(there, Space.Device)
    assert there.devices() == back.devices() == {two_devices[1]}
    assert back.sharding == x.sharding
    assert back.tolist() == x.tolist()


def test_trees_and_derivatives() -> None:
    tree = jax.device_put({"a": jnp.ones(2), "b": 1.0}, {"a": Space.Host, "b": Space.Device})
    assert tree["a"].sharding.memory_kind == "pinned_host"
    gradient = jax.grad(lambda x: jnp.sum(jax.device_put(x, Space.Host) ** 2))(jnp.arange(3.0))
    assert gradient.tolist() == [0.0, 2.0, 4.0]
    assert jax.jit(lambda x: jax.device_put(x, Space.Host) + 1.0)(1.0) == 2.0


def test_any_is_no_place() -> None:
    with pytest.raises(ValueError, match=r"Space\.Any[\s\S]*Space\.Device or Space\.Host"):
        jax.device_put(1.0, Space.Any)
