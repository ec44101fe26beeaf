"""Functions that compilers may know by a name."""

from __future__ import annotations

import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp
from morphax import lax
from morphax.core import check_jaxpr

scaled = lax.composite(lambda x, scale=2.0: {"out": x * scale}, name="my.scale", version=3)
X = np.arange(3, dtype=np.float32)


def test_it_does_what_the_decomposition_does() -> None:
    for function in (scaled, jax.jit(scaled), jax.vmap(scaled), jax.jit(jax.vmap(scaled))):
        np.testing.assert_array_equal(function(X)["out"], 2 * X)
    np.testing.assert_array_equal(scaled(X, scale=np.float32([1, 2, 3]))["out"], [0, 2, 6])
    np.testing.assert_array_equal(jax.grad(lambda x: jnp.sum(scaled(x)["out"]))(X), [2, 2, 2])
    check_jaxpr(jax.make_jaxpr(jax.vmap(jax.grad(lambda x: scaled(x)["out"])))(X))


def test_it_is_compiled_as_an_operation_with_a_name() -> None:
    text = jax.jit(lambda x: (scaled(x, scale=0.1), scaled(x, scale=np.float32(3)))).lower(X)
    module = text.as_text()
    assert module.count('"stablehlo.composite"') == 2
    assert 'name = "my.scale", version = 3 : i32' in module
    assert '"scale" = 1.00000000000000006e-01 : f64' in module
    assert '"scale" = dense<3.0' in module
    assert "func.func private @my_scale" in module
    out = text.compile()(X)
    np.testing.assert_allclose(out[0]["out"], 0.1 * X, rtol=1e-6)
    np.testing.assert_array_equal(out[1]["out"], 3 * X)


@pytest.mark.parametrize(
    ("value", "text"),
    [(True, "true"), (7, "7 : i64"), ("a", '"a"'), (np.int8([1, 2]), "tensor<2xi8>")],
)
def test_attributes(value: object, text: str) -> None:
    function = lax.composite(lambda x, *, flag: x + 1, name="my.f")
    assert text in jax.jit(lambda x: function(x, flag=value)).lower(X).as_text()
    np.testing.assert_array_equal(jax.jit(lambda x: function(x, flag=value))(X), X + 1)


def test_it_may_close_over_values_and_large_constants() -> None:
    table = np.arange(40_000, dtype=np.float32)
    function = jax.jit(lambda x, y: lax.composite(lambda x: x * y + table[:3], name="my.f")(x))
    large = jax.jit(lax.composite(lambda x: x[0] + table, name="my.g"))
    np.testing.assert_array_equal(function(X, 2.0), 2 * X + table[:3])
    np.testing.assert_array_equal(large(X), table)


def test_names_are_those_of_operations() -> None:
    with pytest.raises(ValueError, match="words joined by dots"):
        lax.composite(jnp.sin, name="sin")


def test_attributes_must_be_known() -> None:
    with pytest.raises(jax.errors.UnexpectedTracerError, match="attribute scale"):
        jax.jit(lambda x, s: scaled(x, scale=s))(X, 2.0)
    with pytest.raises(TypeError, match="attribute scale"):
        scaled(X, scale=[1, 2])
