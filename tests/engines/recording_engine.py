"""A third engine: it records what it is asked for, and leaves the work to the two others.

As a plugin of pytest (``-p tests.engines.recording_engine``) it is the engine of all tests of a
run, which must pass as they do without it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, final

import pytest

from morphax.array import Array
from morphax.core import Format, Jaxpr, Primitive
from morphax.engines.choice import preferring
from morphax.engines.engine import Engine, Options, Plan, Verdict
from morphax.engines.reference.engine import REFERENCE
from morphax.engines.xla.engine import XLA
from morphax.runtime.places import Places
from morphax.runtime.sharding import Sharding


@final
class RecordedPlan(Plan):
    """A plan of another engine, whose runs are recorded."""

    def __init__(self, plan: Plan, name: str, events: list[tuple[str, str]]) -> None:
        self.in_avals = plan.in_avals
        self.out_avals = plan.out_avals
        self.places = plan.places
        self._plan = plan
        self._name = name
        self._events = events

    def run(self, operands: Sequence[Array], committed: bool) -> list[Array]:
        self._events.append(("run", self._name))
        assert tuple([x.aval.str_short() for x in operands]) == tuple(
            [aval.str_short() for aval in self.in_avals]
        )
        results = self._plan.run(operands, committed)
        assert [x.aval for x in results] == list(self.out_avals)
        assert [x.place for x in results] == list(self.places.results)
        return results

    def operand_formats(self) -> list[Format]:
        return self._plan.operand_formats()

    def result_formats(self) -> list[Format]:
        return self._plan.result_formats()

    def as_text(self) -> str:
        return self._plan.as_text()

    def cost_analysis(self) -> dict[str, float]:
        return self._plan.cost_analysis()

    def memory_analysis(self) -> Any:
        return self._plan.memory_analysis()

    def runtime_executable(self) -> Any:
        return self._plan.runtime_executable()


@final
class RecordingEngine(Engine):
    """Whatever there is to compute, it takes it on.

    Args:
        interprets: whether programs go to the reference engine, which otherwise XLA compiles.
    """

    name = "recording"

    def __init__(self, *, interprets: bool = False) -> None:
        self.events: list[tuple[str, str]] = []
        self._compiler: Engine = REFERENCE if interprets else XLA

    def verdict(
        self,
        jaxpr: Jaxpr | None,
        place: Sharding,
        operations: float,
        options: Options | None = None,
    ) -> Verdict:
        # Small loops are run by their operations, which come here one by one.
        return Verdict(jaxpr is None or operations == float("inf"), "it records")

    def compile(self, jaxpr: Jaxpr, places: Places, options: Options) -> Plan:
        self.events.append(("compile", options.name))
        assert len(places.operands) == len(jaxpr.invars)
        assert len(places.results) == len(jaxpr.outvars)
        plan = self._compiler.compile(jaxpr, places, options)
        return RecordedPlan(plan, options.name, self.events)

    def evaluate(
        self,
        primitive: Primitive,
        operands: Sequence[Array],
        params: dict[str, Any],
        place: Sharding,
        committed: bool,
    ) -> list[Array]:
        self.events.append(("evaluate", primitive.name))
        # An operation with a body says itself how it is run one operation at a time.
        single = primitive.execute is None and REFERENCE.verdict(None, place, 1).accepts
        engine = REFERENCE if single else XLA
        return engine.evaluate(primitive, operands, params, place, committed)


@pytest.fixture(scope="session", autouse=True)
def recorded() -> Iterator[RecordingEngine]:
    """The engine of all tests, where this module is a plugin."""
    engine = RecordingEngine()
    with preferring(engine):
        yield engine
    assert {event for event, _ in engine.events} == {"compile", "run", "evaluate"}
