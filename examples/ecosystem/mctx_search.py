"""Mctx: a tree search in a small decision problem."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import mctx


def main() -> list[float]:
    batch, actions = 4, 3
    goals = jnp.arange(batch) % actions

    def recurrent(params, key, action, embedding):
        depth, right = embedding
        right = right + (action == goals)
        reward = (action == goals).astype(jnp.float32)
        output = mctx.RecurrentFnOutput(
            reward=reward,
            discount=jnp.full(batch, 0.9),
            prior_logits=jnp.sin(jnp.arange(actions) + depth[:, None]),
            value=0.1 * right.astype(jnp.float32),
        )
        return output, (depth + 1.0, right)

    root = mctx.RootFnOutput(
        prior_logits=jnp.zeros((batch, actions)),
        value=jnp.zeros(batch),
        embedding=(jnp.zeros(batch), jnp.zeros(batch, jnp.int32)),
    )

    @jax.jit
    def search(key):
        return mctx.gumbel_muzero_policy((), key, root, recurrent, num_simulations=24)

    found = search(jax.random.key(0))
    plain = jax.jit(lambda key: mctx.muzero_policy((), key, root, recurrent, 16))
    spread = plain(jax.random.key(1)).action_weights.std()
    return [float(x) for x in (*found.action_weights.max(1), *found.action, spread)]


if __name__ == "__main__":
    print(main())
