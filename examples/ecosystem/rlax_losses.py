"""RLax: returns, temporal-difference errors and a policy gradient."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import rlax


def main() -> list[float]:
    rewards = jnp.sin(jnp.arange(10.0))
    discounts = jnp.full(10, 0.95)
    values = jnp.cos(jnp.arange(11.0))
    returns = rlax.lambda_returns(rewards, discounts, values[1:], 0.9)
    vtrace = rlax.vtrace(values[:-1], values[1:], rewards, discounts, jnp.linspace(0.5, 1.5, 10))
    logits = jnp.sin(jnp.arange(30.0)).reshape(10, 3)
    actions = jnp.arange(10) % 3

    @jax.jit
    def loss(logits):
        gain = rlax.policy_gradient_loss(logits, actions, returns, jnp.ones(10))
        return gain + 0.1 * rlax.entropy_loss(logits, jnp.ones(10))

    value, slope = jax.value_and_grad(loss)(logits)
    errors = jax.vmap(rlax.q_learning)(logits, actions, rewards, discounts, logits[::-1])
    sums = [returns.sum(), vtrace.sum(), value, (slope**2).sum(), errors.sum()]
    return [float(x) for x in sums]


if __name__ == "__main__":
    print(main())
