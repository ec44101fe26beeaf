"""Flax linen: a small convolutional network with batch norm and a scanned recurrent cell."""

from __future__ import annotations

import flax.linen as nn
import jax
import jax.numpy as jnp
import optax
from flax.training import train_state


class Net(nn.Module):
    @nn.compact
    def __call__(self, x: jax.Array, train: bool) -> jax.Array:
        x = nn.Conv(8, (3, 3))(x)
        x = nn.BatchNorm(use_running_average=not train)(x)
        x = nn.max_pool(nn.relu(x), (2, 2), (2, 2))
        x = x.reshape(x.shape[0], x.shape[1], -1)
        x = nn.RNN(nn.GRUCell(features=12))(x)
        x = nn.MultiHeadDotProductAttention(num_heads=2)(x, x)
        return nn.Dense(3)(x.mean(1))


def main() -> list[float]:
    images = jnp.sin(jnp.arange(16 * 8 * 8.0)).reshape(16, 8, 8, 1)
    labels = jnp.arange(16) % 3
    net = Net()
    variables = net.init(jax.random.key(0), images, True)
    state = train_state.TrainState.create(
        apply_fn=net.apply, params=variables["params"], tx=optax.adam(1e-2)
    )
    statistics = variables["batch_stats"]

    @jax.jit
    def step(state, statistics):
        def loss(params):
            given = {"params": params, "batch_stats": statistics}
            logits, new = state.apply_fn(given, images, True, mutable=["batch_stats"])
            losses = optax.softmax_cross_entropy_with_integer_labels(logits, labels)
            return losses.mean(), new["batch_stats"]

        (value, new), gradient = jax.value_and_grad(loss, has_aux=True)(state.params)
        return state.apply_gradients(grads=gradient), new, value

    values = []
    for i in range(10):
        state, statistics, value = step(state, statistics)
        if i % 3 == 0:
            values.append(float(value))
    return values


if __name__ == "__main__":
    print(main())
