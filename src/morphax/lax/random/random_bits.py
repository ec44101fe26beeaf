"""Random keys and the numbers drawn from them.

A key names a stream of random numbers: number n of the stream is the image of the counter n under
Threefry-2x32 with that key.  Nothing is stored and nothing advances, so the same key always gives
the same numbers, whatever the engine, the order of evaluation or the number of devices.

- A key is two 32-bit words.  Arrays of keys have the dtype ``key<fry>`` and hold one 64-bit
  integer per key, in both engines: **word 0 is its high half**.  So the key of a seed is the seed.
- The image of a counter is two words again.  As 64 bits they are the 64-bit numbers of the stream,
  and, read as keys, its `split`; their sum without carry is the 32-bit number, of which narrower
  numbers are the low bits.
- Counters run through `shape` in row-major order, whatever the shape of the keys.

Keys of other generators can be wrapped and unwrapped here; what is done with their words is told by
the generator (`PRNGImpl`), and written into programs in place of these operations
(`random._generators`).

The numbers are those of JAX with ``jax_threefry_partitionable``; without it `random` draws no bits
here (`random._halved_counters`).  Reference: see `threefry`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, final

import numpy as np

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
from ...engines.xla.bits_calls import call_bits, may_call_bits
from ...engines.xla.stablehlo import Builder, Value
from ...runtime.opaque import is_opaque, opaque_of
from ...util.compiled import part, twin_in
from ...util.messages import message
from ..ground.families import aligned_batch, elementwise_shape, expanded
from ..ground.kinds import INTEGER, KEY
from ..ground.linear_structure import moved_axis
from . import random_loops
from .generators import PRNGImpl
from .random_lowering import lower_counters, lower_images, with_halves_swapped
from .threefry import (
    BLOCK,
    FEW,
    encrypt_integers,
    images,
    words_of,
)

_HALF = np.uint64(32)


class KeyOperation(Primitive):
    """Operations that make, change or read keys."""

    lowers_key_data = True
    jvp = not_differentiable("keys, and the bits drawn from them, are discrete")
    transpose = not_linear()

    def axis_flow(self, *avals: Any, **params: Any) -> AxisFlow:
        return same_axes(*avals)

    def batch(
        self, axes: BatchAxes, operands: Sequence[Any], dims: Sequence[Any], **params: Any
    ) -> tuple[Any, int]:
        return self.bind(moved_axis(operands[0], dims[0], 0), **params), 0


@final
class RandomSeed(KeyOperation):
    """The key of an integer: the integer itself, 32 bits of it unless its dtype has 64."""

    name = "random_seed"
    key_use = "makes"

    def abstract_eval(self, seeds: Any, *, impl: PRNGImpl) -> ShapedArray:
        INTEGER.check(self.name, 0, seeds)
        keys = like(shape=seeds.shape, dtype=impl.key_dtype)
        _check_threefry(self.name, keys)
        return keys

    def evaluate(self, seeds: Any, *, impl: PRNGImpl) -> Any:
        low_bits = seeds if seeds.dtype.itemsize == 8 else seeds.astype(np.uint32)
        return low_bits.astype(np.uint64)

    def lower(self, b: Builder, out: Any, seeds: Value, *, impl: PRNGImpl) -> Value:
        if seeds.aval.dtype.itemsize < 8:
            seeds = b.op("stablehlo.convert", out.update(dtype=np.uint32), seeds)
        return b.op("stablehlo.convert", out, seeds)

    def to_loops(self, b: loops.Builder, out: Any, seeds: loops.Value, **_: Any) -> loops.Value:
        return random_loops.key_of_seed(b, out, seeds)


@final
class RandomWrap(KeyOperation):
    """Keys (...) of their words (..., *key_shape)."""

    name = "random_wrap"
    key_use = "makes"

    def abstract_eval(self, words: Any, *, impl: PRNGImpl) -> ShapedArray:
        shape, axes = impl.key_shape, len(words.shape) - len(impl.key_shape)
        if words.dtype != np.uint32 or axes < 0 or words.shape[axes:] != shape:
            raise TypeError(
                message(
                    "random key data",
                    given=words.str_short(short_dtypes=False),
                    expected=f"uint32[..., {', '.join(map(str, shape))}], the words of {impl.name} "
                    "keys",
                    fix="Make keys with jax.random.key(seed), or pass what key_data returned.",
                )
            )
        return like(shape=words.shape[:axes], dtype=impl.key_dtype)

    def axis_flow(self, words: Any, *, impl: PRNGImpl) -> AxisFlow:
        keys = tuple(range(words.ndim - len(impl.key_shape)))
        return AxisFlow(((*keys, *[None] * len(impl.key_shape)),), (keys,))

    def evaluate(self, words: Any, *, impl: PRNGImpl) -> Any:
        if is_opaque(impl.key_dtype):
            shape = words.shape[: words.ndim - len(impl.key_shape)]
            return opaque_of(words.reshape(*shape, math.prod(impl.key_shape)), impl.key_dtype)
        wide = words.astype(np.uint64)
        return wide[..., 0] << _HALF | wide[..., 1]

    def lower(self, b: Builder, out: Any, words: Value, *, impl: PRNGImpl) -> Value:
        if is_opaque(impl.key_dtype):
            return b.reshape(words, out)
        return with_halves_swapped(b, b.bitcast(words, out))

    def to_loops(self, b: loops.Builder, out: Any, words: loops.Value, **_: Any) -> loops.Value:
        return random_loops.key_of_words(b, out, words)


@final
class RandomUnwrap(KeyOperation):
    """The words (..., *key_shape) of keys (...)."""

    name = "random_unwrap"

    def abstract_eval(self, keys: Any) -> ShapedArray:
        KEY.check(self.name, 0, keys)
        return like(shape=(*keys.shape, *keys.dtype.key_shape), dtype=np.uint32)

    def axis_flow(self, keys: Any) -> AxisFlow:
        return _inner_axes(keys, keys.dtype.key_shape)

    def evaluate(self, keys: Any) -> Any:
        if keys.dtype.type is np.void:
            return keys["words"]
        return np.stack(words_of(keys), axis=-1)

    def lower(self, b: Builder, out: Any, keys: Value) -> Value:
        if is_opaque(keys.aval.dtype):
            return b.reshape(keys, out)
        # XLA reads the low half of a 64-bit integer first.
        return b.bitcast(with_halves_swapped(b, keys), out)

    def to_loops(self, b: loops.Builder, out: Any, keys: loops.Value) -> loops.Value:
        return random_loops.words_of_key(b, out, keys)


@final
class RandomFoldIn(KeyOperation):
    """A key of a key and a number: the image of the number, of 32 bits."""

    name = "random_fold_in"
    key_use = "makes"

    def abstract_eval(self, keys: Any, data: Any) -> ShapedArray:
        _check_threefry(self.name, keys)
        if data.dtype != np.uint32:
            raise TypeError(
                message(
                    "random_fold_in, operand 1",
                    given=data.str_short(short_dtypes=False),
                    expected="a number of dtype uint32",
                    fix="Call jax.random.fold_in, which converts it.",
                )
            )
        return like(keys, shape=elementwise_shape(self.name, (keys, data)))

    def evaluate(self, keys: Any, data: Any) -> Any:
        shape = np.broadcast_shapes(keys.shape, data.shape)
        one_each = keys.reshape(()) if keys.size == 1 else np.broadcast_to(keys, shape).reshape(-1)
        low = np.array(np.broadcast_to(data, shape)).reshape(-1)
        out = np.empty(low.shape, np.uint64)
        _combine(*images(one_each, np.zeros_like(low), low), out)
        return out.reshape(shape)

    def lower(self, b: Builder, out: Any, keys: Value, data: Value) -> Value:
        counters = out.update(dtype=np.uint32)
        (wide,) = expanded(b, out.shape, [data])
        return lower_images(b, out, keys, (b.full(0, counters), wide))

    def to_loops(
        self, b: loops.Builder, out: Any, keys: loops.Value, data: loops.Value
    ) -> loops.Value:
        return random_loops.folded(b, out, keys, data)

    def batch(
        self, axes: BatchAxes, operands: Sequence[Any], dims: Sequence[Any], **params: Any
    ) -> tuple[Any, int]:
        return self.bind(*aligned_batch(axes, operands, dims)), 0


class Draw(KeyOperation):
    """The images of the first counters: for keys (...), an array (..., *shape)."""

    key_use = "draws"

    def axis_flow(self, keys: Any, *, shape: Any, **_: Any) -> AxisFlow:
        return _inner_axes(keys, shape)

    def evaluate(self, keys: Any, *, shape: Any, bit_width: int = 64) -> Any:
        return self.kernel(keys, shape=shape, bit_width=bit_width)(keys)

    def kernel(self, keys: Any, *, shape: Any, bit_width: int = 64) -> Callable[..., Any]:
        whole, dtype = (*keys.shape, *shape), np.dtype(f"uint{bit_width}")
        rows = keys.size, math.prod(shape)

        def draw(keys: Any) -> Any:
            out = np.empty(rows, dtype)
            _draw(keys.reshape(-1), out)
            return out.reshape(whole)

        return draw

    def lower(self, b: Builder, out: Any, keys: Value, **params: Any) -> Value:
        if may_call_bits(b, keys.aval, out):
            return call_bits(b, keys, out)
        return lower_images(b, out, keys, lower_counters(b, out, len(keys.aval.shape)))

    def to_loops(self, b: loops.Builder, out: Any, keys: loops.Value, **_: Any) -> loops.Value:
        return random_loops.drawn(b, out, keys)


@final
class RandomSplit(Draw):
    """Keys drawn from keys."""

    name = "random_split"

    def abstract_eval(self, keys: Any, *, shape: Any) -> ShapedArray:
        _check_threefry(self.name, keys)
        return like(keys, shape=(*keys.shape, *shape))


@final
class RandomBits(Draw):
    """Unsigned integers of `bit_width` bits, all equally likely."""

    name = "random_bits"

    def fused(self, keys: Any, *, bit_width: int, shape: Any) -> str | None:
        return None if keys.ndim else f"random_bits_uint{bit_width}"

    def abstract_eval(self, keys: Any, *, bit_width: int, shape: Any) -> ShapedArray:
        _check_threefry(self.name, keys)
        if bit_width not in (8, 16, 32, 64):
            raise ValueError(
                message(
                    "random_bits, parameter bit_width",
                    given=f"{bit_width}",
                    expected="8, 16, 32 or 64",
                    fix="Draw a wider number and take its low bits.",
                )
            )
        return like(shape=(*keys.shape, *shape), dtype=f"uint{bit_width}")


def _inner_axes(keys: Any, shape: Any) -> AxisFlow:
    """Of keys (...), results (..., *shape)."""
    labels = tuple(range(keys.ndim))
    return AxisFlow((labels,), ((*labels, *[None] * len(shape)),))


def _check_threefry(name: str, keys: Any) -> None:
    """Raise `TypeError` unless the aval `keys` is one of keys that the operation can look into."""
    KEY.check(name, 0, keys)
    if keys.dtype is not threefry_prng_impl.key_dtype:
        raise TypeError(
            message(
                f"the operation {name}",
                given=f"{keys.str_short(short_dtypes=False)}",
                expected="keys of the generator threefry2x32",
                fix="Call the functions of jax.random, which ask the generator of the keys.",
            )
        )


@twin_in(part("random"))
def _draw(keys: Any, out: Any) -> None:
    """Fill row i of `out` from key i, as many rows or as much of a row at a time as fit a block."""
    count = out.shape[1]
    if out.size <= FEW:
        pairs = [encrypt_integers(key, n) for key in keys.tolist() for n in range(count)]
        _combine(*words_of(np.array(pairs, np.uint64).reshape(out.shape)), out)
        return
    rows = max(1, BLOCK // count)
    for row in range(0, keys.size, rows):
        chosen = keys[row : row + rows]
        for start in range(0, count, BLOCK):
            target = out[row : row + rows, start : start + BLOCK]
            # A block starts at a multiple of its length, so no carry leaves its low words.
            low = np.arange(target.shape[1], dtype=np.uint32)
            low += np.uint32(start & 0xFFFFFFFF)
            if chosen.size == 1:
                one_each = chosen.reshape(())
            else:
                one_each, low = chosen.repeat(count), np.tile(low, chosen.size)
            x0, x1 = images(one_each, np.full_like(low, start >> 32), low)
            _combine(x0.reshape(target.shape), x1.reshape(target.shape), target)


def _combine(x0: Any, x1: Any, target: Any) -> None:
    """Write images as numbers of the dtype of `target`."""
    if target.dtype.itemsize < 8:
        np.bitwise_xor(x0, x1, out=target, casting="unsafe")
        return
    target[...] = x0
    target <<= _HALF
    target |= x1


random_seed_p = RandomSeed()
random_wrap_p = RandomWrap()
random_unwrap_p = RandomUnwrap()
random_fold_in_p = RandomFoldIn()
random_split_p = RandomSplit()
random_bits_p = RandomBits()


def _seed(seed: Any) -> Any:
    return random_unwrap_p.bind(random_seed_p.bind(seed, impl=threefry_prng_impl))


def _split(words: Any, shape: tuple[int, ...]) -> Any:
    keys = random_wrap_p.bind(words, impl=threefry_prng_impl)
    return random_unwrap_p.bind(random_split_p.bind(keys, shape=shape))


def _bits(words: Any, bit_width: int, shape: tuple[int, ...]) -> Any:
    key = random_wrap_p.bind(words, impl=threefry_prng_impl)
    return random_bits_p.bind(key, bit_width=bit_width, shape=shape)


def _fold_in(words: Any, data: Any) -> Any:
    key = random_wrap_p.bind(words, impl=threefry_prng_impl)
    return random_unwrap_p.bind(random_fold_in_p.bind(key, data))


threefry_prng_impl = PRNGImpl(
    (2,), _seed, _split, _bits, _fold_in, name="threefry2x32", tag="fry", is_named=True
)
