"""Quax: values with a type of their own, unwrapped only by the operations that know them."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import quax
from quax.examples import lora


def main() -> list[float]:
    import equinox as eqx

    linear = eqx.nn.Linear(6, 4, key=jax.random.key(0))
    adapted = lora.loraify(linear, rank=2, key=jax.random.key(1))
    x = jax.random.normal(jax.random.key(2), (6,))
    plain, same = linear(x), quax.quaxify(adapted)(x)

    @jax.jit
    def step(model):
        def loss(model):
            return jnp.sum((quax.quaxify(model)(x) - 1.0) ** 2)

        value, slopes = eqx.filter_value_and_grad(loss)(model)
        return eqx.apply_updates(model, jax.tree.map(lambda s: -0.01 * s, slopes)), value

    values = []
    for _ in range(10):
        adapted, value = step(adapted)
        values.append(float(value))
    return [*map(float, plain), *map(float, same), *values[::3]]


if __name__ == "__main__":
    print(main())
