"""Philox-4x32 with 10 rounds: a keyed bijection of four 32-bit words.

A round multiplies the first and the third word by constants; the high halves of the products, the
other two words and the two words of the key are added without carry, the low halves are taken as
they are.  After each round a constant is added to each word of the key, modulo 2³².

XLA counts in 128 bits: the low half of the n-th counter is the state's counter plus n, the high
half is the key, with the carry of that sum.

Reference: Salmon, Moraes, Dror & Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC'11.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy import bitwise_and, bitwise_xor, multiply, right_shift

ROUNDS = 10
MULTIPLIERS = (0xD2511F53, 0xCD9E8D57)
STEPS = (0x9E3779B9, 0xBB67AE85)

# Counters that are encrypted together: their words stay in the cache.
_BLOCK = 1 << 13
_HALF = np.uint64(32)
_MASK = 0xFFFFFFFF
_LOW = np.array(_MASK, np.uint64)

Words = np.ndarray[Any, np.dtype[np.uint32]]


def stream(key: int, counter: int, count: int) -> Words:
    """The images of `count` counters, of shape (count, 4).

    Args:
        key: of 64 bits, first word low.
        counter: the low half of the first counter.
        count: how many.
    """
    out = np.empty((count, 4), np.uint32)
    for start in range(0, count, _BLOCK):
        target = out[start : start + _BLOCK]
        low = np.arange(len(target), dtype=np.uint64)
        first = (counter + start) % 2**64
        low += np.uint64(first)
        wraps = (counter + start) >= 2**64
        high = (low < np.uint64(first)).astype(np.uint64)
        high += np.uint64((key + wraps) % 2**64)
        _encrypt_block(key, low, high, target)
    return out


def _encrypt_block(key: int, low: Any, high: Any, target: Words) -> None:
    """Write the images of the counters ``high << 64 | low`` as rows of `target`."""
    k0, k1 = key & _MASK, key >> 32
    words = [low & _LOW, low >> _HALF, high & _LOW, high >> _HALF]
    for _ in range(ROUNDS):
        first = multiply(words[0], np.uint64(MULTIPLIERS[0]))
        second = multiply(words[2], np.uint64(MULTIPLIERS[1]))
        for product, word, k in ((second, words[1], k0), (first, words[3], k1)):
            bitwise_xor(word, right_shift(product, _HALF), word)
            bitwise_xor(word, np.uint64(k), word)
            bitwise_and(product, _LOW, product)
        words = [words[1], second, words[3], first]
        k0, k1 = k0 + STEPS[0] & _MASK, k1 + STEPS[1] & _MASK
    for position, word in enumerate(words):
        target[:, position] = word
