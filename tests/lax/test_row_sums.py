"""Sums of many rows in eager mode: their digits, whatever the axes, and special points."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp
from morphax.runtime.client import fusions_are_chosen

CASES = [
    ((10_000, 10), 0),
    ((100_003, 3), 0),
    ((9_999, 1), 0),
    ((3_000, 257), 0),
    ((257, 2), 0),
    ((100, 1000, 3), (0, 1)),
    ((1000, 3, 100), (0, 2)),
    ((1001, 5, 2), (0, 2)),
    ((16, 24, 7, 7), (0, 2, 3)),
    ((4, 5003, 7), 1),
    ((2, 300, 1, 4, 5), (1, 4)),
    ((50, 3, 40, 2, 30), (0, 2, 4)),
]


@pytest.mark.parametrize(("shape", "axes"), CASES)
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64"])
def test_sums_of_rows_have_their_digits(shape: Any, axes: Any, dtype: str) -> None:
    x = np.random.default_rng(0).random(shape).astype(dtype)
    wide = np.complex128 if dtype == "complex64" else np.longdouble
    expected = np.sum(x.astype(wide), axis=axes)
    with_64 = dtype == "float64"
    found = _summed(x, axes, with_64)
    assert found.dtype == dtype
    assert found.shape == expected.shape
    error = np.max(np.abs(found - expected) / np.abs(expected))
    # NumPy's row after row is 20 to 90 units off in these.
    assert error < 4 * np.finfo(dtype).eps


def _summed(x: np.ndarray, axes: Any, with_64: bool) -> np.ndarray:
    with jax.enable_x64(with_64):
        return np.asarray(jnp.sum(jnp.asarray(x), axes))


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 0.0, 1e-45])
def test_special_points_in_a_row(value: float) -> None:
    x = np.zeros((1000, 3, 4), np.float32)
    x[517, 1, 2] = value
    np.testing.assert_array_equal(jnp.sum(jnp.asarray(x), 0), x.sum(0))
    np.testing.assert_array_equal(jnp.sum(jnp.asarray(x), (0, 2)), x.sum((0, 2)))


def test_infinities_of_both_signs_are_nan() -> None:
    x = np.zeros((1000, 3), np.float32)
    x[3, 0], x[997, 0] = np.inf, -np.inf
    np.testing.assert_array_equal(jnp.sum(jnp.asarray(x), 0), [np.nan, 0, 0])


@pytest.mark.parametrize("dtype", ["int32", "bool", "float16", "bfloat16"])
def test_other_dtypes_are_summed_as_before(dtype: str) -> None:
    x = jnp.ones((600, 3), dtype)
    expected = 600 if dtype != "bfloat16" else float(jnp.asarray(600, "bfloat16"))
    assert np.asarray(jnp.sum(x, 0)).astype(float).tolist() == [expected] * 3


def test_rows_of_views() -> None:
    x = np.random.default_rng(0).random((3, 1000)).astype(np.float32)
    np.testing.assert_allclose(jnp.sum(jnp.asarray(x).T, 0), x.sum(1), rtol=1e-6)
    np.testing.assert_allclose(jnp.sum(jnp.asarray(x.T[::-1]), 0), x.sum(1), rtol=1e-6)


@pytest.mark.skipif(not fusions_are_chosen(), reason="the kernel library of jaxlib sums")
@pytest.mark.parametrize(
    ("rows", "axis", "is_parted"),
    [(128, -1, False), (1024, -1, False), (2048, -1, True), (128, (0, 1), True)],
)
def test_which_sums_beside_a_product_are_sums_of_rows(
    rows: int, axis: Any, is_parted: bool
) -> None:
    def f(x: Any, w: Any) -> Any:
        return jnp.sum(x, axis), w @ w

    x = jnp.ones((8, rows // 8, 64) if axis == -1 else (8, rows // 8, 64, 1))
    text = jax.jit(f).lower(x, jnp.ones((4, 4))).as_text()
    assert ("optimization_barrier" in text) == is_parted
