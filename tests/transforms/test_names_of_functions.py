"""`wraps`: functions that pass for those that they are made of."""

from __future__ import annotations

from typing import Any

import pytest

import morphax as jax
from morphax.transforms.flattening import wraps


class Named:
    """A callable whose names are no text."""

    def __init__(self) -> None:
        self.__name__, self.__qualname__, self.__doc__ = 3, None, "twice"  # type: ignore

    def __call__(self, x: Any) -> Any:
        return 2 * x


def test_names_that_are_no_text_are_left_out() -> None:
    def wrapper(x: Any) -> Any:
        return x

    given: Any = Named()
    assert wraps(given)(wrapper) is wrapper
    assert (wrapper.__name__, wrapper.__doc__) == ("wrapper", "twice")
    assert wrapper.__wrapped__ is given


@pytest.mark.parametrize("transform", [jax.vmap, jax.grad, jax.jacrev, jax.checkpoint])
def test_transformations_take_them(transform: Any) -> None:
    x = jax.numpy.ones(1) if transform is jax.vmap else 1.0
    assert transform(Named())(x) == 2.0
