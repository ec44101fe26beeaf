"""How much memory compiled functions take."""

from __future__ import annotations

import resource
import sys
from typing import Any

from ..timing import Figures, Scale

_WARM_UP = 5
_UNIT = 2**20 if sys.platform == "darwin" else 2**10


def jits(jax: Any, scale: Scale) -> Figures:
    """The process at its largest; all functions are alive, each with a program of its own."""
    x = jax.numpy.ones(3)
    functions = [jax.jit(lambda x, i=i: x * float(i) + 1.0) for i in range(scale.jits)]
    for f in functions[:_WARM_UP]:
        f(x)
    before = _peak()
    for f in functions[_WARM_UP:]:
        f(x)
    after = _peak()
    return {
        "process after first jits (MB)": before,
        f"process after {len(functions)} distinct jits (MB)": after,
        "per trivial jit (MB)": max(after - before, 1e-3) / (scale.jits - _WARM_UP),
    }


def _peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / _UNIT
