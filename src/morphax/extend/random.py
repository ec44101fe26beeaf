"""`jax.extend.random`: the generator of random numbers, for those who build on it."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import numpy as jnp
from ..lax.random_bits import PRNGImpl, random_seed_p, threefry_prng_impl
from ..lax.threefry import threefry2x32_p
from ..random import key

__all__ = [
    "random_seed",
    "seed_with_impl",
    "threefry2x32_p",
    "threefry_2x32",
    "threefry_prng_impl",
]


def seed_with_impl(impl: PRNGImpl, seed: Any) -> Any:
    """The key of one seed for a generator."""
    return key(seed, impl=impl)


def random_seed(seeds: Any, impl: PRNGImpl) -> Any:
    """The keys of an array of seeds for a generator."""
    return random_seed_p.bind(jnp.asarray(seeds), impl=impl)


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
