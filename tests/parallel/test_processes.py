"""What one process gets of `multihost_utils`: answers as JAX gives them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp
from morphax import NamedSharding, P
from morphax.experimental import multihost_utils as hosts
from morphax.sharding import Mesh

X = np.arange(8, dtype=np.float32)


@pytest.fixture
def mesh(two_devices: list[Any]) -> Mesh:
    return Mesh(two_devices, "x")


@pytest.mark.parametrize("value", [X, X.astype(np.float64), 3.0, 2, True, np.float32(2), "a"])
def test_values_of_all_processes(value: Any) -> None:
    truth = np.asarray(value)
    for found, shape in (
        (hosts.process_allgather(value), (1, *truth.shape)),
        (hosts.process_allgather(value, tiled=True), truth.shape),
        (hosts.broadcast_one_to_all(value), truth.shape),
        (hosts.broadcast_one_to_all(value, is_source=False), truth.shape),
    ):
        assert type(found) is np.ndarray
        assert (found.shape, found.dtype) == (shape, truth.dtype)
        np.testing.assert_array_equal(found.reshape(truth.shape), truth)
    hosts.assert_equal({"a": value, "b": None})


def test_agreement(mesh: Mesh) -> None:
    sharded = jax.device_put(X, NamedSharding(mesh, P("x")))
    np.testing.assert_array_equal(hosts.process_allgather(sharded, tiled=True), X)
    hosts.assert_equal([sharded, jnp.asarray(X)])
    with pytest.raises(AssertionError, match=r"steps differ\. Expected: nan; got: nan"):
        hosts.assert_equal(np.nan, "steps differ")
    hosts.sync_global_devices("here")
    assert hosts.reached_preemption_sync_point(3) is False
    key = jax.random.key(0)
    for refuse in (
        hosts.process_allgather,
        hosts.broadcast_one_to_all,
        hosts.assert_equal,
        hosts.sync_global_devices,
    ):
        with pytest.raises(TypeError):
            refuse(key)
    with pytest.raises(jax.errors.TracerArrayConversionError):
        jax.jit(hosts.process_allgather)(X)
