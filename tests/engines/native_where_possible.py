"""The native engine for every program that it can compile, whatever it costs; XLA for the others.

As a plugin of pytest (``-p tests.engines.native_where_possible``) it is the engine of all tests of
a run, which must pass as they do without it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import final

import pytest

from morphax.core import Jaxpr
from morphax.engines.choice import preferring
from morphax.engines.engine import Options, Verdict
from morphax.engines.loops import NotALoopProgram
from morphax.engines.native import translated
from morphax.engines.native.engine import NativeEngine
from morphax.runtime.sharding import Sharding


@final
class NativeWherePossible(NativeEngine):  # type: ignore[misc]
    """Accepts what has a form of loops."""

    def __init__(self) -> None:
        self.taken = 0

    def verdict(
        self,
        jaxpr: Jaxpr | None,
        place: Sharding,
        operations: float,
        options: Options | None = None,
    ) -> Verdict:
        if options is not None:
            options = options._replace(cpu_engine="native")
        verdict = super().verdict(jaxpr, place, operations, options)
        if verdict.accepts and jaxpr is not None and options is not None:
            try:
                translated(jaxpr, options)
            except NotALoopProgram as error:
                return Verdict(False, str(error))
            self.taken += 1
        return verdict


@pytest.fixture(scope="session", autouse=True)
def native() -> Iterator[NativeWherePossible]:
    """The engine of all tests, where this module is a plugin."""
    engine = NativeWherePossible()
    with preferring(engine):
        yield engine
    assert engine.taken
