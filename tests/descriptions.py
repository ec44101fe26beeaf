"""What tests compare of results: all that somebody could tell apart."""

from __future__ import annotations

from typing import Any

import numpy as np

import morphax as jax
import morphax.numpy as jnp


def numbers(x: Any) -> np.ndarray[Any, Any]:
    """The numbers of an array, or the words of keys."""
    is_key = isinstance(x, jax.Array) and jnp.issubdtype(x.dtype, jax.dtypes.prng_key)
    return np.asarray(jax.random.key_data(x) if is_key else x)


def described(result: Any) -> list[Any]:
    """Types, places and bytes of results; the sign of NaN means nothing."""
    found = []
    for x in jax.tree.leaves(result):
        host = numbers(x)
        if host.dtype.kind in "fc":
            host = np.where(np.isnan(host), np.nan, host).astype(host.dtype)
        place = getattr(x, "sharding", None), getattr(x, "committed", None)
        found.append((type(x), getattr(x, "aval", None), place, host.tobytes()))
    return found
