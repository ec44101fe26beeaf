"""Wait for programs that call Python.

On the CPU such a program is waited for by whoever runs it: its output appears, and its errors are
raised, before the call returns.  On other platforms it goes on by itself; `wait_for_effects`, which
the interpreter calls at its exit, waits for all that still run.
"""

from __future__ import annotations

import atexit
import threading
from contextlib import ExitStack
from typing import Any

from ...runtime.failures import raise_failure, reported_by_xla

# A process that never waits would otherwise keep a token of every program that it has run.
_MOST_PENDING = 1024

_lock = threading.Lock()
_pending: list[tuple[str, Any]] = []


def started(name: str, token: Any, platform: str) -> None:
    """Note that a program with callbacks runs; jaxlib's `token` tells when it is done."""
    if platform == "cpu":
        _wait(name, token)
        return
    with _lock:
        _pending.append((name, token))
        oldest = _pending.pop(0) if len(_pending) > _MOST_PENDING else None
    if oldest is not None:
        _wait(*oldest)


def wait_for_effects() -> None:
    """Wait until all programs started so far have called what they call.

    Raises:
        Exception: what a callback raised, the last one if several did.

    Example:
        >>> import morphax as jax
        >>> jax.jit(lambda x: jax.debug.print("x = {}", x))(1)
        x = 1
        >>> jax.effects_barrier()
    """
    with _lock:
        waiting = list(_pending)
        _pending.clear()
    with ExitStack() as everything:
        for name, token in reversed(waiting):
            everything.callback(_wait, name, token)


def _wait(name: str, token: Any) -> None:
    try:
        token.block_until_ready()
    except reported_by_xla() as error:
        raise_failure(error, f"running the program {name}")


atexit.register(wait_for_effects)
