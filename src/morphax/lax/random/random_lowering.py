"""Images of counters in StableHLO; see `random_bits`."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ... import dtypes
from ...core.dims import upper_bound
from ...engines.xla.stablehlo import Builder, Value
from .threefry import lower_encryption

_FEW_KEYS = 1024
# Four numbers, unrolled, are well below a thousand operations; from 29 on a step is above.
_FEW_NUMBERS = range(5, 29)


def lower_images(b: Builder, out: Any, keys: Value, counters: tuple[Value, Value]) -> Value:
    """The images of counters, as numbers of the dtype of `out`; axes of keys come first."""
    words = out.update(dtype=np.uint32)
    axes = range(len(keys.aval.shape))
    rolled = b.module.platform == "cpu" and _is_for_a_loop(out)
    pair = _lower_words(b, keys)
    x0, x1 = lower_encryption(b, words, pair, counters, axes, rolled=rolled)
    if out.dtype.itemsize < 8:
        sum_without_carry = b.elementwise("stablehlo.xor", words, x0, x1)
        if out.dtype == np.uint32:
            return sum_without_carry
        return b.op("stablehlo.convert", out, sum_without_carry)
    high, low = [b.op("stablehlo.convert", out, x) for x in (x0, x1)]
    high = b.elementwise("stablehlo.shift_left", out, high, b.full(32, out))
    return b.elementwise("stablehlo.or", out, high, low)


def _is_for_a_loop(out: Any) -> bool:
    """Whether XLA's CPU client does better with a loop over groups of rounds.

    It would compute a key anew in every loop that uses it; a loop over rounds it leaves alone.
    Numbers so few that the call costs more than they do it draws in the caller's thread if it
    estimates the program at less than a thousand operations, and of a loop it counts one step.
    """
    size = upper_bound(out.size)
    return size <= _FEW_KEYS if isinstance(out.dtype, dtypes.KeyType) else size in _FEW_NUMBERS


def lower_counters(b: Builder, out: Any, first_axis: int) -> tuple[Value, Value]:
    """The words of the row-major numbers of elements, not counting the axes before `first_axis`.

    They are made axis by axis, not reshaped from one axis, so that each device of many can make its
    own.
    """
    shape = out.shape[first_axis:]
    words = out.update(dtype=np.uint32)
    is_wide = upper_bound(math.prod(shape)) >= 1 << 32
    numbers = out.update(dtype=np.uint64) if is_wide else words
    total = b.full(0, numbers)
    for axis, size in enumerate(shape):
        stride = math.prod(shape[axis + 1 :])
        if upper_bound(size) > 1:
            place = b.iota(numbers, first_axis + axis)
            place = b.elementwise("stablehlo.multiply", numbers, place, b.full(stride, numbers))
            total = b.elementwise("stablehlo.add", numbers, total, place)
    return _lower_words(b, total) if is_wide else (b.full(0, words), total)


def _lower_words(b: Builder, pairs: Value) -> tuple[Value, Value]:
    """First and second words of pairs."""
    aval = pairs.aval
    words = aval.update(dtype=np.uint32)
    high = b.elementwise("stablehlo.shift_right_logical", aval, pairs, b.full(32, aval))
    return b.op("stablehlo.convert", words, high), b.op("stablehlo.convert", words, pairs)


def with_halves_swapped(b: Builder, pairs: Value) -> Value:
    """Pairs with their words exchanged."""
    aval = pairs.aval
    half = b.full(32, aval)
    left = b.elementwise("stablehlo.shift_left", aval, pairs, half)
    right = b.elementwise("stablehlo.shift_right_logical", aval, pairs, half)
    return b.elementwise("stablehlo.or", aval, left, right)
