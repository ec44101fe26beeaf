"""NumPyro: a regression by NUTS, and by variational inference."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpyro
import numpyro.distributions as dist
from numpyro.infer import MCMC, NUTS, SVI, Predictive, Trace_ELBO
from numpyro.infer.autoguide import AutoNormal


def model(x: jax.Array, y: jax.Array | None = None) -> None:
    slope = numpyro.sample("slope", dist.Normal(0, 2))
    offset = numpyro.sample("offset", dist.Normal(0, 2))
    noise = numpyro.sample("noise", dist.HalfNormal(1))
    with numpyro.plate("data", len(x)):
        numpyro.sample("y", dist.Normal(slope * x + offset, noise), obs=y)


def main() -> list[float]:
    x = jnp.linspace(-1, 1, 40)
    y = 1.5 * x - 0.5 + 0.3 * jax.random.normal(jax.random.key(0), (40,))
    sampler = MCMC(NUTS(model), num_warmup=300, num_samples=600, progress_bar=False)
    sampler.run(jax.random.key(1), x, y)
    samples = sampler.get_samples()
    svi = SVI(model, AutoNormal(model), numpyro.optim.Adam(0.02), Trace_ELBO())
    result = svi.run(jax.random.key(2), 1000, x, y, progress_bar=False)
    drawn = Predictive(model, samples)(jax.random.key(3), x)["y"]
    means = [samples[name].mean() for name in ("slope", "offset", "noise")]
    fitted = result.params
    located = [fitted["slope_auto_loc"], fitted["offset_auto_loc"]]
    return [*map(float, means), *map(float, located), float(drawn.mean())]


if __name__ == "__main__":
    print(main())
