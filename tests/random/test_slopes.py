"""How numbers move with their parameters: at a constant value of the distribution function.

What is made of several numbers moves with each of them so.  Reference: Figurnov, Mohamed & Mnih,
"Implicit reparameterization gradients", NeurIPS 2018.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import special, stats

import morphax as jax
from morphax import random

KEY = random.key(5)
SHAPE = (50,)
Numbers = np.ndarray[Any, Any]

# Draws that one uniform number decides, their distribution, and a parameter.
QUANTILES: dict[str, tuple[Callable[[Any], Any], Callable[[float], Any], float]] = {
    "uniform": (
        lambda x: random.uniform(KEY, SHAPE, minval=-1.0, maxval=x),
        lambda x: stats.uniform(-1, x + 1),
        2.0,
    ),
    "truncated_normal, lower": (
        lambda x: random.truncated_normal(KEY, x, 1.0, SHAPE),
        lambda x: stats.truncnorm(x, 1),
        -0.7,
    ),
    "truncated_normal, upper": (
        lambda x: random.truncated_normal(KEY, -1.0, x, SHAPE),
        lambda x: stats.truncnorm(-1, x),
        0.7,
    ),
    "lognormal": (lambda x: random.lognormal(KEY, x, SHAPE), stats.lognorm, 1.3),
    "pareto": (lambda x: random.pareto(KEY, x, SHAPE), stats.pareto, 2.5),
    "rayleigh": (
        lambda x: random.rayleigh(KEY, x, SHAPE),
        lambda x: stats.rayleigh(scale=x),
        1.5,
    ),
    "weibull_min, scale": (
        lambda x: random.weibull_min(KEY, x, 0.8, SHAPE),
        lambda x: stats.weibull_min(0.8, scale=x),
        2.0,
    ),
    "weibull_min, concentration": (
        lambda x: random.weibull_min(KEY, 2.0, x, SHAPE),
        lambda x: stats.weibull_min(x, scale=2),
        0.8,
    ),
    "triangular, left": (
        lambda x: random.triangular(KEY, x, 0.5, 4.0, SHAPE),
        lambda x: stats.triang((0.5 - x) / (4 - x), x, 4 - x),
        -1.0,
    ),
    "triangular, mode": (
        lambda x: random.triangular(KEY, -1.0, x, 4.0, SHAPE),
        lambda x: stats.triang((x + 1) / 5, -1, 5),
        0.5,
    ),
    "gamma": (lambda x: random.gamma(KEY, x, SHAPE), stats.gamma, 2.5),
    "gamma below 1": (lambda x: random.gamma(KEY, x, SHAPE), stats.gamma, 0.6),
    "loggamma": (lambda x: random.loggamma(KEY, x, SHAPE), stats.loggamma, 1.7),
    "chisquare": (lambda x: random.chisquare(KEY, x, SHAPE), stats.chi2, 3.0),
    "generalized_normal": (
        lambda x: random.generalized_normal(KEY, x, SHAPE),
        stats.gennorm,
        1.5,
    ),
}


@pytest.mark.parametrize("name", QUANTILES)
def test_numbers_move_as_their_quantiles(name: str) -> None:
    draw, distribution, parameter = QUANTILES[name]
    numbers, slopes = _pushed(draw, np.float64(parameter))
    step = 1e-5
    at = distribution(parameter)
    lower, upper = at.cdf(numbers), at.sf(numbers)

    def moved(x: float) -> Numbers:
        return np.where(lower < upper, distribution(x).ppf(lower), distribution(x).isf(upper))

    expected = (moved(parameter + step) - moved(parameter - step)) / (2 * step)
    np.testing.assert_allclose(slopes, expected, rtol=2e-5, atol=1e-6)


def _pushed(draw: Callable[[Any], Any], point: Numbers) -> tuple[Numbers, Numbers]:
    """Numbers of float64, and how they move with the parameter."""
    with jax.enable_x64(True):
        numbers, slopes = jax.jvp(draw, (point,), (np.ones_like(point),))
        compiled = jax.jit(lambda x: jax.jvp(draw, (x,), (np.ones_like(point),))[1])(point)
    np.testing.assert_allclose(compiled, slopes, rtol=1e-9, atol=1e-12)
    return np.asarray(numbers), np.asarray(slopes)


def _gamma(key: Any, at: Numbers, a: Numbers, shape: tuple[int, ...]) -> Numbers:
    """The gamma numbers of `at`, moved to the parameters `a`."""
    with jax.enable_x64(True):
        numbers = np.asarray(random.gamma(key, at, shape))
    lower, upper = special.gammainc(at, numbers), special.gammaincc(at, numbers)
    return np.where(lower < upper, special.gammaincinv(a, lower), special.gammainccinv(a, upper))


def _beta(at: Numbers, x: Numbers) -> Numbers:
    first, second = [
        _gamma(k, p, q, SHAPE) for k, p, q in zip(random.split(KEY), at, x, strict=True)
    ]
    return first / (first + second)


def _t(at: Numbers, x: Numbers) -> Numbers:
    normal_key, gamma_key = random.split(KEY)
    with jax.enable_x64(True):
        z = np.asarray(random.normal(normal_key, SHAPE))
    return z * np.sqrt(x / 2 / _gamma(gamma_key, at / 2, x / 2, SHAPE))


def _f(at: Numbers, x: Numbers) -> Numbers:
    first, second = [
        _gamma(k, p / 2, q / 2, SHAPE) / q
        for k, p, q in zip(random.split(KEY)[::-1], at, x, strict=True)
    ]
    return first / second


def _dirichlet(at: Numbers, x: Numbers) -> Numbers:
    numbers = _gamma(KEY, at, x, (*SHAPE, 3))
    return numbers / numbers.sum(-1, keepdims=True)


# What is made of several numbers, the same of moved ones, and parameters.
MADE: dict[str, tuple[Callable[[Any], Any], Callable[[Numbers, Numbers], Numbers], Any]] = {
    "beta": (lambda x: random.beta(KEY, x[0], x[1], SHAPE), _beta, (0.7, 3.0)),
    "t": (lambda x: random.t(KEY, x, SHAPE), _t, 3.0),
    "f": (lambda x: random.f(KEY, x[0], x[1], SHAPE), _f, (3.0, 5.0)),
    "dirichlet": (lambda x: random.dirichlet(KEY, x, SHAPE), _dirichlet, (0.5, 1.0, 4.0)),
}


@pytest.mark.parametrize("name", MADE)
def test_what_is_made_of_gamma_numbers_moves_as_they_do(name: str) -> None:
    draw, moved, parameters = MADE[name]
    point = np.array(parameters)
    numbers, slopes = _pushed(draw, point)
    np.testing.assert_allclose(numbers, moved(point, point), rtol=1e-10)
    expected = (moved(point, point + 1e-5) - moved(point, point - 1e-5)) / 2e-5
    np.testing.assert_allclose(slopes, expected, rtol=2e-5, atol=1e-6)
