"""Progressions hit their ends, in every engine and dtype."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
def test_the_last_of_evenly_spaced_numbers_is_the_end(dtype: str) -> None:
    """Compiled, 7 / 7 is 7 times the reciprocal of 7."""
    ends = jnp.asarray(np.random.default_rng(0).standard_normal(20)).astype(dtype)

    def last(ends: jax.Array) -> jax.Array:
        return jnp.stack([jnp.linspace(0 * ends, ends, n)[-1] for n in range(2, 30)])

    for way in (last, jax.jit(last)):
        np.testing.assert_array_equal(way(ends), np.broadcast_to(ends, (28, 20)))


@pytest.mark.parametrize("dtype", [jnp.bfloat16, jnp.float16, jnp.float32])
@pytest.mark.parametrize("density", [False, True])
def test_a_histogram_of_small_floats_counts_all_numbers(dtype: Any, density: bool) -> None:
    x = jnp.linspace(0, 1, 10_000).astype(dtype)
    found = jax.jit(lambda x: jnp.histogram(x, 2, (0, 1), density=density)[0])(x)
    want = np.histogram(np.asarray(x, np.float64), 2, (0, 1), density=density)[0]
    assert found.dtype == dtype
    np.testing.assert_allclose(np.asarray(found, np.float64), want, rtol=1e-2)


def test_a_histogram_counts_the_greatest_number_when_compiled() -> None:
    x = jnp.asarray(np.random.default_rng(0).standard_normal((30, 50))).astype("float16")
    counts = jax.jit(lambda x: jnp.histogram(x, 7)[0])
    assert [int(counts(row).sum()) for row in x] == [50] * 30


def test_an_infinite_progression_ends_where_it_is_told_to() -> None:
    np.testing.assert_array_equal(jnp.linspace(-np.inf, 0.0, 4)[-1], 0.0)
