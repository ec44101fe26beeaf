"""Long programs are several functions: each is short, and results are the same to the bit."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp
from benchmarks.small_programs.table import PROGRAMS
from morphax import lax, pure_callback
from morphax.engines.loops import NotALoopProgram
from morphax.engines.native import segments
from morphax.engines.native.llvm_text import llvm_module
from morphax.transforms.make_jaxpr import make_jaxpr
from tests.engines.c_library import checked_program
from tests.engines.machine_code_calls import call, compiled
from tests.engines.test_linear_work import X, arrays, different, numbers, products, web
from tests.engines.test_loop_fuzz import valid_programs


def functions_of(text: str) -> list[str]:
    """The functions of a module, as text."""
    return re.findall(r"^define .*?^}", text, re.MULTILINE | re.DOTALL)


def text_of(function: Callable[..., Any], *operands: Any) -> str:
    return llvm_module(checked_program(make_jaxpr(function)(*operands), "f"))


@pytest.mark.parametrize("function", [numbers, arrays, web, products, different])
def test_no_function_grows_with_the_program(function: Callable[..., Any]) -> None:
    few, many = [
        max([x.count("\n") for x in functions_of(text_of(lambda x, n=n: function(x, n), X))])
        for n in (1000, 3000)
    ]
    assert many <= 1.2 * few


def results_of(function: Callable[..., Any], operands: Any) -> list[np.ndarray[Any, Any]]:
    given = map(np.asarray, jax.tree.leaves(operands))
    return call(*compiled(make_jaxpr(function)(*operands)), *given)


def assert_same_bits(
    monkeypatch: pytest.MonkeyPatch, function: Callable[..., Any], operands: Any
) -> int:
    """Compare a program as one function with the same in segments; how many there are."""
    whole = results_of(function, operands)
    monkeypatch.setattr(segments, "_LONG", 2)
    monkeypatch.setattr(segments, "_FEWEST_FOR_A_POINTER", 0)
    count = 0
    for length in (1, 7):
        monkeypatch.setattr(segments, "_SEGMENT", length)
        text = text_of(function, *operands)
        count = max(count, text.count("define internal fastcc void @segment"))
        for mine, expected in zip(results_of(function, operands), whole, strict=True):
            assert mine.tobytes() == expected.tobytes()
    monkeypatch.undo()
    return count


@pytest.mark.parametrize("name", list(PROGRAMS))
def test_segments_give_the_same_bits(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    entry = PROGRAMS[name]
    function, operands = entry.make(jax, entry.few_steps)
    assert_same_bits(monkeypatch, function, operands)


def mixed(x: Any) -> Any:
    """Scalars, truth values and places that are known long before they are used."""
    place, is_large = jnp.argmax(x), x[3] > x[4]
    total, product = x.sum(), x[:6] * 2.0
    for i in range(6):
        product = jnp.where(is_large, product * total, product[::-1] + x[place] * i)
    picked = lax.dynamic_slice(x, (place,), (5,))
    kept = lax.cond(is_large, lambda y: y * total, lambda y: y - 1.0, picked)
    rest = lax.while_loop(lambda y: (y < 100.0) & is_large, lambda y: y * 2.0 + total, x[0] + 1.0)
    return product, kept, rest, is_large, place


@pytest.mark.parametrize("x", [X, X[::-1].copy(), np.full(100, np.nan, np.float32)])
def test_what_crosses(x: np.ndarray[Any, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    assert assert_same_bits(monkeypatch, mixed, (x,)) > 3


def test_a_loop_over_thousands_of_scalars_is_not_cut() -> None:
    def run(carry: Any, xs: Any) -> Any:
        return lax.scan(lambda c, x: ([v + x for v in c], None), carry, xs)[0]

    carry = [np.float32(i) for i in range(700)]
    assert "@segment" not in text_of(run, carry, np.arange(3, dtype=np.float32))


@pytest.mark.parametrize("start", range(300, 345, 15))
def test_random_programs_in_segments(start: int, monkeypatch: pytest.MonkeyPatch) -> None:
    counts = []
    for _, subject, args, _ in valid_programs(range(start, start + 15)):
        function = subject.main()
        try:
            checked_program(make_jaxpr(function)(*args), "f")
        except NotALoopProgram:
            continue
        counts.append(assert_same_bits(monkeypatch, function, args))
    assert sum([count > 1 for count in counts]) > 2


def test_what_calls_python_is_one_function(monkeypatch: pytest.MonkeyPatch) -> None:
    def called(x: Any) -> Any:
        for _ in range(3):
            y = pure_callback(lambda a: np.sin(a), jax.ShapeDtypeStruct((100,), np.float32), x)
            x = x + y
        return x

    monkeypatch.setattr(segments, "_LONG", 2)
    monkeypatch.setattr(segments, "_SEGMENT", 1)
    program = checked_program(make_jaxpr(called)(X), "f", may_call=True)
    assert "@segment" not in llvm_module(program)
