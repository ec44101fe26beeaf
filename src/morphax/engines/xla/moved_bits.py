"""Numbers of bfloat16 that are only moved, as the bits that they are, on the CPU.

There jaxlib before 0.11 computes what it does with bfloat16 in float32, slices and updates too: an
array is converted, whole, for each element that is read from it or written into it.  A loop that
fills an array took time that grows with the square of its length (4000 numbers: 9 ms).  So slices
and updates at places known at run time are made of 16-bit integers, and loops carry those instead
of the arrays that their bodies update.  The bits of a number are read as the number, and back,
where something is computed; XLA takes away what undoes itself.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from ...dtypes import bfloat16
from ...runtime.client import widens_bfloat16_to_move_it
from .stablehlo import Builder, Value

_BFLOAT16: Final = np.dtype(bfloat16)
_BITS: Final = np.dtype(np.uint16)


def is_moved_as_bits(b: Builder, aval: Any) -> bool:
    """Whether elements of an array are moved as bits."""
    on_cpu = b.module.platform == "cpu" and aval.dtype == _BFLOAT16
    return bool(on_cpu and widens_bfloat16_to_move_it())


def bits_of(aval: Any) -> Any:
    """The aval of the bits of an array."""
    return aval.update(dtype=_BITS, weak_type=False)


def moved_value(b: Builder, x: Value, aval: Any) -> Value:
    """An array, or its bits, as the one that `aval` says."""
    return x if x.aval.dtype == aval.dtype else b.bitcast(x, aval)


def moved(b: Builder, out: Any, move: Callable[..., Value], *arrays: Value) -> Value:
    """What ``move(out, *arrays)`` writes, which computes nothing of the elements."""
    if not is_moved_as_bits(b, out):
        return move(out, *arrays)
    return b.bitcast(move(bits_of(out), *[b.bitcast(x, bits_of(x.aval)) for x in arrays]), out)
