"""Equinox: a network with dropout and normalisation, trained with filtered transformations."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
import optax


class Net(eqx.Module):
    layers: list
    norm: eqx.nn.LayerNorm
    scale: jax.Array
    name: str = eqx.field(static=True)

    def __init__(self, key: jax.Array) -> None:
        first, second = jax.random.split(key)
        self.layers = [eqx.nn.Linear(3, 16, key=first), eqx.nn.Linear(16, 1, key=second)]
        self.norm = eqx.nn.LayerNorm(16)
        self.scale = jnp.array(1.0)
        self.name = "net"

    def __call__(self, x: jax.Array, key: jax.Array | None = None) -> jax.Array:
        hidden = jax.nn.gelu(self.norm(self.layers[0](x)))
        hidden = eqx.nn.Dropout(0.1)(hidden, key=key, inference=key is None)
        return self.scale * self.layers[1](hidden)[0]


def main() -> list[float]:
    model = Net(jax.random.key(0))
    x = jax.random.normal(jax.random.key(1), (128, 3))
    y = jnp.cos(x[:, 0]) + x[:, 1] * x[:, 2]
    optimizer = optax.adam(1e-2)
    state = optimizer.init(eqx.filter(model, eqx.is_inexact_array))

    @eqx.filter_jit
    def step(model, state, key):
        @eqx.filter_value_and_grad
        def loss(model):
            keys = jax.random.split(key, len(x))
            return jnp.mean((jax.vmap(model)(x, keys) - y) ** 2)

        value, gradient = loss(model)
        updates, state = optimizer.update(gradient, state)
        return eqx.apply_updates(model, updates), state, value

    values = []
    for i in range(100):
        model, state, value = step(model, state, jax.random.key(i))
        if i % 25 == 0:
            values.append(float(value))
    tested = eqx.filter_jit(lambda model, x: jax.vmap(model)(x))(model, x)
    refused = 0.0
    try:
        eqx.filter_jit(lambda x: eqx.error_if(x, x < 0, "negative"))(jnp.array(-1.0))
    except RuntimeError:
        refused = 1.0
    return [*values, float(jnp.mean((tested - y) ** 2)), refused]


if __name__ == "__main__":
    print(main())
