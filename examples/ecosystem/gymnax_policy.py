"""Gymnax: a policy for the cart pole by evolution, in episodes that are one program."""

from __future__ import annotations

import gymnax
import jax
import jax.numpy as jnp


def main() -> list[float]:
    env, params = gymnax.make("CartPole-v1")

    def episode(weights, key):
        key, first = jax.random.split(key)
        observed, state = env.reset(first, params)

        def step(carry, key):
            observed, state, total, alive = carry
            action = (observed @ weights > 0).astype(jnp.int32)
            observed, state, reward, *done = env.step(key, state, action, params)
            total += reward * alive
            return (observed, state, total, alive * (1.0 - done[0])), None

        carry = (observed, state, 0.0, 1.0)
        (_, _, total, _), _ = jax.lax.scan(step, carry, jax.random.split(key, 100))
        return total

    @jax.jit
    def generation(weights, key):
        noise_key, episode_key = jax.random.split(key)
        noise = jax.random.normal(noise_key, (16, 4))
        keys = jax.random.split(episode_key, 16)
        totals = jax.vmap(episode)(weights + 0.2 * noise, keys)
        scores = (totals - totals.mean()) / (totals.std() + 1e-6)
        return weights + 0.1 * (scores @ noise) / 16, totals.mean()

    weights, values = jnp.zeros(4), []
    for i in range(12):
        weights, value = generation(weights, jax.random.key(i))
        values.append(float(value))
    return [*values[::3], *map(float, weights)]


if __name__ == "__main__":
    print(main())
