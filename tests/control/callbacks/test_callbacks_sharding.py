"""inspect_array_sharding: at once for arrays, after compilation for values of programs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp
from morphax.sharding import SingleDeviceSharding

HERE = SingleDeviceSharding(jax.devices("cpu")[0])
X = np.arange(3, dtype=np.float32)

TOLD = {
    "eager": (lambda f: f, X, 1),
    "jit": (jax.jit, X, 1),
    "grad": (jax.grad, 1.0, 1),
    "vmap": (jax.vmap, X, 1),
    "jit of vmap": (lambda f: jax.jit(jax.vmap(f)), X, 1),
    "jit of grad": (lambda f: jax.jit(jax.grad(f)), 1.0, 1),
    "jit of loop": (lambda f: jax.jit(lambda x: jax.lax.map(f, x)), X, 1),
}


@pytest.mark.parametrize("name", TOLD)
def test_told(name: str) -> None:
    transform, x, times = TOLD[name]
    told: list[Any] = []

    def f(x: Any) -> Any:
        jax.debug.inspect_array_sharding(x, callback=told.append)
        return x * 2.0

    transform(f)(jnp.asarray(x))
    assert told == [HERE] * times


def test_told_once_per_compilation(two_devices: list[Any]) -> None:
    told: list[Any] = []
    f = jax.jit(lambda x: jax.debug.inspect_array_sharding(x, callback=told.append))
    lowered = f.lower(X)
    assert told == []
    lowered.compile()
    for device in two_devices:
        for _ in range(2):
            f(jax.device_put(X, device))
    assert set(told) == {SingleDeviceSharding(d) for d in two_devices}
    assert len(told) <= 3


def test_trees(two_devices: list[Any]) -> None:
    told: list[Any] = []
    tree = {"a": jax.device_put(X, two_devices[1]), "b": jnp.ones(2)}
    jax.debug.inspect_array_sharding(tree, callback=told.append)
    assert told == [SingleDeviceSharding(two_devices[1]), HERE]


def test_callback_must_be_callable() -> None:
    with pytest.raises(TypeError, match="inspect_array_sharding, argument callback"):
        jax.debug.inspect_array_sharding(X, callback=None)
