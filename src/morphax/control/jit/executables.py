"""The executables of programs: each is compiled once, and kept for its jaxpr while that lives.

Of more than `_MAX_PROGRAMS` jaxprs the executables of those used longest ago are let go, unless
others keep them.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Sequence
from functools import partial
from typing import Any, final
from weakref import WeakKeyDictionary

from ...array import Array
from ...array.sharding import SingleDeviceSharding
from ...config import current as current_config
from ...core import DebugInfo, Jaxpr
from ...engines.xla.call_plan import CallPlan
from ...engines.xla.donation import call_donating, donated_to
from ...engines.xla.executable import Executable
from ...engines.xla.lowering import lower
from ...util.memo import on_clear
from ...util.parameter_keys import key_of
from ..build_events import COMPILING, LOWERING, reported

_logger = logging.getLogger(__name__)

CompilerOptions = tuple[tuple[str, Any], ...]


@final
class _Executables:
    """The executables of one jaxpr, by what else they depend on."""

    __slots__ = ("by_options", "lock")

    def __init__(self) -> None:
        self.by_options: dict[Any, Executable] = {}
        self.lock = threading.Lock()


_MAX_PROGRAMS = 1024

_lock = threading.RLock()
# In the order of their last use.
_of_jaxpr: WeakKeyDictionary[Jaxpr, _Executables] = WeakKeyDictionary()
on_clear(_of_jaxpr.clear)


def _executables_of(jaxpr: Jaxpr) -> _Executables:
    with _lock:
        known = _of_jaxpr.pop(jaxpr, None) or _Executables()
        _of_jaxpr[jaxpr] = known
        if len(_of_jaxpr) > _MAX_PROGRAMS:
            oldest = next(iter(_of_jaxpr.keyrefs()))()
            if oldest is not None:
                _of_jaxpr.pop(oldest, None)
        return known


def compiled(
    jaxpr: Jaxpr,
    name: str,
    donated: tuple[int, ...] = (),
    compiler_options: CompilerOptions = (),
    *,
    keep_unused: bool = False,
    place: SingleDeviceSharding,
) -> Executable:
    """The executable of a program at a place."""
    known = _executables_of(jaxpr)
    options = (donated, compiler_options, bool(keep_unused), place)
    key = key_of(options) or options
    found = known.by_options.get(key)
    if found is None:
        # Threads that need the same executable wait for the first.
        with known.lock:
            found = known.by_options.get(key)
            if found is None:
                start = time.perf_counter()
                with reported(LOWERING, f"jit({name})"):
                    program = lower(jaxpr, name, donated, place.platform, keep_unused=keep_unused)
                with reported(COMPILING, f"jit({name})"):
                    found = Executable.compile(program, place, compiler_options)
                known.by_options[key] = found
                _report(jaxpr, name, place.device, time.perf_counter() - start)
    return found


def _report(jaxpr: Jaxpr, name: str, device: Any, seconds: float) -> None:
    """Tell users who ask for it (``jax_log_compiles``) what was compiled."""
    level = logging.WARNING if current_config().log_compiles else logging.DEBUG
    if _logger.isEnabledFor(level):
        avals = ", ".join([aval.str_short() for aval in jaxpr.in_avals])
        _logger.log(level, "compiled %s(%s) for %r in %.3f s", name, avals, device, seconds)


def run(
    executable: Executable,
    operands: Sequence[Array],
    committed: bool,
    info: DebugInfo,
) -> list[Array]:
    """Call an executable on operands of its avals, some of which it may take over."""
    program = executable.program
    if not (program.donated or program.handed_over):
        return executable.run(operands, committed)
    return call_donating(executable, operands, committed, info.function, info.argument_name)


def plan(executable: Executable, info: DebugInfo) -> CallPlan | None:
    """What `run` does, for callers in C++; None if only Python can do it."""
    if executable.program.handed_over:
        return None
    return executable.plan(partial(donated_to, info.function))
