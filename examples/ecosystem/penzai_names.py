"""Penzai: arrays with named axes, a small transformer block, and its training by Optax."""

from __future__ import annotations

import dataclasses

import jax
import jax.numpy as jnp
import optax
from penzai import pz


def main() -> list[float]:
    model = pz.nn.Sequential(
        [
            pz.nn.Linear.from_config("first", jax.random.key(0), {"in": 3}, {"hidden": 8}),
            pz.nn.Elementwise(jax.nn.gelu),
            pz.nn.Linear.from_config("last", jax.random.key(1), {"hidden": 8}, {"out": 2}),
        ]
    )
    x = pz.nx.wrap(jax.random.normal(jax.random.key(2), (16, 3)), "batch", "in")
    model, variables = pz.unbind_params(model)
    frozen = {v.label: v.freeze() for v in variables}
    values = {label: parameter.value for label, parameter in frozen.items()}

    def loss(values):
        bound = pz.bind_variables(
            model, [dataclasses.replace(frozen[k], value=v) for k, v in values.items()]
        )
        out = bound(x).untag("batch", "out").unwrap()
        return jnp.mean((out - 1.0) ** 2)

    optimizer = optax.adam(0.05)
    state, found = optimizer.init(values), []
    step = jax.jit(jax.value_and_grad(loss))
    for _ in range(20):
        value, slopes = step(values)
        updates, state = optimizer.update(slopes, state)
        values = optax.apply_updates(values, updates)
        found.append(float(value))
    named = pz.nx.arange("row", 3) * pz.nx.arange("column", 4)
    total = pz.nx.nmap(jnp.sum)(named.untag("row"))
    return [*found[::6], *map(float, total.unwrap("column"))]


if __name__ == "__main__":
    print(main())
