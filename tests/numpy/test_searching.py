"""Searching in sorted vectors."""

from __future__ import annotations

import bisect
from typing import Any

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


def complex_numbers_with_nan(count: int, seed: int) -> np.ndarray[Any, Any]:
    parts = np.array([0, 1, -0.0, np.nan, 2, np.inf, -np.inf], np.float32)
    return np.random.default_rng(seed).choice(parts, (count, 2)).view(np.complex64)[:, 0]


@pytest.mark.parametrize("method", ["scan", "sort", "compare_all"])
@pytest.mark.parametrize("side", ["left", "right"])
def test_searchsorted_finds_complex_numbers_where_they_are_sorted(side: str, method: str) -> None:
    def place(z: Any) -> list[Any]:
        return [(np.isnan(part), 0.0 if np.isnan(part) else part) for part in (z.real, z.imag)]

    a, v = jnp.sort(jnp.asarray(complex_numbers_with_nan(40, 0))), complex_numbers_with_nan(30, 1)
    places = list(map(place, np.asarray(a)))
    assert places == sorted(places)
    search = bisect.bisect_left if side == "left" else bisect.bisect_right
    found = jnp.searchsorted(a, v, side, method=method)
    assert found.tolist() == [search(places, place(z)) for z in v]


def test_unique_complex_numbers_have_one_nan() -> None:
    x = complex_numbers_with_nan(60, 2)
    for function in (jnp.unique, jax.jit(lambda x: jnp.unique(x, size=40, fill_value=9.0))):
        found = np.asarray(function(x))
        expected = np.unique(x)
        assert np.isnan(found).sum() == 1
        number = len(expected) - 1
        np.testing.assert_array_equal(found[:number], expected[:number])
    _, inverse, counts = jnp.unique(x, return_inverse=True, return_counts=True)
    assert (np.asarray(inverse)[np.isnan(x)] == number).all()
    assert counts[-1] == np.isnan(x).sum()


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16", "int8", "bool"])
@pytest.mark.parametrize("equal_nan", [True, False])
def test_unique_elements_are_those_at_the_first_places(dtype: str, equal_nan: bool) -> None:
    """Without places another program sorts: zeros of both signs and NaN are in the same order."""
    special = np.array([0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 2.0])
    rng = np.random.default_rng(5)
    for count in (1, 9, 3000):
        numbers = rng.choice(special[:2] if dtype in ("int8", "bool") else special, count)
        x = jnp.asarray(numbers.astype(jnp.dtype(dtype)))
        values, places = jnp.unique(x, return_index=True, equal_nan=equal_nan)
        only, counts = jnp.unique(x, return_counts=True, equal_nan=equal_nan)
        assert np.asarray(only).tobytes() == np.asarray(values).tobytes()
        assert np.asarray(x[places]).tobytes() == np.asarray(values).tobytes()
        assert int(counts.sum()) == count
        assert only.dtype == x.dtype
        traced = jax.jit(lambda x: jnp.unique(x, size=12, fill_value=7, equal_nan=equal_nan))(x)
        n = min(12, len(only))
        assert np.asarray(traced[:n]).tobytes() == np.asarray(only[:n]).tobytes()
        assert (traced[n:] == jnp.asarray(7, x.dtype)).all()


@pytest.mark.parametrize(
    ("shape", "axis"), [((2, 0), 1), ((2, 0, 3), 1), ((2, 3, 0), -1), ((0, 2), 0)]
)
def test_unique_slices_of_which_there_are_none(shape: tuple[int, ...], axis: int) -> None:
    expected = np.unique(np.zeros(shape), axis=axis)
    assert jnp.unique(jnp.zeros(shape), axis=axis).shape == expected.shape
    filled = jnp.unique(jnp.zeros(shape), axis=axis, size=4, fill_value=7)
    assert filled.shape == tuple([4 if i == axis % len(shape) else n for i, n in enumerate(shape)])
