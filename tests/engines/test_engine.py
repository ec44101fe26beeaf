"""The contract of engines: which is chosen, and that another can take the place of ours."""

from __future__ import annotations

import subprocess
import sys
from math import inf
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp
from morphax import lax
from morphax.config import override
from morphax.core import Jaxpr
from morphax.engines.choice import engine_for, preferring
from morphax.engines.engine import Options, Verdict
from morphax.engines.reference.engine import MOST_INTERPRETED, REFERENCE
from morphax.engines.xla.engine import XLA
from morphax.runtime.places import Places
from morphax.runtime.sharding import default_place, home, whole_on

from .recording_engine import RecordingEngine

ROOT = Path(__file__).parents[2]


def program(size: int = 3) -> Jaxpr:
    jaxpr: Jaxpr = jax.make_jaxpr(lambda x: jnp.sin(x) * x)(jnp.ones(size)).jaxpr
    return jaxpr


def test_the_choice(two_devices: list[Any]) -> None:
    there = whole_on(two_devices[1])
    assert engine_for(None, home, 1) is REFERENCE
    assert engine_for(None, there, 1) is XLA
    assert engine_for(None, home) is engine_for(program(), home) is XLA
    assert engine_for(program(), home, MOST_INTERPRETED) is REFERENCE
    assert engine_for(program(), home, MOST_INTERPRETED + 1) is XLA
    assert engine_for(program(10_000), home, MOST_INTERPRETED) is XLA
    assert engine_for(program(), there, MOST_INTERPRETED) is XLA
    with override(default_device=two_devices[1]):
        assert engine_for(program(), default_place(), 1) is XLA
        assert engine_for(None, home, 1) is REFERENCE


@pytest.mark.parametrize("engine", [REFERENCE, XLA, RecordingEngine()], ids=lambda e: str(e.name))
def test_both_ways_of_an_engine(engine: Any, two_devices: list[Any]) -> None:
    x = jnp.arange(3.0)
    for place in map(whole_on, two_devices):
        jaxpr = program()
        places = Places.all_at(place, 1, 1)
        plan = engine.compile(jaxpr, places, Options("f"))
        assert (plan.in_avals, plan.out_avals) == (jaxpr.in_avals, jaxpr.out_avals)
        assert plan.places is places
        for committed in (False, True):
            (y,) = plan.run([x], committed)
            np.testing.assert_allclose(y, np.sin(x) * x, rtol=1e-6)
            assert (y.place, y.committed) == (place, committed)
        (z,) = engine.evaluate(lax.neg_p, [x], {}, place, True)
        assert (z.tolist(), z.place, z.committed) == ([0, -1, -2], place, True)
        assert plan.as_text()
        assert [f.sharding for f in plan.operand_formats()] == [place]
        assert [f.sharding for f in plan.result_formats()] == [place]


@pytest.mark.parametrize("interprets", [False, True])
def test_another_engine_takes_the_place_of_ours(interprets: bool) -> None:
    engine = RecordingEngine(interprets=interprets)

    @jax.jit
    def f(x: Any) -> Any:
        return jnp.sin(x) * x

    x = jnp.arange(3.0)
    expected = [f(x), jax.grad(lambda x: f(x).sum())(x), jnp.mean(x)]
    assert not engine.events
    with preferring(engine):
        got = [f(x), jax.grad(lambda x: f(x).sum())(x), jnp.mean(x)]
        np.testing.assert_allclose(f.lower(x).compile()(x), expected[0], rtol=1e-6)
    for mine, ours in zip(got, expected, strict=True):
        np.testing.assert_allclose(mine, ours, rtol=1e-6)
    assert ("compile", "f") in engine.events
    assert engine.events.count(("run", "f")) >= 3
    assert {("evaluate", "reduce_sum"), ("evaluate", "div")} <= set(engine.events)
    seen = len(engine.events)
    f(x)
    assert len(engine.events) == seen


def test_loops_are_run_by_operation_or_as_a_whole() -> None:
    engine = RecordingEngine()
    with preferring(engine):
        assert lax.fori_loop(0, 3, lambda i, x: x + i, 0) == 3
        assert ("evaluate", "add") in engine.events
        assert lax.fori_loop(0, 1000, lambda i, x: x + 1, 0) == 1000
    assert {("compile", "while"), ("compile", "scan")} & set(engine.events)


def test_an_engine_that_declines_is_not_asked_again() -> None:
    class Modest(RecordingEngine):  # type: ignore[misc]
        def verdict(
            self, jaxpr: Any, place: Any, operations: float, options: Any = None
        ) -> Verdict:
            takes = operations == inf and jaxpr is not None and not jaxpr.effects
            return Verdict(takes, "it is modest")

    with preferring(engine := Modest()):
        assert jax.jit(jnp.negative)(1.0) == jnp.negative(1.0) == -1.0
    assert engine.events == [("compile", "negative"), ("run", "negative")]


def test_the_recording_engine_passes_the_tests_of_programs() -> None:
    tests = ["transforms/test_derivatives.py", "control/branches", "control/jit/test_jit.py"]
    plugin = ["-p", "no:cacheprovider", "-p", "tests.engines.recording_engine"]
    command = [sys.executable, "-m", "pytest", "-q", *plugin, *[f"tests/{t}" for t in tests]]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert run.returncode == 0, run.stdout[-3000:]
