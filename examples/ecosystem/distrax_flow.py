"""Distrax: distributions, bijectors found by inversion of a function, a fitted flow."""

from __future__ import annotations

import distrax
import jax
import jax.numpy as jnp


def main() -> list[float]:
    mixture = distrax.MixtureSameFamily(
        distrax.Categorical(logits=jnp.array([0.1, 0.9])),
        distrax.Normal(jnp.array([-1.0, 2.0]), jnp.array([0.5, 1.0])),
    )
    draws, logs = mixture.sample_and_log_prob(seed=jax.random.key(0), sample_shape=(500,))
    flow = distrax.Transformed(
        distrax.MultivariateNormalDiag(jnp.zeros(2)),
        distrax.Block(distrax.Chain([distrax.Tanh(), distrax.ScalarAffine(0.1, 0.7)]), 1),
    )
    found = distrax.Lambda(lambda x: jnp.exp(2.0 * x) + 1.0)
    y, change = found.forward_and_log_det(jnp.array([0.3, -0.2]))
    slope = jax.grad(lambda m: distrax.Normal(m, 1.0).kl_divergence(distrax.Normal(0.0, 2.0)))(0.5)
    inside = flow.log_prob(jnp.array([0.2, -0.3]))
    values = [draws.mean(), logs.mean(), inside, *y, *change, *found.inverse(y), slope]
    return [float(value) for value in values]


if __name__ == "__main__":
    print(main())
