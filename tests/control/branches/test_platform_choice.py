"""Programs that depend on the platform they run on."""

from __future__ import annotations

import pytest

import morphax as jax
import morphax.numpy as jnp
from morphax import lax


def chosen(x: object) -> object:
    return lax.platform_dependent(x, cpu=jnp.sin, tpu=jnp.exp, default=jnp.cos)


def test_the_function_for_the_platform_runs() -> None:
    for function in (chosen, jax.jit(chosen), jax.jit(jax.vmap(chosen))):
        assert jnp.allclose(function(jnp.ones(3)), jnp.sin(jnp.ones(3)))
    assert jax.grad(chosen)(0.5) == jnp.cos(0.5)
    assert lax.platform_dependent(0.0, tpu=jnp.sin, default=jnp.cos) == 1
    assert lax.platform_dependent(0.0, default=jnp.cos) == 1


@pytest.mark.parametrize(
    ("platform", "operation"),
    [("cpu", "sine"), ("tpu", "exponential"), ("cuda", "cosine")],
)
def test_only_that_function_is_compiled(platform: str, operation: str) -> None:
    text = jax.jit(chosen).trace(1.0).lower(lowering_platforms=(platform,)).as_text()
    found = [name for name in ("sine", "cosine", "exponential") if f"stablehlo.{name} " in text]
    assert found == [operation]
    assert "case" not in text


@pytest.mark.parametrize("platform", ["cuda", "rocm"])
def test_gpu_stands_for_both(platform: str) -> None:
    program = jax.jit(lambda x: lax.platform_dependent(x, gpu=jnp.sin, default=jnp.cos)).trace(1.0)
    assert "sine" in program.lower(lowering_platforms=(platform,)).as_text()


@pytest.mark.parametrize("functions", [{}, {"tpu": jnp.sin}])
def test_a_missing_platform_is_named(functions: dict[str, object]) -> None:
    for run in (lax.platform_dependent, jax.jit(lax.platform_dependent, static_argnames="tpu")):
        with pytest.raises(NotImplementedError, match="one for the platform 'cpu'"):
            run(1.0, **functions)


def test_branches_must_be_functions_of_one_type() -> None:
    with pytest.raises(TypeError, match=r"lax\.platform_dependent"):
        lax.platform_dependent(1.0, cpu=3)
    with pytest.raises(TypeError, match=r"lax\.platform_dependent"):
        lax.platform_dependent(jnp.ones(3), cpu=jnp.sin, default=jnp.sum)
