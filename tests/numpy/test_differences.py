"""Differences of neighbours where there are hardly any."""

from __future__ import annotations

import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp


@pytest.mark.parametrize("dtype", ["int8", "int32", "float32", "bfloat16"])
@pytest.mark.parametrize("period", [4, 4.0, 2 * np.pi])
def test_the_dtype_of_unwrapped_angles_does_not_depend_on_their_number(
    dtype: str, period: float
) -> None:
    found = {
        jax.eval_shape(lambda p: jnp.unwrap(p, period=period), jnp.zeros((2, size), dtype)).dtype
        for size in range(4)
    }
    assert len(found) == 1
    assert jnp.unwrap(jnp.zeros((2, 0), dtype), period=period).shape == (2, 0)
