"""Threefry-2x32 with 20 rounds: a keyed bijection of pairs of 32-bit words.

A random number generator needs no state when it has such a bijection: the n-th number of a stream
is the image of the pair n under the key of the stream.  A round adds the second word to the first,
rotates the second and mixes the first into it; before the first round and after every fourth the
words of the key are added.  Addition is modulo 2³².

The function stands here in four forms, tested against each other: of integers (a few numbers, in
eager mode), of NumPy arrays, as StableHLO, and as a loop program.  StableHLO has its rounds
unrolled where there are many numbers: the 120 operations become one loop over the elements that
vectorises, where a loop over rounds would pass over memory again and again.

Reference: Salmon, Moraes, Dror & Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC'11.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias, final

import numpy as np
from numpy import add, bitwise_or, bitwise_xor, left_shift, right_shift

from ...core import (
    AxisFlow,
    BatchAxes,
    Primitive,
    ShapedArray,
    like,
    not_differentiable,
    not_linear,
    same_axes,
)
from ...engines import loops
from ...engines.xla.fusion_cuts import not_looked_through
from ...engines.xla.stablehlo import Builder, Value
from ...util.messages import message
from ..ground.families import aligned_batch, compare, elementwise_shape, expanded

ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
PARITY = 0x1BD11BDA
GROUPS = tuple((group, ROTATIONS[1 - group % 2]) for group in range(1, 6))
"""The five groups of four rounds: number of the key injection that ends each, and distances."""

_MIDDLE = 3

BLOCK = 1 << 15
"""Words that are encrypted together: with their scratch memory they stay in the cache."""

FEW = 12
"""Up to this many pairs NumPy's cost per operation exceeds that of Python's integers."""

_MASK = 0xFFFFFFFF
_NUMBERS = tuple(np.array(i, np.uint32) for i in range(32))
Words = np.ndarray[Any, np.dtype[np.uint32]]
Pairs = np.ndarray[Any, np.dtype[np.uint64]]


def words_of(pairs: Pairs) -> tuple[Words, Words]:
    """First and second words of pairs that are held as 64-bit integers, first word high."""
    return np.asarray(pairs >> np.uint64(32)).astype(np.uint32), pairs.astype(np.uint32)


def images(keys: Pairs, x0: Words, x1: Words) -> tuple[Words, Words]:
    """The words of the images of pairs.

    Args:
        keys: of shape (n,), or () for one key.
        x0: the first words of the pairs, of shape (n,); their memory may hold the result.
        x1: their second words, likewise.
    """
    if x0.size > FEW:
        encrypt_in_place(*words_of(keys), x0, x1)
        return x0, x1
    each = np.broadcast_to(keys, x0.shape).tolist()
    pairs = [high << 32 | low for high, low in zip(x0.tolist(), x1.tolist(), strict=True)]
    return words_of(np.array([*map(encrypt_integers, each, pairs)], np.uint64))


def encrypt_integers(key: int, counter: int) -> int:
    """The image of one pair; key, pair and image as 64-bit integers, first word high."""
    k0, k1 = key >> 32, key & _MASK
    words = (k0, k1, k0 ^ k1 ^ PARITY)
    x0, x1 = (counter >> 32) + k0 & _MASK, counter + k1 & _MASK
    for group, rotations in GROUPS:
        for distance in rotations:
            x0 = x0 + x1 & _MASK
            x1 = (x1 << distance & _MASK | x1 >> 32 - distance) ^ x0
        x0 = x0 + words[group % 3] & _MASK
        x1 = x1 + words[(group + 1) % 3] + group & _MASK
    return x0 << 32 | x1


def encrypt_in_place(k0: Words, k1: Words, x0: Words, x1: Words) -> None:
    """Replace pairs by their images.

    Args:
        k0: the first words of the keys, of shape (n,), or () for one key.
        k1: their second words, likewise.
        x0: the first words of the pairs, of shape (n,), overwritten.
        x1: their second words, likewise.
    """
    words = (k0, k1, np.asarray(k0 ^ k1 ^ np.uint32(PARITY)))
    for start in range(0, x0.size, BLOCK):
        part = slice(start, start + BLOCK)
        chosen = [k[part] if k.ndim else k for k in words]
        _encrypt_block(chosen, x0[part], x1[part])


def _encrypt_block(words: Sequence[Words], x0: Words, x1: Words) -> None:
    # NumPy calls are cheapest with arrays for scalars and the result as the third argument.
    scratch = np.empty_like(x1)
    add(x0, words[0], x0)
    add(x1, words[1], x1)
    for group, rotations in GROUPS:
        for distance in rotations:
            add(x0, x1, x0)
            left_shift(x1, _NUMBERS[distance], scratch)
            right_shift(x1, _NUMBERS[32 - distance], x1)
            bitwise_or(x1, scratch, x1)
            bitwise_xor(x1, x0, x1)
        add(x0, words[group % 3], x0)
        add(x1, words[(group + 1) % 3], x1)
        add(x1, _NUMBERS[group], x1)


def lower_encryption(
    b: Builder,
    out: Any,
    keys: tuple[Value, Value],
    pairs: tuple[Value, Value],
    axes: Sequence[int],
    *,
    rolled: bool = False,
) -> tuple[Value, Value]:
    """Write the operations that encrypt.

    Args:
        b: the block that is written.
        out: aval of each word of the images, of dtype uint32.
        keys: the words of the keys.
        pairs: the words of the pairs, of the shape of `out`.
        axes: the axes of `out` that the axes of the keys are.
        rolled: whether the five groups of rounds are the steps of a loop.
    """
    aval = keys[0].aval
    module = b.module
    is_cpu = module.written_for == "cpu" and not rolled
    has_many_keys = bool(aval.shape)
    if is_cpu and has_many_keys:
        # They may be what another encryption has drawn just before.
        first, second = not_looked_through(b, *keys)
        keys = first, second
    parity = b.elementwise("stablehlo.xor", aval, *keys)
    words = (*keys, b.elementwise("stablehlo.xor", aval, parity, b.full(PARITY, aval)))
    wide = [w if aval.shape == out.shape else b.broadcast(w, out, axes) for w in words]
    x0, x1 = [b.elementwise("stablehlo.add", out, *p) for p in zip(pairs, wide, strict=False)]
    if rolled:
        return _lower_loop(b, out, x0, x1, wide)
    for group, rotations in GROUPS:
        distances = [(b.full(d, out), b.full(32 - d, out)) for d in rotations]
        key = wide[group % 3], wide[(group + 1) % 3], b.full(group, out)
        x0, x1 = _lower_group(b, out, (x0, x1), distances, key)
        # In loops it takes longer to know that nothing is nothing than to draw a few numbers.
        if group == _MIDDLE and is_cpu and (has_many_keys or not module.repeats):
            x0, x1 = not_looked_through(b, x0, x1)
    return x0, x1


def _lower_group(
    b: Builder,
    out: Any,
    x: tuple[Value, Value],
    distances: Sequence[tuple[Value, Value]],
    key: tuple[Value, Value, Value],
) -> tuple[Value, Value]:
    """Four rounds, rotating left by the first or right by the second distance, and an injection."""
    x0, x1 = x
    for left, right in distances:
        x0 = b.elementwise("stablehlo.add", out, x0, x1)
        high = b.elementwise("stablehlo.shift_left", out, x1, left)
        low = b.elementwise("stablehlo.shift_right_logical", out, x1, right)
        x1 = b.elementwise("stablehlo.or", out, high, low)
        x1 = b.elementwise("stablehlo.xor", out, x1, x0)
    x0 = b.elementwise("stablehlo.add", out, x0, key[0])
    x1 = b.elementwise("stablehlo.add", out, x1, key[1])
    return x0, b.elementwise("stablehlo.add", out, x1, key[2])


def _lower_loop(
    b: Builder, out: Any, x0: Value, x1: Value, words: Sequence[Value]
) -> tuple[Value, Value]:
    """The groups as a loop that carries their number, the pairs, and the key's words in turn."""
    number, flag = ShapedArray((), np.uint32), ShapedArray((), bool)

    def is_open(inner: Builder, group: Value, *_: Value) -> list[Value]:
        return [compare(inner, flag, "LE", group, inner.constant(len(GROUPS), number))]

    def step(
        inner: Builder, group: Value, x0: Value, x1: Value, k0: Value, k1: Value, k2: Value
    ) -> list[Value]:
        def wide(scalar: Value) -> Value:
            return inner.broadcast(scalar, out, ()) if out.shape else scalar

        one = inner.constant(1, number)
        is_odd = compare(
            inner, flag, "EQ", inner.elementwise("stablehlo.and", number, group, one), one
        )
        distances = []
        for odd, even in zip(*ROTATIONS, strict=True):
            choices = [inner.constant(d, number) for d in (odd, even)]
            left = inner.op("stablehlo.select", number, is_odd, *choices)
            right = inner.elementwise(
                "stablehlo.subtract", number, inner.constant(32, number), left
            )
            distances.append((wide(left), wide(right)))
        x0, x1 = _lower_group(inner, out, (x0, x1), distances, (k1, k2, wide(group)))
        return [inner.elementwise("stablehlo.add", number, group, one), x0, x1, k1, k2, k0]

    carried = [number, *[out] * 5]
    regions = [b.region(carried, is_open), b.region(carried, step)]
    start = b.constant(1, number)
    results = b.ops("stablehlo.while", carried, start, x0, x1, *words, regions=regions)
    return results[1], results[2]


