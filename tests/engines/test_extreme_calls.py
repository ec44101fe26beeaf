"""Maxima and minima, and their places, that programs for the CPU leave to native code."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp
from morphax.runtime.native_calls import EXTREME_PLACES_TARGET, EXTREMES_TARGET
from morphax.util.compiled import part

pytestmark = pytest.mark.skipif(part("extremes") is None, reason="native code is not there")

SHAPES = {
    (70_001,): [(0,)],
    (300, 217): [(0,), (1,), (0, 1)],
    (5, 7, 1001): [(0,), (1, 2), (0, 2), (0, 1, 2)],
    (20_000, 3): [(0,), (1,)],
    (40_000, 1, 2): [(0,), (1,), (0, 1)],
    (2, 600, 70): [(1,)],
    (700, 63): [(0,)],
}
DTYPES = (np.float32, np.float64, np.float16, ml_dtypes.bfloat16)
_WORDS = {2: np.uint16, 4: np.uint32, 8: np.uint64}


# Rows that become columns, rows of blocks, more rows than 8 bits count, columns put together.
PLACES = [
    *[((300, 217), 0), ((300, 217), 1), ((3, 20_000), 0), ((3, 20_000), 1), ((70_001,), 0)],
    *[((20_000, 3), 0), ((5, 7, 1001), 1), ((2100, 17), 0), ((5000, 8), 1), ((2000, 31), 1)],
    *[((130, 2, 300), 1), ((4, 1024, 9), 1), ((9, 4096, 1), 1)],
    # Short rows in squares of 2, 4, 8 and 16, with rests on both sides.
    *[((6555, 5), 1), ((4683, 7), 1), ((3641, 9), 1), ((2521, 13), 1), ((2049, 16), 1)],
    *[((1729, 19), 1), ((1367, 24), 1)],
]


def _special(shape: tuple[int, ...], dtype: Any, kind: str) -> np.ndarray[Any, Any]:
    rng = np.random.default_rng(len(shape))
    chance, half = rng.random(shape), rng.random(shape) < 0.5
    x = rng.normal(size=shape)
    if kind == "zeros":
        x = np.where(half, 0.0, -0.0)
    elif kind == "NaN":
        x = np.where(chance < 0.001, np.where(half, np.nan, -np.nan), x)
    elif kind == "infinities":
        x = np.where(chance < 0.3, np.where(half, np.inf, -np.inf), x)
    x = x.astype(dtype)
    if kind == "next to zero":
        word = _WORDS[x.dtype.itemsize]
        sign = 1 << (8 * x.dtype.itemsize - 1)
        x = (x.view(word) & word(sign | 7)).view(dtype)
    return x


def _with_equal_ones(shape: tuple[int, ...], dtype: Any, kind: str) -> np.ndarray[Any, Any]:
    is_float = dtype in DTYPES
    x = _special(shape, dtype if is_float else np.float64, kind if is_float else "")
    if kind == "bits" and dtype != "?":
        size = x.size * np.dtype(dtype).itemsize
        return np.random.default_rng(0).integers(0, 256, size, np.uint8).view(dtype).reshape(shape)
    if kind == "equal" or not is_float:
        return np.round(x * (kind != "zeros")).astype(dtype)
    return x


def _expected(x: np.ndarray[Any, Any], axes: tuple[int, ...], name: str) -> np.ndarray[Any, Any]:
    wide = x.astype(np.float64)
    found = np.asarray(getattr(np, name)(wide, axis=axes))
    # Of zeros, the maximum is 0 if there is one, the minimum -0.
    wins = (wide == 0) & (np.signbit(wide) == (name == "min"))
    winner, other = (0.0, -0.0) if name == "max" else (-0.0, 0.0)
    return np.where(found == 0, np.where(wins.any(axis=axes), winner, other), found)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("dtype", DTYPES, ids=lambda d: np.dtype(d).name)
@pytest.mark.parametrize("kind", ["normal", "zeros", "NaN", "infinities", "next to zero"])
def test_extremes_follow_the_order_of_floats(kind: str, dtype: Any) -> None:
    with jax.enable_x64(True):
        for shape, choices in SHAPES.items():
            x = _special(shape, dtype, kind)
            for axes in choices:

                @jax.jit
                def both(x: Any, axes: Any = axes) -> Any:
                    return x.max(axes), x.min(axes)

                for found, name in zip(both(x), ("max", "min"), strict=True):
                    wide = np.asarray(found).astype(np.float64)
                    expected = _expected(x, axes, name)
                    np.testing.assert_array_equal(wide, expected)
                    known = ~np.isnan(expected)
                    np.testing.assert_array_equal(
                        np.signbit(wide[known]), np.signbit(expected[known])
                    )


@pytest.mark.sampled(3)
@pytest.mark.parametrize("dtype", [*DTYPES, *"?bhiqBHIQ"], ids=lambda d: np.dtype(d).name)
@pytest.mark.parametrize("kind", ["equal", "zeros", "NaN", "infinities", "next to zero", "bits"])
def test_places_are_those_of_the_first(kind: str, dtype: Any) -> None:
    arrays = [_with_equal_ones(shape, dtype, kind) for shape, _ in PLACES]

    @jax.jit
    def places(arrays: Any) -> Any:
        pairs = list(zip(arrays, PLACES, strict=True))
        return [x.argmax(a) for x, (_, a) in pairs], [x.argmin(a) for x, (_, a) in pairs]

    with jax.enable_x64(True), jax.cpu_engine("xla"):
        assert places.lower(arrays).as_text().count(EXTREME_PLACES_TARGET) == 2 * len(PLACES)
        found = zip(*places(arrays), strict=True)
    for x, (shape, axis), (largest, least) in zip(arrays, PLACES, found, strict=True):
        with np.errstate(invalid="ignore"):
            wide = x.astype(np.float64) if dtype in DTYPES else x
        np.testing.assert_array_equal(largest, wide.argmax(axis), f"{shape}, {axis}")
        np.testing.assert_array_equal(least, wide.argmin(axis), f"{shape}, {axis}")


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16], ids=lambda d: d.__name__)
def test_the_first_nan_of_short_rows_wins_at_every_place(dtype: Any) -> None:
    arrays = []
    for count in range(5, 41, 3):
        rows = 2**15 // count + 2
        first = np.arange(rows) % count
        x = np.full((rows, count), np.inf, dtype)
        x[np.arange(rows), first] = np.where(first % 2 == 0, np.nan, -np.nan)
        x[np.arange(rows), np.maximum(first, count - 2)] = np.nan
        arrays.append(x)
    with jax.enable_x64(True), jax.cpu_engine("xla"):
        found = jax.jit(lambda arrays: [(x.argmax(1), x.argmin(1)) for x in arrays])(arrays)
    for x, (largest, least) in zip(arrays, found, strict=True):
        expected = np.arange(x.shape[0]) % x.shape[1]
        np.testing.assert_array_equal(largest, expected, f"{x.shape}")
        np.testing.assert_array_equal(least, expected, f"{x.shape}")


def test_large_operands_are_divided_among_threads() -> None:
    rng = np.random.default_rng(0)
    for shape, axes in (((3_000_001,), 0), ((2, 700_001, 2), 1), ((3, 800, 1000), 1)):
        x = rng.normal(size=shape).astype(np.float32)
        np.testing.assert_array_equal(jax.jit(lambda x, a=axes: x.max(a))(x), x.max(axes))
        np.testing.assert_array_equal(jax.jit(lambda x, a=axes: x.min(a))(x), x.min(axes))
        np.testing.assert_array_equal(jax.jit(lambda x, a=axes: x.argmax(a))(x), x.argmax(axes))
    x = rng.normal(size=(2000, 1000)).astype(np.float32)
    for axis in (0, 1):
        np.testing.assert_array_equal(jax.jit(lambda x, a=axis: x.argmin(a))(x), x.argmin(axis))


def _calls(f: Any, *args: Any) -> bool:
    return EXTREMES_TARGET in jax.jit(f).lower(*args).as_text()


def test_transformed_programs_call_it_too() -> None:
    x = jnp.asarray(np.random.default_rng(0).normal(size=(200, 300)).astype(np.float32))
    assert _calls(jnp.max, x)
    assert _calls(jax.vmap(jnp.max), x)
    np.testing.assert_array_equal(jax.jit(jax.vmap(jnp.max))(x), np.max(x, 1))
    by_columns = jax.jit(jax.vmap(jnp.min, in_axes=1))
    np.testing.assert_array_equal(by_columns(x), np.min(x, 0))
    gradient = jax.jit(jax.grad(lambda x: jnp.sum(jnp.max(x, 1) ** 2)))(x)
    expected = np.where(x == np.max(x, 1, keepdims=True), 2 * np.asarray(x), 0)
    np.testing.assert_allclose(gradient, expected, rtol=1e-6)


def test_small_portable_and_integer_programs_do_not() -> None:
    assert not _calls(jnp.max, jnp.ones(100))
    assert not _calls(jnp.max, jnp.ones(100_000, jnp.int32))
    large = jnp.ones(100_000)
    assert _calls(jnp.max, large)
    exported = jax.export.export(jax.jit(jnp.max))(large)
    assert EXTREMES_TARGET not in exported.mlir_module()
    assert exported.call(large) == 1.0


def test_places_in_few_elements_and_in_portable_programs_are_xla_s() -> None:
    x = jnp.ones((300, 200)).at[7, 9].set(2.0)
    with jax.cpu_engine("xla"):
        assert EXTREME_PLACES_TARGET in jax.jit(jnp.argmax).lower(x).as_text()
        for few in (jnp.ones((100, 100)), jnp.ones((20_000, 4))):
            text = jax.jit(lambda x: x.argmax(1)).lower(few).as_text()
            assert EXTREME_PLACES_TARGET not in text
    exported = jax.export.export(jax.jit(jnp.argmax))(x)
    assert EXTREME_PLACES_TARGET not in exported.mlir_module()
    assert exported.call(x) == 7 * 200 + 9


def test_compiled_programs_call_it() -> None:
    x = jnp.ones(100_000).at[7].set(jnp.nan)
    compiled = jax.jit(jnp.max).lower(x).compile()
    assert np.isnan(compiled(x))
    assert "morphax_extreme" in compiled.as_text()
