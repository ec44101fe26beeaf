"""`delete`: what is left is put together from its runs, however many there are; `trim_zeros`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp

PLACES = [
    0, -1, 3, [], [0], [0, 0, -1], [1, 2, 3], list(range(12)), list(range(0, 12, 2)),
    list(range(1, 12, 2)), slice(2, 5), slice(None), slice(5, 2), slice(None, None, 3),
]  # fmt: skip


@pytest.mark.parametrize("place", PLACES, ids=str)
@pytest.mark.parametrize("axis", [0, 1, None])
def test_delete_is_numpys(place: Any, axis: int | None) -> None:
    x = np.arange(24 * 12, dtype=np.float32).reshape(12, 24)
    place = np.array(place, int) if isinstance(place, list) else place
    expected = np.delete(x, place, axis)
    for function in (jnp.delete, jax.jit(lambda x, *, f=jnp.delete: f(x, place, axis))):
        given = (x, place, axis) if function is jnp.delete else (x,)
        np.testing.assert_array_equal(function(*given), expected)


def test_few_runs_are_not_looked_up() -> None:
    jaxpr = str(jax.make_jaxpr(lambda x: jnp.delete(x, 3))(np.zeros(10)))
    assert "gather" not in jaxpr
    many = str(jax.make_jaxpr(lambda x: jnp.delete(x, np.arange(0, 100, 2)))(np.zeros(100)))
    assert "gather" in many


def test_what_is_left_without_zeros_has_derivatives() -> None:
    """Their places have none, and are known where the numbers are."""
    x = jnp.array([0.0, 2.0, 0.0, 3.0, 0.0])
    slopes = jax.grad(lambda x: (jnp.trim_zeros(x) ** 2).sum())(x)
    np.testing.assert_array_equal(slopes, [0, 4, 0, 6, 0])
    slopes = jax.jvp(jnp.trim_zeros, (x,), (x,))[1]
    np.testing.assert_array_equal(slopes, [2, 0, 3])