Scalars: TypeAlias = "tuple[loops.Operand, loops.Operand]"


def encrypt_scalars(w: loops.Writer, keys: Scalars, pair: Scalars) -> Scalars:
    """The words of the image of one pair, in a loop program."""

    def word(value: int) -> loops.Operand:
        return w.number(value, np.uint32)

    k0, k1 = keys
    words = (k0, k1, w.op("xor", w.op("xor", k0, k1), word(PARITY)))
    x0, x1 = w.op("add", pair[0], k0), w.op("add", pair[1], k1)
    for group, rotations in GROUPS:
        for distance in rotations:
            x0 = w.op("add", x0, x1)
            high = w.op("shift_left", x1, word(distance))
            low = w.op("shift_right", x1, word(32 - distance))
            x1 = w.op("xor", w.op("or", high, low), x0)
        x0 = w.op("add", x0, words[group % 3])
        # The key is known before the loop that draws numbers with it.
        x1 = w.op("add", x1, w.op("add", words[(group + 1) % 3], word(group)))
    return x0, x1


@final
class Threefry2x32(Primitive):
    """The images of the pairs (x0, x1) under the keys (k0, k1), word by word."""

    name = "threefry2x32"
    multiple_results = True
    jvp = not_differentiable("a hash of integers has no derivative")
    transpose = not_linear()

    def abstract_eval(self, *avals: Any) -> list[ShapedArray]:
        for position, aval in enumerate(avals):
            if aval.dtype != np.uint32:
                raise TypeError(
                    message(
                        f"threefry2x32, operand {position}",
                        given=aval.str_short(short_dtypes=False),
                        expected="words of dtype uint32",
                        fix="Convert the operand with x.astype('uint32').",
                    )
                )
        return [like(shape=elementwise_shape(self.name, avals), dtype=np.uint32)] * 2

    def axis_flow(self, *avals: Any) -> AxisFlow:
        return same_axes(*avals, results=2)

    def evaluate(self, *operands: Any) -> list[Any]:
        shape = np.broadcast_shapes(*[x.shape for x in operands])
        k0, k1 = [
            k.reshape(()) if k.size == 1 else np.broadcast_to(k, shape).reshape(-1)
            for k in operands[:2]
        ]
        x0, x1 = [np.array(np.broadcast_to(x, shape), order="C") for x in operands[2:]]
        encrypt_in_place(k0, k1, x0.reshape(-1), x1.reshape(-1))
        return [x0, x1]

    def lower(self, b: Builder, outs: Any, *operands: Value) -> tuple[Value, Value]:
        k0, k1, x0, x1 = expanded(b, outs[0].shape, operands)
        return lower_encryption(b, outs[0], (k0, k1), (x0, x1), range(len(outs[0].shape)))

    def to_loops(self, b: loops.Builder, outs: Any, *operands: loops.Value) -> list[loops.Value]:
        places = [b.new(out, number) for number, out in enumerate(outs)]

        def encrypt(*indices: loops.Index) -> None:
            words = [b.fusion.read(x, indices if x.shape else ()) for x in operands]
            pair = encrypt_scalars(b.writer, (words[0], words[1]), (words[2], words[3]))
            for place, word in zip(places, pair, strict=True):
                b.writer.store(place.buffer, place.at(indices), word)

        b.fusion.nest(outs[0].shape, encrypt, is_independent=True)
        return [b.placed(out.shape, place) for out, place in zip(outs, places, strict=True)]

    def batch(
        self, axes: BatchAxes, operands: Sequence[Any], dims: Sequence[Any]
    ) -> tuple[list[Any], list[int]]:
        return self.bind(*aligned_batch(axes, operands, dims)), [0, 0]


threefry2x32_p = Threefry2x32()
