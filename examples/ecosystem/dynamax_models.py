"""Dynamax: a hidden Markov model fitted by EM, and a track smoothed by Kalman's equations."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from dynamax.hidden_markov_model import GaussianHMM
from dynamax.linear_gaussian_ssm import lgssm_smoother
from dynamax.linear_gaussian_ssm.inference import make_lgssm_params


def hidden_states() -> list[float]:
    """Two states that the emissions tell apart: how EM climbs, and where the states are."""
    states = (jnp.arange(60) // 10) % 2
    noise = 0.4 * jax.random.normal(jax.random.key(0), (60,))
    emissions = jnp.where(states == 1, 2.0, -1.0) + noise
    model = GaussianHMM(2, 1)
    params, properties = model.initialize(
        jax.random.PRNGKey(1), emission_means=jnp.array([[-1.0], [1.5]])
    )
    params, climb = model.fit_em(params, properties, emissions[:, None], num_iters=6, verbose=False)
    found = model.most_likely_states(params, emissions[:, None])
    return [*map(float, climb), *map(float, params.emissions.means[:, 0]), float(found.sum())]


def track() -> list[float]:
    """A moving point that is seen with noise."""
    seen = jnp.cumsum(0.3 + 0.2 * jax.random.normal(jax.random.key(2), (30,)))[:, None]
    params = make_lgssm_params(
        initial_mean=jnp.zeros(2),
        initial_cov=jnp.eye(2),
        dynamics_weights=jnp.array([[1.0, 1.0], [0.0, 1.0]]),
        dynamics_cov=0.01 * jnp.eye(2),
        emissions_weights=jnp.array([[1.0, 0.0]]),
        emissions_cov=0.04 * jnp.eye(1),
    )
    smoothed = jax.jit(lgssm_smoother)(params, seen)
    middle = smoothed.smoothed_means[15]
    return [float(smoothed.marginal_loglik), *map(float, middle)]


if __name__ == "__main__":
    print([*hidden_states(), *track()])
