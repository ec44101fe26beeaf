"""How sorting is lowered.

XLA calls the comparison of a sort once per pair of elements, unless it is a plain ``<`` of one
integer operand; then it sorts several times faster.  So an operand of integers is sorted as it is,
and where there is one key of at most 32 bits, key and place are packed into one 64-bit integer, the
key in the high half: the order of these is that of a stable sort, and the low halves say what goes
where.  All else is sorted by a comparison, and so are values that are split over devices: what goes
where would go by all of them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ... import dtypes
from ...core.dims import upper_bound
from ...engines.xla.stablehlo import Builder, Value
from ..elementwise.complex import real_dtype
from ..elementwise.ordered_bits import is_float, ordered_bits
from ..ground.families import compare

_INT64 = np.dtype(np.int64)
_LONGEST_PACKED = 2**31


def lower_sort(
    b: Builder, values: Sequence[Value], dimension: int, is_stable: bool, num_keys: int
) -> list[Value]:
    """Sort `values` along an axis by the first `num_keys` of them."""
    first = values[0].aval
    is_integer = not dtypes.issubdtype(first.dtype, np.inexact)
    if len(values) == 1 and is_integer:
        return _sorted_by(b, values, dimension, is_stable, 1)
    packable = first.dtype.itemsize <= 4 and upper_bound(first.shape[dimension]) < _LONGEST_PACKED
    is_split = b.module.num_devices > 1 and b.axes is None
    if num_keys == 1 and packable and first.dtype.kind != "c" and not is_split:
        places = _sorted_places(b, values[0], dimension)
        return [_taken(b, v, places, dimension) for v in values]
    return _sorted_by(b, values, dimension, is_stable, num_keys)


def _sorted_by(
    b: Builder, values: Sequence[Value], dimension: int, is_stable: bool, num_keys: int
) -> list[Value]:
    """Sort by a comparison, lexicographic if there are several keys."""
    flag = values[0].aval.update(shape=(), dtype=np.dtype(bool), weak_type=False)
    elements = [v.aval.update(shape=()) for v in values]

    def body(inner: Builder, *pairs: Value) -> Sequence[Value]:
        # Arguments come in pairs: left and right of each operand.
        lefts, rights = (pairs[side : 2 * num_keys : 2] for side in (0, 1))
        parts = [
            part
            for left, right in zip(lefts, rights, strict=True)
            for part in _parts(inner, left, right)
        ]
        precedes = _less(inner, flag, *parts[-1])
        for left, right in reversed(parts[:-1]):
            tied = inner.elementwise(
                "stablehlo.and", flag, _equal(inner, flag, left, right), precedes
            )
            less = _less(inner, flag, left, right)
            precedes = inner.elementwise("stablehlo.or", flag, less, tied)
        return [precedes]

    region = b.region([e for e in elements for _ in range(2)], body)
    return b.ops(
        "stablehlo.sort",
        [v.aval for v in values],
        *values,
        regions=[region],
        dimension=f"{dimension} : i64",
        is_stable=str(is_stable).lower(),
    )


def _parts(b: Builder, left: Value, right: Value) -> list[tuple[Value, Value]]:
    """What is compared one after the other: a complex number is compared by its parts."""
    if left.aval.dtype.kind != "c":
        return [(left, right)]
    aval = left.aval.update(dtype=real_dtype(left.aval.dtype))
    names = ("stablehlo.real", "stablehlo.imag")
    return [(b.op(name, aval, left), b.op(name, aval, right)) for name in names]


def _less(b: Builder, flag: Any, x: Value, y: Value) -> Value:
    """Whether x < y, where NaN follows all numbers."""
    less = compare(b, flag, "LT", x, y)
    if not is_float(x.aval.dtype):
        return less
    only_y_is_nan = b.elementwise(
        "stablehlo.and", flag, compare(b, flag, "EQ", x, x), compare(b, flag, "NE", y, y)
    )
    return b.elementwise("stablehlo.or", flag, less, only_y_is_nan)


def _equal(b: Builder, flag: Any, x: Value, y: Value) -> Value:
    """Whether x = y, where NaN equals NaN."""
    equal = compare(b, flag, "EQ", x, y)
    if not is_float(x.aval.dtype):
        return equal
    both_nan = b.elementwise(
        "stablehlo.and", flag, compare(b, flag, "NE", x, x), compare(b, flag, "NE", y, y)
    )
    return b.elementwise("stablehlo.or", flag, equal, both_nan)


def _sorted_places(b: Builder, key: Value, dimension: int) -> Value:
    """The places of the elements of `key` in the order of a stable sort, as 64-bit integers."""
    if is_float(key.aval.dtype):
        key = ordered_bits(b, key, np.nan, merge_zeros=True)
    wide = b.convert(key, _INT64)
    aval, half = wide.aval, b.full(32, wide.aval)
    if key.aval.dtype == np.uint32:
        # Their middle goes to 0, so that the high half is signed as the whole is.
        wide = b.elementwise("stablehlo.subtract", aval, wide, b.full(2**31, aval))
    place = b.iota(aval, dimension)
    high = b.elementwise("stablehlo.shift_left", aval, wide, half)
    packed = b.elementwise("stablehlo.or", aval, high, place)
    (ordered,) = _sorted_by(b, [packed], dimension, False, 1)
    return b.elementwise("stablehlo.and", aval, ordered, b.full(_LONGEST_PACKED - 1, aval))


def _taken(b: Builder, x: Value, places: Value, dimension: int) -> Value:
    """The elements of `x` at `places` along an axis."""
    shape, size = x.aval.shape, x.aval.size
    stride = math.prod(shape[dimension + 1 :])
    aval = places.aval
    if stride != 1 or shape[dimension] != size:
        # The number of an element in row-major order changes by that of its place times the stride.
        flat = aval.update(shape=(size,))
        numbers = b.reshape(b.iota(flat, 0), aval)
        here = b.iota(aval, dimension)
        moved = b.elementwise("stablehlo.subtract", aval, places, here)
        scaled = b.elementwise("stablehlo.multiply", aval, moved, b.full(stride, aval))
        places = b.elementwise("stablehlo.add", aval, numbers, scaled)
    index_dtype = np.dtype(np.int32 if upper_bound(size) < 2**31 else np.int64)
    column = aval.update(shape=(size, 1), dtype=index_dtype)
    rows = x.aval.update(shape=(size,))
    gathered = b.gather(
        b.reshape(x, rows),
        rows,
        b.reshape(b.convert(places, index_dtype), column),
        (1,),
        dimension_numbers="#stablehlo.gather<collapsed_slice_dims = [0], "
        "start_index_map = [0], index_vector_dim = 1>",
    )
    return b.reshape(gathered, x.aval)
