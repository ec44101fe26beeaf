"""Arrays moved from one sharding to another: the same numbers, and no copy where they lie alike."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp
from morphax import NamedSharding, P
from morphax.sharding import Mesh

from ..stress.process import run

X = np.arange(32, dtype=np.float32).reshape(8, 4)


def test_from_anywhere_to_anywhere() -> None:
    out = run("""
        import numpy as np
        jax.config.update("jax_num_cpu_devices", 8)
        P = jax.P
        mesh = jax.sharding.Mesh(np.array(jax.devices()).reshape(4, 2), ("x", "y"))
        turned = jax.sharding.Mesh(mesh.devices[::-1], ("x", "y"))
        half = jax.sharding.Mesh(mesh.devices[:2], ("x", "y"))
        specs = [P(), P("x"), P("y"), P(None, "x"), P("y", "x"), P(("y", "x"))]
        places = [jax.NamedSharding(m, s) for m in (mesh, turned, half) for s in specs]
        places.append(jax.sharding.SingleDeviceSharding(jax.devices()[3]))
        truth = np.arange(32, dtype=np.float32).reshape(8, 4)
        for place in places:
            for other in places:
                x = jax.device_put(truth, place) + 1
                y = jax.device_put(x, other)
                assert y.sharding is other
                for shard in y.addressable_shards:
                    np.testing.assert_array_equal(shard.data, truth[shard.index] + 1)
                assert (y + 1).sharding.is_equivalent_to(other, 2)
                x.delete()
                np.testing.assert_array_equal(y, truth + 1)
        for dtype in ("bool", "int8", "uint4", "bfloat16", "complex64", "float8_e4m3fn"):
            x = jax.device_put(jnp.arange(8).astype(dtype), places[1]) * jnp.ones((), dtype)
            y = jax.device_put(x, places[2])
            assert y.dtype == dtype
            np.testing.assert_array_equal(y, x)
        keys = jax.random.split(jax.random.key(0), 8)
        moved = jax.device_put(jax.device_put(keys, places[1]), places[2])
        np.testing.assert_array_equal(jax.random.key_data(moved), jax.random.key_data(keys))
        empty = jax.device_put(jax.device_put(truth[:0], places[1]) + 1, places[3])
        assert empty.shape == (0, 4)
        print("done")
    """)
    assert out == "done\n"


def test_arrays_that_lie_alike_share_memory(two_devices: list[Any]) -> None:
    mesh = Mesh(two_devices, "x")
    rows, same = NamedSharding(mesh, P("x")), NamedSharding(mesh, P("x", None))
    x = jax.device_put(X, rows) + 1
    y = jax.device_put(x, same)
    assert y.sharding is same
    addresses = [[s.data.unsafe_buffer_pointer() for s in a.addressable_shards] for a in (x, y)]
    assert addresses[0] == addresses[1]
    # A program that is given one of them does not write into the other.
    np.testing.assert_array_equal(jax.jit(lambda a: a * 2, donate_argnums=0)(x), 2 * X + 2)
    np.testing.assert_array_equal(y, X + 1)
    copied = jax.device_put(y, rows, may_alias=False)
    assert copied.addressable_data(0).unsafe_buffer_pointer() != addresses[1][0]
    f = jax.jit(lambda a: a * 2, in_shardings=rows, donate_argnums=0)
    np.testing.assert_array_equal(f(y), 2 * X + 2)
    np.testing.assert_array_equal(jnp.asarray(copied), X + 1)


def test_arrays_that_are_made_on_a_mesh(two_devices: list[Any]) -> None:
    mesh = Mesh(two_devices, "x")
    rows, whole = NamedSharding(mesh, P("x")), NamedSharding(mesh, P())
    makers: list[Any] = [
        lambda: jnp.zeros((4, 2), device=rows),
        lambda: jnp.full((4, 2), 3, device=rows),
        lambda: jnp.array([[1, 2]] * 4, device=rows),
        lambda: jnp.asarray(X, device=rows),
        lambda: jnp.eye(4, device=rows),
        lambda: jnp.arange(4, device=rows),
        lambda: jnp.linspace(0, 1, 4, device=rows),
        lambda: jnp.ones((4, 2)).astype(int, device=rows),
    ]
    for make in makers:
        here, compiled = make(), jax.jit(make)()
        assert here.committed
        assert here.sharding is rows
        np.testing.assert_allclose(compiled, here, rtol=1e-6)
        # What is an array already becomes a constant of the program.
        assert not compiled.committed or isinstance(compiled.sharding, NamedSharding)
    assert jax.jit(lambda x: jax.device_put(x, rows) + 1)(X).sharding is rows
    with jax.set_mesh(mesh):
        assert jax.jit(lambda x: jax.device_put(x, P("x")))(X).sharding is rows
    for like in (jnp.zeros_like, jnp.ones_like, jnp.empty_like, lambda x: jax.lax.full_like(x, 3)):
        for place in (rows, whole, jax.sharding.SingleDeviceSharding(two_devices[1])):
            x = jax.device_put(X, place)
            assert like(x).sharding is place
            assert like(x).committed
        assert not like(jnp.asarray(X)).committed
    x = jax.device_put(X, rows)
    assert not jnp.zeros_like(x, shape=(3,)).committed
    assert not jnp.full_like(x, np.arange(4)).committed
    assert jnp.zeros_like(x, device=whole).sharding is whole
    with pytest.raises(BufferError, match=r"(?s)over 2 devices.*fix:"):
        np.from_dlpack(x)
