"""Programs of many arrays: pointers are read from tables, and results are the same to the bit."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp
from benchmarks.small_programs.table import PROGRAMS
from morphax import lax, pure_callback
from morphax.engines.native import llvm_text
from tests.engines.test_segments import results_of, text_of


def step(x: Any) -> Any:
    return 1.5 * x + 0.5


def many(*arrays: Any) -> Any:
    """As many results, of a loop that carries all of them."""
    return lax.scan(lambda carry, _: (tuple(map(step, carry)), None), arrays, length=3)[0]


def parameters_of(text: str) -> int:
    """How many the function that computes has."""
    found = re.search(r"^define internal void @compute\((.*)\) #0", text, re.MULTILINE)
    assert found, "there is one"
    return len(re.findall(r"ptr ", found[1]))


@pytest.mark.parametrize("count", [100, 101, 250])
def test_functions_have_few_parameters(count: int) -> None:
    operands = [np.full(1 + i % 4, i, np.float32) for i in range(count)]
    text = text_of(many, *operands)
    assert text.startswith("; effort 0\n")
    assert parameters_of(text) == (2 * count if count <= 100 else 3)
    for mine, x in zip(results_of(many, operands), operands, strict=True):
        np.testing.assert_array_equal(mine, step(step(step(x))))


@pytest.mark.parametrize("name", list(PROGRAMS))
def test_tables_give_the_same_bits(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    entry = PROGRAMS[name]
    function, operands = entry.make(jax, entry.few_steps)
    whole = results_of(function, operands)
    monkeypatch.setattr(llvm_text, "_efforts", lambda lines, repeats: (0,))
    monkeypatch.setattr(llvm_text, "_MOST_PARAMETERS", 0)
    assert parameters_of(text_of(function, *operands)) == 3
    for mine, expected in zip(results_of(function, operands), whole, strict=True):
        assert mine.tobytes() == expected.tobytes()


def test_python_is_called_beside_many_arrays() -> None:
    def function(*arrays: Any) -> Any:
        total = pure_callback(lambda *x: np.add.reduce(x), arrays[0], *arrays)
        return [x * total for x in arrays]

    operands = [np.arange(3, dtype=np.float32) + i for i in range(120)]
    with jax.cpu_engine("native"):
        found = jax.jit(function)(*map(jnp.asarray, operands))
    for mine, x in zip(found, operands, strict=True):
        np.testing.assert_array_equal(mine, x * np.add.reduce(operands))
