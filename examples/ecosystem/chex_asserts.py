"""Chex: dataclasses as trees, assertions about shapes and values, variants of a test."""

from __future__ import annotations

import chex
import jax
import jax.numpy as jnp


@chex.dataclass
class Pair:
    first: chex.Array
    second: chex.Array


@jax.jit
@chex.assert_max_traces(n=1)
def combine(pair: Pair) -> jax.Array:
    chex.assert_rank(pair.first, 1)
    chex.assert_equal_shape([pair.first, pair.second])
    return pair.first * pair.second


@chex.chexify
@jax.jit
def logarithm(x: jax.Array) -> jax.Array:
    chex.assert_trees_all_equal(x > 0, jnp.ones_like(x, bool))
    return jnp.log(x)


def main() -> list[float]:
    pair = Pair(first=jnp.arange(3.0), second=jnp.ones(3) * 2)
    doubled = jax.tree.map(lambda x: 2 * x, pair)
    refused = 0.0
    try:
        chex.assert_shape(pair.first, (4,))
    except AssertionError:
        refused = 1.0
    try:
        logarithm(-jnp.ones(3))
        logarithm.wait_checks()
    except AssertionError:
        refused += 1.0
    values = [combine(pair), combine(doubled), logarithm(pair.first + 1)]
    return [*(float(value.sum()) for value in values), refused]


if __name__ == "__main__":
    print(main())
