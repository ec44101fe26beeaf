"""tinygp: a Gaussian process is fitted to noisy data, and predicts between them."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import optax
from tinygp import GaussianProcess, kernels


def main() -> list[float]:
    x = jnp.sort(jax.random.uniform(jax.random.key(0), (25,)) * 10)
    y = jnp.sin(x) + 0.1 * jax.random.normal(jax.random.key(1), (25,))

    def process(p):
        kernel = jnp.exp(p["size"]) * kernels.Matern52(jnp.exp(p["length"]))
        return GaussianProcess(kernel, x, diag=jnp.exp(p["noise"]), mean=0.0)

    params = {"size": jnp.float32(0), "length": jnp.float32(0), "noise": jnp.float32(-2)}
    optimizer = optax.adam(0.1)
    state, values = optimizer.init(params), []
    step = jax.jit(jax.value_and_grad(lambda p: -process(p).log_probability(y)))
    for _ in range(30):
        value, slopes = step(params)
        updates, state = optimizer.update(slopes, state)
        params = optax.apply_updates(params, updates)
        values.append(float(value))
    conditioned = process(params).condition(y, jnp.array([2.5, 7.5])).gp
    return [*values[::10], *map(float, conditioned.loc), *map(float, conditioned.variance)]


if __name__ == "__main__":
    print(main())
