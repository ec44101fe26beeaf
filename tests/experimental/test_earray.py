from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp
from morphax import lax
from morphax.core import ShapedArray
from morphax.experimental import EArray, primal_tangent_dtype

CODE = primal_tangent_dtype("int8", "float32")


def test_it_is_an_array_of_its_numbers() -> None:
    data = np.array([[1, -2, 3]], np.int8)
    x = EArray(ShapedArray((1, 3), CODE), data)
    assert isinstance(x, EArray)
    assert isinstance(x, jax.Array)
    assert jax.typeof(x) is ShapedArray((1, 3), CODE)
    for y in (x[0, 1:], jax.jit(lambda x: x[0, 1:])(x)):
        assert isinstance(y, EArray)
        np.testing.assert_array_equal(lax.convert_element_type(y, np.int8), [-2, 3])
    data[:] = 0
    np.testing.assert_array_equal(lax.convert_element_type(x, np.int8), [[1, -2, 3]])
    assert EArray(ShapedArray((0,), CODE), jnp.zeros(0, "int8")).shape == (0,)


def test_keys_are_made_of_words() -> None:
    keys = jax.random.split(jax.random.key(3), 2)
    same = EArray(jax.typeof(keys), jax.random.key_data(keys))
    np.testing.assert_array_equal(jax.random.bits(same[1], (3,)), jax.random.bits(keys[1], (3,)))
    assert not isinstance(same, EArray)


def test_numbers_stand_for_themselves() -> None:
    x = EArray(ShapedArray((2,), np.float32), jnp.ones(2))
    assert not isinstance(x, EArray)
    assert not isinstance(3, EArray)
    np.testing.assert_array_equal(x + 1, [2.0, 2.0])


def test_committed_numbers_stay_where_they_are() -> None:
    data = jax.device_put(np.ones(2, np.int8), jax.devices()[0])
    assert EArray(ShapedArray((2,), CODE), data).committed
    assert not EArray(ShapedArray((2,), CODE), np.ones(2, np.int8)).committed


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (np.ones(2, np.int8), r"int8 of shape \(2,\)"),
        (np.ones(3, np.float32), r"float32 of shape \(3,\)"),
        ([1, 2, 3], "list of shape"),
    ],
)
def test_other_numbers_are_refused(data: Any, text: str) -> None:
    with pytest.raises(TypeError, match=text):
        EArray(ShapedArray((3,), CODE), data)


def test_traced_numbers_are_refused() -> None:
    with pytest.raises(TypeError, match="convert_element_type"):
        jax.jit(lambda x: EArray(ShapedArray((3,), CODE), x))(np.ones(3, np.int8))
