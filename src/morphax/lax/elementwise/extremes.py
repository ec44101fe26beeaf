"""Maxima and minima along axes, as XLA is asked for them on the CPU.

NaN wins, 0 comes after −0, and numbers next to zero count.  XLA's kernel library for the CPU, which
is 15 times as fast as any of its loops over the elements of an axis, keeps none of these rules.  An
extreme of two arrays, element by element, is as fast as memory is read, and takes numbers next to
zero for zero, but keeps the other rules.  So large arrays are cut into parts along an axis and the
parts combined, until few elements are left.

Axes whose elements lie next to each other and are few can hardly be cut so.  These get two passes
of the library, the extreme and the sum.  There is no doubt about an extreme of a sum that is no
NaN: a sum with a NaN in it is NaN, whatever the order of its terms.  The converse fails (∞ − ∞,
perhaps after an overflow), and costs time only.

Where a program may call native code, all this is left to it (`engines.xla.extreme_calls`).

Nor is there doubt about an extreme that is not zero, since all other equal numbers are the same
bits.  Where one of the results is in doubt, the exact reduction follows, of integers in the order
of the floats.  Where the library is not used, XLA's own loops keep the rules.
"""

from __future__ import annotations

import math
from functools import reduce
from typing import Any, Final

import numpy as np

from ...core.dims import upper_bound
from ...engines.xla.extreme_calls import call_extremes, may_call_extremes
from ...engines.xla.stablehlo import Builder, Value
from ...runtime.client import loses_nan
from ...util.host_memory import MANY
from ..ground.families import compare
from ..ground.monoids import ADD, MAX, MIN, OR, Monoid
from ..ground.sums import reduce_with
from .comparison import total_order_key
from .ordered_bits import as_ordered, from_ordered_bits, ordered_bits

_MOST_PARTS: Final = 16
"""How many parts are combined at once."""

_FEWEST_PARTS: Final = 8
"""To combine less of them hardly pays."""

_SHORTEST_RUN: Final = 64
"""Of elements in memory, over which a loop pays."""

_FEWEST_IN_A_CALL: Final = 32
"""Elements that each result is the extreme of: of pools there are four."""

_BYTES_WITH_INFINITIES: Final = 4
"""Not every float of fewer bytes has the infinities that XLA would start from."""


def lower_extreme(b: Builder, monoid: Monoid, out: Any, x: Value, axes: Any) -> Value:
    """Lower the maximum or minimum of floats for the CPU."""
    if axes and may_call_extremes(b, x.aval) and _is_worth_a_call(b, x.aval, axes):
        return call_extremes(b, out, x, axes, is_min=monoid is MIN)
    if _is_cut(b, x, axes):
        return _by_parts(b, monoid, out, x, axes)
    if out.dtype.itemsize < _BYTES_WITH_INFINITIES:
        return _by_ordered_bits(b, monoid, out, x, axes)
    if b.module.reduces_in_loops or not loses_nan(out.dtype):
        return _plain(b, monoid, out, x, axes)
    b.module.minds_library = True
    if upper_bound(x.aval.size) < MANY:
        return _by_ordered_bits(b, monoid, out, x, axes)
    return _guarded(b, monoid, out, x, axes)


def _is_worth_a_call(b: Builder, aval: Any, axes: Any) -> bool:
    """Whether many elements are compared: XLA makes no fusion of a call with what comes before.

    Where its own loops reduce, they lose no NaN, and are the quicker for pools.
    """
    count = math.prod([aval.shape[i] for i in axes])
    return aval.size >= MANY and not (b.module.reduces_in_loops and count < _FEWEST_IN_A_CALL)


def lower_careless(b: Builder, monoid: Monoid, out: Any, x: Value, axes: Any) -> Value:
    """Lower an extreme of which NaN and the sign of zero may be lost."""
    if out.dtype.itemsize < _BYTES_WITH_INFINITIES:
        return _by_ordered_bits(b, monoid, out, x, axes)
    return _plain(b, monoid, out, x, axes)


def _plain(b: Builder, monoid: Monoid, out: Any, x: Value, axes: Any) -> Value:
    return reduce_with(b, monoid.stablehlo, monoid.identity(out.dtype), out, x, axes)


