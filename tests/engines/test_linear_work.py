"""Ten times as long a program is ten times the work: calls of functions, and lines for LLVM."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import morphax.numpy as jnp
from morphax.config import override
from morphax.engines.loops import loop_program
from morphax.engines.loops.memory import with_shared_memory
from morphax.engines.native.cost_model import judged
from morphax.engines.native.llvm_text import llvm_module
from morphax.transforms.make_jaxpr import make_jaxpr

X = np.linspace(-1, 1, 100, dtype=np.float32)


def numbers(x: Any, count: int) -> Any:
    a, b = x[0], x[1]
    for i in range(count):
        a, b = a * 0.99 + b * (0.01 * (i % 5)), jnp.sin(b)
    return a, b


def arrays(x: Any, count: int) -> Any:
    for _ in range(count):
        x = jnp.sin(x) * 1.1 + x[::-1] * 0.1
    return x


def web(x: Any, count: int) -> Any:
    """Values that are read again much later."""
    values = [x[i] for i in range(30)]
    for i in range(count):
        values[i % 30] = values[i % 30] * 0.5 + values[(7 * i + 3) % 30]
    return values


def products(x: Any, count: int) -> Any:
    matrix, v = x[:36].reshape(6, 6), x[40:46]
    for _ in range(count):
        v = jnp.tanh(matrix @ v)
    return v


def different(x: Any, count: int) -> Any:
    """Loops of many sizes, which have nothing in common."""
    for i in range(count):
        x = jnp.concatenate([jnp.cos(x[: 50 + i % 40]) + x[50 + i % 40 - 1], x[50 + i % 40 :]])
    return x


def work_of(function: Callable[..., Any], count: int) -> tuple[int, int]:
    """Calls of Python's functions, and lines of the module."""
    jaxpr = make_jaxpr(lambda x: function(x, count))(X).jaxpr
    outputs = [f"out{i}" for i in range(len(jaxpr.outvars))]
    calls = 0

    def counted(frame: Any, event: str, argument: Any) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    before = sys.getprofile()
    gc.disable()
    sys.setprofile(counted)
    try:
        program = with_shared_memory(loop_program(jaxpr, "f", ["x"], outputs))
        judged(program)
        text = llvm_module(program)
    finally:
        sys.setprofile(before)
        gc.enable()
    return calls, text.count("\n")


@pytest.mark.parametrize("finds_steps", [True, False], ids=["found", "as they are"])
@pytest.mark.parametrize("function", [numbers, arrays, web, products, different])
def test_ten_times_the_program(function: Callable[..., Any], finds_steps: bool) -> None:
    with override(find_repeated_steps=finds_steps):
        work_of(function, 3)
        few, many = work_of(function, 40), work_of(function, 400)
    for less, more in zip(few, many, strict=True):
        assert more <= 11 * less
