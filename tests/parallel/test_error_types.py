"""Wrong arguments of shardings, meshes and places: the kinds of errors that programs catch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp
from morphax import NamedSharding, P, lax
from morphax.sharding import AbstractMesh, AxisType, SingleDeviceSharding, reshard

DEVICES = jax.devices("cpu")[:4]
MESH = jax.make_mesh((2, 2), ("x", "y"), (AxisType.Auto,) * 2, devices=DEVICES)
SPLIT = NamedSharding(MESH, P("x", "y"))
X = jnp.ones((8, 4))


def under_mesh(function: Callable[[], Any]) -> Callable[[], Any]:
    def run() -> Any:
        with jax.set_mesh(jax.make_mesh((2, 2), ("x", "y"), devices=DEVICES)):
            return function()

    return run


def members(out_specs: Any) -> Any:
    return jax.shard_map(lambda x: x, mesh=MESH, in_specs=P("x"), out_specs=out_specs)(X)


def assembled(shape: tuple[int, ...], sharding: Any, *arrays: Any) -> Any:
    return jax.make_array_from_single_device_arrays(shape, sharding, list(arrays))


CASES: dict[str, tuple[Callable[[], Any], type[Exception]]] = {
    "None in a spec": (lambda: P(unreduced={None}), ValueError),
    "negative axis of a mesh": (lambda: jax.make_mesh((-1,), ("x",)), ValueError),
    "text as a size": (lambda: jax.make_mesh(("a",), ("x",)), ValueError),
    "one size": (lambda: jax.make_mesh(2, ("x",)), TypeError),
    "set_mesh": (lambda: jax.set_mesh(3), ValueError),
    "set_mesh without devices": (lambda: jax.set_mesh(AbstractMesh((2,), ("x",))), ValueError),
    "default_device": (lambda: jax.default_device(3), ValueError),
    "to_device": (lambda: X.to_device("cpu"), ValueError),
    "negative size": (
        lambda: jax.make_array_from_callback((-8, 4), SPLIT, lambda index: X[index]),
        ValueError,
    ),
    "no sizes": (lambda: jax.make_array_from_callback("ab", SPLIT, lambda index: X), TypeError),
    "a part in parts": (
        lambda: assembled((8, 4), SingleDeviceSharding(DEVICES[1]), jax.device_put(X, SPLIT)),
        ValueError,
    ),
    "no part": (lambda: assembled((8, 4), SingleDeviceSharding(DEVICES[1]), np.ones(3)), TypeError),
    "device and in_shardings": (
        lambda: jax.jit(lambda x: x, in_shardings=SPLIT, device=DEVICES[0])(X),
        ValueError,
    ),
    "backend and out_shardings": (
        lambda: jax.jit(lambda x: x, out_shardings=SPLIT, backend="cpu")(X),
        ValueError,
    ),
    "spec without a mesh": (
        lambda: jax.ShapeDtypeStruct((8, 4), np.float32, sharding=P("x")),
        TypeError,
    ),
    "spec of more axes": (
        lambda: jax.ShapeDtypeStruct((8,), np.float32, sharding=SPLIT),
        ValueError,
    ),
    "reshard as None": (under_mesh(lambda: reshard(X, None)), ValueError),
    "reshard as text": (under_mesh(lambda: reshard(X, "x")), TypeError),
    "out_specs of None": (lambda: members(None), ValueError),
    "out_specs of text": (lambda: members("x"), TypeError),
    "axis as an index": (lambda: jnp.swapaxes(X, 0, 5), IndexError),
    "axis as a value": (lambda: jnp.swapaxes(X, 0, 5), ValueError),
    "argmax": (lambda: jnp.argmax(X, 7), IndexError),
    "sum": (lambda: jnp.sum(X, 7), ValueError),
    "pmap": (lambda: jax.pmap(lambda x: x, in_axes=5)(np.ones((2, 2))), IndexError),
    "broadcast_in_dim": (lambda: lax.broadcast_in_dim(X, (8, 3), (0, 1)), TypeError),
    "rev": (lambda: lax.rev(X, (9,)), TypeError),
    "number of devices": (
        lambda: jax.config.update("jax_num_cpu_devices", len(jax.devices("cpu")) + 1),
        RuntimeError,
    ),
    "number of devices in words": (
        lambda: jax.config.update("jax_num_cpu_devices", "many"),
        ValueError,
    ),
    "number of processes": (
        lambda: jax.distributed.initialize("127.0.0.1:1", "a", 0),  # type: ignore[arg-type]
        TypeError,
    ),
    "numbers of GPUs": (
        lambda: jax.distributed.initialize("127.0.0.1:1", 1, 0, "a"),  # type: ignore[arg-type]
        ValueError,
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_kinds_of_errors(name: str) -> None:
    function, kind = CASES[name]
    with pytest.raises(kind, match=r"given:[\s\S]*expected:[\s\S]*fix:"):
        function()


def test_a_struct_by_a_spec() -> None:
    with jax.set_mesh(MESH):
        struct = jax.ShapeDtypeStruct((8, 4), np.float32, sharding=P("x"))
    assert struct.sharding == NamedSharding(MESH, P("x"))
    compiled = jax.jit(lambda x: x + 1).lower(struct).compile()
    assert compiled.input_shardings[0][0] == struct.sharding


def test_the_number_of_devices_there_are_may_be_set() -> None:
    before = jax.config.values["jax_num_cpu_devices"]
    try:
        jax.config.update("jax_num_cpu_devices", len(jax.devices("cpu")))
    finally:
        jax.config.update("jax_num_cpu_devices", before)
