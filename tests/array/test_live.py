"""Which arrays are alive."""

from __future__ import annotations

import pytest

import morphax as jax
import morphax.numpy as jnp


def test_live_arrays() -> None:
    x, y = jnp.arange(3), jax.jit(lambda x: x + 1)(1.0)
    gone = jnp.arange(4)
    gone.delete()
    found = set(map(id, jax.live_arrays()))
    assert {id(x), id(y)} <= found
    assert id(gone) not in found
    before = len(jax.live_arrays("cpu"))
    del y
    assert len(jax.live_arrays("cpu")) == before - 1


def test_unknown_platforms_are_refused() -> None:
    with pytest.raises(RuntimeError, match=r"jax\.live_arrays, argument platform"):
        jax.live_arrays("abacus")
