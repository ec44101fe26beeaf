"""How long calls take, and how much work a run is to do."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

START = time.perf_counter()
"""When this process began its own work."""

Figures = dict[str, float]
Call = Callable[[], Any]


@dataclass(frozen=True, slots=True)
class Scale:
    """How much work a run is to do.

    Args:
        rounds: how often each process is started.
        repetitions: how often a call is timed at least; the shortest time counts.
        seconds: for how long calls are repeated: a thread that wakes late slows short ones down,
            for tens of milliseconds on end.
        equations: of the programs that are traced.
        most_equations: of the longest program.
        leaves: at most this many arrays are passed to a call.
        elements: of the arrays of operations.
        layers: of the transformer.
        jits: how many functions one process compiles.
    """

    rounds: int
    repetitions: int
    seconds: float
    equations: int
    most_equations: int
    leaves: int
    elements: int
    layers: int
    jits: int


SCALES = {
    "full": Scale(3, 15, 0.2, 200, 100_000, 1000, 1_000_000, 12, 2000),
    "quick": Scale(1, 7, 0.02, 200, 20_000, 1000, 300_000, 12, 200),
    "tiny": Scale(1, 1, 0.0, 4, 100, 10, 64, 1, 10),
}


def best(call: Call, scale: Scale, units: int = 1) -> float:
    """The shortest time of a call, in seconds per unit of its work; short calls are repeated."""
    call()
    begin = time.perf_counter()
    call()
    once = time.perf_counter() - begin
    inner = max(1, min(100, int(1e-3 / max(once, 1e-9)))) if scale.repetitions > 1 else 1
    least = scale.repetitions if once < 0.5 else min(2, scale.repetitions)
    times = [once]
    while len(times) <= least or time.perf_counter() - begin < scale.seconds:
        start = time.perf_counter()
        for _ in range(inner):
            call()
        times.append((time.perf_counter() - start) / inner)
    return min(times) / units
