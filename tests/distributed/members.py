"""Checks that need several processes: all of them run each."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp
from morphax import NamedSharding, P
from morphax.experimental import mesh_utils
from morphax.experimental import multihost_utils as hosts
from morphax.extend import backend
from morphax.sharding import Mesh

from .programs import AXIS, mesh, numbers

X = np.arange(16, dtype=np.float32)
FOUR_PARTS = r"(?s)given:.*expected:.*fix:"


def devices() -> None:
    n, own = jax.process_count("cpu"), jax.process_index("cpu")
    assert jax.distributed.is_initialized()
    assert jax.process_indices("cpu") == list(range(n))
    assert jax.device_count("cpu") == n * jax.local_device_count("cpu")
    for process in range(n):
        found = jax.local_devices(process, backend="cpu")
        assert [d.process_index for d in found] == [process] * jax.local_device_count("cpu")
    assert jax.local_devices(backend="cpu") == jax.local_devices(own, backend="cpu")
    assert jnp.ones(3).devices() == {jax.local_devices(backend="cpu")[0]}
    m = mesh()
    assert m.is_multi_process
    assert list(m.local_mesh.devices) == jax.local_devices(backend="cpu")
    rows = NamedSharding(m, P(AXIS))
    assert pickle.loads(pickle.dumps(rows)) is rows
    hybrid = mesh_utils.create_hybrid_device_mesh((1, 2), (n, 1), process_is_granule=True)
    assert [row[0].process_index for row in hybrid] == list(range(n))
    with pytest.raises(RuntimeError, match=FOUR_PARTS):
        jax.distributed.initialize()
    with pytest.raises(RuntimeError, match=r"(?s)several processes.*fix:.*shutdown"):
        backend.clear_backends()


def reading() -> None:
    rows, whole = NamedSharding(mesh(), P(AXIS)), NamedSharding(mesh(), P())
    split, repeated = jax.device_put(X, rows), jax.device_put(X, whole)
    assert (split.is_fully_addressable, split.is_fully_replicated) == (False, False)
    assert (repeated.is_fully_addressable, repeated.is_fully_replicated) == (False, True)
    for text in (repr(split), str(split), f"{split}"):
        assert text == "Array(shape=(16,), dtype=float32)"
    refused: list[Callable[[Any], Any]] = [
        np.asarray,
        jax.device_get,
        pickle.dumps,
        lambda x: x.tolist(),
        lambda x: x.item(0),
        lambda x: x.tobytes(),
        lambda x: jax.jit(lambda: x + 1)(),
        hosts.broadcast_one_to_all,
    ]
    for read in refused:
        with pytest.raises(RuntimeError, match=r"(?s)several processes.*fix:.*allgather"):
            read(split)
    np.testing.assert_array_equal(repeated, X)
    assert str(repeated) == str(X)
    for again in (copy.copy(split), split + 0, jnp.asarray(split)):
        assert again.sharding is rows
        np.testing.assert_array_equal(numbers(again), X)
    assert float(split.sum()) == X.sum()
    assert bool((split == repeated).all())
    mine = [shard for shard in split.global_shards if shard.data is not None]
    assert [shard.device for shard in mine] == jax.local_devices(backend="cpu")
    for shard in mine:
        np.testing.assert_array_equal(shard.data, X[shard.index])


def putting() -> None:
    rows, whole = NamedSharding(mesh(), P(AXIS)), NamedSharding(mesh(), P())
    own = jax.process_index("cpu")
    for place in (rows, whole):
        with pytest.raises(AssertionError, match=r"(?s)process_local_data|same in all"):
            jax.device_put(X + own, place)
    here = jax.local_devices(backend="cpu")[0]
    refused: list[Callable[[], Any]] = [
        lambda: jax.device_put(jax.device_put(X, here), rows),
        lambda: jax.device_put(jax.device_put(X, rows), here),
        lambda: jax.device_put(X, rows) + jax.device_put(X, here),
        lambda: jax.make_array_from_process_local_data(rows, X[:3]),
        lambda: jax.make_array_from_process_local_data(whole, X, (2 * X.size,)),
        lambda: jax.make_array_from_single_device_arrays(X.shape, rows, []),
    ]
    for put in refused:
        with pytest.raises(ValueError, match=FOUR_PARTS):
            put()
    last = jax.process_count("cpu") - 1
    far = jax.local_devices(last, backend="cpu")[0]
    x = jax.device_put(X, far)
    assert x.is_fully_addressable == (own == last)
    assert [s.data is not None for s in x.global_shards] == [own == last]
    if own != last:
        assert x.addressable_shards == []
        place = jax.sharding.SingleDeviceSharding(far)
        with pytest.raises(ValueError, match=r"(?s)argument dtype.*fix:"):
            jax.make_array_from_callback((2,), place, lambda index: X[:2])
        y = jax.make_array_from_callback((2,), place, lambda index: X[:2], dtype=np.float32)
        assert str(y) == "Array(shape=(2,), dtype=float32)"
    double = jax.jit(lambda x: jax.pure_callback(lambda x: np.asarray(x) * 2, x, x))
    np.testing.assert_array_equal(numbers(double(jax.device_put(X, rows))), 2 * X)


def exchange() -> None:
    n, own = jax.process_count("cpu"), jax.process_index("cpu")
    everyone = np.arange(n)
    found = hosts.process_allgather({"a": own, "b": np.full(2, own, np.float32)})
    np.testing.assert_array_equal(found["a"], everyone)
    np.testing.assert_array_equal(found["b"], np.repeat(everyone, 2).reshape(n, 2))
    flat = hosts.process_allgather(np.full(2, own), tiled=True)
    np.testing.assert_array_equal(flat, np.repeat(everyone, 2))
    np.testing.assert_array_equal(hosts.process_allgather(own == 0), everyone == 0)
    for source in (0, n - 1):
        value = {"x": own, "nan": np.array([np.nan, -0.0, own])}
        got = hosts.broadcast_one_to_all(value, is_source=own == source)
        assert got["x"] == source
        np.testing.assert_array_equal(got["nan"], np.float32([np.nan, -0.0, source]))
        assert np.signbit(got["nan"][1])
    assert hosts.broadcast_one_to_all(own) == 0
    for everywhere in (True, False):
        with pytest.raises(ValueError, match=FOUR_PARTS):
            hosts.broadcast_one_to_all(own, is_source=everywhere)
    hosts.assert_equal({"a": X, "b": 1})
    with pytest.raises(AssertionError, match="steps differ"):
        hosts.assert_equal(own, "steps differ")
    hosts.sync_global_devices("here")
    for differing in (
        lambda: hosts.sync_global_devices(f"at {own}"),
        lambda: hosts.process_allgather(np.zeros(1 + own)),
        lambda: hosts.process_allgather(np.zeros(1, np.float32 if own else np.int32)),
        lambda: hosts.process_allgather([1] * (1 + own)),
    ):
        with pytest.raises(AssertionError, match=FOUR_PARTS):
            differing()
    split = jax.device_put(X, NamedSharding(mesh(), P(AXIS)))
    np.testing.assert_array_equal(hosts.process_allgather(split, tiled=True), X)
    with pytest.raises(ValueError, match=FOUR_PARTS):
        hosts.process_allgather(split)
    assert not hosts.reached_preemption_sync_point(0)
    with hosts.live_devices(jax.devices("cpu")) as alive:
        assert alive == jax.devices("cpu")


def host_local() -> None:
    n, own = jax.process_count("cpu"), jax.process_index("cpu")
    part = X[: 2 * n] + 100 * own
    x = hosts.host_local_array_to_global_array(part, mesh(), P(AXIS))
    assert x.shape == (n * part.size,)
    assert hosts.host_local_array_to_global_array(x, mesh(), P(AXIS)) is x
    back = hosts.global_array_to_host_local_array(x, mesh(), P(AXIS))
    np.testing.assert_array_equal(back, part)
    assert back.is_fully_addressable
    all_of_it = hosts.global_array_to_host_local_array(x, mesh(), P())
    np.testing.assert_array_equal(all_of_it, numbers(x))
    grid = Mesh(mesh().devices.reshape(n, -1), ("process", "local"))
    y = hosts.host_local_array_to_global_array(part, grid, P("local"))
    assert y.shape == part.shape
    z = jax.make_array_from_process_local_data(
        NamedSharding(grid, P("process", "local")), np.full((1, 4), own)
    )
    np.testing.assert_array_equal(numbers(z), np.repeat(np.arange(n), 4).reshape(n, 4))


CHECKS = (devices, reading, putting, exchange, host_local)
