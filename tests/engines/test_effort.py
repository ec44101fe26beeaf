"""LLVM does more for programs whose lines are run often; results are the same to the bit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp
from benchmarks.small_programs.table import PROGRAMS
from morphax import lax
from morphax.engines.loops import NotALoopProgram
from morphax.engines.native import llvm_text
from morphax.engines.native.llvm_text import EFFORT, efforts_of, llvm_module
from morphax.transforms.make_jaxpr import make_jaxpr
from tests.engines.c_library import checked_program
from tests.engines.machine_code_calls import call, compiled
from tests.engines.test_loop_fuzz import valid_programs

X = np.linspace(-2, 2, 100, dtype=np.float32)


def efforts(function: Callable[..., Any], *operands: Any) -> tuple[int, ...]:
    return efforts_of(llvm_module(checked_program(make_jaxpr(function)(*operands), "f")))


def unrolled(x: Any, steps: int) -> Any:
    for i in range(steps):
        x = jnp.sin(x) * (1.0 + i) + x[::-1]
    return x


def scanned(x: Any, steps: int, lines: int = 3) -> Any:
    return lax.scan(lambda s, _: (unrolled(s, lines) * 0.1, None), x, None, length=steps)[0]


def test_the_effort_is_for_lines_that_are_run_often() -> None:
    assert efforts(lambda x: jnp.tanh(x) * 2 + x, X) == (0,)
    assert efforts(lambda x: unrolled(x, 40), X) == (0,)
    assert efforts(lambda x: scanned(x, 10), X[:8]) == (0,)
    assert efforts(lambda x: scanned(x, 100), X[:8]) == (0,)
    assert efforts(lambda x: scanned(x, 5000), X[:8]) == (0, 1)


def test_long_runs_do_not_begin_with_quick_code() -> None:
    assert efforts(lambda x: scanned(x, 1_000_000), X[:8]) == (1,)


def test_long_programs_begin_with_quick_code_as_short_ones_do() -> None:
    assert efforts(lambda x: scanned(x, 5000, 30), X[:8]) == (0, 1)
    assert efforts(lambda x: scanned(x, 1_000_000, 30), X[:8]) == (1,)


def test_nobody_knows_how_often_a_while_runs() -> None:
    def halved(x: Any) -> Any:
        return lax.while_loop(lambda y: jnp.abs(y) > 1.0, lambda y: y * 0.5, x)

    assert efforts(halved, X[0]) == (1,)
    assert efforts(jax.vmap(halved), X) == (1,)
    assert efforts(lambda x: halved(unrolled(x, 30)[0]), X) == (1,)


def test_functions_count_as_what_stands_in_their_place() -> None:
    """A loop of a hundred steps is run as often by ten calls as where it is written ten times."""

    def same(x: Any) -> Any:
        for _ in range(10):
            x = jnp.sin(x) * 1.5 + x[::-1]
        return x

    text = llvm_module(checked_program(make_jaxpr(same)(X), "f"))
    assert text.count("call fastcc void @part") == 10
    assert text.startswith(f"{EFFORT}0\n")


def test_long_programs_are_made_quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(llvm_text, "_MOST_LINES", 20)
    assert efforts(lambda x: scanned(x, 5000), X[:8]) == (0,)


def bits_at(effort: int, limits: Any, function: Callable[..., Any], operands: Any) -> list[bytes]:
    limits.setattr(llvm_text, "_efforts", lambda *counts: (effort,))
    program, code = compiled(make_jaxpr(function)(*operands))
    assert llvm_module(program).startswith(f"{EFFORT}{effort}\n")
    given = map(np.asarray, jax.tree.leaves(operands))
    return [x.tobytes() for x in call(program, code, *given)]


@pytest.mark.parametrize("name", PROGRAMS)
def test_results_are_the_same_at_all_efforts(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    entry = PROGRAMS[name]
    function, operands = entry.make(jax, entry.few_steps)
    quick, full = [bits_at(i, monkeypatch, function, operands) for i in range(2)]
    assert quick == full


@pytest.mark.parametrize("start", range(200, 245, 15))
def test_random_programs(start: int, monkeypatch: pytest.MonkeyPatch) -> None:
    count = 0
    for index, subject, args, _ in valid_programs(range(start, start + 15)):
        function = subject.main()
        try:
            checked_program(make_jaxpr(function)(*args), "f")
        except NotALoopProgram:
            continue
        quick, full = [bits_at(i, monkeypatch, function, args) for i in range(2)]
        assert quick == full, f"program {index}"
        count += 1
    assert count > 2
