"""Trees as vectors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp
from morphax.flatten_util import ravel_pytree

TREE = {"w": jnp.arange(4.0).reshape(2, 2), "b": jnp.arange(2), "c": 1.5}


def test_there_and_back() -> None:
    vector, unravel = ravel_pytree(TREE)
    np.testing.assert_array_equal(vector, [0, 1, 1.5, 0, 1, 2, 3])
    back = unravel(vector)
    assert back["b"].dtype == np.int32
    jax.tree.map(np.testing.assert_array_equal, back, TREE)


@pytest.mark.parametrize(
    ("tree", "dtype"),
    [((), np.float32), ([np.arange(3)], np.int32), ([np.arange(2), np.array([True])], np.int32)],
)
def test_common_dtype(tree: Any, dtype: Any) -> None:
    vector, unravel = ravel_pytree(tree)
    assert vector.dtype == dtype
    jax.tree.map(np.testing.assert_array_equal, unravel(vector), tree)


def test_under_transformations() -> None:
    vector, unravel = ravel_pytree(TREE)
    gradient = jax.grad(lambda v: jnp.sum(unravel(v)["w"] ** 2))(vector)
    np.testing.assert_array_equal(gradient, [0, 0, 0, 0, 2, 4, 6])
    np.testing.assert_array_equal(jax.jit(lambda t: ravel_pytree(t)[0])(TREE), vector)
    batch = jax.vmap(unravel)(jnp.stack([vector, vector]))
    assert batch["w"].shape == (2, 2, 2)


def test_wrong_vectors() -> None:
    vector, unravel = ravel_pytree(TREE)
    with pytest.raises(ValueError, match="unravel"):
        unravel(vector[1:])
    with pytest.raises(TypeError, match="unravel"):
        unravel(vector.astype("int32"))
