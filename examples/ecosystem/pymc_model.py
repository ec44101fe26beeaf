"""PyMC: a model whose graph PyTensor writes as a program of JAX, sampled by NumPyro."""

from __future__ import annotations

import numpy as np
import pymc as pm
import pytensor
import pytensor.tensor as pt
from pymc.sampling.jax import get_jaxified_logp, sample_numpyro_nuts


def main() -> list[float]:
    random = np.random.default_rng(0)
    x = random.normal(size=30)
    y = 1.5 * x - 0.5 + 0.3 * random.normal(size=30)
    with pm.Model() as model:
        slope = pm.Normal("slope", 0.0, 2.0)
        shift = pm.Normal("shift", 0.0, 2.0)
        scale = pm.HalfNormal("scale", 1.0)
        pm.Normal("y", slope * x + shift, scale, observed=y)
        density = get_jaxified_logp(model)
        start = model.initial_point()
        found = [float(density([start[v.name] for v in model.value_vars]))]
        chain = sample_numpyro_nuts(
            draws=300, tune=300, chains=1, random_seed=1, progressbar=False,
            compute_convergence_checks=False,
        )  # fmt: skip
    means = [float(chain.posterior[name].mean()) for name in ("slope", "shift", "scale")]

    a, b = pt.matrix("a"), pt.vector("b")
    solved = pt.linalg.solve(a.T @ a + pt.eye(3), pt.special.softmax(b)) + pt.cumsum(b) ** 2
    function = pytensor.function([a, b], [solved, pt.grad(solved.sum(), b)], mode="JAX")
    graph = [float(np.sum(r)) for r in function(random.normal(size=(4, 3)), np.arange(3.0))]
    return [*found, *means, *graph]


if __name__ == "__main__":
    print(main())
