"""`rng_bit_generator` in loop programs; what it computes, `bit_generator` says.

The words of a block are stored apart, all first words, then all second ones and so on: so blocks
are the steps of one loop, which becomes one of vectors.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

from ...engines import loops
from .philox import MULTIPLIERS, ROUNDS, STEPS
from .threefry import encrypt_scalars

_UINT32, _UINT64 = np.dtype(np.uint32), np.dtype(np.uint64)

Scalars: TypeAlias = "Sequence[loops.Operand]"
Cipher: TypeAlias = "Callable[[loops.Writer, loops.Operand, loops.Operand, loops.Operand], Scalars]"
"""(writer, key, first counter, number of a block) → the words of the block."""


def key_and_counter(b: loops.Builder, state: loops.Value) -> Scalars:
    """The two numbers of 64 bits that a state is."""
    words = [b.fusion.scalar(b.reshape(b.part(state, 0, i, (1,)), ())) for i in range(state.size)]
    if len(words) == 2:
        return words
    return [_joined(b.writer, *words[i : i + 2]) for i in (0, 2)]


def advanced(b: loops.Builder, out: Any, numbers: Scalars, blocks: int) -> loops.Value:
    """The state after so many blocks."""
    w, place = b.writer, b.new(out)
    key, counter = numbers
    parts = [key, w.op("add", counter, w.number(blocks, _UINT64))]
    if b.dtype_of(out) == _UINT32:
        parts = [half for x in parts for half in _halves(w, x)]
    for i, part in enumerate(parts):
        w.store(place.buffer, place.at((loops.Index.of(i),)), part)
    return b.placed(out.shape, place)


def philox_bits(b: loops.Builder, out: Any, numbers: Scalars) -> tuple[loops.Value, int]:
    """Bits in row-major order, and how many blocks they took."""
    dtype = b.dtype_of(out)
    words = 2 if dtype.itemsize == 8 else 4
    blocks = -(-out.size // words)
    if not blocks:
        return b.uniform(out.shape, b.writer.number(0, dtype)), 0
    whole = _blocks(b, dtype, (blocks,), words, 0, numbers, _philox)
    return b.reshape(b.part(whole, 0, 0, (out.size,)), out.shape), blocks


def threefry_bits(
    b: loops.Builder, out: Any, numbers: Scalars, axis: int
) -> tuple[loops.Value, int]:
    """The same, where the two words of a block are neighbours on an axis."""
    dtype, sizes = b.dtype_of(out), out.shape or (1,)
    is_wide = dtype.itemsize == 8
    halved = tuple([n if i != axis or is_wide else -(-n // 2) for i, n in enumerate(sizes)])
    blocks = math.prod(halved)
    if not blocks:
        return b.uniform(out.shape, b.writer.number(0, dtype)), 0
    joined = _blocks(b, dtype, halved, 1 if is_wide else 2, axis, numbers, _threefry)
    return b.reshape(b.part(joined, axis, 0, sizes), out.shape), blocks


def _blocks(
    b: loops.Builder,
    dtype: Any,
    shape: tuple[int, ...],
    count: int,
    axis: int,
    numbers: Scalars,
    cipher: Cipher,
) -> loops.Value:
    """The numbers of blocks, `count` of each as neighbours on an axis."""
    w, size = b.writer, math.prod(shape)
    key, counter = numbers
    apart = [w.buffer("bits", shape, dtype) for _ in range(count)]

    def block(index: loops.Index) -> None:
        words = cipher(w, key, counter, w.convert(w.index_value(index), _UINT64))
        if dtype.itemsize == 8:
            words = [_joined(w, *words[i : i + 2]) for i in range(0, len(words), 2)]
        for buffer, word in zip(apart, words, strict=True):
            w.store(buffer, index, w.convert(word, dtype))

    b.fusion.nest((size,), block, is_independent=True)
    joined = tuple([n * count if i == axis else n for i, n in enumerate(shape)])
    together = loops.Place.whole(w.buffer("bits", joined, dtype))
    strides = tuple([n * count if i == axis else n for i, n in enumerate(together.strides)])
    for i, buffer in enumerate(apart):
        offset = together.offset.plus(i * together.strides[axis])
        place = loops.Place(together.buffer, strides, offset)
        b.fusion.fill(place, b.placed(shape, loops.Place.whole(buffer)))
    return b.placed(joined, together)


def _philox(
    w: loops.Writer, key: loops.Operand, counter: loops.Operand, number: loops.Operand
) -> Scalars:
    low = w.op("add", counter, number)
    carry = w.convert(w.op("lt", low, counter), _UINT64)
    words = [*_halves(w, low), *_halves(w, w.op("add", key, carry))]
    k0, k1 = _halves(w, key)
    for _ in range(ROUNDS):
        products = [
            w.op("mul", w.convert(words[2 * i], _UINT64), w.number(factor, _UINT64))
            for i, factor in enumerate(MULTIPLIERS)
        ]
        (first, high1), (second, high2) = [_halves(w, x) for x in products]
        mixed = [
            w.op("xor", w.op("xor", words[1], high2), k0),
            w.op("xor", w.op("xor", words[3], high1), k1),
        ]
        words = [mixed[0], second, mixed[1], first]
        k0, k1 = [
            w.op("add", k, w.number(step, _UINT32)) for k, step in zip((k0, k1), STEPS, strict=True)
        ]
    return words


def _threefry(
    w: loops.Writer, key: loops.Operand, counter: loops.Operand, number: loops.Operand
) -> Scalars:
    return encrypt_scalars(w, _halves(w, key), _halves(w, w.op("add", counter, number)))


def _halves(w: loops.Writer, x: loops.Operand) -> tuple[loops.Operand, loops.Operand]:
    """The low word, and the high one."""
    return w.convert(x, _UINT32), w.convert(w.op("shift_right", x, w.number(32, _UINT64)), _UINT32)


def _joined(w: loops.Writer, low: loops.Operand, high: loops.Operand) -> loops.Operand:
    wide = w.op("shift_left", w.convert(high, _UINT64), w.number(32, _UINT64))
    return w.op("or", wide, w.convert(low, _UINT64))
