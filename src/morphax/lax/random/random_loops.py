"""Random keys, and the numbers drawn from them, in loop programs; see `random_bits`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

from ...engines import loops
from .threefry import encrypt_scalars

_UINT32, _UINT64 = np.dtype(np.uint32), np.dtype(np.uint64)
_COST = 100

Words: TypeAlias = "tuple[loops.Operand, loops.Operand]"


def _halves(w: loops.Writer, pair: loops.Operand) -> Words:
    """First and second word of a pair."""
    high = w.op("shift_right", pair, w.number(32, _UINT64))
    return w.convert(high, _UINT32), w.convert(pair, _UINT32)


def _joined(w: loops.Writer, words: Sequence[loops.Operand]) -> loops.Operand:
    high, low = [w.convert(word, _UINT64) for word in words]
    return w.op("or", w.op("shift_left", high, w.number(32, _UINT64)), low)


def _image(w: loops.Writer, key: loops.Operand, counter: Words, dtype: Any) -> loops.Operand:
    """The image of a counter as a number of a dtype; of 32 bits, the sum of its words."""
    pair = encrypt_scalars(w, _halves(w, key), counter)
    if dtype.itemsize == 8:
        return _joined(w, pair)
    return w.convert(w.op("xor", *pair), dtype)


def key_of_seed(b: loops.Builder, out: Any, seeds: loops.Value) -> loops.Value:
    """The keys of integers."""

    def key(seed: loops.Operand) -> loops.Operand:
        narrow = _UINT64 if seed.dtype.itemsize == 8 else _UINT32
        return b.writer.convert(loops.scalars.converted(b.writer, seed, narrow), _UINT64)

    return b.elementwise(out, key, seeds)


def key_of_words(b: loops.Builder, out: Any, words: loops.Value) -> loops.Value:
    """Keys (...) of words (..., 2)."""
    words = b.settled(words)

    def key(indices: tuple[loops.Index, ...]) -> loops.Operand:
        pair = [b.fusion.read(words, (*indices, loops.Index.of(i))) for i in (0, 1)]
        return _joined(b.writer, pair)

    return b.fusion.pending(out.shape, b.dtype_of(out), key, [words], cost=3)


def words_of_key(b: loops.Builder, out: Any, keys: loops.Value) -> loops.Value:
    """Words (..., 2) of keys (...)."""
    w, keys = b.writer, b.settled(keys)

    def word(indices: tuple[loops.Index, ...]) -> loops.Operand:
        places = w.index_value(indices[-1].times(-32).plus(32))
        key = b.fusion.read(keys, indices[:-1])
        return w.convert(w.op("shift_right", key, w.convert(places, _UINT64)), _UINT32)

    return b.fusion.pending(out.shape, b.dtype_of(out), word, [keys], cost=3)


def folded(b: loops.Builder, out: Any, keys: loops.Value, data: loops.Value) -> loops.Value:
    """Keys of keys and numbers."""

    def image(key: loops.Operand, number: loops.Operand) -> loops.Operand:
        counter = b.writer.number(0, _UINT32), number
        return _image(b.writer, key, counter, b.dtype_of(out))

    return b.elementwise(out, image, keys, data, cost=_COST)


def drawn(b: loops.Builder, out: Any, keys: loops.Value) -> loops.Value:
    """For keys (...), the images of the first counters: (..., *shape)."""
    w, keys = b.writer, b.settled(keys)
    strides = loops.row_major(out.shape)[keys.ndim :]

    def image(indices: tuple[loops.Index, ...]) -> loops.Operand:
        counter = loops.ORIGIN
        for index, stride in zip(indices[keys.ndim :], strides, strict=True):
            counter = counter.plus(index.times(stride))
        number = w.convert(w.index_value(counter), _UINT64)
        key = b.fusion.read(keys, indices[: keys.ndim])
        return _image(w, key, _halves(w, number), b.dtype_of(out))

    return b.fusion.pending(out.shape, b.dtype_of(out), image, [keys], _COST)
