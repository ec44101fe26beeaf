"""Distributions of `random`: eager calls for a few numbers, and compiled ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..timing import Figures, Scale, best

_COUNT = 8
_SHAPE = (_COUNT,)

DRAWS: dict[str, Callable[[Any, Any], Any]] = {
    "bits": lambda random, key: random.bits(key, _SHAPE),
    "uniform": lambda random, key: random.uniform(key, _SHAPE),
    "normal": lambda random, key: random.normal(key, _SHAPE),
    "randint": lambda random, key: random.randint(key, _SHAPE, 0, 10),
    "bernoulli": lambda random, key: random.bernoulli(key, 0.3, _SHAPE),
    "exponential": lambda random, key: random.exponential(key, _SHAPE),
    "gumbel": lambda random, key: random.gumbel(key, _SHAPE),
    "truncated_normal": lambda random, key: random.truncated_normal(key, -1.0, 1.0, _SHAPE),
    "triangular": lambda random, key: random.triangular(key, 0.0, 0.5, 1.0, _SHAPE),
    "gamma": lambda random, key: random.gamma(key, 2.0, _SHAPE),
    "beta": lambda random, key: random.beta(key, 2.0, 3.0, _SHAPE),
    "t": lambda random, key: random.t(key, 3.0, _SHAPE),
    "poisson": lambda random, key: random.poisson(key, 3.0, _SHAPE),
    "binomial": lambda random, key: random.binomial(key, 10.0, 0.3, _SHAPE),
    "permutation": lambda random, key: random.permutation(key, _COUNT),
    "choice": lambda random, key: random.choice(key, _COUNT, _SHAPE),
    "split": lambda random, key: random.split(key),
}


def draws(jax: Any, scale: Scale) -> Figures:
    """Each distribution, warm: an eager call, and a call of the jitted function."""
    key = jax.random.key(0)
    figures: Figures = {}
    for name, draw in DRAWS.items():
        compiled = jax.jit(lambda key, draw=draw: draw(jax.random, key))
        figures[f"random.{name}"] = best(lambda draw=draw: draw(jax.random, key), scale)
        figures[f"jit random.{name}"] = best(lambda f=compiled: f(key), scale)
    return figures
