"""Where programs run, and their plans: each is compiled once, and kept while its jaxpr lives.

A plan is found by its jaxpr, its options and its places: one object for those of all operands and
results, or the one place where all of them are.  Options that no key understands are compiled anew
(`util.parameter_keys`).

Of more than `_MAX_PROGRAMS` jaxprs the plans of those used longest ago are let go, unless
others keep them.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Sequence
from typing import Any, final
from weakref import WeakKeyDictionary

from ..array import Array
from ..array.colocation import bound_places, joint_places, placement_of
from ..config import current as current_config
from ..core import Jaxpr, without_references
from ..core.dce import eliminate_dead_code
from ..engines.choice import choose
from ..engines.dumps import dump_jaxpr
from ..engines.engine import Options, Plan, Unavailable
from ..runtime.places import Places
from ..runtime.sharding import Sharding, SingleDeviceSharding
from ..util.memo import on_clear
from ..util.parameter_keys import key_of
from ..util.paused_collection import RareCollection

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


Where = SingleDeviceSharding | Places

_bindings: WeakKeyDictionary[Jaxpr, tuple[int, ...]] = WeakKeyDictionary()


def binding_operands(jaxpr: Jaxpr, keeps_unused: bool) -> Sequence[int]:
    """The operands whose places bind a call: those that the program uses, or forwards as results.

    Args:
        jaxpr: the program.
        keeps_unused: whether operands that nothing depends on are passed too, and count.
    """
    if keeps_unused:
        return range(len(jaxpr.invars))
    known = _bindings.get(jaxpr)
    if known is None:
        _, used = eliminate_dead_code(without_references(jaxpr))
        positions = [i for i, is_used in enumerate(used) if is_used]
        known = _bindings.setdefault(jaxpr, tuple(positions))
    return known


def place_of_call(
    jaxpr: Jaxpr,
    operands: Sequence[Array],
    binding: Sequence[int],
    default: SingleDeviceSharding | None = None,
) -> tuple[Where, bool]:
    """Where a call runs, and whether its results are committed to their places.

    Args:
        jaxpr: the program.
        operands: of the call.
        binding: positions of those that count.
        default: the place if none of them is committed, where the caller knows it already.

    Raises:
        ValueError: if operands are committed to different devices.
    """
    info = jaxpr.debug_info
    where = f"jit of {info.function}"
    place, committed = placement_of(operands, where, info.argument_name, default, binding)
    return where_of(place, operands, len(jaxpr.outvars)), committed


def where_of(place: Sharding, operands: Sequence[Array], results: int) -> Where:
    """Where a program runs that `placement_of` puts at `place`, as its plans are found by."""
    if type(place) is SingleDeviceSharding:
        return place
    return joint_places(place, bound_places(operands, place), len(operands), results)


def plan_of(jaxpr: Jaxpr, options: Options, where: Where) -> Plan:
    """The plan of a program at its places."""
    known = _plans_of(jaxpr)
    # Whatever the name, it is the same plan.
    key = key_of((*options[1:], where))
    if key is None:
        return _compiled(jaxpr, options, where)
    found = known.by_options.get(key)
    if found is None:
        # Threads that need the same plan wait for the first.
        with known.lock:
            found = known.by_options.get(key)
            if found is None:
                found = known.by_options[key] = _compiled(jaxpr, options, where)
    return found


def _compiled(jaxpr: Jaxpr, options: Options, where: Where) -> Plan:
    start = time.perf_counter()
    if type(where) is SingleDeviceSharding:
        on_values = without_references(jaxpr)
        places = Places.all_at(where, len(on_values.invars), len(on_values.outvars))
    else:
        places = where
    dump_jaxpr(options.name, lambda: f"{jaxpr}\n")
    try:
        plan, said = _planned(jaxpr, places, options)
    except Unavailable:
        # The engine knows now, and leaves the program to another unless the user wants this one.
        plan, said = _planned(jaxpr, places, options)
    _report(jaxpr, options.name, places, time.perf_counter() - start, said[-1])
    return plan


def _planned(jaxpr: Jaxpr, places: Places, options: Options) -> tuple[Plan, Sequence[str]]:
    """The plan of the engine that is chosen, and what the engines have said."""
    with RareCollection():
        engine, said = choose(jaxpr, places.whole, options=options)
        plan = engine.compile(jaxpr, places, options)
    plan.engine_name = engine.name
    plan.choice = "\n".join([f"engine {engine.name}", *said])
    return plan, said


def _report(jaxpr: Jaxpr, name: str, places: Places, seconds: float, by: str) -> None:
    """Tell users who ask for it (``jax_log_compiles``) what was compiled, and by which engine."""
    level = logging.WARNING if current_config().log_compiles else logging.DEBUG
    if _logger.isEnabledFor(level):
        avals = ", ".join([aval.str_short() for aval in jaxpr.in_avals])
        devices = places.devices
        told = devices[0] if len(devices) == 1 else devices
        text = "compiled %s(%s) for %r in %.3f s (%s)"
        _logger.log(level, text, name, avals, told, seconds, by)
