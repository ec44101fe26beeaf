"""Loops are looked at once: what the verdict has found out, the text is written with."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp
from morphax import lax
from morphax.engines.native import loop_plans
from morphax.engines.native.cost_model import judged
from morphax.engines.native.costs import work_of
from morphax.engines.native.llvm_text import llvm_module
from morphax.transforms.make_jaxpr import make_jaxpr
from tests.engines.c_library import checked_program

X = np.linspace(-1, 1, 100, dtype=np.float32)


def scanned(x: Any) -> Any:
    def step(s: Any, _: Any) -> Any:
        return jnp.sin(s) * 0.5 + s.sum() * 0.01, s[0]

    return lax.scan(step, x, None, length=50)


def program() -> Any:
    return checked_program(make_jaxpr(scanned)(X), "f")


@pytest.fixture
def looked_at(monkeypatch: pytest.MonkeyPatch) -> Counter[Any]:
    """How often each loop was looked at."""
    counts: Counter[Any] = Counter()
    plan = loop_plans.vector_loop

    def counted(loop: Any) -> Any:
        counts[loop] += 1
        return plan(loop)

    monkeypatch.setattr(loop_plans, "vector_loop", counted)
    return counts


def test_a_verdict_and_the_text_look_once(looked_at: Counter[Any]) -> None:
    loops = program()
    judged(loops)
    llvm_module(loops)
    assert looked_at
    assert set(looked_at.values()) == {1}


def test_the_text_does_not_depend_on_a_verdict() -> None:
    loops = program()
    first = llvm_module(loops)
    judged(loops)
    judged(loops)
    assert llvm_module(loops) == first
    assert llvm_module(loops) == first


def test_a_loop_that_is_counted_twice_is_the_same_work() -> None:
    loops = program()
    plans = loop_plans.plans_kept(loops)
    first = work_of(loops, plans=plans)
    assert work_of(loops, plans=plans) == first == work_of(loops)
    few = work_of(loops, 10, plans)
    assert few == work_of(loops, 10)


def test_first_calls_of_auto_look_once(looked_at: Counter[Any]) -> None:
    with jax.cpu_engine("auto"):
        compiled = jax.jit(scanned).lower(X).compile()
    assert compiled.as_text("engine").startswith("engine native")
    assert set(looked_at.values()) == {1}
