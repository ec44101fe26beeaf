"""Whether the native engine is expected to win: a static estimate, with any doubt for XLA.

The time of a run on either engine is taken for a sum over what the loop program does (`Work`), with
a constant for each kind of work.  The constants are fitted to measurements, by
``python -m benchmarks.small_programs.fit``, which prints them; such that our time is rather
over-, and XLA's rather underestimated.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from ..engine import Verdict
from ..loops import LoopProgram
from .costs import Work, work_of

CALL: Final = "call"
"""The name of the constant that each run takes."""

# Nanoseconds for one of each kind.
NATIVE: Final[Mapping[str, float]] = {
    "call": 720.0,
    "operations": 0.011,
    "wide_operations": 0.012,
    "slow": 1.7,
    "wide_slow": 0.57,
    "calls": 4.1,
    "accesses": 0.11,
    "moved": 0.0026,
    "nests": 0.11,
    "steps": 3.6,
}
XLA: Final[Mapping[str, float]] = {
    "call": 5300.0,
    "operations": 0.15,
    "wide_operations": 0.023,
    "slow": 0.68,
    "wide_slow": 0.09,
    "calls": 0.37,
    "accesses": 0.0065,
    "moved": 0.0054,
    "nests": 6.5,
    "steps": 6.6,
}

MARGIN: Final = 1.5
"""So many times as fast as XLA a program must be expected to be."""

_MOST_STATEMENTS: Final = 5000
_LONGEST: Final = 5e6


def nanoseconds(work: Work, constants: Mapping[str, float]) -> float:
    """How long a run is expected to take."""
    known = [k * getattr(work, name) for name, k in constants.items() if name != CALL]
    return constants[CALL] + sum(known)


def judged(program: LoopProgram) -> Verdict:
    """Whether machine code is expected to be faster than XLA's, and why."""
    work = work_of(program)
    if work.statements > _MOST_STATEMENTS:
        return Verdict(False, f"the program has {work.statements} statements, which is much")
    native, xla = nanoseconds(work, NATIVE), nanoseconds(work, XLA)
    times = f"about {native / 1e3:.3g} µs are expected, and {xla / 1e3:.3g} µs of XLA"
    if native > _LONGEST:
        return Verdict(False, f"a long run: {times}")
    return Verdict(xla > MARGIN * native, times)
