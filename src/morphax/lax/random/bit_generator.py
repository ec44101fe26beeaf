"""`rng_bit_generator`: random bits by the algorithms that XLA has built in.

The *state* is two 64-bit integers, a key and a counter, or the same as four 32-bit words, low words
first.  The counter advances by the number of blocks that are drawn; the key stays.

- Philox gives four 32-bit words per block, or two 64-bit numbers, low word first; they fill the
  result in row-major order.
- Threefry gives two words per block, first word of key and counter low.  One 64-bit number takes a
  block, first word low.  Narrower numbers halve one axis, the first of even size or else the
  longest: blocks are counted in row-major order of the halved shape, and the two words of a block
  are neighbours on this axis.
- Numbers of 8 and 16 bits are the low bits of 32-bit words.

Without an algorithm the platform chooses, Philox on CPU and GPU.  What XLA computes was found by
running it; the tests compare it with what stands here.

References: StableHLO specification, rng_bit_generator, https://openxla.org/stablehlo/spec.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from enum import IntEnum
from typing import Any, final

import numpy as np

from ... import dtypes
from ...core import (
    AxisFlow,
    BatchAxes,
    Primitive,
    ShapedArray,
    like,
    not_differentiable,
    not_linear,
)
from ...engines import loops
from ...engines.xla.philox_calls import call_philox, may_call_philox
from ...engines.xla.stablehlo import Builder, Value
from ...util.compiled import part
from ...util.messages import message
from ..ground.axes import canonical_shape
from ..ground.linear_structure import moved_axis
from ..indexing.dynamic_slicing import dynamic_update_index_in_dim
from ..shape.filling import full
from ..shape.resharding import laid_out
from ..shape.slicing import index_in_dim
from . import generator_loops, philox
from .threefry import images

_compiled = part("philox")
_HALF = np.uint64(32)
_STATES = {((4,), "uint32"), ((2,), "uint64")}
_WIDTHS = ("uint8", "uint16", "uint32", "uint64")


@final
class RandomAlgorithm(IntEnum):
    """An algorithm that makes random bits; see the text of this module."""

    RNG_DEFAULT = 0
    RNG_THREE_FRY = 1
    RNG_PHILOX = 2

    def __str__(self) -> str:
        return self.name


_IN_STABLEHLO = {
    RandomAlgorithm.RNG_DEFAULT: "DEFAULT",
    RandomAlgorithm.RNG_THREE_FRY: "THREE_FRY",
    RandomAlgorithm.RNG_PHILOX: "PHILOX",
}


@final
class RngBitGenerator(Primitive):
    """The state after drawing, and random bits.

    Params:
        shape, dtype: of the bits.
        algorithm: see `RandomAlgorithm`.
        out_sharding: layout of the bits over devices.
    """

    name = "rng_bit_generator"
    multiple_results = True
    jvp = not_differentiable("random bits are discrete")
    transpose = not_linear()

    def abstract_eval(
        self, state: Any, *, shape: Any, dtype: Any, algorithm: Any, out_sharding: Any
    ) -> list[ShapedArray]:
        if (state.shape, str(state.dtype)) not in _STATES:
            raise TypeError(
                message(
                    "lax.rng_bit_generator, argument key",
                    given=state.str_short(short_dtypes=False),
                    expected="uint32[4] or uint64[2]",
                    fix="Pass such words, or draw with jax.random, which takes typed keys.",
                )
            )
        if str(dtype) not in _WIDTHS:
            raise TypeError(
                message(
                    "lax.rng_bit_generator, argument dtype",
                    given=f"{dtype}",
                    expected=f"one of {', '.join(_WIDTHS)}",
                    fix="Draw unsigned integers and convert them.",
                )
            )
        return [state, like(shape=shape, dtype=dtype, sharding=out_sharding)]

    def axis_flow(self, state: Any, *, shape: Any, **_: Any) -> AxisFlow:
        return AxisFlow(((None,),), ((None,), (None,) * len(shape)))

    def evaluate(
        self, state: Any, *, shape: Any, dtype: Any, algorithm: Any, out_sharding: Any
    ) -> list[Any]:
        key, counter = map(int, np.ascontiguousarray(state).view(np.uint64))
        draw = _threefry if algorithm == RandomAlgorithm.RNG_THREE_FRY else _philox
        bits, blocks = draw(key, counter, shape, dtype)
        after = np.array([key, (counter + blocks) % 2**64], np.uint64)
        return [after.view(state.dtype), bits]

    def lower(
        self, b: Builder, outs: Sequence[Any], state: Value, *, algorithm: Any, **_: Any
    ) -> list[Value]:
        wide = ShapedArray((2,), np.uint64)
        pairs = ShapedArray((2, 2), np.uint32)
        is_narrow = state.aval is not wide
        if is_narrow:
            state = b.reshape(state, pairs)
            state = b.bitcast(state, wide)
        if algorithm != RandomAlgorithm.RNG_THREE_FRY and may_call_philox(b, outs[1]):
            after, bits = call_philox(b, state, outs[1])
        else:
            after, bits = b.random_bits(state, outs[1], _IN_STABLEHLO[algorithm])
        if is_narrow:
            after = b.bitcast(after, pairs)
            after = b.reshape(after, outs[0])
        return [after, bits]

    def to_loops(
        self, b: loops.Builder, outs: Sequence[Any], state: loops.Value, *, algorithm: Any, **_: Any
    ) -> list[loops.Value]:
        numbers = generator_loops.key_and_counter(b, state)
        if algorithm == RandomAlgorithm.RNG_THREE_FRY:
            axis = _halved_axis(outs[1].shape or (1,))
            bits, blocks = generator_loops.threefry_bits(b, outs[1], numbers, axis)
        else:
            bits, blocks = generator_loops.philox_bits(b, outs[1], numbers)
        return [generator_loops.advanced(b, outs[0], numbers, blocks), bits]

    def batch(
        self, axes: BatchAxes, operands: Sequence[Any], dims: Sequence[Any], **params: Any
    ) -> tuple[list[Any], list[int]]:
        """One stream, that of the first state, gives the bits of all members."""
        states = moved_axis(operands[0], dims[0], 0)
        shape = (axes.size, *params["shape"])
        if axes.size == 0:
            return [states, full(shape, 0, params["dtype"])], [0, 0]
        first = index_in_dim(states, 0, keepdims=False)
        after, bits = self.bind(first, **(params | {"shape": shape}))
        return [dynamic_update_index_in_dim(states, after, 0, 0), bits], [0, 0]


def _philox(key: int, counter: int, shape: tuple[int, ...], dtype: Any) -> tuple[Any, int]:
    """Bits, and how many blocks they took."""
    size = math.prod(shape)
    is_wide = dtype.itemsize == 8
    blocks = -(-size // (2 if is_wide else 4))
    if _compiled is not None:
        bits = np.empty(shape, dtype)
        _compiled.fill(key, counter, bits.reshape(-1))
        return bits, blocks
    words = philox.stream(key, counter, blocks).reshape(-1)
    numbers = words.view(np.uint64) if is_wide else words
    return numbers[:size].astype(dtype).reshape(shape), blocks


def _threefry(key: int, counter: int, shape: tuple[int, ...], dtype: Any) -> tuple[Any, int]:
    """Bits, and how many blocks they took."""
    if dtype.itemsize == 8:
        low, high = _threefry_words(key, counter, math.prod(shape))
        return (high.astype(np.uint64) << _HALF | low).reshape(shape), low.size
    sizes = shape or (1,)
    axis = _halved_axis(sizes)
    halved = [-(-n // 2) if i == axis else n for i, n in enumerate(sizes)]
    words = _threefry_words(key, counter, math.prod(halved))
    pairs = np.stack([w.reshape(halved) for w in words], axis + 1)
    halved[axis] *= 2
    numbers = pairs.reshape(halved)[tuple([slice(n) for n in sizes])]
    return numbers.astype(dtype).reshape(shape), words[0].size


def _halved_axis(shape: Sequence[int]) -> int:
    even = [axis for axis, size in enumerate(shape) if size % 2 == 0]
    return even[0] if even else max(range(len(shape)), key=lambda axis: shape[axis])


def _threefry_words(key: int, counter: int, count: int) -> tuple[Any, Any]:
    """First and second words of the images of `count` counters."""
    counters = np.arange(count, dtype=np.uint64)
    counters += np.uint64(counter)
    # There the first word is high, here it is low.
    swapped = np.array((key & 0xFFFFFFFF) << 32 | key >> 32, np.uint64)
    return images(swapped, counters.astype(np.uint32), (counters >> _HALF).astype(np.uint32))


rng_bit_generator_p = RngBitGenerator()


def rng_bit_generator(
    key: Any,
    shape: Any,
    dtype: Any = np.uint32,
    algorithm: Any = RandomAlgorithm.RNG_DEFAULT,
    *,
    out_sharding: Any = None,
) -> tuple[Any, Any]:
    """Random bits by an algorithm of XLA's, for those who keep the state themselves.

    The bits of the default algorithm depend on the platform; those of `morphax.random` do not.
    Under `vmap` over keys, the first key gives the bits of all members.

    Args:
        key: the state, uint32[4] or uint64[2].
        shape: of the bits.
        dtype: an unsigned integer dtype of 8, 16, 32 or 64 bits.
        algorithm: a `RandomAlgorithm`, or its number.
        out_sharding: layout of the bits over devices.

    Returns:
        The next state, and an array of the given shape.

    Raises:
        TypeError: if state or dtype are others.
        ValueError: if there is no such algorithm, or a size is negative.

    Example:
        >>> import morphax as jax, morphax.numpy as jnp
        >>> jax.lax.rng_bit_generator(jnp.zeros(4, "uint32"), (2,))
        (Array([0, 0, 1, 0], dtype=uint32), Array([1713891541, 3781805453], dtype=uint32))
    """
    if out_sharding is not None:
        after, bits = rng_bit_generator(key, shape, dtype, algorithm)
        return after, laid_out("lax.rng_bit_generator", bits, out_sharding)
    where = "lax.rng_bit_generator, argument"
    after, bits = rng_bit_generator_p.bind(
        key,
        shape=canonical_shape(f"{where} shape", shape),
        dtype=dtypes.requested(dtype, f"{where} dtype"),
        algorithm=_known_algorithm(algorithm),
        out_sharding=out_sharding,
    )
    return after, bits


def _known_algorithm(algorithm: Any) -> RandomAlgorithm:
    try:
        return RandomAlgorithm(algorithm)
    except ValueError:
        raise ValueError(
            message(
                "lax.rng_bit_generator, argument algorithm",
                given=f"{algorithm!r}",
                expected=f"one of {', '.join(map(str, RandomAlgorithm))}",
                fix="Pass jax.lax.RandomAlgorithm.RNG_PHILOX, say.",
            )
        ) from None
