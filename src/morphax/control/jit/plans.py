"""The plans of programs: each is compiled once, and kept for its jaxpr while that lives.

Of more than `_MAX_PROGRAMS` jaxprs the plans of those used longest ago are let go, unless
others keep them.
"""

from __future__ import annotations

import logging
import threading
import time
from typing import Any, final
from weakref import WeakKeyDictionary

from ...config import current as current_config
from ...core import Jaxpr, without_references
from ...engines.choice import engine_for
from ...engines.engine import Options, Plan
from ...runtime.places import Places
from ...runtime.sharding import SingleDeviceSharding
from ...util.memo import on_clear
from ...util.parameter_keys import key_of

_logger = logging.getLogger(__name__)


@final
class _Plans:
    """The plans of one jaxpr, by what else they depend on."""

    __slots__ = ("by_options", "lock")

    def __init__(self) -> None:
        self.by_options: dict[Any, Plan] = {}
        self.lock = threading.Lock()


_MAX_PROGRAMS = 1024

_lock = threading.RLock()
# In the order of their last use.
_of_jaxpr: WeakKeyDictionary[Jaxpr, _Plans] = WeakKeyDictionary()
on_clear(_of_jaxpr.clear)


def _plans_of(jaxpr: Jaxpr) -> _Plans:
    with _lock:
        known = _of_jaxpr.pop(jaxpr, None) or _Plans()
        _of_jaxpr[jaxpr] = known
        if len(_of_jaxpr) > _MAX_PROGRAMS:
            oldest = next(iter(_of_jaxpr.keyrefs()))()
            if oldest is not None:
                _of_jaxpr.pop(oldest, None)
        return known


def plan_of(jaxpr: Jaxpr, options: Options, place: SingleDeviceSharding) -> Plan:
    """The plan of a program whose operands and results are at one place."""
    known = _plans_of(jaxpr)
    # Whatever the name, it is the same plan.
    rest = (*options[1:], place)
    key = key_of(rest) or rest
    found = known.by_options.get(key)
    if found is None:
        # Threads that need the same plan wait for the first.
        with known.lock:
            found = known.by_options.get(key)
            if found is None:
                start = time.perf_counter()
                on_values = without_references(jaxpr)
                places = Places.all_at(place, on_values.invars, on_values.outvars)
                engine = engine_for(jaxpr, place)
                found = known.by_options[key] = engine.compile(jaxpr, places, options)
                _report(jaxpr, options.name, place.device, time.perf_counter() - start)
    return found


def _report(jaxpr: Jaxpr, name: str, device: Any, seconds: float) -> None:
    """Tell users who ask for it (``jax_log_compiles``) what was compiled."""
    level = logging.WARNING if current_config().log_compiles else logging.DEBUG
    if _logger.isEnabledFor(level):
        avals = ", ".join([aval.str_short() for aval in jaxpr.in_avals])
        _logger.log(level, "compiled %s(%s) for %r in %.3f s", name, avals, device, seconds)
