"""Threefry and the operations on keys, compared with the cipher written out in Python."""

from __future__ import annotations

from typing import Any

import numpy as np

from morphax import lax
from morphax.lax.random.key_use import random_use_p
from morphax.lax.random.random_bits import threefry_prng_impl
from morphax.lax.random.threefry import threefry2x32_p

from .op_case import OpCase, Operand

WORDS = Operand((2,), 0, 2**32 - 1)
MANY = Operand((5, 2), 0, 2**32 - 1)
_MASK = 0xFFFFFFFF


def threefry(key: tuple[int, int], pair: tuple[int, int]) -> tuple[int, int]:
    """Threefry-2x32 with 20 rounds, as its definition says it."""
    words = (*key, key[0] ^ key[1] ^ 0x1BD11BDA)
    x0, x1 = (pair[0] + words[0]) & _MASK, (pair[1] + words[1]) & _MASK
    distances = (13, 15, 26, 6, 17, 29, 16, 24)
    for number in range(20):
        distance = distances[number % 8]
        x0 = (x0 + x1) & _MASK
        x1 = ((x1 << distance | x1 >> (32 - distance)) & _MASK) ^ x0
        if number % 4 == 3:
            group = number // 4 + 1
            x0 = (x0 + words[group % 3]) & _MASK
            x1 = (x1 + words[(group + 1) % 3] + group) & _MASK
    return x0, x1


def _stream(words: Any, count: int) -> list[tuple[int, int]]:
    key = int(words[0]), int(words[1])
    return [threefry(key, (0, n)) for n in range(count)]


def _bits(words: Any, width: int, shape: tuple[int, ...]) -> Any:
    stream = _stream(words, int(np.prod(shape)))
    numbers = [a << 32 | b if width == 64 else (a ^ b) % 2**width for a, b in stream]
    return np.array(numbers, f"uint{width}").reshape(shape)


def _keys(words: Any) -> Any:
    return lax.random_wrap_p.bind(words, impl=threefry_prng_impl)


def _data(keys: Any) -> Any:
    return lax.random_unwrap_p.bind(keys)


def _bits_case(width: int, shape: tuple[int, ...], operand: Operand = WORDS) -> OpCase:
    def reference(words: Any) -> Any:
        rows = [_bits(row, width, shape) for row in words.reshape(-1, 2)]
        return np.stack(rows).reshape(words.shape[:-1] + shape)

    return OpCase(
        f"random_bits/{width} {shape} of {operand.shape}",
        lambda words: lax.random_bits_p.bind(_keys(words), bit_width=width, shape=shape),
        reference,
        (operand,),
        dtypes=("uint32",),
        derivatives=0,
    )


def _case(label: str, function: Any, reference: Any, *operands: Operand) -> OpCase:
    return OpCase(label, function, reference, operands, dtypes=("uint32",), derivatives=0)


def _folded(words: Any, data: Any) -> Any:
    pairs = np.broadcast_to(words, (*data.shape, 2)).reshape(-1, 2).tolist()
    images = [threefry(tuple(k), (0, n)) for k, n in zip(pairs, data.ravel().tolist(), strict=True)]
    return np.array(images, np.uint32).reshape(*data.shape, 2)


def _encrypted(words: Any, pairs: Any) -> Any:
    images = [threefry(tuple(words.tolist()), tuple(pair)) for pair in pairs.tolist()]
    return tuple(np.array(images, np.uint32).T)


def _seed_words(seeds: Any) -> Any:
    low = seeds.astype(np.int64)
    high = low >> 32 if seeds.dtype.itemsize == 8 else np.zeros_like(low)
    return np.stack([high, low], -1).astype(np.uint32)


CASES = (
    *[_bits_case(width, (4, 5)) for width in (8, 16, 32, 64)],
    _bits_case(32, ()),
    _bits_case(32, (3, 0)),
    _bits_case(16, (2, 3), MANY),
    _case(
        "random_split",
        lambda words: _data(lax.random_split_p.bind(_keys(words), shape=(2, 3))),
        lambda words: np.array(_stream(words, 6), np.uint32).reshape(2, 3, 2),
        WORDS,
    ),
    _case("random_unwrap", lambda words: _data(_keys(words)), lambda words: words, MANY),
    _case(
        "random_clone",
        lambda words: _data(lax.random_clone_p.bind(_keys(words))),
        lambda words: words,
        MANY,
    ),
    _case(
        "random_use",
        lambda words: _data(random_use_p.bind(_keys(words))),
        lambda words: words,
        MANY,
    ),
    _case(
        "random_fold_in",
        lambda words, data: _data(lax.random_fold_in_p.bind(_keys(words), data)),
        _folded,
        WORDS,
        Operand((), 0, 2**32 - 1),
    ),
    _case(
        "random_fold_in/many",
        lambda words, data: _data(lax.random_fold_in_p.bind(_keys(words), data)),
        _folded,
        MANY,
        Operand((5,), 0, 2**32 - 1),
    ),
    OpCase(
        "random_seed",
        lambda seeds: _data(lax.random_seed_p.bind(seeds, impl=threefry_prng_impl)),
        _seed_words,
        (Operand((3,), -100, 100),),
        dtypes=("int32", "int8", "uint8", "int64", "uint32"),
        derivatives=0,
    ),
    _case(
        "threefry2x32",
        lambda words, pairs: threefry2x32_p.bind(words[0], words[1], pairs[:, 0], pairs[:, 1]),
        _encrypted,
        WORDS,
        MANY,
    ),
)
