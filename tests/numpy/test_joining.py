"""Slices of one array are joined as a sequence of them is, as NumPy does it, and as a whole."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp

SHAPES = [(3,), (1,), (2, 3), (3, 1), (2, 3, 4), (1, 3, 2), (3, 0), (2, 1, 3, 2)]
ALONG = [(name, {"axis": axis}) for name in ("concatenate", "stack") for axis in (0, 1, -1)]
SIDE_BY_SIDE: list[tuple[str, dict[str, int]]] = [
    (name, {}) for name in ("hstack", "vstack", "dstack", "column_stack")
]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(("name", "options"), ALONG + SIDE_BY_SIDE, ids=str)
def test_slices_of_an_array(name: str, options: dict[str, int], shape: tuple[int, ...]) -> None:
    x = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
    function = getattr(jnp, name)
    try:
        expected = getattr(np, name)(list(x), **options)
    except ValueError as error:
        with pytest.raises(type(error), match="axis"):
            function(x, **options)
        return
    joined = jax.jit(lambda x: function(x, **options))
    for result in (function(x, **options), function(jnp.asarray(x), **options), joined(x)):
        np.testing.assert_array_equal(result, expected, strict=True)
    np.testing.assert_array_equal(function(list(x), **options), expected, strict=True)


def test_all_axes_at_once_and_another_dtype() -> None:
    x = jnp.arange(6).reshape(2, 3)
    np.testing.assert_array_equal(jnp.concatenate(x, None), np.arange(6))
    for function in (jnp.concatenate, jnp.stack, jnp.hstack, jnp.vstack, jnp.dstack):
        assert function(x, dtype="float32").dtype == np.float32


@pytest.mark.parametrize(
    "function", [jnp.concatenate, jnp.stack, jnp.hstack, jnp.vstack, jnp.dstack, jnp.column_stack]
)
def test_the_program_of_an_array_is_short(function: Any) -> None:
    jaxpr = jax.make_jaxpr(function)(np.zeros((1000, 2))).jaxpr
    assert len(jaxpr.eqns) <= 3


@pytest.mark.parametrize("x", [jnp.zeros(()), jnp.zeros((0, 3)), []], ids=str)
def test_what_has_no_slices_is_refused(x: Any) -> None:
    for function in (jnp.concatenate, jnp.stack, jnp.hstack, jnp.vstack, jnp.column_stack):
        with pytest.raises((TypeError, ValueError), match=f"jnp.{function.__name__}"):
            function(x)
