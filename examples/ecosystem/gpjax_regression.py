"""GPJax: the hyperparameters of a Gaussian process are fitted, and it predicts between the data."""

from __future__ import annotations

import gpjax
import jax
import jax.numpy as jnp
import optax


def main() -> list[float]:
    x = jnp.linspace(0.0, 3.0, 20)[:, None]
    y = jnp.sin(2 * x) + 0.1 * jax.random.normal(jax.random.key(0), x.shape)
    data = gpjax.Dataset(X=x, y=y)
    prior = gpjax.gps.Prior(
        mean_function=gpjax.mean_functions.Constant(), kernel=gpjax.kernels.RBF()
    )
    fitted, losses = gpjax.fit(
        model=prior * gpjax.likelihoods.Gaussian(),
        objective=lambda p, d: -gpjax.objectives.conjugate_mll(p, d),
        train_data=data,
        optim=optax.adam(0.05),
        num_iters=60,
        key=jax.random.key(1),
        verbose=False,
    )
    predicted = fitted.predict(jnp.array([[0.8], [2.2]]), train_data=data)
    return [*map(float, losses[::20]), *map(float, predicted.mean), *map(float, predicted.variance)]


if __name__ == "__main__":
    jax.config.update("jax_enable_x64", True)
    print(main())
