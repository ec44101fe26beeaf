"""evosax: an evolution strategy descends a function that nobody differentiates."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from evosax.algorithms import CMA_ES


def main() -> list[float]:
    strategy = CMA_ES(population_size=16, solution=jnp.zeros(4))
    params = strategy.default_params
    state = strategy.init(jax.random.key(0), jnp.ones(4) * 2, params)

    def valley(x):
        return jnp.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)

    @jax.jit
    def generation(state, key):
        first, second = jax.random.split(key)
        population, state = strategy.ask(first, state, params)
        fitness = jax.vmap(valley)(population)
        state, _ = strategy.tell(second, population, fitness, state, params)
        return state, fitness.min()

    _, best = jax.lax.scan(generation, state, jax.random.split(jax.random.key(1), 12))
    return list(map(float, best))


if __name__ == "__main__":
    print(main())
