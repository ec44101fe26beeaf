"""Positions of members."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import morphax as jax
from morphax import lax

X = np.zeros((2, 3), np.float32)


def both(f: Any) -> Any:
    return jax.vmap(jax.vmap(f, axis_name="j"), axis_name="i")(X)


def test_the_first_name_counts_slowest() -> None:
    np.testing.assert_array_equal(
        both(lambda x: lax.axis_index(("i", "j"))), [[0, 1, 2], [3, 4, 5]]
    )
    np.testing.assert_array_equal(
        both(lambda x: lax.axis_index(("j", "i"))), [[0, 2, 4], [1, 3, 5]]
    )
    np.testing.assert_array_equal(both(lambda x: x + lax.axis_index(())), X)
    np.testing.assert_array_equal(both(lambda x: x + lax.axis_size(("j", "i"))), X + 6)


def test_positions_are_int32_and_constant() -> None:
    out = jax.vmap(lambda x: lax.axis_index("i"), axis_name="i")(X)
    assert out.dtype == np.int32
    grad = jax.vmap(jax.grad(lambda x: x[0] * lax.axis_index("i")), axis_name="i")(X)
    np.testing.assert_array_equal(grad[:, 0], [0.0, 1.0])


@pytest.mark.parametrize("wrap", [jax.jit, lambda f: f], ids=["jit", "eager"])
def test_where_nothing_else_is_batched(wrap: Any) -> None:
    def f(x: Any) -> Any:
        return lax.scan(lambda c, _: (c + lax.axis_index("i"), c), 0, None, length=2)

    last, steps = jax.vmap(wrap(f), axis_name="i")(X)
    np.testing.assert_array_equal(last, [0, 2])
    np.testing.assert_array_equal(steps, [[0, 0], [0, 1]])
