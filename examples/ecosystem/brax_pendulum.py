"""Brax: a pendulum on a cart is simulated, and its motion differentiated."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from brax import envs


def main() -> list[float]:
    env = envs.get_environment("inverted_pendulum", backend="generalized")
    state = jax.jit(env.reset)(jax.random.PRNGKey(0))
    step = jax.jit(env.step)
    angles, reward = [], 0.0
    for i in range(20):
        state = step(state, 0.5 * jnp.sin(jnp.array([0.3 * i])))
        angles.append(float(state.obs[1]))
        reward += float(state.reward)

    start = jax.jit(env.reset)(jax.random.PRNGKey(1))

    def swing(force):
        moved = jax.lax.fori_loop(0, 3, lambda _, s: env.step(s, force), start)
        return moved.obs

    ends, slopes = jax.jit(lambda f: jax.jvp(swing, (f,), (jnp.ones(1),)))(jnp.array([0.1]))
    return [*angles[::5], reward, *map(float, ends), *map(float, slopes)]


if __name__ == "__main__":
    print(main())
