"""The polynomials for the inverse of the error function."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import special

import morphax as jax
import morphax.numpy as jnp
from morphax import lax
from morphax.lax.elementwise.inverse_erf import inverse_erf


@pytest.mark.parametrize("count", [0, 1, 33_000])
def test_accuracy(count: int) -> None:
    x = np.random.default_rng(0).uniform(-1, 1, (count, 3)).astype(np.float32)
    near_one = np.nextafter(np.float32(1), np.float32(0)) - np.float32(2) ** -np.arange(2, 24)
    for numbers in (x, near_one.astype(np.float32)):
        # The square is rounded, as in compiled programs, which counts near 1.
        square = (numbers * numbers).astype(np.float64)
        truth = special.erfinv(np.copysign(np.sqrt(square), numbers))
        np.testing.assert_allclose(inverse_erf(numbers), truth, rtol=4e-7)


def test_the_engines_agree() -> None:
    x = jnp.linspace(-1.0, 1.0, 100_001)
    eager = np.asarray(lax.erf_inv(x))
    for engine, equal in (("xla", 0.99), ("native", 0.9)):
        with jax.cpu_engine(engine):
            compiled = np.asarray(jax.jit(lax.erf_inv)(x))
        np.testing.assert_array_max_ulp(eager, compiled, 2)
        assert np.mean(eager == compiled) > equal


def test_edge_values() -> None:
    x = np.array([1, -1, 1.5, -2, np.nan, 0.0, -0.0, 1e-30], np.float32)
    expected = np.array([np.inf, -np.inf, np.nan, np.nan, np.nan, 0, -0.0, 8.862269e-31])
    result = lax.erf_inv(x)
    np.testing.assert_allclose(result, expected, rtol=1e-6)
    np.testing.assert_array_equal(np.signbit(result)[5:7], [False, True])


@pytest.mark.parametrize("engine", ["xla", "native"])
def test_float64_has_its_digits_in_the_tails(engine: str) -> None:
    rng = np.random.default_rng(1)
    tails = 1 - 10.0 ** -rng.uniform(0.5, 15.9, 2000)
    x = np.concatenate([rng.uniform(-1, 1, 2000), tails, -tails, 10.0 ** -rng.uniform(1, 300, 500)])
    special_points = np.array([0.0, -0.0, 1, -1, 1 - 2.0**-53, 1.5, -2, np.nan, np.inf])
    with jax.enable_x64(True), jax.cpu_engine(engine):
        found = np.asarray(jax.jit(lax.erf_inv)(np.concatenate([x, special_points])))
    np.testing.assert_array_max_ulp(found[: len(x)], special.erfinv(x), 5)
    expected = [0, 0, np.inf, -np.inf, special.erfinv(1 - 2.0**-53)] + [np.nan] * 4
    np.testing.assert_allclose(found[len(x) :], expected, rtol=1e-15)
    assert np.signbit(found[len(x) :])[:2].tolist() == [False, True]
