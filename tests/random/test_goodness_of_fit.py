"""Every distribution against its distribution function: Kolmogorov–Smirnov and χ² tests.

The seeds are fixed, so a test that passes goes on to pass.  A right sampler fails a test with
probability `RARE`; a wrong one fails with near certainty.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

import morphax as jax
import morphax.numpy as jnp
from morphax import random

COUNT = 4000
RARE = 1e-4
SHAPE = (COUNT,)

# Draws of real numbers, and their distributions.
CONTINUOUS = {
    "uniform": (lambda k: random.uniform(k, SHAPE), stats.uniform()),
    "uniform between": (
        lambda k: random.uniform(k, SHAPE, minval=-3.0, maxval=5.0),
        stats.uniform(-3, 8),
    ),
    "normal": (lambda k: random.normal(k, SHAPE), stats.norm()),
    "truncated_normal": (
        lambda k: random.truncated_normal(k, -0.5, 2.0, SHAPE),
        stats.truncnorm(-0.5, 2),
    ),
    "lognormal": (lambda k: random.lognormal(k, 0.7, SHAPE), stats.lognorm(0.7)),
    "maxwell": (lambda k: random.maxwell(k, SHAPE), stats.maxwell()),
    "double_sided_maxwell": (
        lambda k: abs(random.double_sided_maxwell(k, 0.0, 2.0, SHAPE)),
        stats.maxwell(scale=2),
    ),
    "wald": (lambda k: random.wald(k, 1.5, SHAPE), stats.invgauss(1.5)),
    "exponential": (lambda k: random.exponential(k, SHAPE), stats.expon()),
    "gumbel": (lambda k: random.gumbel(k, SHAPE), stats.gumbel_r()),
    "gumbel, high": (lambda k: random.gumbel(k, SHAPE, mode="high"), stats.gumbel_r()),
    "laplace": (lambda k: random.laplace(k, SHAPE), stats.laplace()),
    "logistic": (lambda k: random.logistic(k, SHAPE), stats.logistic()),
    "cauchy": (lambda k: random.cauchy(k, SHAPE), stats.cauchy()),
    "pareto": (lambda k: random.pareto(k, 2.5, SHAPE), stats.pareto(2.5)),
    "rayleigh": (lambda k: random.rayleigh(k, 1.5, SHAPE), stats.rayleigh(scale=1.5)),
    "weibull_min": (
        lambda k: random.weibull_min(k, 2.0, 0.8, SHAPE),
        stats.weibull_min(0.8, scale=2),
    ),
    "triangular": (
        lambda k: random.triangular(k, -1.0, 0.5, 4.0, SHAPE),
        stats.triang(0.3, -1, 5),
    ),
    "gamma below 1": (lambda k: random.gamma(k, 0.3, SHAPE), stats.gamma(0.3)),
    "gamma": (lambda k: random.gamma(k, 4.0, SHAPE), stats.gamma(4)),
    "loggamma": (lambda k: random.loggamma(k, 0.5, SHAPE), stats.loggamma(0.5)),
    "beta": (lambda k: random.beta(k, 0.5, 2.0, SHAPE), stats.beta(0.5, 2)),
    "dirichlet": (
        lambda k: random.dirichlet(k, jnp.array([1.0, 2.0, 3.0]), SHAPE)[:, 1],
        stats.beta(2, 4),
    ),
    "chisquare": (lambda k: random.chisquare(k, 3.0, SHAPE), stats.chi2(3)),
    "f": (lambda k: random.f(k, 3.0, 7.0, SHAPE), stats.f(3, 7)),
    "t": (lambda k: random.t(k, 3.0, SHAPE), stats.t(3)),
    "generalized_normal": (lambda k: random.generalized_normal(k, 1.5, SHAPE), stats.gennorm(1.5)),
    "ball": (
        lambda k: jnp.sum(random.ball(k, 3, 2, SHAPE) ** 2, axis=-1) ** 1.5,
        stats.uniform(),
    ),
    "multivariate_normal": (
        lambda k: random.multivariate_normal(k, MEAN, COV, SHAPE) @ jnp.array([1.0, -2.0]),
        stats.norm(-3, np.sqrt(2 - 4 * 0.6 + 4)),
    ),
    "orthogonal": (
        lambda k: random.orthogonal(k, 3, SHAPE)[:, 0, 0],
        stats.uniform(-1, 2),
    ),
    "unitary": (
        lambda k: jnp.abs(random.orthogonal(k, 2, SHAPE, "complex64")[:, 1, 0]) ** 2,
        stats.uniform(),
    ),
    "complex normal": (
        lambda k: jnp.abs(random.normal(k, SHAPE, "complex64")) ** 2,
        stats.expon(),
    ),
}
MEAN, COV = jnp.array([1.0, 2.0]), jnp.array([[2.0, 0.6], [0.6, 1.0]])

# Draws of whole numbers, and the probabilities of 0, 1, …; what is beyond them counts as the last.
DISCRETE = {
    "bits": (lambda k: random.bits(k, SHAPE, "uint8") >> 4, np.full(16, 1 / 16)),
    "high bits": (lambda k: random.bits(k, SHAPE) >> 28, np.full(16, 1 / 16)),
    "randint": (lambda k: random.randint(k, SHAPE, 3, 10) - 3, np.full(7, 1 / 7)),
    "randint, wide": (
        lambda k: random.randint(k, SHAPE, -(2**31), 2**31 - 1) // 2**28 + 8,
        np.full(16, 1 / 16),
    ),
    "bernoulli": (lambda k: random.bernoulli(k, 0.3, SHAPE), np.array([0.7, 0.3])),
    "bernoulli, high": (
        lambda k: random.bernoulli(k, 0.3, SHAPE, mode="high"),
        np.array([0.7, 0.3]),
    ),
    "rademacher": (lambda k: (random.rademacher(k, SHAPE) + 1) // 2, np.full(2, 1 / 2)),
    "sign of double_sided_maxwell": (
        lambda k: random.double_sided_maxwell(k, 0.0, 1.0, SHAPE) > 0,
        np.full(2, 1 / 2),
    ),
    "geometric": (
        lambda k: random.geometric(k, 0.3, SHAPE) - 1,
        stats.geom(0.3).pmf(1 + np.arange(15)),
    ),
    "poisson": (lambda k: random.poisson(k, 3.0, SHAPE), stats.poisson(3).pmf(np.arange(10))),
    "poisson of many": (
        lambda k: random.poisson(k, 40.0, SHAPE) // 4,
        stats.poisson(40).pmf(np.arange(64)).reshape(16, 4).sum(1),
    ),
    # Both sides of where the method changes.
    "poisson below 10": (
        lambda k: random.poisson(k, 9.99, SHAPE),
        stats.poisson(9.99).pmf(np.arange(30)),
    ),
    "poisson above 10": (
        lambda k: random.poisson(k, 10.01, SHAPE),
        stats.poisson(10.01).pmf(np.arange(30)),
    ),
    "poisson, rare": (lambda k: random.poisson(k, 0.05, SHAPE), stats.poisson(0.05).pmf(range(5))),
    "poisson of thousands": (
        lambda k: random.poisson(k, 5000.0, SHAPE) // 20,
        np.diff(stats.poisson(5000).cdf(np.arange(-1, 10000, 20))),
    ),
    "binomial, few expected": (
        lambda k: random.binomial(k, 1000, 0.0099, SHAPE),
        stats.binom(1000, 0.0099).pmf(np.arange(30)),
    ),
    "binomial, more expected": (
        lambda k: random.binomial(k, 1000, 0.0101, SHAPE),
        stats.binom(1000, 0.0101).pmf(np.arange(30)),
    ),
    "binomial, frequent": (
        lambda k: 30 - random.binomial(k, 30, 0.97, SHAPE),
        stats.binom(30, 0.03).pmf(np.arange(8)),
    ),
    "binomial of thousands": (
        lambda k: random.binomial(k, 20000, 0.5, SHAPE) // 10,
        np.diff(stats.binom(20000, 0.5).cdf(np.arange(-1, 20001, 10))),
    ),
    "geometric, rare": (
        lambda k: (random.geometric(k, 1e-3, SHAPE) - 1) // 100,
        np.diff(stats.geom(1e-3).cdf(np.arange(0, 10001, 100))),
    ),
    "randint, narrow dtype": (
        lambda k: random.randint(k, SHAPE, -128, 127, "int8") // 16 + 8,
        np.append(np.full(15, 16 / 255), 15 / 255),
    ),
    "bernoulli, rare": (lambda k: random.bernoulli(k, 2e-3, SHAPE), np.array([0.998, 0.002])),
    "multinomial, uneven": (
        lambda k: random.multinomial(k, 40, jnp.array([0.01, 0.9, 0.0, 0.09]), shape=(COUNT,))[
            :, 3
        ],
        stats.binom(40, 0.09).pmf(np.arange(15)),
    ),
    "categorical of uneven weights": (
        lambda k: random.categorical(k, jnp.array([0.0, -6.0, 2.0, -jnp.inf]), shape=SHAPE),
        np.exp([0.0, -6.0, 2.0, -np.inf]) / np.exp([0.0, -6.0, 2.0, -np.inf]).sum(),
    ),
    "categorical, high": (
        lambda k: random.categorical(k, jnp.log(WEIGHTS), shape=SHAPE, mode="high"),
        np.array([0.1, 0.2, 0.3, 0.4]),
    ),
    "choice by weight without replacement": (
        lambda k: jax.vmap(lambda k: random.choice(k, 4, (2,), replace=False, p=WEIGHTS)[1])(
            random.split(k, COUNT)
        ),
        None,
    ),
    "binomial": (
        lambda k: random.binomial(k, 10, 0.3, SHAPE),
        stats.binom(10, 0.3).pmf(np.arange(8)),
    ),
    "binomial of many": (
        lambda k: random.binomial(k, 120, 0.7, SHAPE) // 4,
        stats.binom(120, 0.7).pmf(np.arange(124)).reshape(31, 4).sum(1),
    ),
    "multinomial": (
        lambda k: random.multinomial(k, 6, jnp.array([0.2, 0.3, 0.5]), shape=(COUNT,))[:, 1],
        stats.binom(6, 0.3).pmf(np.arange(6)),
    ),
    "categorical": (
        lambda k: random.categorical(k, jnp.log(WEIGHTS), shape=SHAPE),
        np.array([0.1, 0.2, 0.3, 0.4]),
    ),
    "categorical without replacement": (
        lambda k: jax.vmap(
            lambda k: random.categorical(k, jnp.log(WEIGHTS), shape=(2,), replace=False)[1]
        )(random.split(k, COUNT)),
        None,
    ),
    "choice": (lambda k: random.choice(k, 7, SHAPE), np.full(7, 1 / 7)),
    "choice by weight": (
        lambda k: random.choice(k, 4, SHAPE, p=WEIGHTS),
        np.array([0.1, 0.2, 0.3, 0.4]),
    ),
    "permutation": (
        lambda k: jax.vmap(lambda k: _rank(random.permutation(k, 4)))(random.split(k, COUNT)),
        np.full(24, 1 / 24),
    ),
}
WEIGHTS = jnp.array([0.1, 0.2, 0.3, 0.4])


def _rank(order):
    """The number of a permutation of four things: its digits in the factorial system."""
    later = jnp.array([[j > i for j in range(4)] for i in range(4)])
    digits = jnp.sum((order[None, :] < order[:, None]) & later, axis=1)
    return jnp.sum(digits * jnp.array([6, 2, 1, 0]))


def _second_of_two(weights):
    """How probable each category is as the second of two different ones."""
    w = np.asarray(weights, np.float64)
    return np.array([sum(w[i] * w[j] / (1 - w[i]) for i in range(4) if i != j) for j in range(4)])


# Small and large parameters, where methods change or roundings grow.
EXTREME = {
    "uniform of a narrow interval": (
        lambda k: random.uniform(k, SHAPE, minval=1e-3, maxval=2e-3),
        stats.uniform(1e-3, 1e-3),
    ),
    "truncated_normal of a tail": (
        lambda k: random.truncated_normal(k, 2.5, 3.0, SHAPE),
        stats.truncnorm(2.5, 3),
    ),
    "truncated_normal of a lower tail": (
        lambda k: random.truncated_normal(k, -np.inf, -2.0, SHAPE),
        stats.truncnorm(-np.inf, -2),
    ),
    "truncated_normal of all": (
        lambda k: random.truncated_normal(k, -np.inf, np.inf, SHAPE),
        stats.norm(),
    ),
    "lognormal, wide": (lambda k: random.lognormal(k, 10.0, SHAPE), stats.lognorm(10)),
    "wald of small means": (lambda k: random.wald(k, 1e-3, SHAPE), stats.invgauss(1e-3)),
    "wald of large means": (lambda k: random.wald(k, 1e5, SHAPE), stats.invgauss(1e5)),
    "pareto, heavy": (lambda k: random.pareto(k, 0.2, SHAPE), stats.pareto(0.2)),
    "weibull_min, small": (
        lambda k: random.weibull_min(k, 1.0, 0.1, SHAPE),
        stats.weibull_min(0.1),
    ),
    "triangular with its mode at an end": (
        lambda k: random.triangular(k, 0.0, 0.0, 1.0, SHAPE),
        stats.triang(0),
    ),
    "gamma at 1": (lambda k: random.gamma(k, 1.0, SHAPE), stats.expon()),
    "gamma of many": (lambda k: random.gamma(k, 1e5, SHAPE), stats.norm(1e5 - 1 / 3, 1e5**0.5)),
    "loggamma next to 0": (
        # a times the logarithm has the distribution of log u.
        lambda k: -1e-4 * random.loggamma(k, 1e-4, SHAPE),
        stats.expon(),
    ),
    "beta next to 0": (lambda k: random.beta(k, 0.2, 1.0, SHAPE), stats.beta(0.2, 1)),
    "beta of many": (lambda k: random.beta(k, 2000.0, 3.0, SHAPE), stats.beta(2000, 3)),
    "dirichlet next to 0": (
        lambda k: random.dirichlet(k, jnp.full(4, 0.05), SHAPE)[:, 2],
        stats.beta(0.05, 0.15),
    ),
    "chisquare, few": (lambda k: random.chisquare(k, 0.5, SHAPE), stats.chi2(0.5)),
    "chisquare, many": (lambda k: random.chisquare(k, 500.0, SHAPE), stats.chi2(500)),
    "f, few": (lambda k: random.f(k, 0.5, 0.7, SHAPE), stats.f(0.5, 0.7)),
    "t, heavy": (lambda k: random.t(k, 0.3, SHAPE), stats.t(0.3)),
    "t of many": (lambda k: random.t(k, 1e4, SHAPE), stats.norm()),
    "generalized_normal, sharp": (
        lambda k: random.generalized_normal(k, 0.4, SHAPE),
        stats.gennorm(0.4),
    ),
    "generalized_normal, flat": (
        lambda k: random.generalized_normal(k, 20.0, SHAPE),
        stats.gennorm(20),
    ),
    "ball of another exponent": (
        lambda k: jnp.sum(jnp.abs(random.ball(k, 4, 0.7, SHAPE)) ** 0.7, axis=-1) ** (4 / 0.7),
        stats.uniform(),
    ),
}


@pytest.mark.parametrize("name", [*CONTINUOUS, *EXTREME])
def test_distribution_function(name):
    draw, distribution = {**CONTINUOUS, **EXTREME}[name]
    numbers = np.asarray(draw(random.key(7)), np.float64)
    assert stats.kstest(numbers, distribution.cdf).pvalue > RARE


# Positional parameters, and the distribution, for each floating dtype.
OF_ALL_DTYPES = {
    "uniform": ((), stats.uniform()),
    "normal": ((), stats.norm()),
    "truncated_normal": ((-0.5, 2.0), stats.truncnorm(-0.5, 2)),
    "lognormal": ((0.7,), stats.lognorm(0.7)),
    "maxwell": ((), stats.maxwell()),
    "wald": ((1.5,), stats.invgauss(1.5)),
    "exponential": ((), stats.expon()),
    "gumbel": ((), stats.gumbel_r()),
    "laplace": ((), stats.laplace()),
    "logistic": ((), stats.logistic()),
    "cauchy": ((), stats.cauchy()),
    "pareto": ((2.5,), stats.pareto(2.5)),
    "rayleigh": ((1.5,), stats.rayleigh(scale=1.5)),
    "weibull_min": ((2.0, 0.8), stats.weibull_min(0.8, scale=2)),
    "triangular": ((-1.0, 0.5, 4.0), stats.triang(0.3, -1, 5)),
    "gamma": ((4.0,), stats.gamma(4)),
    "loggamma": ((0.5,), stats.loggamma(0.5)),
    "beta": ((0.5, 2.0), stats.beta(0.5, 2)),
    "chisquare": ((3.0,), stats.chi2(3)),
    "f": ((3.0, 7.0), stats.f(3, 7)),
    "t": ((3.0,), stats.t(3)),
    "generalized_normal": ((1.5,), stats.gennorm(1.5)),
}


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64"])
@pytest.mark.parametrize("name", OF_ALL_DTYPES)
def test_distribution_function_in_other_dtypes(name, dtype):
    parameters, distribution = OF_ALL_DTYPES[name]
    with jax.enable_x64(dtype == "float64"):
        numbers = getattr(random, name)(random.key(7), *parameters, shape=SHAPE, dtype=dtype)
    assert numbers.dtype == dtype
    assert stats.kstest(np.asarray(numbers, np.float64), distribution.cdf).pvalue > RARE


@pytest.mark.parametrize("name", DISCRETE)
def test_frequencies(name):
    draw, probabilities = DISCRETE[name]
    if probabilities is None:
        probabilities = _second_of_two(WEIGHTS)
    numbers = np.minimum(np.asarray(draw(random.key(7))).astype(int), len(probabilities) - 1)
    assert numbers.min() >= 0
    found = np.bincount(numbers, minlength=len(probabilities))
    expected = COUNT * np.append(probabilities[:-1], 1 - probabilities[:-1].sum())
    # χ² needs a few expected cases of each kind; the rare kinds count as one.
    common = expected >= 5
    if not common.all():
        found = np.append(found[common], found[~common].sum())
        expected = np.append(expected[common], expected[~common].sum())
    assert stats.chisquare(found, expected).pvalue > RARE


@pytest.mark.parametrize("impl", ["rbg", "unsafe_rbg"])
def test_other_generators(impl):
    numbers = np.asarray(random.normal(random.key(7, impl=impl), SHAPE), np.float64)
    assert stats.kstest(numbers, stats.norm().cdf).pvalue > RARE


def test_every_distribution_is_here():
    names = {name.split(",")[0].split(" ")[0] for name in {**CONTINUOUS, **DISCRETE}}
    others = {"key", "split", "fold_in", "clone", "key_data", "key_dtype", "key_impl"}
    others |= {"wrap_key_data"}
    functions = {n for n in dir(random) if n[0].islower() and callable(getattr(random, n))}
    assert functions - others <= names
