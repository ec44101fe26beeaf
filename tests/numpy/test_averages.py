"""Means over more elements than an int32 counts."""

from __future__ import annotations

import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp


@pytest.mark.parametrize("function", [jnp.mean, jnp.var, jnp.std, jnp.average, jnp.nanmean])
def test_more_elements_than_int32_counts(function: object) -> None:
    many = jax.ShapeDtypeStruct((2**16, 2**16), np.float32)
    program = jax.make_jaxpr(function)(many)
    assert program.out_avals[0].shape == ()
    if function is jnp.mean:
        assert "4294967296.0" in str(program)
