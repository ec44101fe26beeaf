"""e3nn: a layer of equivariant operations, its equivariance, and its training."""

from __future__ import annotations

import e3nn_jax as e3nn
import jax
import jax.numpy as jnp


def main() -> list[float]:
    keys = jax.random.split(jax.random.key(0), 3)
    points = jax.random.normal(keys[0], (12, 3))
    inner = e3nn.Irreps("0e + 1o + 2e")
    linear = e3nn.FunctionalLinear(e3nn.tensor_product(inner, inner), "4x0e + 2x1o + 1x2e")
    weights = [
        jax.random.normal(key, i.path_shape)
        for key, i in zip(jax.random.split(keys[1], 8), linear.instructions, strict=False)
    ]

    def layer(weights, points):
        harmonics = e3nn.spherical_harmonics(inner, points, normalize=False)
        products = e3nn.tensor_product(harmonics, harmonics)
        return jax.vmap(linear, (None, 0))(weights, products)

    apply = jax.jit(layer)
    turn = e3nn.rand_matrix(keys[2])
    before = apply(weights, points).transform_by_matrix(turn).array
    after = apply(weights, points @ turn.T).array
    error = float(jnp.max(jnp.abs(before - after)) / jnp.max(jnp.abs(after)))

    @jax.jit
    def step(weights):
        def loss(weights):
            return jnp.mean((layer(weights, points).array - 1.0) ** 2)

        value, slopes = jax.value_and_grad(loss)(weights)
        return jax.tree.map(lambda w, s: w - 1e-4 * s, weights, slopes), value

    values = []
    for _ in range(20):
        weights, value = step(weights)
        values.append(float(value))
    return [float(error < 1e-4), *values[::6], *map(float, before.sum(0)[:4])]


if __name__ == "__main__":
    print(main())
