"""Reductions by one operation as XLA is asked for them, and the form of long sums on a CPU.

In jaxlib before 0.11, XLA's loops add one number after another where its kernel library does not do
it, which never does what a fusion computes, nor anything beside a dot (`library_fusions`): each
addition waits for the last one.  Only loops over whole rows of memory are of vectors, and XLA has
them for one long axis with others behind it.  The sum over all axes of 16 × 32 × 32 × 32 numbers
but the last takes 390 µs, that of the same memory as 16384 × 32 takes 32 µs.

So long sums are written as sums of rows: several elements of the axes that are summed lie side by
side, and what the sum over the others leaves is summed afterwards.  XLA sees through a reshape that
only joins or parts whole axes, so the one here ends within an axis; and it would join both sums but
for a barrier.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from itertools import accumulate
from operator import mul
from typing import Any, Final

import numpy as np

from ...core import ShapedArray
from ...engines.xla.stablehlo import Builder, Value, tensor_type
from ...runtime.client import fusions_are_chosen

_FEWEST: Final = 1 << 13
"""Numbers of which the sum is not done before its loops have begun."""

_FEWEST_IN_ROWS: Final = 1 << 17
"""The same of sums along the last axes.

Their form lets XLA fuse what the numbers are made of with the sum, where it would have it in
memory: of models it makes twice the operations, which take longer to compile and to run.
"""

_NARROWEST: Final = 64
"""Columns that fill the vectors of a loop over rows."""

_MOST_BESIDE: Final = 64
_FEWEST_ROWS: Final = 32
_LANES: Final = (8, *range(16, 129, 16))
_FEWEST_IN_LANES: Final = 64
_LONGEST: Final = 32


def reduce_with(b: Builder, operation: str, identity: Any, out: Any, x: Value, axes: Any) -> Value:
    """Lower a reduction by a binary `operation` with its `identity`."""
    element = out.update(shape=())
    start = b.constant(identity, element)
    result = b.new_value(out)
    b.lines.append(
        f"{result.name} = stablehlo.reduce({x.name} init: {start.name}) applies {operation} "
        f"across dimensions = [{', '.join(map(str, axes))}]{b.noted()} : "
        f"({tensor_type(x.aval)}, {tensor_type(element)}) -> {tensor_type(out)}"
    )
    return result


def lower_sum(b: Builder, out: Any, x: Value, axes: Any) -> Value:
    """Lower the sum over some axes."""
    run = _last_run(axes)
    columns = math.prod(x.aval.shape[run[-1] + 1 :]) if run else 0
    beside = _beside(x.aval, axes, run, columns) if _is_by_loops(b) else None
    if beside is not None and columns == 1 and not b.module.reduces_in_loops:
        # Along the last axes the library is as fast.
        b.module.minds_library, beside = True, None
    if beside is None:
        return reduce_with(b, "stablehlo.add", 0, out, x, axes)
    first, dtype = run[0], x.aval.dtype
    before = x.aval.shape[:first]
    rows = math.prod([x.aval.shape[axis] for axis in run]) // beside
    x = b.reshape(x, ShapedArray((*before, rows, beside * columns), dtype))
    few = ShapedArray((*before, beside * columns), dtype)
    x = reduce_with(b, "stablehlo.add", 0, few, x, (first,))
    x = b.op("stablehlo.optimization_barrier", few, x)
    x = b.reshape(x, ShapedArray((*before, beside, columns), dtype))
    rest = [axis for axis in axes if axis <= first]
    kept = [n for axis, n in enumerate(before) if axis not in rest]
    x = reduce_with(b, "stablehlo.add", 0, ShapedArray((*kept, columns), dtype), x, rest)
    return b.reshape(x, out)


def _is_by_loops(b: Builder) -> bool:
    """Whether sums may be left to XLA's own loops, on one device."""
    return b.module.platform == "cpu" and b.module.num_devices == 1 and fusions_are_chosen()


def _last_run(axes: Any) -> list[int]:
    """The last of the axes and those right in front of it."""
    run: list[int] = []
    for axis in sorted(axes, reverse=True):
        if run and axis < run[0] - 1:
            break
        run.insert(0, axis)
    return run


def _beside(x: Any, axes: Any, run: list[int], columns: int) -> int | None:
    """How many elements of a run of axes are to lie side by side; None for a sum as it is."""
    if not run or x.dtype not in (np.float32, np.float64) or not x.is_static:
        return None
    if x.size < (_FEWEST_IN_ROWS if columns == 1 else _FEWEST):
        return None
    sizes = [x.shape[axis] for axis in run]
    count = math.prod(sizes)
    # So many are whole axes, which XLA would part again.
    whole = set(accumulate(reversed(sizes), mul))
    numbers: Iterable[int] = ()
    if columns == 1:
        # So few as leave an axis that XLA does not part, or many.
        few = [n for n in _LANES if count <= n * _LONGEST]
        numbers = [*few, *reversed(_LANES)] if count >= _FEWEST_IN_LANES else ()
    elif len(run) == len(axes) and sum([n > 1 for n in sizes]) > 1:
        fewest = max(2, -(-_NARROWEST // columns))
        numbers = range(fewest, min(_MOST_BESIDE, count // _FEWEST_ROWS) + 1)
    return next((n for n in numbers if count % n == 0 and n not in whole), None)
