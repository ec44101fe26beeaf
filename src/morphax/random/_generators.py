"""The generators of random numbers, and what is done with keys of any of them.

- ``threefry2x32`` is made of the primitives of `lax.random_bits`, which act on arrays of keys;
  without ``jax_threefry_partitionable``, of functions of one key (`_halved_counters`).
- ``rbg`` draws bits from `lax.rng_bit_generator`, fast on some accelerators; a key is two keys of
  Threefry, which are split and changed each by itself.
- ``unsafe_rbg`` takes new keys from the bit generator too.  Nobody has examined how good they are.
- Users define others (`morphax.extend.random.define_prng_impl`).

All but the first are functions on the words of one key: what they do is written into programs, and
mapped over arrays of keys by `vmap`.  Under `vmap`, one stream of the bit generator gives the bits
of all members of a batch, so they depend on the batch.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

from .. import lax
from ..array import Array
from ..config import current as current_config
from ..core import aval_of
from ..lax.random.generators import PRNGImpl
from ..lax.random.key_use import random_use_p
from ..lax.random.random_bits import (
    random_bits_p,
    random_fold_in_p,
    random_seed_p,
    random_split_p,
    random_unwrap_p,
    random_wrap_p,
    threefry_prng_impl,
)
from ..transforms.vmap import vmap
from ..util.messages import message
from ._halved_counters import halved_bits, halved_split

# Blocks that are drawn for each key of unsafe_rbg, which is the first of them, or the last.
_BLOCKS = 10


def _generated(words: Any, bit_width: int, shape: tuple[int, ...]) -> Any:
    return lax.rng_bit_generator_p.bind(
        words,
        shape=shape,
        dtype=np.dtype(f"uint{bit_width}"),
        algorithm=lax.RandomAlgorithm.RNG_DEFAULT,
        out_sharding=None,
    )[1]


def _twofold_seed(seed: Any) -> Any:
    half = threefry_prng_impl.seed(seed)
    return lax.concatenate([half, half], 0)


def _halves(words: Any) -> Any:
    return random_wrap_p.bind(lax.reshape(words, (2, 2)), impl=threefry_prng_impl)


def _twofold_split(words: Any, shape: tuple[int, ...]) -> Any:
    pairs = random_unwrap_p.bind(split_keys(_halves(words), shape))
    last = len(shape)
    order = (*range(1, last + 1), 0, last + 1)
    return lax.reshape(lax.transpose(pairs, order), (*shape, 4))


def _twofold_fold_in(words: Any, data: Any) -> Any:
    return lax.reshape(random_unwrap_p.bind(random_fold_in_p.bind(_halves(words), data)), (4,))


def _drawn_split(words: Any, shape: tuple[int, ...]) -> Any:
    rows = _generated(words, 32, (_BLOCKS * prod(shape), 4))
    return lax.reshape(lax.slice_in_dim(rows, 0, None, stride=_BLOCKS), (*shape, 4))


def _drawn_fold_in(words: Any, data: Any) -> Any:
    rows = _generated(_twofold_seed(data), 32, (_BLOCKS, 4))
    return lax.bitwise_xor(words, lax.index_in_dim(rows, _BLOCKS - 1, keepdims=False))


rbg_prng_impl = PRNGImpl(
    (4,),
    _twofold_seed,
    _twofold_split,
    _generated,
    _twofold_fold_in,
    name="rbg",
    tag="rbg",
    is_named=True,
)
unsafe_rbg_prng_impl = PRNGImpl(
    (4,),
    _twofold_seed,
    _drawn_split,
    _generated,
    _drawn_fold_in,
    name="unsafe_rbg",
    tag="urbg",
    is_named=True,
)

GENERATORS = {impl.name: impl for impl in (threefry_prng_impl, rbg_prng_impl, unsafe_rbg_prng_impl)}
"""The generators that have names."""

_THREEFRY_KEY = threefry_prng_impl.key_dtype
_BY_DTYPE = {impl.key_dtype: impl for impl in GENERATORS.values()}


def generator_of(dtype: Any) -> PRNGImpl:
    """The generator of keys of a dtype."""
    return dtype.generator or _BY_DTYPE[dtype]


def _has_counters(impl: PRNGImpl) -> bool:
    """Whether numbers are the images of their places, for which there are primitives."""
    return impl is threefry_prng_impl and current_config().threefry_partitionable


def seeded(seeds: Any, impl: PRNGImpl) -> Any:
    """The keys of integers."""
    if impl is threefry_prng_impl:
        return random_seed_p.bind(seeds, impl=impl)
    words = mapped(impl.seed, aval_of(seeds).ndim)(_as_array(seeds))
    return random_wrap_p.bind(words, impl=impl)


def split_keys(keys: Any, shape: tuple[int, ...]) -> Any:
    """The keys (..., *shape) drawn from keys (...)."""
    aval = aval_of(keys)
    impl = generator_of(aval.dtype)
    if _has_counters(impl):
        return random_split_p.bind(keys, shape=shape)
    one = halved_split if impl is threefry_prng_impl else impl.split
    split = mapped(lambda words: one(words, shape), aval.ndim)
    return random_wrap_p.bind(split(_words_for_a_draw(keys)), impl=impl)


def fold_in_key(key: Any, data: Any) -> Any:
    """The key of a key and a ``uint32``."""
    aval = aval_of(key)
    if aval.dtype is _THREEFRY_KEY:
        return random_fold_in_p.bind(key, data)
    impl = generator_of(aval.dtype)
    words = impl.fold_in(random_unwrap_p.bind(key), _as_array(data))
    return random_wrap_p.bind(words, impl=impl)


def drawn_bits(keys: Any, bit_width: int, shape: tuple[int, ...]) -> Any:
    """Unsigned integers (..., *shape) of 8, 16, 32 or 64 bits, drawn from keys (...)."""
    aval = aval_of(keys)
    impl = generator_of(aval.dtype)
    if _has_counters(impl):
        return random_bits_p.bind(keys, bit_width=bit_width, shape=shape)
    one = halved_bits if impl is threefry_prng_impl else impl.random_bits
    draw = mapped(lambda words: one(words, bit_width, shape), aval.ndim)
    bits = draw(_words_for_a_draw(keys))
    given, wanted = aval_of(bits), (*aval.shape, *shape)
    if given.shape != wanted or given.dtype != f"uint{bit_width}":
        raise TypeError(
            message(
                f"the random number generator {impl.name}, result of random_bits",
                given=given.str_short(short_dtypes=False),
                expected=f"uint{bit_width}{list(wanted)}",
                fix="Return unsigned integers of the width and shape that are asked for.",
            )
        )
    return bits


def _words_for_a_draw(keys: Any) -> Any:
    """The words of keys that are used up."""
    if current_config().debug_key_reuse:
        keys = random_use_p.bind(keys)
    return random_unwrap_p.bind(keys)


def _as_array(number: Any) -> Any:
    """What functions of the user are given: no NumPy scalar."""
    return Array.from_host(number) if isinstance(number, np.generic) else number


def mapped(function: Callable[..., Any], axes: int) -> Callable[..., Any]:
    """`function` of one key or seed, applied to all of an array with so many axes."""
    for _ in range(axes):
        function = vmap(function)
    return function
