"""Haiku: a convolutional network with batch norm, transformed to pure functions and trained."""

from __future__ import annotations

import haiku as hk
import jax
import jax.numpy as jnp
import optax


def network(images: jax.Array, is_training: bool) -> jax.Array:
    x = hk.Conv2D(8, 3, stride=2)(images)
    x = hk.BatchNorm(True, True, 0.9)(x, is_training)
    x = jax.nn.relu(x)
    x = hk.Flatten()(x)
    if is_training:
        x = hk.dropout(hk.next_rng_key(), 0.1, x)
    return hk.nets.MLP([16, 3])(x)


def main() -> list[float]:
    net = hk.transform_with_state(network)
    images = jnp.sin(jnp.arange(32 * 8 * 8.0)).reshape(32, 8, 8, 1)
    labels = jnp.arange(32) % 3
    params, state = net.init(jax.random.PRNGKey(0), images, True)
    optimizer = optax.sgd(0.05, momentum=0.9)

    @jax.jit
    def step(params, state, memory, key):
        def loss(params):
            logits, new = net.apply(params, state, key, images, True)
            return optax.softmax_cross_entropy_with_integer_labels(logits, labels).mean(), new

        (value, new), gradient = jax.value_and_grad(loss, has_aux=True)(params)
        updates, memory = optimizer.update(gradient, memory)
        return optax.apply_updates(params, updates), new, memory, value

    memory, values = optimizer.init(params), []
    for i in range(40):
        params, state, memory, value = step(params, state, memory, jax.random.PRNGKey(i))
        if i % 10 == 0:
            values.append(float(value))
    logits, _ = net.apply(params, state, None, images, False)
    return [*values, float(logits.sum()), float(hk.data_structures.tree_size(params))]


if __name__ == "__main__":
    print(main())
