"""`jax.extend.random`: the generators of random numbers, for those who build on them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .. import numpy as jnp
from ..lax.random.generators import PRNGImpl
from ..lax.random.random_bits import threefry_prng_impl
from ..lax.random.threefry import threefry2x32_p
from ..random import key
from ..random._generators import rbg_prng_impl, seeded, unsafe_rbg_prng_impl

__all__ = [
    "define_prng_impl",
    "random_seed",
    "rbg_prng_impl",
    "seed_with_impl",
    "threefry2x32_p",
    "threefry_2x32",
    "threefry_prng_impl",
    "unsafe_rbg_prng_impl",
]


def define_prng_impl(
    *,
    key_shape: tuple[int, ...],
    seed: Callable[[Any], Any],
    split: Callable[[Any, tuple[int, ...]], Any],
    random_bits: Callable[[Any, int, tuple[int, ...]], Any],
    fold_in: Callable[[Any, Any], Any],
    name: str = "<unnamed>",
    tag: str = "?",
) -> PRNGImpl:
    """A random number generator, whose keys all functions of `morphax.random` take.

    The functions get and give the words of one key, of dtype uint32 and shape `key_shape`; arrays
    of keys are mapped over by `vmap`.  They are traced wherever the keys are used.

    Args:
        key_shape: shape of the words of a key.
        seed: one integer → words.
        split: words, a shape → words of that many keys, of shape (*shape, *key_shape).
        random_bits: words, 8, 16, 32 or 64, a shape → unsigned integers of so many bits.
        fold_in: words, a ``uint32`` → words.
        name: the name that users see.
        tag: a short name, seen in key dtypes and jaxprs.

    Returns:
        The generator, to be passed as ``impl`` to `morphax.random.key`.

    Raises:
        ValueError: if `key_shape` holds no word.
        TypeError: when keys are made or used, if a function returns another shape or dtype.

    Example:
        >>> import morphax as jax, morphax.numpy as jnp
        >>> counting = define_prng_impl(
        ...     key_shape=(1,),
        ...     seed=lambda seed: jnp.uint32(seed)[None],
        ...     split=lambda words, shape: words + jnp.arange(8, dtype="uint32").reshape(*shape, 1),
        ...     random_bits=lambda words, width, shape: jnp.full(shape, words[0], f"uint{width}"),
        ...     fold_in=lambda words, data: words + data,
        ...     tag="counting",
        ... )
        >>> key = jax.random.key(3, impl=counting)
        >>> key.dtype, jax.random.bits(jax.random.fold_in(key, 4), (2,))
        (key<counting>, Array([7, 7], dtype=uint32))
    """
    return PRNGImpl(tuple(key_shape), seed, split, random_bits, fold_in, name, tag)


def seed_with_impl(impl: PRNGImpl, seed: Any) -> Any:
    """The key of one seed for a generator."""
    return key(seed, impl=impl)


def random_seed(seeds: Any, impl: PRNGImpl) -> Any:
    """The keys of an array of seeds for a generator."""
    return seeded(jnp.asarray(seeds), impl)


def threefry_2x32(keypair: Any, count: Any) -> Any:
    """The images of words under Threefry-2x32, the first half of them paired with the second.

    Args:
        keypair: the two words of the key.
        count: words, of dtype uint32 and any shape.

    Returns:
        An array like `count`.

    Example:
        >>> import numpy as np
        >>> from morphax.extend.random import threefry_2x32
        >>> threefry_2x32(np.array([1, 2], np.uint32), np.arange(2, dtype=np.uint32))
        Array([ 629003988, 1317161160], dtype=uint32)
    """
    words = jnp.ravel(jnp.asarray(count))
    half = (words.size + 1) // 2
    padded = jnp.concatenate([words, np.zeros(words.size % 2, np.uint32)])
    images = threefry2x32_p.bind(keypair[0], keypair[1], padded[:half], padded[half:])
    return jnp.reshape(jnp.concatenate(images)[: words.size], jnp.shape(count))
