"""Running sums and their like that programs for the CPU leave to native code."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp
from morphax import lax
from morphax.runtime.native_calls import RUNNING_TARGET
from morphax.util.compiled import part

needs_native = pytest.mark.skipif(part("running") is None, reason="native code is not there")

SHAPES = ((256,), (70_001,), (300, 217), (1, 1000, 1), (5, 7, 1001), (130, 2))
UFUNCS = {"cumsum": np.add, "cumprod": np.multiply, "cummax": np.maximum, "cummin": np.minimum}


def _special(shape: tuple[int, ...], dtype: Any, kind: str) -> np.ndarray[Any, Any]:
    rng = np.random.default_rng(len(shape))
    chance, half = rng.random(shape), rng.random(shape) < 0.5
    x = rng.integers(-3, 4, shape).astype(float)
    if kind == "zeros":
        x = np.where(half, 0.0, -0.0)
    elif kind == "signs":
        x = np.where(half, 1.0, -1.0)
    elif kind == "NaN":
        x = np.where(chance < 0.002, np.where(half, np.nan, -np.nan), x)
    elif kind == "infinities":
        x = np.where(chance < 0.004, np.where(half, np.inf, -np.inf), x)
    elif kind == "large":
        x = np.where(half, 1.0, -1.0) * float(np.finfo(dtype).max)
    return x.astype(dtype)


def _expected(name: str, x: np.ndarray[Any, Any], axis: int) -> np.ndarray[Any, Any]:
    wide = x.astype(np.float64)
    if name not in ("cummax", "cummin"):
        return UFUNCS[name].accumulate(wide, axis).astype(x.dtype)
    # Of zeros, the maximum is 0 if there is one, the minimum -0: as of numbers next to them.
    beside = np.where(np.signbit(wide), -5e-324, 5e-324)
    found = UFUNCS[name].accumulate(np.where(wide == 0, beside, wide), axis)
    zeros = np.where(np.signbit(found), -0.0, 0.0)
    return np.where(np.abs(found) < 1e-300, zeros, found).astype(x.dtype)


@pytest.mark.sampled(4)
@needs_native
@pytest.mark.parametrize("dtype", [np.float32, np.float64], ids=lambda d: np.dtype(d).name)
@pytest.mark.parametrize("kind", ["whole", "signs", "zeros", "NaN", "infinities", "large"])
@pytest.mark.parametrize("name", UFUNCS)
def test_rows_are_run_as_defined(name: str, kind: str, dtype: Any) -> None:
    function = getattr(lax, name)
    with jax.enable_x64(True), np.errstate(all="ignore"):
        for shape in SHAPES:
            x = _special(shape, dtype, kind)
            axis = int(np.argmax(shape)) if 1 in shape else len(shape) - 1
            for reverse in (False, True):
                program = jax.jit(lambda x, a=axis, r=reverse: function(x, a, reverse=r))
                assert RUNNING_TARGET in program.lower(x).as_text()
                found = np.asarray(program(x))
                ahead = np.flip(x, axis) if reverse else x
                expected = _expected(name, ahead, axis)
                expected = np.flip(expected, axis) if reverse else expected
                np.testing.assert_array_equal(found, expected)
                known = ~np.isnan(expected)
                np.testing.assert_array_equal(np.signbit(found[known]), np.signbit(expected[known]))


def test_long_sums_do_not_drift() -> None:
    x = np.full(1_000_001, 0.1, np.float32)
    found = jax.jit(jnp.cumsum)(x)
    np.testing.assert_allclose(found, np.cumsum(x.astype(np.float64)), rtol=1e-7)


def _calls(f: Any, x: Any) -> bool:
    return RUNNING_TARGET in jax.jit(f).lower(x).as_text()


@needs_native
def test_transformed_programs_call_it_too() -> None:
    x = jnp.asarray(np.random.default_rng(0).normal(size=(20, 300)).astype(np.float32))
    expected = np.cumsum(np.asarray(x, np.float64), 1)
    assert _calls(jax.vmap(jnp.cumsum), x)
    np.testing.assert_allclose(jax.jit(jax.vmap(jnp.cumsum))(x), expected, rtol=1e-4, atol=1e-6)
    gradient = jax.jit(jax.grad(lambda x: jnp.sum(jnp.cumsum(x, 1)[:, -1])))
    assert _calls(gradient, x)
    np.testing.assert_array_equal(gradient(x), np.ones(x.shape))


def test_small_portable_and_other_programs_do_not() -> None:
    x = jnp.ones(1000)
    assert not _calls(jnp.cumsum, jnp.ones(20))
    assert not _calls(jnp.cumsum, jnp.ones(1000, jnp.int32))
    assert not _calls(jnp.cumsum, jnp.ones(1000, jnp.bfloat16))
    assert not _calls(lambda x: jnp.cumsum(x, 0), jnp.ones((100, 100)))
    exported = jax.export.export(jax.jit(jnp.cumsum))(x)
    assert RUNNING_TARGET not in exported.mlir_module()
    np.testing.assert_array_equal(exported.call(x), np.arange(1, 1001))


def test_loops_over_short_floats_carry_long_ones() -> None:
    """XLA copies an array of bfloat16 in each step of a loop that changes an element of it."""
    for dtype in (jnp.bfloat16, jnp.float16):
        x = np.random.default_rng(0).integers(-2, 3, 500).astype(dtype)
        for name, ufunc in UFUNCS.items():
            program = jax.jit(getattr(lax, name))
            (loop,) = [s for s in program.lower(x).as_text().splitlines() if "while" in s]
            assert "f16" not in loop
            wide = ufunc.accumulate(x.astype(np.float32)).astype(dtype)
            np.testing.assert_array_equal(program(x), wide)


@pytest.mark.sampled(4)
@needs_native
@pytest.mark.parametrize("kind", ["small", "zeros", "signs", "NaN", "infinities", "large"])
@pytest.mark.parametrize("name", UFUNCS)
@pytest.mark.parametrize("shape", [(1025,), (6, 2**18 // 5, 1)])
def test_eager_rows_have_the_bits_of_compiled_ones(
    shape: tuple[int, ...], name: str, kind: str
) -> None:
    axis = 1 if len(shape) > 1 else 0
    for reverse in (False, True):
        run = partial(getattr(lax, name), axis=axis, reverse=reverse)
        x = jnp.asarray(_special(shape, np.float32, kind))
        eager, compiled = np.asarray(run(x)), np.asarray(jax.jit(run)(x))
        np.testing.assert_array_equal(eager, compiled)
        kept = ~np.isnan(eager)
        np.testing.assert_array_equal(np.signbit(eager)[kept], np.signbit(compiled)[kept])


@needs_native
def test_arrays_that_do_not_fit_are_refused() -> None:
    run = part("running").along_rows
    with pytest.raises(ValueError, match="other sizes"):
        run(np.ones(5, np.float32), 2, 0, False)
    with pytest.raises(ValueError, match="other sizes"):
        run(np.ones(5, np.float32), 5, 4, False)
    with pytest.raises(TypeError, match="another dtype"):
        run(np.ones(5, np.int32), 5, 0, False)
