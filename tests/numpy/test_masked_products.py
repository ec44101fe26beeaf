"""A product with an array of truth values chooses: what is masked is 0, NaN and infinities too."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp
from morphax.sharding import AxisType
from morphax.sharding import PartitionSpec as P

SPECIAL = [np.nan, np.inf, -np.inf, -2.0, -0.0, 3.0, np.nan, -0.0, 5.0]
MASK = np.array([0, 0, 0, 0, 0, 0, 1, 1, 1], bool)
WAYS: dict[str, Any] = {
    "eager": jnp.multiply,
    "operator": lambda x, m: x * m,
    "other way round": lambda x, m: m * x,
    "jit": jax.jit(lambda x, m: x * m),
    "large": jax.jit(lambda x, m: (jnp.tile(x, 9000) * jnp.tile(m, 9000))[: x.size]),
    "vmap": jax.vmap(jnp.multiply),
    "scan": lambda x, m: jax.lax.scan(lambda c, both: (c, both[0] * both[1]), 0, (x, m))[1],
    "linear": lambda x, m: jax.linear_transpose(lambda t: t * m, x)(x)[0],
    "tangent": lambda x, m: jax.jvp(lambda t: t * m, (x,), (x,))[1],
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("dtype", ["float16", "float32", "complex64"])
def test_masked_elements_are_zero(way: str, dtype: str) -> None:
    x = jnp.asarray(np.array(SPECIAL, dtype))
    found = np.asarray(WAYS[way](x, jnp.asarray(MASK)))
    expected = np.where(MASK, np.asarray(x), np.zeros((), dtype))
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(np.signbit(found.real), np.signbit(expected.real))
    assert found.dtype == dtype


@pytest.mark.parametrize("dtype", ["bfloat16", "float8_e5m2"])
def test_masks_are_numbers_for_narrow_floats(dtype: str) -> None:
    found = jnp.asarray([np.nan, 1.0], dtype) * jnp.asarray([False, True])
    assert np.isnan(found[0])
    assert found[1] == 1


def test_masks_that_are_broadcast_or_python_are_numbers() -> None:
    x = jnp.asarray([[np.nan, 1.0]])
    for mask in (False, jnp.asarray(False), jnp.asarray([False]), jnp.zeros(2, bool)):
        assert np.isnan((x * mask)[0, 0])


def test_the_type_is_that_of_a_product() -> None:
    weak = jnp.asarray(2.0) * jnp.asarray(True)
    assert weak.weak_type
    assert weak == 2
    assert (jnp.arange(3) * jnp.ones(3, bool)).dtype == jnp.int32
    with jax.numpy_dtype_promotion("strict"), pytest.raises(jax.dtypes.TypePromotionError):
        jnp.ones(3) * jnp.ones(3, bool)


def test_factors_split_in_different_ways() -> None:
    mesh = jax.make_mesh((4,), ("i",), axis_types=(AxisType.Explicit,))
    x = jax.device_put(jnp.arange(8.0), jax.NamedSharding(mesh, P("i")))
    mask = jax.device_put(np.arange(8) > 3, jax.NamedSharding(mesh, P()))
    with jax.set_mesh(mesh):
        for m in (mask, x > 3):
            np.testing.assert_array_equal(x * m, [0, 0, 0, 0, 4, 5, 6, 7])
