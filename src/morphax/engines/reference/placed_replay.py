"""Functions of several operations on another device than the host's: one compiled program each.

There each operation is a program that some compiler makes and a device is told to run.  So a
function that `replay` knows is compiled as a whole, as under `jit`, at the first call of a
signature.  See docs/design/eager-replay.md.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, final

import numpy as np

from ...array import Array
from ...array.colocation import placement_of
from ...core import Jaxpr
from ...runtime.places import Places
from ...runtime.sharding import Sharding, SingleDeviceSharding
from ...util.memo import MemoTable, missing
from ..choice import choose
from ..engine import Options, Plan
from .engine import is_in_host_memory

Collect = Callable[[list[Any]], Any]

_scalars: MemoTable[Array] = MemoTable(max_entries=1024)


@final
class PlacedProgram:
    """A compiled program, and what makes the result of a function of its results.

    Operands are arrays, and numbers in host memory.

    Args:
        plan: the program.
        place: where it runs.
        collect: makes the result of the arrays, where it is not the only one of them.
    """

    __slots__ = ("_collect", "_place", "_plan")

    def __init__(self, plan: Plan, place: Sharding, collect: Collect | None) -> None:
        self._plan = plan
        self._place = place
        self._collect = collect

    def __call__(self, operands: Sequence[Any], committed: bool) -> Any:
        arrays = [
            x if type(x) is Array else scalar_at(self._place, aval, x)
            for x, aval in zip(operands, self._plan.in_avals, strict=True)
        ]
        results = self._plan.run(arrays, committed)
        return results[0] if self._collect is None else self._collect(results)


PlacedPrograms = MemoTable[PlacedProgram | None]


def placed_program(
    name: str, jaxpr: Jaxpr, collect: Collect | None, place: Sharding
) -> PlacedProgram | None:
    """A program compiled for a place; `None` if it does more than compute."""
    if jaxpr.effects:
        return None
    options = Options(name)
    engine = choose(jaxpr, place, options=options).engine
    places = Places.all_at(place, len(jaxpr.invars), len(jaxpr.outvars))
    return PlacedProgram(engine.compile(jaxpr, places, options), place, collect)


def where_placed(operands: Sequence[Any], name: str) -> tuple[Sharding | None, bool]:
    """The one device that is to compute, and whether results are committed to it.

    `None` for the host's memory, and for several devices, whose compiler divides operations.
    """
    arrays = [x for x in operands if type(x) is Array]
    place, committed = placement_of(arrays, name)
    is_one = type(place) is SingleDeviceSharding and not is_in_host_memory(place)
    return (place if is_one else None), committed


def scalar_at(place: Sharding, aval: Any, value: np.ndarray[Any, Any]) -> Array:
    """A number at a place, where it stays: to send it takes longer than to compute with it."""
    key = place, aval, value.tobytes()
    known = _scalars[key]
    if known is missing:
        known = _scalars.add(key, Array(aval, value).placed(place, False))
    return known
