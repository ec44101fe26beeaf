"""Shards: parts that are made when they are asked for."""

from __future__ import annotations

import numpy as np
import pytest

import morphax as jax
from morphax import NamedSharding, P
from morphax.sharding import Mesh

X = np.arange(16, dtype=np.float32).reshape(4, 4)
MESH = Mesh(np.array(jax.devices("cpu")[:4]).reshape(2, 2), ("a", "b"))
# What each device holds, and how many before it hold the same.
HELD = {
    P("a", "b"): ([X[:2, :2], X[:2, 2:], X[2:, :2], X[2:, 2:]], [0, 0, 0, 0]),
    P("b"): ([X[:2], X[2:], X[:2], X[2:]], [0, 0, 1, 1]),
    P(): ([X] * 4, [0, 1, 2, 3]),
    P(None, ("b", "a")): ([X[:, :1], X[:, 2:3], X[:, 1:2], X[:, 3:]], [0, 0, 0, 0]),
}


@pytest.mark.parametrize("spec", HELD, ids=str)
def test_what_each_device_holds(spec: P) -> None:
    x = jax.device_put(X, NamedSharding(MESH, spec))
    parts, replicas = HELD[spec]
    for shards in (x.addressable_shards, x.global_shards):
        assert [s.device for s in shards] == list(MESH.devices.flat)
        assert [s.replica_id for s in shards] == replicas
        for shard, part in zip(shards, parts, strict=True):
            assert np.array_equal(X[shard.index], part)
            assert shard.data is not None
            assert np.array_equal(shard.data, part)
            assert shard.data is shard.data
            assert shard.data.committed
            assert shard.data.devices() == {shard.device}


def test_the_order_of_questions_does_not_matter() -> None:
    x = jax.jit(lambda x: x + 1.0)(jax.device_put(X, NamedSharding(MESH, P("b"))))
    last = x.addressable_shards[3]
    assert np.array_equal(x.addressable_data(0), X[:2] + 1.0)
    assert np.array_equal(last.data, X[2:] + 1.0)  # type: ignore[arg-type]


def test_a_shard_outlives_its_array() -> None:
    x = jax.device_put(X, NamedSharding(MESH, P("a")))
    asked, later = x.addressable_shards[0], x.addressable_shards[2]
    assert np.array_equal(asked.data, X[:2])
    x.delete()
    del x
    assert np.array_equal(asked.data, X[:2])
    assert np.array_equal(later.data, X[2:])


def test_shards_of_what_was_given_away() -> None:
    x = jax.jit(lambda x: x + 1.0)(jax.device_put(X, NamedSharding(MESH, P("a"))))
    shard = x.addressable_shards[0]
    jax.jit(lambda x: x * 2.0, donate_argnums=0)(x)
    assert x.is_deleted()
    with pytest.raises(RuntimeError, match="deleted"):
        _ = x.addressable_shards
    with pytest.raises(RuntimeError, match="a part of an array that was donated"):
        _ = shard.data
