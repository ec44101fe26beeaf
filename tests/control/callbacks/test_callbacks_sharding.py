"""inspect_array_sharding: at once for arrays, after compilation for values of programs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp
from morphax import NamedSharding, P
from morphax.sharding import Mesh, SingleDeviceSharding

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


MESH = Mesh(np.array(jax.devices("cpu")[:4]).reshape(2, 2), ("x", "y"))


def inspected(told: list[Any]) -> Any:
    def f(x: Any) -> Any:
        jax.debug.inspect_array_sharding(x, callback=told.append)
        return x

    return f


# What is told of a value that is computed from an array split as P("x", "y"), as JAX tells it.
WITHIN: dict[str, tuple[Any, P]] = {
    "argument": (lambda f: f, P("x", "y")),
    "elementwise": (lambda f: lambda x: f(2 * x), P("x", "y")),
    "product": (lambda f: lambda x: jnp.sin(f(x @ x.T)), P("x")),
    "transpose": (lambda f: lambda x: f(x.T), P("y", "x")),
    "scalar": (lambda f: lambda x: f(x.sum()), P()),
    "vmap": (lambda f: jax.vmap(f), P("x", "y")),
    "grad": (lambda f: jax.grad(lambda x: f(x).sum()), P("x", "y")),
    "not used": (lambda f: lambda x: (f(x > 3), 1)[1], P("x", "y")),
    "loop": (lambda f: lambda x: jax.lax.fori_loop(0, 2, lambda _, c: f(c), x), P("x", "y")),
    "branch": (lambda f: lambda x: jax.lax.cond(x[0, 0] > 0, f, lambda x: x, x), P("x", "y")),
    "two axes": (
        lambda f: (
            lambda x: f(jax.lax.with_sharding_constraint(x, NamedSharding(MESH, P(("y", "x")))))
        ),
        P(("y", "x")),
    ),
}


@pytest.mark.parametrize("name", WITHIN)
def test_told_by_the_compiler(name: str) -> None:
    program, spec = WITHIN[name]
    told: list[Any] = []
    x = jax.device_put(np.arange(32.0).reshape(4, 8), NamedSharding(MESH, P("x", "y")))
    f = program(inspected(told))
    given = jax.jit(f)(x)
    jax.jit(f)(x)
    assert [s.spec for s in told] == [spec]
    assert told[0].mesh is MESH
    np.testing.assert_allclose(given, jax.jit(f)(np.asarray(x)), rtol=1e-6)


def test_keys_and_failures() -> None:
    told: list[Any] = []
    split = NamedSharding(MESH, P("x"))
    for kind in ("threefry2x32", "rbg"):
        keys = jax.device_put(jax.random.split(jax.random.key(0, impl=kind), 4), split)
        jax.jit(lambda keys: jax.random.key_data(inspected(told)(keys)))(keys)
    assert told == [split, split]

    def failing(x: Any) -> Any:
        jax.debug.inspect_array_sharding(x, callback=[].index)
        return x

    with pytest.raises(ValueError, match="not in list"):
        jax.jit(failing)(jax.device_put(X[:2], split))


def test_drawn_within_a_program(capsys: Any) -> None:
    def f(x: Any) -> Any:
        jax.debug.visualize_array_sharding(2 * x, scale=0.5)
        return x

    jax.jit(f)(jax.device_put(np.ones((4, 4)), NamedSharding(MESH, P("x", "y"))))
    assert capsys.readouterr().out.count("CPU") == 4


@pytest.mark.parametrize(
    ("names", "spec", "told_spec"),
    [
        ({"x", "y"}, P("x", "y"), P()),
        ({"x"}, P("x"), P(None, "y")),
        ({"y"}, P(None, "y"), P("x")),
    ],
    ids=["both", "x", "y"],
)
def test_told_of_members(names: set[str], spec: P, told_spec: P) -> None:
    """What a member has is whole along its own axes; over others the compiler may split it."""
    told: list[Any] = []
    x = jax.device_put(np.arange(32.0).reshape(4, 8), NamedSharding(MESH, P("x", "y")))
    f = jax.shard_map(inspected(told), mesh=MESH, in_specs=spec, out_specs=spec, axis_names=names)
    np.testing.assert_array_equal(jax.jit(f)(x), x)
    assert told == [NamedSharding(MESH, told_spec)]
