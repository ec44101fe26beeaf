"""Numbers drawn by rejection, by native code that machine code calls: `native/draws.cpp`.

It has the roundings of XLA's programs, so that engines accept the same candidates.
"""

from __future__ import annotations

from typing import Any

from ...runtime.native_calls import DRAW_METHODS, DRAWS_TARGET
from .builder import Builder
from .callees import Routine
from .calls import computed
from .values import Value

# For a number of float32, with a usual parameter.
_NANOSECONDS = 50


def drawn(b: Builder, method: str, out: Any, keys: Value, *parameters: Value) -> Value:
    """A number for each of the parameters, keys being their leading axes."""
    rows, bytes_each = keys.size, out.dtype.itemsize
    numbers = (DRAW_METHODS.index(method), bytes_each, rows, out.size // rows)
    routine = Routine(DRAWS_TARGET, numbers, _NANOSECONDS * out.size * bytes_each // 4)
    (result,) = computed(b, [out], [keys, *parameters], routine)
    return result
