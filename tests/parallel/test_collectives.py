"""Collectives over the named axis of vmap."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp
from morphax import lax

X = np.array([1.0, 2.0, 4.0], np.float32)

CASES = [
    pytest.param(lambda x: lax.psum(x, "i"), np.full(3, 7.0), id="psum"),
    pytest.param(lambda x: lax.pmean(x, "i"), np.full(3, 7 / 3), id="pmean"),
    pytest.param(lambda x: lax.pmax(x, "i"), np.full(3, 4.0), id="pmax"),
    pytest.param(lambda x: lax.pmin(x, "i"), np.full(3, 1.0), id="pmin"),
    pytest.param(lambda x: x * lax.axis_index("i"), X * np.arange(3), id="axis_index"),
    pytest.param(lambda x: x / lax.psum(1, "i"), X / 3, id="size by psum"),
    pytest.param(lambda x: x * lax.axis_size("i"), X * 3, id="axis_size"),
    pytest.param(lambda x: lax.psum({"a": x}, ("i",))["a"], np.full(3, 7.0), id="trees"),
    pytest.param(lambda x: lax.psum(jnp.float32(2), "i") + 0 * x, np.full(3, 6.0), id="unmapped"),
]


@pytest.mark.parametrize(("function", "expected"), CASES)
def test_values(function: Any, expected: Any) -> None:
    mapped = jax.vmap(function, axis_name="i")
    np.testing.assert_allclose(mapped(X), expected, rtol=1e-6)
    np.testing.assert_allclose(jax.jit(mapped)(X), expected, rtol=1e-6)
    np.testing.assert_allclose(jax.vmap(jax.jit(function), axis_name="i")(X), expected, rtol=1e-6)


def test_derivatives() -> None:
    def normalized(x: Any) -> Any:
        return jax.vmap(lambda x: x / lax.psum(x * x, "i"), axis_name="i")(x)

    def plain(x: Any) -> Any:
        return x / (x * x).sum()

    np.testing.assert_allclose(jax.jacrev(normalized)(X), jax.jacrev(plain)(X), rtol=1e-5)
    np.testing.assert_allclose(jax.jacfwd(normalized)(X), jax.jacfwd(plain)(X), rtol=1e-5)
    inside = jax.vmap(jax.grad(lambda x: lax.psum(x**2, "i")), axis_name="i")
    np.testing.assert_allclose(inside(X), 6 * X, rtol=1e-6)


def test_two_axes() -> None:
    x = np.arange(6.0, dtype=np.float32).reshape(2, 3)

    def both(f: Any) -> Any:
        return jax.vmap(jax.vmap(f, axis_name="j"), axis_name="i")(x)

    np.testing.assert_allclose(both(lambda x: lax.psum(x, ("i", "j"))), np.full((2, 3), 15.0))
    np.testing.assert_allclose(both(lambda x: lax.psum(x, "i")), np.broadcast_to(x.sum(0), (2, 3)))
    inner = np.broadcast_to(x.sum(1, keepdims=True), (2, 3))
    np.testing.assert_allclose(both(lambda x: lax.psum(x, "j")), inner)


@pytest.mark.parametrize(
    "call", [lax.psum, lax.pmean, lax.pmax, lambda x, name: lax.axis_index(name)]
)
def test_an_axis_out_of_scope_is_named(call: Any) -> None:
    with pytest.raises(NameError, match=r"the axis name 'k'(.|\n)*there are none"):
        call(1.0, "k")
