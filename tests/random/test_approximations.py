"""The approximate methods: their distributions, the numbers of JAX, derivatives and bad input."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats

import morphax as jax
from morphax import random

KEY = random.key(3)
COUNT = 20000
# What a distance of the approximation and of `COUNT` draws may be; a wrong formula is ten times it.
DISTANCE = 2.0 / np.sqrt(COUNT)


@pytest.mark.parametrize("a", [0.05, 0.5, 1.0, 3.0, 40.0, 1e4])
def test_gamma_numbers_are_distributed_as_they_should_be(a: float) -> None:
    numbers = random.gamma(random.key(1), a, (COUNT,), method="approximate")
    assert stats.kstest(np.asarray(numbers, float), stats.gamma(a).cdf).statistic < DISTANCE
    logs = random.loggamma(random.key(1), a, (COUNT,), method="approximate")
    np.testing.assert_allclose(np.exp(logs), numbers, 2e-5, 1e-37)


def test_what_is_made_of_gamma_numbers() -> None:
    for draw, expected in (
        (random.beta(KEY, 2.0, 0.5, (COUNT,), method="approximate"), stats.beta(2, 0.5)),
        (random.chisquare(KEY, 3.0, (COUNT,), method="approximate"), stats.chi2(3)),
    ):
        assert stats.kstest(np.asarray(draw, float), expected.cdf).statistic < DISTANCE


@pytest.mark.parametrize("lam", [0.0, 0.01, 1.0, 6.9, 7.0, 7.1, 30.0, 1e4])
def test_poisson_numbers_are_distributed_as_they_should_be(lam: float) -> None:
    numbers = random.poisson(random.key(2), lam, (COUNT,), method="approximate")
    assert numbers.dtype == np.int32
    values, counts = np.unique(numbers, return_counts=True)
    found = np.cumsum(counts) / COUNT
    assert abs(found - stats.poisson(lam).cdf(values)).max() < DISTANCE
    if lam:
        assert abs(np.mean(numbers) - lam) < 6 * np.sqrt(lam / COUNT)


def test_the_numbers_are_those_of_jax() -> None:
    def close(given: Any, expected: Any) -> None:
        np.testing.assert_allclose(given, expected, 3e-6)

    way = {"method": "approximate"}
    close(random.gamma(KEY, 2.5, (4,), **way), [0.56614923, 1.2345647, 3.3062122, 1.7622268])
    few_and_many = np.float32([0.01, 0.3, 9, 1e4])
    close(random.loggamma(KEY, few_and_many, **way), [-5.6728988, -3.1935854, 2.2639685, 9.2007570])
    close(random.beta(KEY, 2.0, 0.5, (4,), **way), [0.8753019, 0.98595911, 0.89927799, 0.75984716])
    close(random.chisquare(KEY, 3.0, (4,), **way), [0.5878346, 1.3507321, 4.3316221, 1.9208208])
    rates = np.float32([0.5, 3, 6.99, 7, 8, 90])
    np.testing.assert_array_equal(random.poisson(KEY, rates, **way), [0, 6, 8, 13, 6, 92])
    close(jax.grad(lambda a: random.gamma(KEY, a, **way))(2.5), 0.45891333)


def test_eager_compiled_and_mapped_agree() -> None:
    keys = random.split(KEY, 5)
    for draw in (
        lambda k: random.gamma(k, 0.7, (3,), method="approximate"),
        lambda k: random.beta(k, 0.7, 2.0, (3,), method="approximate"),
        lambda k: random.poisson(k, 9.0, (3,), method="approximate"),
    ):
        eager = np.stack([np.asarray(draw(k)) for k in keys])
        for run in (jax.vmap(draw), jax.jit(jax.vmap(draw))):
            np.testing.assert_allclose(run(keys), eager, 3e-6)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_halves_are_rounded_once(dtype: str) -> None:
    single = random.loggamma(KEY, 0.3, (100,), method="approximate")
    half = random.loggamma(KEY, 0.3, (100,), dtype, method="approximate")
    np.testing.assert_array_equal(half, single.astype(dtype))


def test_out_of_range() -> None:
    rates = np.float32([-1, np.nan, 2])
    found = jax.jit(lambda lam: random.poisson(KEY, lam, method="approximate"))(rates)
    assert found[0] == found[1] == -1
    assert found[2] >= 0
    shapes = np.float32([-1, np.nan, 0, np.inf])
    gammas = random.gamma(KEY, shapes, method="approximate")
    np.testing.assert_array_equal(gammas, [np.nan, np.nan, 0, np.inf])
    assert random.gamma(KEY, 1.0, (0, 3), method="approximate").shape == (0, 3)
    for draw in (random.gamma, random.loggamma, random.chisquare, random.poisson):
        for method in ("fast", None, 3):
            with pytest.raises(ValueError, match=r"argument method.*\n.*given: +('fast'|None|3)"):
                draw(KEY, 1.0, method=method)
