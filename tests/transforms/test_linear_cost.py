"""The cost of tracing and of each transformation grows with the program, and no faster.

Counted in calls, not in seconds: what is memoised is warm after the smaller program, so ten times
the program takes at most ten times the calls, and a little for what is paid once.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import pytest

import morphax as jax
import morphax.numpy as jnp
from morphax import lax
from tests.tracing import work_of

Program = Callable[[Any], Any]


def chain(length: int) -> Program:
    """Each value is used twice, so cotangents are added too."""

    def program(x: Any) -> Any:
        for _ in range(length):
            x = lax.mul(lax.sin(x), x)
        return x

    return program


_numbers = itertools.count(10_000)


def fan(length: int) -> Program:
    """One value is used many times, and many values are used at last.

    By numbers that nobody has used before, so that nothing is remembered of them.
    """

    def program(x: Any) -> Any:
        parts = [x * (next(_numbers) + 0.5) for _ in range(length)]
        return sum(parts[1:], parts[0])

    return program


def calls(length: int) -> Program:
    """Many calls of one program."""
    step = jax.jit(lambda x: jnp.tanh(x) + x)

    def program(x: Any) -> Any:
        for _ in range(length):
            x = step(x)
        return x

    return program


TRANSFORMATIONS: dict[str, Callable[[Program], Callable[[], Any]]] = {
    "trace": lambda f: lambda: jax.make_jaxpr(f)(1.0),
    "lower": lambda f: lambda: jax.jit(f).lower(1.0).as_text(),
    "print": lambda f: lambda: str(jax.make_jaxpr(f)(1.0)),
    "grad": lambda f: lambda: jax.make_jaxpr(jax.grad(f))(1.0),
    "eager grad": lambda f: lambda: jax.grad(f)(1.0),
    "jvp": lambda f: lambda: jax.make_jaxpr(lambda x: jax.jvp(f, (x,), (x,)))(1.0),
    "vmap": lambda f: lambda: jax.make_jaxpr(jax.vmap(f))(jnp.ones(3)),
    "grad of grad": lambda f: lambda: jax.make_jaxpr(jax.grad(jax.grad(f)))(1.0),
    "grad of jit": lambda f: lambda: jax.make_jaxpr(jax.grad(jax.jit(f)))(1.0),
    "vmap of grad of jit": lambda f: (
        lambda: jax.make_jaxpr(jax.vmap(jax.grad(jax.jit(f))))(jnp.ones(3))
    ),
    "grad of checkpoint": lambda f: lambda: jax.make_jaxpr(jax.grad(jax.checkpoint(f)))(1.0),
    "grad of scan": lambda f: (
        lambda: jax.make_jaxpr(
            jax.grad(lambda x: lax.scan(lambda c, _: (f(c), None), x, None, length=3)[0])
        )(1.0)
    ),
}


@pytest.mark.parametrize("program", [chain, fan, calls])
@pytest.mark.parametrize("name", TRANSFORMATIONS)
def test_ten_times_the_program_is_ten_times_the_work(
    name: str, program: Callable[[int], Program]
) -> None:
    prepare = TRANSFORMATIONS[name]
    prepare(program(30))()
    small, large = work_of(prepare(program(60))), work_of(prepare(program(600)))
    assert large < 10.5 * small
