"""Ordered effects happen in program order, across branches, loops and calls."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import morphax as jax
from morphax.experimental import io_callback


@pytest.fixture
def said() -> list[str]:
    return []


def saying(said: list[str]) -> Callable[..., None]:
    """A function that says a word, by the two kinds of ordered callbacks in turn."""
    numbers = iter(range(10**6))

    def say(word: str, *args: Any) -> None:
        def hear(*values: Any) -> None:
            said.append(" ".join([word, *[str(int(v)) for v in values]]))

        if next(numbers) % 2:
            jax.debug.callback(hear, *args, ordered=True)
        else:
            io_callback(hear, None, *args, ordered=True)

    return say


def everything(say: Callable[..., None]) -> Callable[[Any], Any]:
    @jax.jit
    def callee(x: Any) -> None:
        say("callee", x)

    def step(c: Any, i: Any) -> Any:
        say("step", i)
        callee(i)
        jax.lax.cond(i > 0, lambda: say("positive"), lambda: None)
        return c, None

    def condition(i: Any) -> Any:
        say("condition", i)
        return i < 2

    def body(i: Any) -> Any:
        say("body", i)
        return i + 1

    def program(x: Any) -> Any:
        say("start")
        jax.lax.cond(x > 0, lambda: say("yes"), lambda: say("no"))
        say("chosen")
        callee(x)
        callee(x + 1)
        jax.lax.scan(step, 0, np.arange(2), unroll=1)
        say("scanned")
        jax.lax.while_loop(condition, body, 0)
        jax.lax.fori_loop(0, x, lambda i, c: (callee(i), c)[1], 0)
        jax.lax.switch(x, [lambda: say("zero"), lambda: say("one"), lambda: say("two")])
        say("end")
        return x

    return program


EXPECTED = (
    "start, yes, chosen, callee 2, callee 3, step 0, callee 0, step 1, callee 1, positive, "
    "scanned, condition 0, body 0, condition 1, body 1, condition 2, callee 0, callee 1, two, end"
).split(", ")


@pytest.mark.parametrize("engine", [lambda f: f, jax.jit], ids=["eager", "jit"])
def test_program_order(engine: Any, said: list[str]) -> None:
    f = engine(everything(saying(said)))
    for _ in range(2):
        said.clear()
        f(2)
        assert said == EXPECTED


def test_order_across_programs(said: list[str]) -> None:
    say = saying(said)
    f = jax.jit(lambda x: say("f", x))
    for i in range(5):
        f(i)
    assert said == [f"f {i}" for i in range(5)]


def test_members_of_a_batch_in_turn(said: list[str]) -> None:
    jax.jit(jax.vmap(lambda x: jax.debug.callback(lambda v: said.append(str(v)), x, ordered=True)))(
        np.arange(4)
    )
    assert said == ["0", "1", "2", "3"]


@pytest.mark.parametrize("length", [1, 4, 5])
@pytest.mark.parametrize("unroll", [1, 2, True])
@pytest.mark.parametrize("reverse", [False, True])
def test_steps_in_turn(length: int, unroll: Any, reverse: bool, said: list[str]) -> None:
    say = saying(said)

    def step(c: Any, i: Any) -> Any:
        say("step", i)
        return c, None

    @jax.jit
    def f() -> None:
        jax.lax.scan(step, 0, np.arange(length), unroll=unroll, reverse=reverse)
        say("end")

    f()
    steps = [f"step {i}" for i in range(length)]
    assert said == [*(reversed(steps) if reverse else steps), "end"]


def test_derivatives_keep_the_order(said: list[str]) -> None:
    def watch(x: Any) -> None:
        jax.debug.callback(lambda v: said.append(str(int(v))), x, ordered=True)

    def f(x: Any) -> Any:
        watch(x)
        y = jax.lax.cond(x > 0, lambda: (watch(x + 1), x * x)[1], lambda: x)
        z, _ = jax.lax.scan(lambda c, _: ((watch(c), c * x)[1], None), y, None, length=2)
        watch(z)
        return z

    assert jax.jit(jax.grad(f))(2.0) == 32.0
    assert said == ["2", "3", "4", "8", "16"]


def test_a_called_program_is_written_once() -> None:
    @jax.jit
    def callee(x: Any) -> None:
        jax.debug.callback(print, x, ordered=True)

    text = jax.jit(lambda x: (callee(x), callee(x + 1))).lower(1.0).as_text()
    assert len(re.findall("custom_call", text)) == 1
    assert len(re.findall(r"call @?\"?callee|func\.call", text)) == 2


def test_unordered_programs_have_no_tokens() -> None:
    text = jax.jit(lambda x: jax.debug.print("{}", x)).lower(1.0).as_text()
    assert "token" not in text
