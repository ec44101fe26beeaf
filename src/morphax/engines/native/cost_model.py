"""Whether the native engine is expected to win: a static estimate, with any doubt for XLA.

The time of a run on either engine is taken for a sum over what the loop program does (`Work`), with
a constant for each kind of work.  The constants are fitted to measurements, by
``python -m benchmarks.small_programs.fit``, which prints them; such that our time is rather
over-, and XLA's rather underestimated.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Final

from ...util.threads import processors
from ..engine import Verdict
from ..loops import LoopProgram
from ..loops.program import Product, walk
from .costs import work_of
from .limits import most_statements
from .loop_plans import plans_kept
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
    "calls": 2.8,
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
    "calls": 0.39,
    "library": 0.85,
    "accesses": 0.13,
    "moved": 0.0062,
    "nests": 2.4,
    "steps": 4.2,
}

MARGIN: Final = 1.5
"""So many times as fast as XLA a program must be expected to be."""

_LONGEST: Final = 5e6
# Loops in loops multiply: of more there is no difference, and floats have an end.
_MOST_WORK: Final = 10**100
# How often a `while` runs is not known, and loops in loops multiply what is assumed (`costs.py`): a
# run is long if it is with so few steps of each.
_FEW_STEPS: Final = 10
# Elements: of larger arrays XLA gives parts to its threads.
_SHARED_BY_XLA: Final = 1 << 14
# Of larger products the library uses several threads, which wait for each other where others run.
_LARGEST_PRODUCT: Final = 1 << 18


def nanoseconds(work: Work, constants: Mapping[str, float]) -> float:
    """How long a run is expected to take."""
    known = [
        k * min(getattr(work, name), _MOST_WORK) for name, k in constants.items() if name != CALL
    ]
    return constants[CALL] + sum(known)


def judged(program: LoopProgram) -> Verdict:
    """Whether machine code is expected to be faster than XLA's, and why."""
    plans = plans_kept(program)
    work = work_of(program, plans=plans)
    if work.statements > most_statements(len(program.outputs)):
        return Verdict(False, f"the program has {work.statements} statements, which is much")
    products = [math.prod(x.sizes) for x in walk(program.body) if type(x) is Product]
    if max(products, default=0) > _LARGEST_PRODUCT:
        return Verdict(False, "there is a large product of matrices")
    native, xla = nanoseconds(work, NATIVE), nanoseconds(work, XLA)
    if max([x.size for x in (*program.inputs, *program.outputs)], default=0) > _SHARED_BY_XLA:
        xla = XLA[CALL] + (xla - XLA[CALL]) / processors()
    times = f"about {native / 1e3:.3g} µs are expected, and {xla / 1e3:.3g} µs of XLA"
    if native > _LONGEST and nanoseconds(work_of(program, _FEW_STEPS, plans), NATIVE) > _LONGEST:
        return Verdict(False, f"a long run: {times}")
    return Verdict(xla > MARGIN * native, times)
