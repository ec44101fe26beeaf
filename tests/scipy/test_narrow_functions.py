"""Functions that eager mode takes from SciPy for dtypes narrower than float64: as the formulas."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import morphax as jax
from morphax.lax.ground.formulas import HostNotation
from morphax.scipy import special
from morphax.scipy.special import _exponential_integrals, _operands, _oscillating_integrals
from morphax.scipy.stats import _tails, beta

SPECIAL = np.array(
    [
        *(0.0, -0.0, 1.0, -1.0, np.nan, np.inf, -np.inf, 1e-45, -1e-45, 0.3725074, 0.61650546),
        *(4.0, 88.0, -88.0, 104.0, -104.0, 3e38, -3e38),
    ],
    np.float32,
)
PRIMITIVES = {
    "expi": _exponential_integrals.expi_p,
    "si": _oscillating_integrals.sine_integral_p,
    "ci": _oscillating_integrals.cosine_integral_p,
}


def _formula(primitive: Any, *operands: Any) -> Any:
    with np.errstate(all="ignore"):
        wide = [np.asarray(x, np.float64) for x in operands]
        return np.asarray(type(primitive).formula(HostNotation(), *wide)).astype(np.float32)


def _same(found: Any, expected: Any) -> None:
    """To the last bit or two, and the signs of zeros."""
    np.testing.assert_array_max_ulp(found, expected, maxulp=1)
    defined = ~np.isnan(expected)
    np.testing.assert_array_equal(np.signbit(found)[defined], np.signbit(expected)[defined])


@pytest.mark.parametrize("name", PRIMITIVES)
def test_integrals(name: str) -> None:
    rng = np.random.default_rng(0)
    anywhere = rng.integers(0, 2**32, 20_000, dtype=np.uint32).view(np.float32)
    usual = rng.uniform(-110, 110, 20_000).astype(np.float32)
    zeros = rng.uniform(0.3, 0.7, 20_000).astype(np.float32)
    x = np.concatenate([SPECIAL, anywhere, usual, zeros])
    with np.errstate(all="ignore"):
        found = PRIMITIVES[name].evaluate(x)
    _same(found, _formula(PRIMITIVES[name], x))


def test_the_public_functions_take_them() -> None:
    x = SPECIAL
    _same(np.asarray(special.expi(x)), _formula(PRIMITIVES["expi"], x))
    for found, name in zip(special.sici(x), ("si", "ci"), strict=True):
        _same(np.asarray(found), _formula(PRIMITIVES[name], x))


@pytest.mark.parametrize("upper", [False, True])
def test_logarithms_of_beta_tails(upper: bool) -> None:
    primitive = _tails.log_betaincc_p if upper else _tails.log_betainc_p
    rng = np.random.default_rng(1)
    n = 20_000
    usual = rng.random(n), 10.0 ** rng.uniform(-30, 0, n)
    x = np.where(rng.random(n) < 0.5, *usual)
    operands = [10.0 ** rng.uniform(-6, 6, n), 10.0 ** rng.uniform(-6, 6, n), x]
    special_points = np.array([0, -0.0, 1, -1, np.nan, np.inf, -np.inf, 0.5, 1000], np.float32)
    grid = np.reshape(np.meshgrid(special_points, special_points, special_points), (3, -1))
    operands = [
        np.concatenate(pair).astype(np.float32) for pair in zip(operands, grid, strict=True)
    ]
    with np.errstate(all="ignore"):
        found = primitive.evaluate(*operands)
    _same(found, _formula(primitive, *operands))


def test_tails_that_underflow() -> None:
    # P = 1e-600: its logarithm comes from the formula.
    found = beta.logcdf(np.float32(1e-30), np.float32(20.0), np.float32(1.0))
    np.testing.assert_allclose(found, 20 * np.log(1e-30), rtol=1e-6)
    compiled = jax.jit(beta.logcdf)(np.float32(1e-30), np.float32(20.0), np.float32(1.0))
    np.testing.assert_allclose(found, compiled, rtol=1e-6)


@pytest.mark.parametrize("count", [1, 2, 3, 4, 13, 30])
def test_chebyshev_series(count: int) -> None:
    rng = np.random.default_rng(count)
    coefficients = (rng.normal(size=count) * 0.5 ** np.arange(count)).tolist()
    u = np.concatenate([rng.uniform(-1, 1, 100), [-1.0, 0.0, 1.0]])
    expected = np.polynomial.chebyshev.chebval(u, coefficients)
    np.testing.assert_allclose(_operands.chebyshev(u, coefficients, 0.0), expected, atol=1e-14)
    short = _operands.chebyshev(u, coefficients, 1e-3)
    assert np.abs(short - expected).max() <= 1e-3 * abs(coefficients[0]) + 1e-14
