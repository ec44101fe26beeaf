"""Which products are too large for native code, by the sizes of their operands.

Of a large product the BLAS uses several threads, which wait for each other.  Stacks of smaller ones
wait for nobody: there XLA's library has as much to do as ours, and shares it among its threads.
Loops multiply integers; XLA's library is faster where matrices no longer fit the nearest caches,
and of int8 from 128 × 128 on, for it adds up four products at once, if the sum is an int32.

Measured on two cores, CPU time in µs, natively and in XLA: 256 products of 62 × 62 of float32 3500
and 3000 (by the clock 3500 and 1700); int8 of 128, 192 and 256 rows and columns 88 and 78, 310 and
150, 740 and 350; int32 90 and 280, 310 and 530, 1280 and 1000.

See `engines.loops.contraction` and `engines.native.cost_model`.
"""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np

# Loop programs leave matrices to a library that have so many rows and columns.
_FEWEST_IN_LIBRARY: Final = 8
_MOST_OF_ONE_THREAD: Final = 1 << 18
_MOST_OF_STACK: Final = 1 << 24
_MOST_OF_BYTES: Final = 1 << 21
_MOST_OF_INTEGERS: Final = 1 << 23


def is_for_libraries(x: Any, y: Any, numbers: Any, out: Any) -> bool:
    """Whether native code would take longer.

    Args:
        x, y: avals of the operands.
        numbers: contracting and batch axes, as in `lax.dot_general`.
        out: dtype of the sums.
    """
    (contracting, _), (batch, _) = numbers
    terms, groups = [math.prod([x.shape[i] for i in axes]) for axes in (contracting, batch)]
    if x.dtype != y.dtype or x.dtype.kind not in "fiu" or not terms * groups:
        return False
    rows, columns = [operand.size // (terms * groups) for operand in (x, y)]
    sizes = rows, columns, terms
    if min(sizes) < _FEWEST_IN_LIBRARY:
        return False
    products = math.prod(sizes)
    if x.dtype.kind == "f":
        return products > _MOST_OF_ONE_THREAD or groups * products > _MOST_OF_STACK
    # XLA's loops for narrower sums take fifteen times as long as ours.
    is_fast = out == np.int32 or out == np.uint32
    most = _MOST_OF_BYTES if x.dtype == np.int8 else _MOST_OF_INTEGERS
    return is_fast and groups * products > most
