"""Primitives that are lowered by a function (`mlir.lower_fun`): programs for every engine."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp
from morphax import lax
from morphax.core import ShapedArray
from morphax.extend.core import Primitive
from morphax.extend.mlir.dialects import hlo
from morphax.interpreters import batching, mlir

X = np.linspace(0.5, 1.5, 4, dtype=np.float32)


def scaled_sine(x: Any, *, scale: Any) -> Any:
    return jnp.sin(x) * np.asarray(scale, x.dtype)


def primitive(function: Any = scaled_sine, **options: Any) -> Primitive:
    p = Primitive("scaled_sine")
    p.def_abstract_eval(lambda x, **_: x)
    mlir.register_lowering(p, mlir.lower_fun(function, multiple_results=False), **options)
    batching.defvectorized(p)
    return p


def engine_of(f: Any, *args: Any) -> str:
    return str(f.lower(*args).compile().as_text("engine")).splitlines()[0]


def looped(p: Primitive) -> Any:
    def run(x: Any) -> Any:
        step = jax.jit(lambda y: p.bind(y, scale=1.5))
        y = lax.fori_loop(0, 3, lambda _, y: step(y), x)
        return lax.cond(y.sum() > 0, lambda y: p.bind(y, scale=2.0), lambda y: y, y)

    return run


@pytest.mark.parametrize("engine", ["auto", "native", "xla"])
@pytest.mark.parametrize("wrap", [lambda f: f, jax.vmap])
def test_every_engine_runs_the_function(engine: Any, wrap: Any) -> None:
    expected = X
    for scale in (1.5, 1.5, 1.5, 2.0):
        expected = np.sin(expected) * np.float32(scale)
    with jax.cpu_engine(engine):
        f = jax.jit(wrap(looped(primitive())))
        assert engine_of(f, X) == f"engine {'xla' if engine == 'xla' else 'native'}"
        np.testing.assert_allclose(f(X), expected, rtol=1e-6)


def test_parameters_that_cannot_be_keys() -> None:
    p = primitive()
    f = jax.jit(lambda x: p.bind(x, scale=np.arange(4.0)))
    np.testing.assert_allclose(f(X), np.sin(X) * np.arange(4), rtol=1e-6)


def test_equal_equations_share_a_function() -> None:
    traced = []

    def function(x: Any, *, scale: float) -> Any:
        traced.append(scale)
        return x * scale

    p = primitive(function)
    with jax.cpu_engine("xla"):
        f = jax.jit(lambda x: p.bind(p.bind(x, scale=2.0), scale=2.0) + p.bind(x, scale=3.0))
        text = f.lower(X).as_text()
        np.testing.assert_allclose(f(X), 7 * X)
    assert sorted(traced) == [2.0, 3.0]
    assert text.count("func.func private @scaled_sine") == 2


def test_the_rule_of_the_platform_counts() -> None:
    p = primitive()
    mlir.register_lowering(p, lambda ctx, x, **_: hlo.NegOp(x).results, platform="cpu")
    f = jax.jit(lambda x: p.bind(x, scale=1.0))
    assert engine_of(f, X) == "engine xla"
    np.testing.assert_array_equal(f(X), -X)
    other = primitive(platform="tpu")
    mlir.register_lowering(other, lambda ctx, x, **_: hlo.NegOp(x).results)
    np.testing.assert_array_equal(jax.jit(lambda x: other.bind(x, scale=1.0))(X), -X)


def test_a_rule_that_is_set_later_counts() -> None:
    p = primitive()
    f = jax.jit(lambda x: p.bind(x, scale=1.0))
    np.testing.assert_allclose(f(X), np.sin(X), rtol=1e-6)
    mlir.register_lowering(p, mlir.lower_fun(lambda x, **_: [x + 1]))
    np.testing.assert_array_equal(f(X), X + 1)


def test_operations_that_only_xla_runs() -> None:
    p = primitive(lambda x, *, scale: jnp.fft.fft(x, 67).real[: x.size] * scale)
    f = jax.jit(lambda x: p.bind(x, scale=2.0))
    assert engine_of(f, X) == "engine xla"
    expected = 2 * np.fft.fft(X, 67).real[: X.size]
    np.testing.assert_allclose(f(X), expected, rtol=1e-5, atol=1e-6)
    with jax.cpu_engine("native"), pytest.raises(TypeError, match="written as loops"):
        jax.jit(lambda x: p.bind(x, scale=2.0))(X)


@pytest.mark.parametrize("engine", ["auto", "xla"])
def test_a_function_of_another_type_is_refused(engine: Any) -> None:
    p = primitive(lambda x, *, scale: x.sum())
    with jax.cpu_engine(engine), pytest.raises(ValueError, match="well typed"):
        jax.jit(lambda x: p.bind(x, scale=2.0))(X)


def test_callbacks_are_called_by_machine_code() -> None:
    def function(x: Any, *, scale: float) -> Any:
        doubled = jax.pure_callback(lambda a: np.asarray(a) * 2, ShapedArray(x.shape, x.dtype), x)
        return doubled * scale

    p = primitive(function)
    f = jax.jit(lambda x: p.bind(x, scale=2.0))
    assert engine_of(f, X) == "engine native"
    np.testing.assert_allclose(f(X), 4 * X)


def test_effects_stay_with_xla(capsys: pytest.CaptureFixture[str]) -> None:
    def function(x: Any, *, scale: float) -> Any:
        jax.debug.print("seen {}", x)
        return x * scale

    p = primitive(function)
    f = jax.jit(lambda x: p.bind(x, scale=2.0))
    assert engine_of(f, X) == "engine xla"
    np.testing.assert_allclose(f(X), 2 * X)
    assert "seen" in capsys.readouterr().out


def test_programs_for_all_sizes() -> None:
    p = primitive()
    exported = jax.export.export(jax.jit(lambda x: p.bind(x, scale=2.0)), platforms=["cpu", "tpu"])
    (size,) = jax.export.symbolic_shape("n")
    program = exported(jax.ShapeDtypeStruct((size,), "float32"))
    for n in (1, 5):
        x = np.ones(n, np.float32)
        np.testing.assert_allclose(program.call(x), 2 * np.sin(x), rtol=1e-6)
