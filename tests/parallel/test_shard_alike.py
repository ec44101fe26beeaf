"""`shard_alike`: one value is laid out as the other."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp
from morphax import NamedSharding, P
from morphax.experimental import pjit as old_names
from morphax.experimental.shard_alike import shard_alike
from morphax.sharding import Mesh

X = np.arange(8, dtype=np.float32).reshape(4, 2)


def test_values_lie_alike(two_devices: list[Any]) -> None:
    rows = NamedSharding(Mesh(two_devices, "x"), P("x"))
    sharded = jax.device_put(X, rows)
    for run in (shard_alike, jax.jit(shard_alike)):
        a, b = run(X, sharded)
        assert a.sharding is b.sharding is rows
        np.testing.assert_array_equal(a, X)
        np.testing.assert_array_equal(b, X)
    # Nothing else says how the zeros lie.
    zeros = jax.jit(lambda x: shard_alike(jnp.zeros((4, 2)), x * 2)[0])(sharded)
    assert zeros.sharding is rows


def test_derivatives_and_batches() -> None:
    def f(x: Any, y: Any) -> Any:
        a, b = shard_alike({"v": x}, {"v": jnp.sin(y)})
        return (a["v"] * b["v"]).sum()

    for run in (f, jax.jit(f)):
        dx, dy = jax.grad(run, (0, 1))(X, X)
        np.testing.assert_allclose(dx, np.sin(X), rtol=1e-6)
        np.testing.assert_allclose(dy, X * np.cos(X), rtol=1e-6)
        np.testing.assert_allclose(jax.grad(run)(X, X), np.sin(X), rtol=1e-6)
        for axes in ((0, None), (None, 1), (0, 1)):
            xs, ys = (X if a is None else np.stack([X, X + 1], a) for a in axes)
            each = [
                f(*[v if a is None else np.take(v, i, a) for v, a in zip((xs, ys), axes)])  # noqa: B905
                for i in (0, 1)
            ]
            np.testing.assert_allclose(jax.vmap(run, axes)(xs, ys), each, rtol=1e-5)


def test_refusals() -> None:
    for x, y in ((X, X[0]), ((X,), X), ({"a": X}, {"b": X})):
        with pytest.raises(ValueError, match=r"(?s)shard_alike.*given:.*expected:.*fix:"):
            shard_alike(x, y)


def test_the_old_name_of_jit() -> None:
    with pytest.warns(DeprecationWarning, match=r"old name; call jax\.jit"):
        from morphax.experimental.pjit import pjit
    assert pjit is jax.jit
    with pytest.raises(AttributeError, match="no attribute 'pmap'"):
        _ = old_names.pmap
