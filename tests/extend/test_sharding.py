"""`jax.extend.sharding`: shardings in the compiler's words."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest

import morphax as jax
from morphax import NamedSharding, P
from morphax.extend import sharding as s
from morphax.runtime.client import xla_client
from morphax.sharding import Mesh

DEVICES = tuple(jax.devices("cpu")[:4])
X = np.arange(32.0, dtype=np.float32).reshape(4, 8)


def split(text: str) -> Any:
    return xla_client().HloSharding.from_string(text)


@pytest.mark.parametrize(
    ("text", "spec"),
    [
        ("{replicated}", P()),
        ("{devices=[2,2]<=[4]}", P("x", "y")),
        ("{devices=[4,1]<=[4]}", P(("x", "y"))),
        ("{devices=[2,1,2]<=[4] last_tile_dim_replicate}", P("x")),
        ("{devices=[1,4]0,2,1,3}", P(None, ("y", "x"))),
    ],
)
def test_the_same_as_over_a_mesh(text: str, spec: Any) -> None:
    mesh = Mesh(np.array(DEVICES).reshape(2, 2), ("x", "y"))
    one, other = s.GSPMDSharding(DEVICES, split(text)), NamedSharding(mesh, spec)
    assert one.is_equivalent_to(other, 2)
    assert other.is_equivalent_to(one, 2)
    assert one.shard_shape((4, 8)) == other.shard_shape((4, 8))
    assert one.is_fully_replicated is other.is_fully_replicated
    x = jax.device_put(X, one)
    assert x.sharding is one
    np.testing.assert_array_equal(x, X)
    for mine, theirs in zip(
        x.addressable_shards, jax.device_put(X, other).addressable_shards, strict=True
    ):
        np.testing.assert_array_equal(mine.data, theirs.data)
    y = jax.jit(lambda x: x + 1, in_shardings=one)(X)
    assert y.sharding is one
    np.testing.assert_array_equal(y, X + 1)


def test_equal_ones_are_one_object() -> None:
    one = s.GSPMDSharding(DEVICES, split("{devices=[2,2]<=[4]}"))
    assert one is s.GSPMDSharding(list(DEVICES), one_proto())
    assert one is copy.copy(one)
    assert repr(one) == "GSPMDSharding({devices=[2,2]<=[4]}, memory_kind=device)"
    assert one is not s.GSPMDSharding(DEVICES[::-1], split("{devices=[2,2]<=[4]}"))
    pinned = s.GSPMDSharding.get_replicated(DEVICES, memory_kind="pinned_host")
    assert pinned is s.GSPMDSharding.get_replicated(DEVICES).with_memory_kind("pinned_host")
    assert repr(pinned) == "GSPMDSharding({replicated}, memory_kind=pinned_host)"


def one_proto() -> Any:
    return s.get_op_sharding_from_serialized_proto(
        s.get_serialized_proto_from_hlo_sharding(split("{devices=[2,2]<=[4]}"))
    )


def test_bytes() -> None:
    for text in ("{replicated}", "{devices=[2,2]<=[4]}", "{manual}"):
        given = s.get_serialized_proto_from_hlo_sharding(split(text))
        assert s.get_hlo_sharding_from_serialized_proto(given) == split(text)


@pytest.mark.parametrize(
    ("wrong", "error", "text"),
    [
        (lambda: s.GSPMDSharding(DEVICES, 3), TypeError, "argument op_sharding"),
        (lambda: s.GSPMDSharding(3, split("{replicated}")), TypeError, "argument devices"),
        (lambda: s.GSPMDSharding((), split("{replicated}")), TypeError, "argument devices"),
        (lambda: s.GSPMDSharding(DEVICES, split("{devices=[2]<=[2]}")), ValueError, "4 devices"),
        (lambda: s.GSPMDSharding(DEVICES, split("{manual}")), ValueError, "manual"),
        (
            lambda: s.GSPMDSharding(DEVICES, split("{replicated}"), "moon"),
            ValueError,
            "memory_kind",
        ),
        (
            lambda: jax.device_put(X[:3], s.GSPMDSharding(DEVICES, split("{devices=[2,2]<=[4]}"))),
            ValueError,
            "divide",
        ),
        (lambda: s.get_op_sharding_from_serialized_proto(3), TypeError, "bytes"),  # type: ignore[arg-type]
        (lambda: s.get_serialized_proto_from_hlo_sharding(b""), TypeError, "HloSharding"),
    ],
)
def test_wrong_arguments(wrong: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        wrong()
