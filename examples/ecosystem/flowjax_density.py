"""FlowJAX: a normalising flow is fitted to samples of a banana."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from flowjax.distributions import Normal
from flowjax.flows import coupling_flow
from flowjax.train import fit_to_data


def main() -> list[float]:
    keys = jax.random.split(jax.random.key(0), 4)
    z = jax.random.normal(keys[0], (200, 2))
    x = jnp.stack([z[:, 0], z[:, 1] * 0.5 + z[:, 0] ** 2], 1)
    flow = coupling_flow(keys[1], base_dist=Normal(jnp.zeros(2)), flow_layers=2, nn_width=8)
    flow, losses = fit_to_data(
        keys[2], flow, data=x, max_epochs=3, batch_size=50, learning_rate=5e-3, show_progress=False
    )
    density = flow.log_prob(jnp.array([[0.0, 0.0], [1.0, 1.0], [0.0, 3.0]]))
    return [*map(float, losses["train"]), *map(float, losses["val"]), *map(float, density)]


if __name__ == "__main__":
    print(main())
