"""Gathering and scattering: arguments that are refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import morphax as jax
from morphax import lax

X = np.ones((4, 6), np.float32)

ERRORS = [
    pytest.param(lambda x: lax.all_gather(x, "i", axis=2), "argument axis", id="axis"),
    pytest.param(
        lambda x: lax.all_gather(x[0], "i", tiled=True), "argument axis", id="tiled scalar"
    ),
    pytest.param(lambda x: lax.all_gather(x, "i", to="elsewhere"), "argument to", id="to"),
    pytest.param(lambda x: lax.psum_scatter(x, "i"), r"size 6(.|\n)*tiled=True", id="size"),
    pytest.param(lambda x: lax.psum_scatter(x, "i", tiled=True), "a multiple of 4", id="divisible"),
    pytest.param(
        lambda x: lax.psum_scatter(x, "i", scatter_dimension=1),
        "argument scatter_dimension",
        id="dimension",
    ),
]


@pytest.mark.parametrize(("function", "text"), ERRORS)
def test_errors(function: Any, text: str) -> None:
    with pytest.raises(ValueError, match=text) as caught:
        jax.vmap(function, axis_name="i")(X)
    assert "fix:" in str(caught.value)
    assert __file__ in str(caught.value)


@pytest.mark.parametrize("to", ["varying", "invarying"])
def test_what_is_gathered_is_the_same_for_all(to: str) -> None:
    gather = jax.vmap(lambda x: lax.all_gather(x, "i", to=to), axis_name="i", out_axes=None)
    np.testing.assert_array_equal(gather(X), X)


def test_gathering_and_scattering_are_each_other_s_transpose() -> None:
    jaxpr = jax.make_jaxpr(
        jax.grad(lambda x: lax.all_gather(x, "i", tiled=True).sum()), axis_env=[("i", 4)]
    )(X[0])
    assert "reduce_scatter" in str(jaxpr)
    jaxpr = jax.make_jaxpr(jax.grad(lambda x: lax.psum_scatter(x, "i").sum()), axis_env=[("i", 6)])(
        X[0]
    )
    assert "all_gather" in str(jaxpr)
