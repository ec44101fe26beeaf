"""`ensure_compile_time_eval`, `closure_convert`, `custom_gradient` and `named_call`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp


class TestCompileTime:
    def test_concrete_values_are_computed(self) -> None:
        @jax.jit
        def f(x: Any) -> Any:
            with jax.ensure_compile_time_eval():
                total = jnp.sum(jnp.arange(4))
                assert jax.jit(jnp.sin)(0.0) == 0
            return jnp.zeros(int(total)) + x

        assert f(1.0).shape == (6,)

    def test_traced_values_are_staged(self) -> None:
        def f(x: Any) -> Any:
            with jax.ensure_compile_time_eval():
                scale = jnp.exp(0.0) + 1
                return jax.nn.relu(x) * scale

        assert jax.jit(f)(3.0) == 6
        assert jax.grad(f)(3.0) == 2
        assert jax.jit(jax.grad(f))(3.0) == 2
        np.testing.assert_array_equal(jax.vmap(f)(jnp.arange(3.0)), [0, 2, 4])
        assert "exp" not in str(jax.make_jaxpr(f)(3.0))

    def test_it_ends_with_the_context(self) -> None:
        def f(x: Any) -> Any:
            with jax.ensure_compile_time_eval():
                pass
            return jnp.sin(1.0) + x

        assert "sin" in str(jax.make_jaxpr(f)(3.0))


class TestClosureConvert:
    def test_captured_tracers_become_arguments(self) -> None:
        def f(x: Any, n: Any) -> Any:
            converted, values = jax.closure_convert(lambda y: x * y + n, 1.0)
            assert len(values) == 1
            return converted(3.0, *values)

        assert jax.grad(f)(2.0, 4) == 3
        assert jax.jit(jax.grad(f))(2.0, 4) == 3

    def test_concrete_values_stay(self) -> None:
        array = jnp.arange(3.0)
        converted, values = jax.closure_convert(lambda y: array * y, 1.0)
        assert values == []
        np.testing.assert_array_equal(converted(2.0), 2 * array)

    def test_wrong_structure(self) -> None:
        converted, _ = jax.closure_convert(lambda y: y, 1.0)
        with pytest.raises(TypeError, match="structure"):
            converted((1.0, 2.0))


class TestCustomGradient:
    def test_one_argument(self) -> None:
        square = jax.custom_gradient(lambda x: (x**2, lambda ct: 5 * ct * x))
        assert square(3.0) == 9
        assert jax.grad(square)(3.0) == 15
        assert jax.jit(jax.grad(square))(3.0) == 15
        assert jax.grad(jax.jit(square))(3.0) == 15
        np.testing.assert_array_equal(jax.vmap(jax.grad(square))(jnp.arange(3.0)), [0, 5, 10])

    def test_several_arguments(self) -> None:
        product = jax.custom_gradient(lambda x, y: (x * y, lambda ct: (7 * ct * y, ct * x)))
        assert jax.grad(product, (0, 1))(2.0, 3.0) == (21, 2)

    def test_no_pair(self) -> None:
        with pytest.raises(TypeError, match="pair"):
            jax.custom_gradient(lambda x: x)(1.0)


def test_named_call() -> None:
    jaxpr = jax.make_jaxpr(jax.named_call(jnp.sin, name="layer"))(1.0)
    assert jaxpr.eqns[0].name_stack == ("layer",)
