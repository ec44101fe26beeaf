"""Distributions of `random`: eager calls for a few numbers, and compiled ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..timing import Figures, Scale, best

_COUNT = 8
_SHAPE = (_COUNT,)
_FOUR = np.array([0.1, 0.2, 0.3, 0.4])
_MEAN, _COVARIANCE = np.zeros(2), np.array([[2.0, 0.5], [0.5, 1.0]])

Draws = dict[str, Callable[[Any, Any], Any]]

WHOLE: Draws = {
    "bits": lambda random, key: random.bits(key, _SHAPE),
    "randint": lambda random, key: random.randint(key, _SHAPE, 0, 10),
    "bernoulli": lambda random, key: random.bernoulli(key, 0.3, _SHAPE),
    "rademacher": lambda random, key: random.rademacher(key, _SHAPE),
    "geometric": lambda random, key: random.geometric(key, 0.3, _SHAPE),
    "poisson": lambda random, key: random.poisson(key, 3.0, _SHAPE),
    "categorical": lambda random, key: random.categorical(key, _FOUR, shape=_SHAPE),
    "permutation": lambda random, key: random.permutation(key, _COUNT),
    "choice": lambda random, key: random.choice(key, _COUNT, _SHAPE),
    "split": lambda random, key: random.split(key),
}
REAL: Draws = {
    "uniform": lambda random, key: random.uniform(key, _SHAPE),
    "normal": lambda random, key: random.normal(key, _SHAPE),
    "truncated_normal": lambda random, key: random.truncated_normal(key, -1.0, 1.0, _SHAPE),
    "lognormal": lambda random, key: random.lognormal(key, 0.5, _SHAPE),
    "maxwell": lambda random, key: random.maxwell(key, _SHAPE),
    "double_sided_maxwell": lambda r, key: r.double_sided_maxwell(key, 0.0, 1.0, _SHAPE),
    "wald": lambda random, key: random.wald(key, 2.0, _SHAPE),
    "exponential": lambda random, key: random.exponential(key, _SHAPE),
    "gumbel": lambda random, key: random.gumbel(key, _SHAPE),
    "laplace": lambda random, key: random.laplace(key, _SHAPE),
    "logistic": lambda random, key: random.logistic(key, _SHAPE),
    "cauchy": lambda random, key: random.cauchy(key, _SHAPE),
    "pareto": lambda random, key: random.pareto(key, 3.0, _SHAPE),
    "rayleigh": lambda random, key: random.rayleigh(key, 2.0, _SHAPE),
    "weibull_min": lambda random, key: random.weibull_min(key, 2.0, 1.5, _SHAPE),
    "triangular": lambda random, key: random.triangular(key, 0.0, 0.5, 1.0, _SHAPE),
    "gamma": lambda random, key: random.gamma(key, 2.0, _SHAPE),
    "loggamma": lambda random, key: random.loggamma(key, 0.5, _SHAPE),
    "beta": lambda random, key: random.beta(key, 2.0, 3.0, _SHAPE),
    "dirichlet": lambda random, key: random.dirichlet(key, _FOUR, (2,)),
    "chisquare": lambda random, key: random.chisquare(key, 3.0, _SHAPE),
    "t": lambda random, key: random.t(key, 3.0, _SHAPE),
    "f": lambda random, key: random.f(key, 3.0, 5.0, _SHAPE),
    "generalized_normal": lambda random, key: random.generalized_normal(key, 3.0, _SHAPE),
    "ball": lambda random, key: random.ball(key, 2, shape=(4,)),
    "binomial": lambda random, key: random.binomial(key, 10.0, 0.3, _SHAPE),
    "multinomial": lambda random, key: random.multinomial(key, 10.0, _FOUR),
    "multivariate_normal": lambda r, key: r.multivariate_normal(key, _MEAN, _COVARIANCE, (4,)),
    "orthogonal": lambda random, key: random.orthogonal(key, 3),
}


def draws(jax: Any, scale: Scale) -> Figures:
    """Each distribution, warm: an eager call, and a call of the jitted function."""
    figures = _measured(jax, scale, {**WHOLE, **REAL}, "")
    with jax.enable_x64(True):
        return figures | _measured(jax, scale, REAL, " of float64")


def _measured(jax: Any, scale: Scale, of: Draws, precision: str) -> Figures:
    key = jax.random.key(0)
    figures: Figures = {}
    for name, draw in of.items():
        compiled = jax.jit(lambda key, draw=draw: draw(jax.random, key))
        line = f"random.{name}{precision}"
        figures[line] = best(lambda draw=draw: draw(jax.random, key), scale)
        figures[f"jit {line}"] = best(lambda f=compiled: f(key), scale)
    return figures
