"""Optax: fit a small network with Adam under a schedule and clipping."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import optax


def main() -> list[float]:
    keys = jax.random.split(jax.random.key(0), 3)
    params = {
        "w": jax.random.normal(keys[0], (4, 16)) / 2,
        "b": jnp.zeros(16),
        "v": jax.random.normal(keys[1], (16, 1)) / 4,
    }
    x = jax.random.normal(keys[2], (64, 4))
    y = jnp.sin(x[:, :1]) * x[:, 1:2]

    def loss(params: dict[str, jax.Array]) -> jax.Array:
        hidden = jnp.tanh(x @ params["w"] + params["b"])
        return jnp.mean(optax.l2_loss(hidden @ params["v"], y))

    schedule = optax.warmup_cosine_decay_schedule(0.0, 0.03, 20, 200)
    optimizer = optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(schedule))

    @jax.jit
    def step(params, state):
        value, gradient = jax.value_and_grad(loss)(params)
        updates, state = optimizer.update(gradient, state, params)
        return optax.apply_updates(params, updates), state, value

    state = optimizer.init(params)
    values = []
    for i in range(200):
        params, state, value = step(params, state)
        if i % 50 == 0:
            values.append(float(value))
    return [*values, float(loss(params))]


if __name__ == "__main__":
    print(main())
