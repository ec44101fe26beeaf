"""TensorFlow Probability: a posterior by Hamiltonian Monte Carlo, and one by variation."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import optax
from tensorflow_probability.substrates import jax as tfp

tfd, tfb = tfp.distributions, tfp.bijectors


def main() -> list[float]:
    keys = jax.random.split(jax.random.key(0), 5)
    x = jax.random.normal(keys[0], (40,))
    y = 1.5 * x - 0.5 + 0.3 * jax.random.normal(keys[1], (40,))

    model = tfd.JointDistributionSequential(
        [
            tfd.Normal(0.0, 2.0),
            tfd.Normal(0.0, 2.0),
            tfd.HalfNormal(1.0),
            lambda scale, shift, slope: tfd.Independent(
                tfd.Normal(slope * x + shift, scale), reinterpreted_batch_ndims=1
            ),
        ]
    )

    def log_density(slope, shift, scale):
        return model.log_prob([slope, shift, scale, y])

    @jax.jit
    def sample(key):
        kernel = tfp.mcmc.TransformedTransitionKernel(
            tfp.mcmc.HamiltonianMonteCarlo(log_density, step_size=0.03, num_leapfrog_steps=8),
            [tfb.Identity(), tfb.Identity(), tfb.Softplus()],
        )
        return tfp.mcmc.sample_chain(
            150,
            current_state=[1.0, 0.0, 0.5],
            kernel=kernel,
            num_burnin_steps=50,
            trace_fn=None,
            seed=key,
        )

    chain = sample(keys[2])
    surrogate = tfd.MultivariateNormalDiag
    optimizer = optax.adam(0.05)

    @jax.jit
    def step(carry, key):
        params, state = carry

        def loss(params):
            draws = surrogate(params["loc"], jnp.exp(params["scale"])).sample(8, seed=key)
            density = jax.vmap(lambda d: log_density(d[0], d[1], jax.nn.softplus(d[2])))(draws)
            entropy = surrogate(params["loc"], jnp.exp(params["scale"])).entropy()
            return -jnp.mean(density) - entropy

        value, slopes = jax.value_and_grad(loss)(params)
        updates, state = optimizer.update(slopes, state)
        return (optax.apply_updates(params, updates), state), value

    params = {"loc": jnp.zeros(3), "scale": -jnp.ones(3)}
    start = (params, optimizer.init(params))
    (params, _), values = jax.lax.scan(step, start, jax.random.split(keys[3], 150))
    means = [float(jnp.mean(c)) for c in chain]
    return [*means, *map(float, params["loc"]), float(values[0]), float(values[-1])]


if __name__ == "__main__":
    print(main())
