"""Which engine computes what."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from math import inf
from typing import TYPE_CHECKING, Final

from ..core import Jaxpr
from ..util.memo import clear_all
from . import xla
from .engine import Engine
from .reference.engine import REFERENCE

if TYPE_CHECKING:
    from ..array.sharding import Sharding

preferred_engines: Final[list[Engine]] = []
"""Those that are asked before ours.  Where there is none, and only there, eager mode and `replay`
run NumPy's kernels at home without asking `engine_for`."""


def engine_for(jaxpr: Jaxpr | None, place: Sharding, operations: float = inf) -> Engine:
    """The engine to run a program, the first that supports it; see `Engine.supports`."""
    for engine in preferred_engines:
        if engine.supports(jaxpr, place, operations):
            return engine
    return REFERENCE if REFERENCE.supports(jaxpr, place, operations) else xla.XLA


@contextmanager
def preferring(engine: Engine) -> Iterator[None]:
    """Context in which `engine` is asked first, in all threads; plans made before are forgotten."""
    preferred_engines.insert(0, engine)
    clear_all()
    try:
        yield
    finally:
        preferred_engines.remove(engine)
        clear_all()
