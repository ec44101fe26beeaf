"""The trace of batching: what it tells about values, and what it costs."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp
from morphax import lax
from morphax.errors import TracerBoolConversionError, UnexpectedTracerError

from ..tracing import work_of

A = np.ones((2, 3), np.float32)


def choose(p: Any, y: Any) -> Any:
    return p["w"] if y.sum() > 0 else p["b"]


MAPPED = jax.vmap(choose, in_axes=({"w": 0, "b": None}, 0))


@pytest.mark.parametrize(
    "call",
    [
        lambda: MAPPED({"w": A, "b": 1.0}, A),
        lambda: jax.jit(MAPPED)({"w": A, "b": 1.0}, A),
        lambda: jax.jit(lambda z: MAPPED({"w": A, "b": 1.0}, z))(A),
        lambda: jax.vmap(lambda p, y: jax.grad(lambda y: choose(p, y))(y))({"w": A, "b": A}, A),
    ],
    ids=["eager", "jit", "closed over", "grad"],
)
def test_control_flow_on_a_member_names_the_argument(call: Any) -> None:
    text = (
        r"function (choose|<lambda>) at .*test_batching.py:\d+ mapped by vmap, which depends on y,"
    )
    with pytest.raises(TracerBoolConversionError, match=text):
        call()


def test_all_arguments_behind_a_value_are_named() -> None:
    with pytest.raises(TracerBoolConversionError, match=r"depends on p\['w'\], y,"):
        jax.vmap(lambda p, y: bool((p["w"] * y).sum() + p["b"]), ({"w": 0, "b": None}, 0))(
            {"w": A, "b": 1.0}, A
        )


def test_an_argument_itself_is_named() -> None:
    with pytest.raises(
        TracerBoolConversionError, match="one member of the batch p, an argument of"
    ):
        jax.vmap(lambda p: bool(p))(np.ones(3))


def test_a_leaked_member_is_told() -> None:
    leaked = []
    jax.vmap(lambda x: leaked.append(x) or x)(A)
    with pytest.raises(UnexpectedTracerError, match="mapped by vmap"):
        jax.jit(lambda: leaked[0] + 1)()


def test_a_trace_keeps_no_batches_alive() -> None:
    """Tracers and their trace must not hold each other, or batches wait for the collector."""
    batches = []

    def f(x: Any) -> Any:
        batches.append(weakref.ref(x.value))
        return x * 2

    gc.disable()
    try:
        jax.vmap(f)(jnp.asarray(A) + 1)
        assert batches[0]() is None
    finally:
        gc.enable()


def chain(length: int) -> Any:
    def f(x: Any) -> Any:
        for _ in range(length // 2):
            x = lax.add(lax.sin(x), x)
        return x

    return jax.vmap(f)


def work(length: int) -> int:
    return work_of(lambda: jax.make_jaxpr(lambda x: chain(length)(x))(A))


def test_the_work_is_linear_in_the_number_of_operations() -> None:
    work(10)
    assert work(3_000) < 11 * work(300)
