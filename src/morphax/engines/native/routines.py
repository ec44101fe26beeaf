"""Functions of our native code that machine code calls by their names; see `loops.callees`."""

from __future__ import annotations

from typing import Final

from ...runtime.native_calls import DRAWS_TARGET
from ...util.compiled import part

ROUTINES: Final = {DRAWS_TARGET: ("random", "draw_for_code")}
"""The names, and where their addresses are: a part of the compiled module, and its attribute."""


def address_of_routine(name: str) -> int | None:
    """Where a routine is; `None` if it is none."""
    place = ROUTINES.get(name)
    return None if place is None else int(getattr(part(place[0]), place[1]))
