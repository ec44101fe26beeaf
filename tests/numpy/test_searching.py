"""Searching in sorted vectors."""

from __future__ import annotations

import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("dtype", ["float32", "int32", "uint8", "complex64", "bool"])
@pytest.mark.parametrize(("size", "shape"), [(200, (300,)), (0, (5000,)), (100, (20, 30))])
def test_searchsorted_by_sorting(side: str, dtype: str, size: int, shape: tuple[int, ...]) -> None:
    rng = np.random.default_rng(0)
    a = np.sort(rng.integers(0, 30, size).astype(dtype))
    v = rng.integers(0, 33, shape).astype(dtype)
    if dtype == "float32" and size:
        a[-3:], a[a == 0] = np.nan, -0.0
        v[v == 5] = np.nan
    found = jnp.searchsorted(a, v, side, method="sort")
    np.testing.assert_array_equal(found, np.searchsorted(a, v, side))
    assert found.dtype == jnp.searchsorted(a, v, side).dtype


def test_searchsorted_by_sorting_needs_little_memory() -> None:
    a, v = np.arange(100_000, dtype=np.float32), np.float32([7, 50_000.5])
    found = jnp.searchsorted(a, np.tile(v, 200_000), method="sort")
    np.testing.assert_array_equal(found[:2], [7, 50_001])


def test_searchsorted_in_wide_integers() -> None:
    with jax.enable_x64(True):
        found = jnp.searchsorted(jnp.arange(4096.0), jnp.array([-1.0, 2.5, 5000.0]), method="scan")
    assert found.tolist() == [0, 3, 4096]


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("dtype", ["bfloat16", "float8_e4m3fn", "float32", "int32", "bool"])
def test_searchsorted_in_eager_mode_is_that_of_the_loop(side: str, dtype: str) -> None:
    rng = np.random.default_rng(0)
    numbers = [rng.integers(-9, 9, 200), [0.0] * 9, [-0.0] * 9]
    numbers += [[np.nan] * 3] if "float" in dtype else []
    a = jnp.sort(jnp.asarray(np.concatenate(numbers), dtype))
    v = jnp.asarray(rng.permutation(np.concatenate(numbers)), dtype)
    found = jnp.searchsorted(a, v, side)
    expected = jax.jit(jnp.searchsorted, static_argnums=2)(a, v, side)
    np.testing.assert_array_equal(found, expected)
    assert found.dtype == expected.dtype


@pytest.mark.parametrize(
    ("shape", "axis"), [((2, 0), 1), ((2, 0, 3), 1), ((2, 3, 0), -1), ((0, 2), 0)]
)
def test_unique_slices_of_which_there_are_none(shape: tuple[int, ...], axis: int) -> None:
    expected = np.unique(np.zeros(shape), axis=axis)
    assert jnp.unique(jnp.zeros(shape), axis=axis).shape == expected.shape
    filled = jnp.unique(jnp.zeros(shape), axis=axis, size=4, fill_value=7)
    assert filled.shape == tuple([4 if i == axis % len(shape) else n for i, n in enumerate(shape)])
