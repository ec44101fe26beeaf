"""The option that leaves mesh axes of one device out of types."""

from __future__ import annotations

from typing import Any

import numpy as np

import morphax as jax
import morphax.numpy as jnp
from morphax import P, lax
from morphax.sharding import reshard


def test_types_leave_them_out() -> None:
    mesh = jax.make_mesh((2, 2, 1), ("a", "b", "c"), devices=jax.devices("cpu")[:4])
    spec = P("a", None, ("b", "c"))
    with jax.set_mesh(mesh):
        assert str(jax.typeof(reshard(np.ones((4, 2, 4)), spec))) == "float32[4@a,2,4@(b,c)]"
        with jax.remove_size_one_mesh_axis_from_type(True):
            x = reshard(np.ones((4, 2, 4)), spec)
            assert (str(jax.typeof(x)), x.sharding.spec) == (
                "float32[4@a,2,4@b]",
                P("a", None, "b"),
            )
            seen: list[str] = []

            def member(shard: Any) -> Any:
                seen.append(str(jax.typeof(shard)))
                casted = lax.pcast(jnp.ones(()), "c", to="varying")
                return lax.psum(shard, "c") * casted + lax.axis_index("c")

            y = jax.shard_map(member, in_specs=spec, out_specs=P("a", None, "b"))(x)
            assert seen == ["float32[2,2,2]{V:(a,b)}"]
            assert str(jax.typeof(y)) == "float32[4@a,2,4@b]"

            def total(x: Any) -> Any:
                def sums(shard: Any) -> Any:
                    return lax.psum(jnp.sin(shard).sum(), ("a", "b", "c"))

                return jax.shard_map(sums, in_specs=spec, out_specs=P())(x)

            np.testing.assert_allclose(jax.grad(total)(x), np.cos(x))
