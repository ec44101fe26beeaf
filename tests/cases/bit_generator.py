"""`rng_bit_generator`, compared with the ciphers written out in Python."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from morphax import lax

from .op_case import OpCase, Operand
from .random_bits import threefry

_MASK = 0xFFFFFFFF
_WIDE = 2**64 - 1


def philox(key: int, counter: int) -> tuple[int, ...]:
    """Philox-4x32 with 10 rounds, as its definition says it; least significant words first."""
    k = [key & _MASK, key >> 32]
    x = [counter >> 32 * i & _MASK for i in range(4)]
    for _ in range(10):
        first, second = x[0] * 0xD2511F53, x[2] * 0xCD9E8D57
        x = [second >> 32 ^ x[1] ^ k[0], second & _MASK, first >> 32 ^ x[3] ^ k[1], first & _MASK]
        k = [(k[0] + 0x9E3779B9) & _MASK, (k[1] + 0xBB67AE85) & _MASK]
    return tuple(x)


def _philox_bits(key: int, counter: int, shape: tuple[int, ...], width: int) -> tuple[Any, int]:
    size = math.prod(shape)
    blocks = -(-size // (2 if width == 64 else 4))
    first = key << 64 | counter
    words = [w for n in range(blocks) for w in philox(key, (first + n) % 2**128)]
    if width == 64:
        words = [low | high << 32 for low, high in zip(words[::2], words[1::2], strict=True)]
    return np.array([w % 2**width for w in words[:size]], f"uint{width}").reshape(shape), blocks


def _threefry_image(key: int, counter: int, n: int) -> tuple[int, int]:
    n = (counter + n) & _WIDE
    return threefry((key & _MASK, key >> 32), (n & _MASK, n >> 32))


def _threefry_bits(key: int, counter: int, shape: tuple[int, ...], width: int) -> tuple[Any, int]:
    out = np.empty(shape, f"uint{width}")
    if width == 64:
        for n, place in enumerate(np.ndindex(shape)):
            low, high = _threefry_image(key, counter, n)
            out[place] = low | high << 32
        return out, out.size
    even = [axis for axis, size in enumerate(shape) if size % 2 == 0]
    axis = even[0] if even else int(np.argmax(shape)) if shape else 0
    halved = [-(-size // 2) if i == axis else size for i, size in enumerate(shape)]
    for place in np.ndindex(shape):
        block = [i // 2 if j == axis else i for j, i in enumerate(place)]
        n = int(np.ravel_multi_index(block, halved)) if block else 0
        out[place] = _threefry_image(key, counter, n)[place[axis] % 2 if place else 0] % 2**width
    return out, math.prod(halved)


def _case(algorithm: str, shape: tuple[int, ...], width: int, *, wide_state: bool) -> OpCase:
    """Operands are one number below 2³² per word of the state; a wide state has high bits set."""
    draw = _threefry_bits if algorithm == "RNG_THREE_FRY" else _philox_bits

    def state_of(words: Any) -> Any:
        words = np.asarray(words, np.uint32)
        return ~words.view(np.uint64) if wide_state else words

    def reference(words: Any) -> tuple[Any, Any]:
        state = state_of(words)
        key, counter = map(int, state.view(np.uint64))
        bits, blocks = draw(key, counter, shape, width)
        after = np.array([key, (counter + blocks) & _WIDE], np.uint64)
        return after.view(state.dtype), bits

    def function(words: Any) -> Any:
        state = lax.bitcast_convert_type(lax.reshape(words, (2, 2)), np.uint64)
        return lax.rng_bit_generator(
            lax.bitwise_not(state) if wide_state else words,
            shape,
            f"uint{width}",
            lax.RandomAlgorithm[algorithm],
        )

    return OpCase(
        f"rng_bit_generator/{algorithm} {shape} {width}{' wide' if wide_state else ''}",
        function,
        reference,
        # A small operand makes all high words of the wide state ones, so its counter overflows.
        (Operand((4,), 0, 3 if wide_state else 2**32 - 1),),
        dtypes=("uint32",),
        derivatives=0,
        # One stream gives the bits of all members of a batch.
        batched=False,
    )


SHAPES: tuple[tuple[int, ...], ...] = ((), (5,), (8, 3), (3, 3), (3, 5), (2, 3, 5), (4, 0))

CASES = (
    *[_case("RNG_PHILOX", (7,), width, wide_state=False) for width in (8, 16, 32, 64)],
    *[_case("RNG_PHILOX", (9,), width, wide_state=True) for width in (32, 64)],
    _case("RNG_DEFAULT", (2, 3), 32, wide_state=False),
    *[_case("RNG_THREE_FRY", shape, 32, wide_state=False) for shape in SHAPES],
    *[_case("RNG_THREE_FRY", (9,), width, wide_state=True) for width in (8, 16, 32, 64)],
)
