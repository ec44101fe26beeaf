"""BlackJAX: a banana-shaped density by HMC with window adaptation, and by random walks."""

from __future__ import annotations

import blackjax
import jax
import jax.numpy as jnp


def logdensity(x: jax.Array) -> jax.Array:
    return -0.5 * (x[0] ** 2 + 4.0 * (x[1] - 0.5 * x[0] ** 2) ** 2)


def sample(kernel, state, key, count):
    def step(state, key):
        state, info = kernel(key, state)
        return state, (state.position, info.acceptance_rate)

    return jax.lax.scan(step, state, jax.random.split(key, count))[1]


def main() -> list[float]:
    start = jnp.array([0.5, 0.5])
    adaptation = blackjax.window_adaptation(blackjax.hmc, logdensity, num_integration_steps=10)
    (state, parameters), _ = adaptation.run(jax.random.key(0), start, 200)
    hmc = blackjax.hmc(logdensity, **parameters)
    draw = jax.jit(sample, static_argnums=(0, 3))
    # Chains part after some dozens of steps, whatever the first difference of rounding was, and
    # what is adapted follows them; means of many draws agree.
    positions, rates = draw(hmc.step, state, jax.random.key(1), 20_000)
    walk = blackjax.rmh(logdensity, blackjax.mcmc.random_walk.normal(jnp.array([0.7, 0.7])))
    first = walk.init(start)
    walked, _ = draw(walk.step, first, jax.random.key(2), 500)
    return [*map(float, [*positions.mean(0), rates.mean(), *walked.mean(0)])]


if __name__ == "__main__":
    print(main())
