"""All-to-all: arguments that are refused, and its transpose."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import morphax as jax
from morphax import lax

X = np.ones((4, 6, 4), np.float32)

ERRORS = [
    pytest.param(lambda x: lax.all_to_all(x, "i", 0, 1), r"size 6(.|\n)*size 4", id="size"),
    pytest.param(
        lambda x: lax.all_to_all(x, "i", 0, 1, tiled=True), "a multiple of 4", id="divisible"
    ),
    pytest.param(lambda x: lax.all_to_all(x, "i", 2, 0), "argument split_axis", id="split"),
    pytest.param(lambda x: lax.all_to_all(x, "i", 1, 2), "argument concat_axis", id="concat"),
    pytest.param(lambda x: lax.pswapaxes(x, "i", 0), "size 6", id="swap"),
]


@pytest.mark.parametrize(("function", "text"), ERRORS)
def test_errors(function: Any, text: str) -> None:
    with pytest.raises(ValueError, match=text) as caught:
        jax.vmap(function, axis_name="i")(X)
    assert "fix:" in str(caught.value)
    assert __file__ in str(caught.value)


def test_two_exchanges_are_none() -> None:
    x = np.random.default_rng(0).normal(size=(4, 4, 3)).astype(np.float32)

    def there_and_back(x: Any) -> Any:
        return lax.all_to_all(lax.all_to_all(x, "i", 0, 1), "i", 1, 0)

    np.testing.assert_array_equal(jax.vmap(there_and_back, axis_name="i")(x), x)


def test_the_number_of_members_is_worked_out_for_the_primitive() -> None:
    params = {"split_axis": 1, "concat_axis": 0, "axis_index_groups": None, "tiled": True}
    out = jax.vmap(lambda x: lax.all_to_all_p.bind(x, axis_name="i", **params), axis_name="i")(X)
    assert out.shape == (4, 24, 1)
