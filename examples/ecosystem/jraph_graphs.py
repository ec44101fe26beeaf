"""Jraph: a graph network on two graphs in one batch, and its gradient."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import jraph


def main() -> list[float]:
    graphs = [
        jraph.GraphsTuple(
            nodes=jnp.arange(n * 2.0).reshape(n, 2),
            edges=jnp.ones((n, 1)),
            senders=jnp.arange(n),
            receivers=(jnp.arange(n) + 1) % n,
            n_node=jnp.array([n]),
            n_edge=jnp.array([n]),
            globals=jnp.zeros((1, 1)),
        )
        for n in (3, 4)
    ]
    batch = jraph.pad_with_graphs(jraph.batch(graphs), 10, 10, 3)

    def total(w):
        network = jraph.GraphNetwork(
            update_edge_fn=lambda e, s, r, g: jnp.tanh(e + (s - r) @ w),
            update_node_fn=lambda n, s, r, g: n + r,
            update_global_fn=lambda n, e, g: g + n.sum(-1, keepdims=True) + e,
        )
        mask = jraph.get_graph_padding_mask(batch)
        return jnp.where(mask[:, None], network(batch).globals, 0).sum()

    value, slope = jax.jit(jax.value_and_grad(total))(jnp.array([[0.3], [-0.2]]))
    scores = jraph.segment_softmax(jnp.arange(10.0), batch.receivers, 10)
    return [float(value), *map(float, slope[:, 0]), float((scores**2).sum())]


if __name__ == "__main__":
    print(main())
