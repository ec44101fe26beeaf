"""Functions within functions: how deep they may be at Python's own limit of 1000 frames.

Each case runs in a thread, whose stack begins with it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from threading import Thread
from typing import Any

import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp
from morphax import lax

Function = Callable[[Any], Any]

WITHIN: dict[str, Callable[[Function], Function]] = {
    "jit": lambda f: jax.jit(lambda x: f(x) + 1.0),
    "scan": lambda f: lambda x: lax.scan(lambda c, _: (f(c) + 1.0, None), x, None, length=1)[0],
    "fori": lambda f: lambda x: lax.fori_loop(0, 1, lambda _, c: f(c) + 1.0, x),
    "cond": lambda f: lambda x: lax.cond(x > 0, lambda y: f(y) + 1.0, lambda y: y, x),
    "while": lambda f: lambda x: lax.while_loop(lambda c: c < 0, lambda c: f(c) + 1.0, x),
}

DEEP = np.ones((1,) * 64, np.float32)


def of_two(f: Function) -> Function:
    """The first of a batch of two."""
    return lambda x: jax.vmap(f)(jnp.stack([x, x]))[0]


CASES = [
    ("jit", None, 150),
    ("scan", None, 125),
    ("fori", None, 125),
    ("cond", None, 125),
    ("while", None, 125),
    ("jit", jax.grad, 125),
    ("cond", jax.grad, 90),
    ("scan", jax.grad, 90),
    ("jit", of_two, 125),
    ("cond", of_two, 110),
    ("scan", of_two, 80),
    ("while", of_two, 80),
]


@pytest.mark.skipif(sys.gettrace() is not None, reason="a tracer has frames of its own")
@pytest.mark.parametrize(("kind", "transformation", "depth"), CASES)
def test_depth(kind: str, transformation: Any, depth: int) -> None:
    f: Function = lambda x: 2.0 * x  # noqa: E731
    for _ in range(depth):
        f = WITHIN[kind](f)
    found: list[Any] = []

    def run() -> None:
        try:
            program = f if transformation is None else transformation(f)
            found.append(float(jax.jit(program)(0.5)))
        except Exception as error:
            found.append(error)

    thread = Thread(target=run)
    thread.start()
    thread.join()
    does_nothing = kind == "while"
    value = 0.5 if does_nothing else 1.0 + depth
    assert found == [2.0 if transformation is jax.grad else value]


def test_loops_within_loops_stack_no_more_dimensions_than_arrays_have() -> None:
    def stacked(length: int) -> Any:
        return lax.scan(lambda c, _: (c, DEEP), 0.0, None, length=length)[1]

    with pytest.raises(ValueError, match="at most 64, as many as NumPy's arrays have"):
        stacked(1)
    # Within a program there is no bound.
    assert jax.jit(lambda: jnp.sum(stacked(2)))() == 2
