"""Random bits by native code, which programs for the CPU call; see `native/random.cpp`.

As operations of XLA each draw is a hundred of them, which take milliseconds to compile and twice
the time to run; and of a thousand numbers XLA gives a part to another thread, which takes longer to
be woken.  Only programs that stay in this process call it, on one device, as for extremes.
"""

from __future__ import annotations

from typing import Any, Final

from ...dtypes import KeyType
from ...runtime.native_calls import BITS_TARGET
from ...util.compiled import part
from .custom_calls import custom_call
from .stablehlo import Builder, Value

# For each key, in loops: fewer bits are drawn sooner where they are used than by a call of 0.4 µs,
# fewer keys too.  Outside of loops XLA runs a loop for what is few.  It takes 10 µs, and 50 more
# where its buffers are so large that another thread gets a part of the program.
_FEWEST: Final = 256
# Of more, it takes longer to bring the memory that they are put into than to draw them.
_MOST: Final = 1 << 20


def may_call_bits(b: Builder, keys: Any, out: Any) -> bool:
    """Whether native code may draw the bits of an aval, rows of which belong to keys."""
    is_possible = b.module.may_call_kernels and part("random_bits") is not None
    if not is_possible or not out.is_static or not keys.size:
        return False
    are_few = isinstance(out.dtype, KeyType) or out.size < _FEWEST
    fewest = 1 if are_few and not b.module.repeats else _FEWEST * keys.size
    return fewest <= out.size <= _MOST


def call_bits(b: Builder, keys: Value, out: Any) -> Value:
    """Call native code for the bits."""
    order = [range(len(a.shape))[::-1] for a in (keys.aval, out)]
    (bits,) = custom_call(b, BITS_TARGET, [out], keys, layouts=order, config="{}")
    return bits