def _guarded(b: Builder, monoid: Monoid, out: Any, x: Value, axes: Any) -> Value:
    fast = _plain(b, monoid, out, x, axes)
    total = reduce_with(b, ADD.stablehlo, 0, out, x, axes)
    flags = out.update(dtype=np.dtype(bool), weak_type=False)
    is_nan = compare(b, flags, "NE", total, total)
    doubt = b.elementwise("stablehlo.or", flags, is_nan, _is_zero(b, fast))
    return _unless_in_doubt(b, monoid, fast, doubt, x, axes)


def _by_parts(b: Builder, monoid: Monoid, out: Any, x: Value, axes: Any) -> Value:
    # Each part would compute anew what x is made of.
    x = b.op("stablehlo.optimization_barrier", x.aval, x)
    is_narrow = out.dtype.itemsize < _BYTES_WITH_INFINITIES
    wide = b.convert(x, np.dtype(np.float32)) if is_narrow else x
    wide = _combined(b, monoid, wide, axes)
    few = out.update(dtype=wide.aval.dtype)
    if wide.aval.size == few.size:
        fast = b.reshape(wide, few)
    else:
        fast = _by_ordered_bits(b, monoid, few, wide, axes)
    fast = b.convert(fast, out.dtype)
    return _unless_in_doubt(b, monoid, fast, _is_zero(b, fast), x, axes)


def _is_zero(b: Builder, x: Value) -> Value:
    flags = x.aval.update(dtype=np.dtype(bool), weak_type=False)
    return compare(b, flags, "EQ", x, b.full(0, x.aval))


def _unless_in_doubt(
    b: Builder, monoid: Monoid, fast: Value, doubt: Value, x: Value, axes: Any
) -> Value:
    """The extremes `fast`, or the exact ones where some are in `doubt`."""
    out, flags = fast.aval, doubt.aval
    if flags.shape:
        every = tuple(range(len(flags.shape)))
        doubt = _combined(b, OR, doubt, every)
        doubt = reduce_with(b, OR.stablehlo, False, flags.update(shape=()), doubt, every)
    exact = b.region((), lambda inner: [_by_ordered_bits(inner, monoid, out, x, axes)])
    known = b.region((), lambda _: [fast])
    return b.op("stablehlo.if", out, doubt, regions=[exact, known])


def _by_ordered_bits(b: Builder, monoid: Monoid, out: Any, x: Value, axes: Any) -> Value:
    nan = np.nan if monoid is MAX else -np.nan
    keys = ordered_bits(b, x, nan, merge_zeros=False)
    integers = out.update(dtype=keys.aval.dtype, weak_type=False)
    start = total_order_key(monoid.identity(out.dtype).astype(as_ordered(out.dtype)))
    return from_ordered_bits(b, reduce_with(b, monoid.stablehlo, start, integers, keys, axes), out)


def _is_cut(b: Builder, x: Value, axes: Any) -> bool:
    """Whether an array is so large, and lies so, that most of it goes by combining parts."""
    is_one = x.aval.is_static and b.module.num_devices == 1
    # XLA's loops over parts with three axes and more are slower than two passes of the library.
    is_flat = x.aval.ndim <= 2 or len(axes) == x.aval.ndim
    return is_one and is_flat and x.aval.size >= MANY and _cut(x.aval, axes) is not None


def _cut(aval: Any, axes: Any) -> tuple[int, int] | None:
    """The axis to cut next and into how many parts, None if few elements are left or cuts."""
    shape = aval.shape
    parts = {i: min(shape[i], _MOST_PARTS, math.prod(shape[i:]) // _SHORTEST_RUN) for i in axes}
    if not parts:
        return None
    axis = max(parts, key=lambda i: (parts[i] == shape[i] > 1, parts[i]))
    count = parts[axis]
    is_whole = count == shape[axis] > 1
    return (axis, count) if is_whole or (count >= _FEWEST_PARTS and aval.size >= MANY) else None


def _combined(b: Builder, monoid: Monoid, x: Value, axes: Any) -> Value:
    """Fewer elements with the same extreme.

    Parts overlap where sizes are no multiples: an extreme may count elements twice.
    """
    while x.aval.is_static and (cut := _cut(x.aval, axes)) is not None:
        axis, count = cut
        size = x.aval.shape[axis]
        length = -(-size // count)
        starts = [min(i * length, size - length) for i in range(count)]
        parts = [b.slice_along(x, axis, start, start + length) for start in starts]
        x = reduce(lambda y, z: b.elementwise(monoid.stablehlo, y.aval, y, z), parts)
    return x
