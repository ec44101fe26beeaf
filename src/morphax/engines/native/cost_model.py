"""Whether the native engine is expected to win: a static estimate, with any doubt for XLA.

The time of a run on either engine is taken for a sum over what the loop program does (`Work`), with
a constant for each kind of work.  The constants are fitted to measurements, by
``python -m benchmarks.small_programs.fit``, which prints them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from ..engine import Verdict
from ..loops import LoopProgram
from .costs import Work, largest_size, work_of

CALL: Final = "call"
"""The name of the constant that each run takes."""

# Nanoseconds for one of each kind.
NATIVE: Final[Mapping[str, float]] = {
    "call": 730.0,
    "operations": 0.098,
    "wide_operations": 0.005,
    "slow": 1.9,
    "wide_slow": 1.1,
    "moved": 0.0052,
    "nests": 0.38,
    "steps": 0.81,
}
XLA: Final[Mapping[str, float]] = {
    "call": 5200.0,
    "operations": 0.22,
    "wide_operations": 0.098,
    "slow": 3.5,
    "wide_slow": 1.4,
    "moved": 0.0,
    "nests": 13.0,
    "steps": 2.4,
}

MARGIN: Final = 2.0
"""So many times as fast as XLA a program must be expected to be."""

_MOST_STATEMENTS: Final = 5000
_LARGEST: Final = 1 << 14
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
    if (size := largest_size(program)) > _LARGEST:
        return Verdict(False, f"an array has {size} elements, which is much")
    native, xla = nanoseconds(work, NATIVE), nanoseconds(work, XLA)
    times = f"about {native / 1e3:.3g} µs are expected, and {xla / 1e3:.3g} µs of XLA"
    if native > _LONGEST:
        return Verdict(False, f"a long run: {times}")
    return Verdict(xla > MARGIN * native, times)
