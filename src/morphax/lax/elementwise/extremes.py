"""Maxima and minima of floats along axes, as XLA is asked for them on the CPU.

NaN wins, and 0 comes after −0.  XLA's kernel library for the CPU keeps neither rule, but is 15
times as fast as any loop that does.  So large arrays get both: the library's extreme and sum, in
two passes at the speed of memory, and the exact reduction of integers in the order of the floats,
which runs only if one of the results is in doubt.  There is no doubt about an extreme that

- belongs to a sum that is no NaN: a sum with a NaN in it is NaN, whatever the order of its terms.
  The converse fails (∞ − ∞, perhaps after an overflow), and costs time only;
- is not zero, since all other equal numbers are the same bits.

Where the library is not used, XLA's own loops keep both rules.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from ...core.dims import upper_bound
from ...engines.xla.stablehlo import Builder, Value
from ...runtime.client import loses_nan
from ...util.host_memory import MANY
from ..ground.families import compare
from ..ground.linear_structure import reduce_with
from ..ground.monoids import ADD, MAX, OR, Monoid
from .comparison import total_order_key
from .ordered_bits import from_ordered_bits, ordered_bits

_BYTES_WITH_INFINITIES: Final = 4
"""Not every float of fewer bytes has the infinities that XLA would start from."""


def lower_extreme(b: Builder, monoid: Monoid, out: Any, x: Value, axes: Any) -> Value:
    """Lower the maximum or minimum of floats for the CPU."""
    if out.dtype.itemsize < _BYTES_WITH_INFINITIES:
        return _by_ordered_bits(b, monoid, out, x, axes)
    if b.module.plain_extremes or not loses_nan(out.dtype):
        return _plain(b, monoid, out, x, axes)
    b.module.guards_extremes = True
    if upper_bound(x.aval.size) < MANY:
        return _by_ordered_bits(b, monoid, out, x, axes)
    return _guarded(b, monoid, out, x, axes)


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
    is_zero = compare(b, flags, "EQ", fast, b.full(0, out))
    doubt = b.elementwise("stablehlo.or", flags, is_nan, is_zero)
    if flags.shape:
        every = tuple(range(len(flags.shape)))
        doubt = reduce_with(b, OR.stablehlo, False, flags.update(shape=()), doubt, every)
    exact = b.region((), lambda inner: [_by_ordered_bits(inner, monoid, out, x, axes)])
    known = b.region((), lambda _: [fast])
    return b.op("stablehlo.if", out, doubt, regions=[exact, known])


def _by_ordered_bits(b: Builder, monoid: Monoid, out: Any, x: Value, axes: Any) -> Value:
    nan = np.nan if monoid is MAX else -np.nan
    keys = ordered_bits(b, x, nan, merge_zeros=False)
    integers = out.update(dtype=keys.aval.dtype, weak_type=False)
    start = total_order_key(monoid.identity(out.dtype))
    return from_ordered_bits(b, reduce_with(b, monoid.stablehlo, start, integers, keys, axes), out)
