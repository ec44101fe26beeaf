"""`experimental.shard_map`: the old name, with the old name of an argument."""

from __future__ import annotations

import pytest

import morphax as jax
import morphax.numpy as jnp
from morphax import P


def test_shard_map() -> None:
    with pytest.warns(DeprecationWarning, match="old name"):
        from morphax.experimental.shard_map import shard_map
    mesh = jax.make_mesh((2,), ("x",))
    for check_rep in (True, False):
        double = shard_map(lambda x: 2 * x, mesh, P("x"), P("x"), check_rep=check_rep)
        assert double(jnp.arange(4)).tolist() == [0, 2, 4, 6]
