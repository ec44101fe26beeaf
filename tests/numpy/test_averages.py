"""Means: over more elements than an int32 counts, and with weights of several axes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp


@pytest.mark.parametrize("function", [jnp.mean, jnp.var, jnp.std, jnp.average, jnp.nanmean])
def test_more_elements_than_int32_counts(function: object) -> None:
    many = jax.ShapeDtypeStruct((2**16, 2**16), np.float32)
    program = jax.make_jaxpr(function)(many)
    assert program.out_avals[0].shape == ()
    if function is jnp.mean:
        assert "4294967296.0" in str(program)


AXES = [None, 0, 1, -1, (0,), (0, 1), (1, 0), (2, 0), (2, 1, 0), (1, 1), 3, ()]
WEIGHTS = [(), (1,), (2,), (3,), (4,), (2, 3), (3, 2), (4, 2), (1, 4), (2, 3, 4), (1, 3, 4)]


@pytest.mark.parametrize("axis", AXES)
@pytest.mark.parametrize("shape", WEIGHTS)
def test_weights_of_several_axes(axis: Any, shape: tuple[int, ...]) -> None:
    x = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    weights = np.random.default_rng(0).uniform(1, 2, shape).astype(np.float32)
    try:
        wanted = np.average(x, axis, weights, returned=True, keepdims=True)
    except (TypeError, ValueError):
        with pytest.raises(ValueError, match="given:"):
            jnp.average(x, axis, weights)
        return
    for function in (jnp.average, jax.jit(jnp.average, static_argnums=(1, 3, 4))):
        found = function(x, axis, weights, True, True)
        for part, expected in zip(found, wanted, strict=True):
            np.testing.assert_allclose(part, expected, rtol=1e-6)


@pytest.mark.parametrize("function", [jnp.std, jnp.nanstd])
def test_roots_of_integers_are_no_integers(function: Any) -> None:
    with pytest.raises(ValueError, match=r"jnp\.std, argument dtype"):
        function(np.arange(4), dtype=np.int8)
    assert function(np.arange(4), dtype=np.float32) == pytest.approx(1.118034)


@pytest.mark.parametrize("dtype", ["int8", "float32", "bfloat16"])
@pytest.mark.parametrize("function", [jnp.var, jnp.std, jnp.nanvar])
def test_degrees_of_freedom_are_any_number_without_axes(function: Any, dtype: str) -> None:
    x = jnp.array([1, 2, 4], dtype)
    one = function(x, ddof=1)
    for number in (np.int8(1), np.int64(1), np.uint8(1), np.bool_(True), np.array(1), one * 0 + 1):
        result = function(x, ddof=number)
        assert (result.dtype, float(result)) == (one.dtype, float(one))
    assert float(function(x, ddof=np.float64(0.5))) == float(function(x, ddof=0.5))
    for other in (np.ones(1), 1j, "1"):
        with pytest.raises(TypeError, match="a real number that is known"):
            function(x, ddof=other)
