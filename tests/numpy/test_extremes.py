"""jnp.top_k and jnp.minmax."""

from __future__ import annotations

import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp


@pytest.mark.parametrize("dtype", ["float32", "uint8", "int8", "bool", "bfloat16"])
@pytest.mark.parametrize("mode", ["largest", "smallest"])
@pytest.mark.parametrize("axis", [0, -1])
def test_top_k_takes_from_a_sorted_array(dtype: str, mode: str, axis: int) -> None:
    x = jnp.asarray(np.random.default_rng(0).integers(-9, 9, (6, 7)), dtype)
    values, places = jax.jit(lambda x: jnp.top_k(x, 3, axis=axis, mode=mode))(x)
    wide = np.asarray(x).astype("float32")
    order = np.sort(wide, axis)
    ordered = np.flip(order, axis) if mode == "largest" else order
    np.testing.assert_array_equal(np.asarray(values, "f4"), np.take(ordered, range(3), axis))
    np.testing.assert_array_equal(np.take_along_axis(wide, np.asarray(places), axis), values)
    assert places.dtype == np.int32
    assert values.dtype == x.dtype


def test_nan_is_largest_and_the_first_of_equals_comes_first() -> None:
    x = np.float32([1, np.nan, -np.inf, 1])
    np.testing.assert_array_equal(jnp.top_k(x, 3)[1], [1, 0, 3])
    np.testing.assert_array_equal(jnp.top_k(x, 4, mode="smallest")[1], [2, 0, 3, 1])
    np.testing.assert_array_equal(
        jax.grad(lambda x: jnp.top_k(x, 2, mode="smallest")[0].sum())(x), [1, 0, 1, 0]
    )


@pytest.mark.parametrize(
    ("x", "k", "mode"),
    [([1.0], 2, "largest"), ([1.0], -1, "smallest"), ([1.0], 1, "both"), ([1j], 1, "largest")],
)
def test_top_k_refuses(x: list[complex], k: int, mode: str) -> None:
    with pytest.raises(ValueError, match=r"jnp\.top_k"):
        jnp.top_k(np.array(x), k, mode=mode)


def test_minmax() -> None:
    x = np.float32([[3, 1], [2, 5]])
    for given, expected in zip(jnp.minmax(x, 1, keepdims=True), (x.min, x.max), strict=True):
        np.testing.assert_array_equal(given, expected(1, keepdims=True))
    assert jnp.minmax(x, where=x < 3, initial=(9.0, 0.0)) == (1, 2)
    assert all(np.isnan(jnp.minmax(np.float32([1, np.nan]))))
    with pytest.raises(ValueError, match="initial"):
        jnp.minmax(np.zeros(0))
    with pytest.raises(ValueError, match="a tuple of 3"):
        jnp.minmax(x, initial=(1, 2, 3))
