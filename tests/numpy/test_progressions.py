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


@pytest.mark.parametrize("ends", [(0, 25), (0, 1), (1, 10), (0, 100), (2, 5), (10, -10)])
def test_multiples_of_steps_that_floats_hold_are_exact(ends: tuple[int, int]) -> None:
    compiled = jax.jit(jnp.linspace, static_argnums=2)
    for count in range(2, 40):
        wanted, step = np.linspace(*ends, count, retstep=True)
        is_whole = (wanted == np.round(wanted)) & (step == np.float32(step))
        for function in (jnp.linspace, compiled):
            found = np.asarray(function(*map(float, ends), count))
            np.testing.assert_array_equal(found[is_whole], wanted[is_whole])
            np.testing.assert_allclose(found, wanted, rtol=3e-7, atol=2e-6)


def test_numbers_on_the_edges_of_bins() -> None:
    numbers = np.array([1, 2, 3, 10, 11, 15, 19, 25])
    counts, edges = jnp.histogram(numbers, range=(0, 25), bins=5)
    assert counts.tolist() == [3, 0, 2, 2, 1]
    assert edges.tolist() == [0, 5, 10, 15, 20, 25]


@pytest.mark.parametrize("ends", [(-3e38, 3e38), (3e38, -3e38)])
def test_steps_that_overflow(ends: tuple[float, float]) -> None:
    found = np.asarray(jnp.linspace(*ends, 5), np.float64)
    np.testing.assert_allclose(found, np.linspace(*ends, 5), rtol=1e-6)


@pytest.mark.parametrize("ends", [(1e30, 1e-30), (1e-30, 1e30), (-1e25, -1e-25), (2.0, 2.0)])
def test_multiples_between_ends_far_apart(ends: tuple[float, float]) -> None:
    for function in (jnp.geomspace, jax.jit(jnp.geomspace, static_argnums=2)):
        np.testing.assert_allclose(function(*ends, 7), np.geomspace(*ends, 7), rtol=3e-5)
    slopes = jax.jacrev(lambda x: jnp.geomspace(x, ends[1], 5))(ends[0])
    shares = np.linspace(1, 0, 5)
    with np.errstate(over="ignore"):
        wanted = (shares * np.geomspace(*ends, 5) / ends[0]).astype(np.float32)
    np.testing.assert_allclose(slopes, wanted, rtol=3e-5, atol=1e-38)


@pytest.mark.parametrize("dtype", ["float8_e5m2", "bfloat16", "float16", "float32", "complex64"])
@pytest.mark.parametrize("x64", [False, True])
def test_multiples_of_each_width(dtype: str, x64: bool) -> None:
    with jax.enable_x64(x64), jax.numpy_dtype_promotion("strict"):
        found = jnp.geomspace(jnp.ones(2, dtype), jnp.array([8, 27], dtype), 4)
    assert found.dtype == dtype
    wanted = np.geomspace(np.ones(2), np.asarray(jnp.array([8, 27], dtype), complex), 4)
    tolerance = 2.0 ** -jnp.finfo(dtype).nmant
    np.testing.assert_allclose(np.asarray(found, complex), wanted, rtol=tolerance)


def test_multiples_between_ends_of_unequal_signs() -> None:
    assert np.isnan(np.asarray(jnp.geomspace(-1e30, 1e-30, 5))[1:-1]).all()


@pytest.mark.parametrize("dtype", ["int8", "int32", "uint8"])
@pytest.mark.parametrize(
    ("bounds", "expected"),
    [
        ((0, 2.5, 0.5), [0, 0, 0, 0, 0]),
        ((1.5, 7.2, 1.1), [1, 2, 3, 4, 5, 6]),
        ((1, 10, 2.5), [1, 3, 5, 7]),
        ((0.5, 4), [0, 1, 2, 3]),
        ((1.5, 1.5), []),
    ],
)
def test_integers_between_floats_have_a_start_and_a_step_that_are_integers(
    dtype: str, bounds: tuple[float, ...], expected: list[int]
) -> None:
    result = jnp.arange(*bounds, dtype=dtype)
    assert result.dtype == dtype
    assert result.tolist() == np.arange(*bounds, dtype=dtype).tolist() == expected


def test_nothing_is_between_zero_and_a_number() -> None:
    for ends in ((0.0, 4.0), (1.0, 0.0), (-1.0, 8.0)):
        found = jnp.geomspace(*ends, 4)
        np.testing.assert_array_equal(found, [ends[0], np.nan, np.nan, ends[1]])
    assert jnp.geomspace(1j, -1j, 3, dtype=int).tolist() == [0, -1, 0]
