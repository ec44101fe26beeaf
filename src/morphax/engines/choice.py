"""Which engine computes what.

The engines register themselves here, in the order in which they are asked; nothing in this module
knows any of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from math import inf
from typing import Final

from ..core import Jaxpr
from ..runtime.sharding import Sharding
from ..util.memo import clear_all
from .engine import Engine

preferred_engines: Final[list[Engine]] = []
"""Those that are asked before ours.  Where there is none, and only there, eager mode and `replay`
run NumPy's kernels at home without asking `engine_for`."""

_registered: Final[list[Callable[[], Engine]]] = []


def register(load: Callable[[], Engine]) -> None:
    """Have an engine asked after those that were registered before.

    Args:
        load: gives the engine; called when it is first asked, so that a compiler need not be
            loaded before.
    """
    _registered.append(load)


def engine_for(jaxpr: Jaxpr | None, place: Sharding, operations: float = inf) -> Engine:
    """The engine to run a program, the first that supports it; see `Engine.supports`."""
    for engine in preferred_engines:
        if engine.supports(jaxpr, place, operations):
            return engine
    for load in _registered:
        engine = load()
        if engine.supports(jaxpr, place, operations):
            return engine
    raise AssertionError("the last engine that is registered supports every program")


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
