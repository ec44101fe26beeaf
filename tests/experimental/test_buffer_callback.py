"""Python functions that fill the memory of their results."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp
from morphax.experimental.buffer_callback import (
    Buffer,
    ExecutionContext,
    ExecutionStage,
    buffer_callback,
)

X = np.arange(3, dtype=np.int32)
SPEC = jax.ShapeDtypeStruct((3,), np.int32)


def twice(context: Any, out: Any, x: Any) -> None:
    np.asarray(out)[...] = 2 * np.asarray(x)


@pytest.mark.parametrize("transform", [lambda f: f, jax.jit], ids=["eager", "jit"])
def test_it_fills_the_result(transform: Any) -> None:
    seen = []

    def look(context: Any, out: Any, x: Any) -> None:
        seen.append((context, out, x))
        np.asarray(out)[...] = np.asarray(x) + 1

    np.testing.assert_array_equal(transform(buffer_callback(look, SPEC))(X), X + 1)
    ((context, out, x),) = seen
    assert isinstance(context, ExecutionContext)
    assert context.stage is ExecutionStage.EXECUTE
    with pytest.raises(RuntimeError, match="GPU"):
        _ = context.stream
    assert isinstance(out, Buffer)
    assert (out.shape, out.dtype, out.ndim, out.writeable) == ((3,), np.int32, 1, True)
    assert not x.writeable
    assert not np.asarray(x).flags.writeable
    np.testing.assert_array_equal(np.from_dlpack(out), X + 1)
    assert np.asarray(x, np.float64).dtype == np.float64


@pytest.mark.parametrize("transform", [lambda f: f, jax.jit], ids=["eager", "jit"])
def test_trees(transform: Any) -> None:
    def f(context: Any, out: Any, x: Any, *, scale: Any) -> None:
        np.asarray(out["a"])[...] = np.asarray(x[0]) * np.asarray(scale)
        np.asarray(out["b"])[...] = 5

    result = {"a": SPEC, "b": jax.ShapeDtypeStruct((), bool)}
    given = transform(buffer_callback(f, result))([X], scale=3)
    np.testing.assert_array_equal(given["a"], 3 * X)
    assert bool(given["b"]) is True


@pytest.mark.parametrize(
    "method", ["sequential", "sequential_unrolled", "broadcast_all", "expand_dims"]
)
def test_batches(method: str) -> None:
    def f(context: Any, out: Any, x: Any, y: Any) -> None:
        np.asarray(out)[...] = np.asarray(x) + np.asarray(y)

    call = buffer_callback(f, SPEC, vmap_method=method)
    rows = np.arange(6, dtype=np.int32).reshape(2, 3)
    np.testing.assert_array_equal(jax.vmap(call, (0, None))(rows, X), rows + X)
    nested = jax.vmap(jax.vmap(call, (0, None)), (None, 0))(rows, rows)
    np.testing.assert_array_equal(nested, rows[None] + rows[:, None])
    with pytest.raises(NotImplementedError, match="vmap_method"):
        jax.vmap(buffer_callback(f, SPEC), (0, None))(rows, X)


def test_aliases() -> None:
    def first(context: Any, out: Any, x: Any) -> None:
        np.asarray(out)[0] = 7

    x = jnp.arange(3)
    given = jax.jit(buffer_callback(first, SPEC, input_output_aliases={0: 0}))(x)
    np.testing.assert_array_equal(given, [7, 1, 2])
    np.testing.assert_array_equal(x, [0, 1, 2])
    longer = jax.ShapeDtypeStruct((4,), np.int32)
    for spec, aliases in [(SPEC, {1: 0}), (SPEC, {0: 1}), (SPEC, {-1: 0}), (longer, {0: 0})]:
        with pytest.raises(ValueError, match="input_output_aliases"):
            buffer_callback(first, spec, input_output_aliases=aliases)(x)


def test_side_effects_happen_though_nothing_uses_the_result() -> None:
    calls = []

    @jax.jit
    def f(x: Any) -> Any:
        buffer_callback(lambda context, out, x: calls.append(1), None, has_side_effect=True)(x)
        return x

    f(X).block_until_ready()
    jax.effects_barrier()
    assert calls == [1]


def test_refusals() -> None:
    with pytest.raises(TypeError, match="argument callback"):
        buffer_callback(3, SPEC)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="result_shape_dtypes"):
        buffer_callback(twice, 3)(X)
    with pytest.raises(TypeError):
        buffer_callback(twice, SPEC)("a")
    for transform in (lambda f: f, jax.jit):
        with pytest.raises(TypeError, match="expected: None"):
            transform(buffer_callback(lambda context, out, x: 5, SPEC))(X)  # type: ignore[arg-type, return-value]
    scalar = jax.ShapeDtypeStruct((), np.float32)
    with pytest.raises(ValueError, match="differentiation"):
        jax.grad(buffer_callback(twice, scalar))(1.0)
