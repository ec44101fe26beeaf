"""Greatest common divisors and least common multiples."""

from __future__ import annotations

import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp

DTYPES = ("int8", "uint8", "int16", "int32", "uint32")


@pytest.mark.parametrize("name", ["gcd", "lcm"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_every_pair_is_as_in_numpy(name: str, dtype: str) -> None:
    limits = np.iinfo(dtype)
    values = np.array([0, 1, 2, 6, 12, 35, 97, limits.max, limits.min], dtype)
    values = np.concatenate([values, -values]) if limits.min else values
    expected = getattr(np, name)(values[:, None], values)
    function = getattr(jnp, name)
    for given in (function(values[:, None], values), jax.jit(function)(values[:, None], values)):
        assert given.dtype == dtype
        np.testing.assert_array_equal(given, expected)


def test_shapes_and_batches() -> None:
    assert jnp.gcd(np.zeros((0, 3), int), 5).shape == (0, 3)
    assert jnp.gcd(12, 18) == 6
    both = jax.vmap(jnp.lcm, (0, None))(np.arange(4), np.int32(6))
    np.testing.assert_array_equal(both, [0, 6, 6, 6])


@pytest.mark.parametrize("function", [jnp.gcd, jnp.lcm])
@pytest.mark.parametrize("operand", [1.5, True, 1j])
def test_only_integers_have_divisors(function: object, operand: object) -> None:
    with pytest.raises(ValueError, match="expected: integers"):
        function(operand, operand)
