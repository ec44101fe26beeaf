"""How long either engine is expected to take for what a program does.

The time of a run is taken for a sum over what the loop program does (`Work`), with a constant for
each kind of work.  The constants are fitted to measurements, by
``python -m benchmarks.small_programs.fit``, which prints them; such that our time is rather
over-, and XLA's rather underestimated.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from .work import Work

CALL: Final = "call"
"""The name of the constant that each run takes."""

# Nanoseconds for one of each kind.
NATIVE: Final[Mapping[str, float]] = {
    "call": 740.0,
    "operations": 0.1,
    "wide_operations": 0.011,
    "slow": 2.6,
    "wide_slow": 1.0,
    "natively": 0.001,
    "library": 1.0,
    "accesses": 0.064,
    "moved": 0.0024,
    "nests": 0.65,
    "steps": 1.7,
}
XLA: Final[Mapping[str, float]] = {
    "call": 5200.0,
    "operations": 0.14,
    "wide_operations": 0.043,
    "slow": 2.2,
    "wide_slow": 1.2,
    "by_xla": 0.001,
    "rare": 0.043,
    "rare_slow": 1.2,
    "library": 0.85,
    "accesses": 0.13,
    "moved": 0.0062,
    "nests": 2.4,
    "steps": 4.2,
}

# Loops in loops multiply: of more there is no difference, and floats have an end.
_MOST_WORK: Final = 10**100


def nanoseconds(work: Work, constants: Mapping[str, float]) -> float:
    """How long a run is expected to take."""
    known = [
        k * min(getattr(work, name), _MOST_WORK) for name, k in constants.items() if name != CALL
    ]
    return constants[CALL] + sum(known)
