"""Parts of one process and whole arrays, where the process is alone: answers as JAX gives them."""

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


def test_local_and_global(mesh: Mesh) -> None:
    to_global, to_local = (
        hosts.host_local_array_to_global_array,
        hosts.global_array_to_host_local_array,
    )
    split, whole = NamedSharding(mesh, P("x")), NamedSharding(mesh, P())
    out = to_global({"a": X, "b": jnp.asarray(X)}, mesh, {"a": P("x"), "b": P()})
    assert (out["a"].sharding, out["b"].sharding) == (split, whole)
    assert to_local(out, mesh, P("x"))["b"] is out["b"]
    assert to_local(X, mesh, P("x")).sharding is split
    keys = to_global(jax.random.split(jax.random.key(0), 4), mesh, P("x"))
    assert keys.sharding is split
    for f in (jax.jit, jax.vmap, jax.grad):
        f(lambda x: to_local(to_global(x, mesh, P()), mesh, P()).sum())(X)
    rows = jax.vmap(lambda x: to_global(x, mesh, P("x")))(X.reshape(2, 4))
    assert rows.sharding.spec == P(None, "x")
    for f in (to_global, to_local):
        for x, m, spec, error in (
            (X, mesh, None, ValueError),
            (X, mesh, "x", TypeError),
            (X, mesh, P("z"), ValueError),
            (X, mesh, P(None, "x"), ValueError),
            (X[:3], mesh, P("x"), ValueError),
            (X, mesh.abstract_mesh, P("x"), TypeError),
            ((X, X), mesh, (P(),), ValueError),
        ):
            with pytest.raises(error, match=r"(?s)given:.*expected:.*fix:"):
                f(x, m, spec)
