"""make_jaxpr and eval_shape."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp
from morphax import lax

LOG2 = """\
{ lambda ; a:f32[]. let
    b:f32[] = log a
    c:f32[] = log 2.0:f32[]
    d:f32[] = div b c
  in (d,) }"""


def test_the_program_that_explains_jaxprs() -> None:
    assert str(jax.make_jaxpr(lambda x: jnp.log(x) / jnp.log(2.0))(3.0)) == LOG2


def test_static_arguments_and_shapes() -> None:
    traced = jax.make_jaxpr(lambda x, n: x * n, static_argnums=1, return_shape=True)
    jaxpr, shape = traced(np.ones(3, np.float32), 2)
    assert len(jaxpr.invars) == 1
    assert shape == jax.ShapeDtypeStruct((3,), np.float32)


def test_axis_env() -> None:
    jaxpr = jax.make_jaxpr(lambda x: lax.psum(x, "i"), axis_env=[("i", 4)])(1.0)
    assert "psum[axes=('i',)" in str(jaxpr)


def test_eval_shape_takes_anything_with_a_shape() -> None:
    struct = jax.ShapeDtypeStruct((2, 3), jnp.bfloat16)
    out = jax.eval_shape(lambda t: {"y": t["x"].T, "z": 1}, {"x": struct})
    assert out["y"] == jax.ShapeDtypeStruct((3, 2), jnp.bfloat16)
    assert out["z"].dtype == np.int32


def test_wrong_arguments_are_named() -> None:
    with pytest.raises(TypeError, match="of type str"):
        jax.make_jaxpr(lambda x: x)("a")


def test_cost_is_linear_in_the_program() -> None:
    def chain(n: int) -> int:
        def f(x: float) -> float:
            for _ in range(n):
                x = jnp.sin(x)
            return x

        return len(jax.make_jaxpr(jax.grad(f))(1.0).eqns)

    assert chain(100) <= 11 * chain(10)


def test_named_scopes_are_kept() -> None:
    def f(x: float) -> float:
        with jax.named_scope("outer"), jax.named_scope("inner"):
            return jnp.sin(x)

    (eqn,) = jax.make_jaxpr(f)(1.0).eqns
    assert eqn.name_stack == ("outer", "inner")
    with pytest.raises(TypeError, match="named_scope"):
        jax.named_scope(3)  # type: ignore[arg-type]


def scopes(jaxpr: Any) -> set[str]:
    """The scopes of all products, those of inner programs included."""
    found = {str(e.source_info.name_stack) for e in jaxpr.eqns if e.primitive.name == "mul"}
    return found.union(*[scopes(e.params["jaxpr"]) for e in jaxpr.eqns if "jaxpr" in e.params])


@pytest.mark.parametrize("wrap", [lambda f: f, jax.jit], ids=["eager", "jit"])
def test_derivatives_keep_the_scopes(wrap: Any) -> None:
    def f(x: Any) -> Any:
        with jax.named_scope("inner"):
            return jnp.sin(x) * x

    f = wrap(f)
    gradient = jax.make_jaxpr(jax.grad(f))(1.0)
    assert scopes(gradient) == {"inner", "transpose(jvp(inner))"}
    push = jax.make_jaxpr(lambda x: jax.linearize(f, x)[1](x))(1.0)
    assert scopes(push) == {"inner", "jvp(inner)"}

    def within(x: Any) -> Any:
        with jax.named_scope("outer"):
            return jax.grad(f)(x)

    outside = {"outer/inner", "inner"}, {"outer/transpose(jvp(inner))", "transpose(jvp(inner))"}
    found = scopes(jax.make_jaxpr(within)(1.0))
    assert len(found) == 2
    assert all(found & names for names in outside)


def test_eval_shape_of_results_without_values() -> None:
    """Libraries ask for the shapes of trees that are shapes already."""
    struct = jax.ShapeDtypeStruct((3,), np.int32)
    shapes = jax.eval_shape(lambda x: {"a": struct, "b": [x + 1, struct], "c": None}, struct)
    assert shapes == {"a": struct, "b": [struct, struct], "c": None}
    scalar = jax.ShapeDtypeStruct((), np.float32)
    assert jax.eval_shape(lambda: (scalar, 1.0 + np.float32(2))) == (scalar, scalar)
    with pytest.raises(TypeError, match="eval_shape, result"):
        jax.eval_shape(lambda: object())
