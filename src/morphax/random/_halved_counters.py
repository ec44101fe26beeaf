"""Numbers of Threefry in the order that JAX had before ``jax_threefry_partitionable``.

To draw n words, the counters 0, 1, …, n − 1, and a 0 if n is odd, are cut into two halves; counter
i of the first half and counter i of the second are the pair whose image has word i of either half
of the result.  So each word depends on n, and no device of many can draw its share alone.  A number
of 64 bits has its high word from the first half of all words and its low word from the second; a
word has two numbers of 16 bits or four of 8, low ones first.

The functions are those of a `PRNGImpl`: of the words of one key.
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from .. import lax
from ..lax.random.threefry import threefry2x32_p

_WORD = 32


def halved_split(words: Any, shape: tuple[int, ...]) -> Any:
    """The words of the keys (*shape) drawn from one."""
    return lax.reshape(_drawn(words, 2 * prod(shape)), (*shape, 2))


def halved_bits(words: Any, bit_width: int, shape: tuple[int, ...]) -> Any:
    """Unsigned integers of a width."""
    size, dtype = prod(shape), np.dtype(f"uint{bit_width}")
    if bit_width <= _WORD:
        numbers = _parts(_drawn(words, -(-size * bit_width // _WORD)), dtype)
        return lax.reshape(lax.slice(numbers, (0,), (size,)), shape)
    drawn = lax.convert_element_type(_drawn(words, 2 * size), dtype)
    high, low = lax.slice(drawn, (0,), (size,)), lax.slice(drawn, (size,), (2 * size,))
    joined = lax.bitwise_or(lax.shift_left(high, dtype.type(_WORD)), low)
    return lax.reshape(joined, shape)


def _parts(drawn: Any, dtype: np.dtype[Any]) -> Any:
    """The numbers that words consist of, low ones first."""
    count = _WORD // (8 * dtype.itemsize)
    if count == 1:
        return drawn
    rows = lax.broadcast_in_dim(drawn, (*drawn.shape, count), (0,))
    places = lax.mul(lax.broadcasted_iota(np.uint32, rows.shape, 1), np.uint32(8 * dtype.itemsize))
    parts = lax.convert_element_type(lax.shift_right_logical(rows, places), dtype)
    return lax.reshape(parts, (drawn.shape[0] * count,))


def _drawn(words: Any, count: int) -> Any:
    half = -(-count // 2)
    first = lax.iota(np.uint32, half)
    second = lax.add(first, np.uint32(half))
    second = lax.select(lax.ge(second, np.uint32(count)), lax.full_like(second, 0), second)
    pair = threefry2x32_p.bind(*lax.unstack(words), first, second)
    return lax.slice(lax.concatenate(pair, 0), (0,), (count,))
