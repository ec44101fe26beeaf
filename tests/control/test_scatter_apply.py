"""Elements that a function of the user replaces again and again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp
from morphax import lax

_ELEMENTS = lax.ScatterDimensionNumbers((), (0,), (0,))


def _apply(x: Any, places: Any, function: Callable[[Any], Any]) -> Any:
    at = jnp.asarray(places, jnp.int32)[:, None]
    return lax.scatter_apply(x, at, function, _ELEMENTS, update_shape=(len(places),))


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int32", "complex64", "bool"])
@pytest.mark.parametrize("most", [1, 3, 15, 16, 60])
def test_an_element_is_replaced_as_often_as_it_is_named(dtype: str, most: int) -> None:
    rng = np.random.default_rng(most)
    x = jnp.asarray(rng.integers(0, 5, 6), dtype)
    places = np.repeat([4, 0, 3, 9, -1], [most, 1, most // 2, 3, 2])
    rng.shuffle(places)
    if dtype == "bool":
        function: Callable[[Any], Any] = jnp.logical_not
    else:
        function = lambda v: v * 3  # noqa: E731
    expected = list(x)
    for place in places:
        if 0 <= place < x.size:
            expected[place] = function(expected[place])
    for way in (_apply, jax.jit(_apply, static_argnums=2)):
        result = np.asarray(way(x, places, function))
        assert result.dtype == x.dtype
        np.testing.assert_array_equal(result, np.stack([np.asarray(v) for v in expected]))


@pytest.mark.parametrize("most", [2, 40])
def test_programs_of_any_operations(most: int) -> None:
    def function(v: Any) -> Any:
        return lax.cond(v > 3, lambda v: v / 2, lambda v: v + jnp.cumsum(jnp.ones(3))[1], v)

    x, places = jnp.arange(4.0), np.repeat([1, 2, 3], [most, 1, 2])
    expected = list(x)
    for place in places:
        expected[place] = function(expected[place])
    result = _apply(x, places, function)
    np.testing.assert_array_equal(result, np.stack([np.asarray(v) for v in expected]))


@pytest.mark.parametrize("most", [2, 40])
def test_constants_stand_for_all_elements(most: int) -> None:
    x, places = jnp.arange(4.0), np.repeat([1, 2], most)
    result = _apply(x, places, lambda v: jnp.float32(7))
    np.testing.assert_array_equal(result, np.array([0, 7, 7, 3], np.float32))


def test_what_a_function_reads_counts() -> None:
    x = jnp.arange(3.0)
    for factor in (2.0, 3.0, -1.0):
        result = _apply(x, [1, 1, 2], lambda v, factor=factor: v * factor)
        np.testing.assert_array_equal(result, np.array([0, factor**2, 2 * factor], np.float32))
