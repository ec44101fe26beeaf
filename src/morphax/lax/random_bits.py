"""Random keys and the numbers drawn from them.

A key names a stream of random numbers: number n of the stream is the image of the counter n under
Threefry-2x32 with that key.  Nothing is stored and nothing advances, so the same key always gives
the same numbers, whatever the engine, the order of evaluation or the number of devices.

- A key is two 32-bit words.  Arrays of keys have the dtype ``key<fry>`` and hold one 64-bit integer per
  key, in both engines: **word 0 is its high half**.  So the key of a seed is the seed.
- The image of a counter is two words again.  As 64 bits they are the 64-bit numbers of the stream,
  and, read as keys, its `split`; their sum without carry is the 32-bit number, of which narrower
  numbers are the low bits.
- Counters run through `shape` in row-major order, whatever the shape of the keys.

The numbers are those of JAX with ``jax_threefry_partitionable``.  Reference: see `threefry`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from .. import dtypes
from ..core import BatchAxes, Primitive, ShapedArray, not_differentiable, not_linear
from ..engines.xla.stablehlo import Builder, Value
from ..util.messages import message
from .families import aligned_batch, elementwise_shape, expanded
from .kinds import INTEGER, KEY
from .spine import moved_axis
from .threefry import BLOCK, encrypt_in_place, encrypt_integers, lower_encryption


@final
@dataclass(frozen=True, slots=True)
class PRNGImpl:
    """A random number generator: its public name and the dtype of its keys."""

    name: str
    key_dtype: dtypes.KeyType

    def __repr__(self) -> str:
        return self.key_dtype.tag

    __str__ = __repr__


threefry_prng_impl = PRNGImpl("threefry2x32", dtypes.KeyType("fry", (2,), np.uint64))

# Below this many pairs NumPy's cost per operation exceeds that of Python's integers.
_FEW = 12
_HALF = np.uint64(32)


class KeyOperation(Primitive):
    """Operations that make, change or read keys."""

    jvp = not_differentiable("keys, and the bits drawn from them, are discrete")
    transpose = not_linear()

    def batch(
        self, axes: BatchAxes, operands: Sequence[Any], dims: Sequence[Any], **params: Any
    ) -> tuple[Any, int]:
        return self.bind(moved_axis(operands[0], dims[0], 0), **params), 0


@final
class RandomSeed(KeyOperation):
    """The key of an integer: the integer itself, of which 64 bits count if its dtype has so many."""

    name = "random_seed"

    def abstract_eval(self, seeds: Any, *, impl: PRNGImpl) -> ShapedArray:
        INTEGER.check(self.name, 0, seeds)
        return ShapedArray(seeds.shape, impl.key_dtype)

    def evaluate(self, seeds: Any, *, impl: PRNGImpl) -> Any:
        low_bits = seeds if seeds.dtype.itemsize == 8 else seeds.astype(np.uint32)
        return low_bits.astype(np.uint64)

    def lower(self, b: Builder, out: Any, seeds: Value, *, impl: PRNGImpl) -> Value:
        if seeds.aval.dtype.itemsize < 8:
            seeds = b.op("stablehlo.convert", out.update(dtype=np.uint32), seeds)
        return b.op("stablehlo.convert", out, seeds)


@final
class RandomWrap(KeyOperation):
    """Keys (...) of the words (..., 2)."""

    name = "random_wrap"

    def abstract_eval(self, words: Any, *, impl: PRNGImpl) -> ShapedArray:
        count = impl.key_dtype.key_shape[0]
        if words.dtype != np.uint32 or words.shape[-1:] != (count,):
            raise TypeError(
                message(
                    "random key data",
                    given=words.str_short(short_dtypes=False),
                    expected=f"uint32[..., {count}], the words of {impl.name} keys",
                    fix="Make keys with jax.random.key(seed), or pass what key_data returned.",
                )
            )
        return ShapedArray(words.shape[:-1], impl.key_dtype)

    def evaluate(self, words: Any, *, impl: PRNGImpl) -> Any:
        wide = words.astype(np.uint64)
        return wide[..., 0] << _HALF | wide[..., 1]

    def lower(self, b: Builder, out: Any, words: Value, *, impl: PRNGImpl) -> Value:
        return _with_halves_swapped(b, b.op("stablehlo.bitcast_convert", out, words))


@final
class RandomUnwrap(KeyOperation):
    """The words (..., 2) of keys (...)."""

    name = "random_unwrap"

    def abstract_eval(self, keys: Any) -> ShapedArray:
        KEY.check(self.name, 0, keys)
        return ShapedArray((*keys.shape, *keys.dtype.key_shape), np.uint32)

    def evaluate(self, keys: Any) -> Any:
        return np.stack(_words(keys), axis=-1)

    def lower(self, b: Builder, out: Any, keys: Value) -> Value:
        # XLA reads the low half of a 64-bit integer first.
        return b.op("stablehlo.bitcast_convert", out, _with_halves_swapped(b, keys))


@final
class RandomClone(KeyOperation):
    """The same keys, as new ones in the eyes of a check against using keys twice."""

    name = "random_clone"

    def abstract_eval(self, keys: Any) -> ShapedArray:
        KEY.check(self.name, 0, keys)
        return keys

    def evaluate(self, keys: Any) -> Any:
        return keys

    def lower(self, b: Builder, out: Any, keys: Value) -> Value:
        return keys


@final
class RandomFoldIn(KeyOperation):
    """A key of a key and a number: the image of the number, of 32 bits."""

    name = "random_fold_in"

    def abstract_eval(self, keys: Any, data: Any) -> ShapedArray:
        KEY.check(self.name, 0, keys)
        if data.dtype != np.uint32:
            raise TypeError(
                message(
                    "random_fold_in, operand 1",
                    given=data.str_short(short_dtypes=False),
                    expected="a number of dtype uint32",
                    fix="Call jax.random.fold_in, which converts it.",
                )
            )
        return ShapedArray(elementwise_shape(self.name, (keys, data)), keys.dtype)

    def evaluate(self, keys: Any, data: Any) -> Any:
        shape = np.broadcast_shapes(keys.shape, data.shape)
        flat = data.reshape(-1)
        if keys.size == 1 or flat.size > 1:
            return _images(keys.reshape(-1), flat.astype(np.uint64)).reshape(shape)
        return draw(keys.reshape(-1), int(flat[0]), 1, np.uint64).reshape(shape)

    def lower(self, b: Builder, out: Any, keys: Value, data: Value) -> Value:
        counters = out.update(dtype=np.uint32)
        (wide,) = expanded(b, out.shape, [data])
        pair = b.full(0, counters), wide
        axes = range(len(keys.aval.shape))
        return _joined(b, out, lower_encryption(b, counters, _split_words(b, keys), pair, axes))

    def batch(
        self, axes: BatchAxes, operands: Sequence[Any], dims: Sequence[Any]
    ) -> tuple[Any, int]:
        return self.bind(*aligned_batch(axes, operands, dims)), 0
