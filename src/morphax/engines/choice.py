"""Which engine computes what.

The engines register themselves here, in the order in which they are asked; nothing in this module
knows any of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from math import inf
from typing import Final, NamedTuple, final

from ..core import Jaxpr
from ..runtime.sharding import Sharding
from ..util.memo import clear_all
from .engine import Engine, Options

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


@final
class Choice(NamedTuple):
    """An engine, and what those that were asked have said, in order, with their names."""

    engine: Engine
    said: tuple[str, ...]


def choose(
    jaxpr: Jaxpr | None, place: Sharding, operations: float = inf, options: Options | None = None
) -> Choice:
    """The engine to run a program, the first that accepts it; see `Engine.verdict`."""
    said = []
    for engine in _asked():
        verdict = engine.verdict(jaxpr, place, operations, options)
        said.append(f"{engine.name}: {verdict.reason}")
        if verdict.accepts:
            return Choice(engine, tuple(said))
    raise AssertionError("the last engine that is registered accepts every program")


def engine_for(jaxpr: Jaxpr | None, place: Sharding, operations: float = inf) -> Engine:
    """The engine that `choose` gives."""
    for engine in _asked():
        if engine.verdict(jaxpr, place, operations).accepts:
            return engine
    raise AssertionError("the last engine that is registered accepts every program")


def _asked() -> Iterator[Engine]:
    yield from preferred_engines
    for load in _registered:
        yield load()


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
