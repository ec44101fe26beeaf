"""Student's constant of float32: ends of the range, both engines, derivatives."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import special as reference

import morphax as jax
from morphax.scipy.stats import nbinom, t
from morphax.scipy.stats._t_constant import log_constant

ENGINES = ("xla", "native")
LEAST = float(np.finfo(np.float32).tiny)


@pytest.mark.parametrize("engine", ENGINES)
def test_constant_of_student(engine: str) -> None:
    df = np.float32([2 * LEAST, 1e-10, 0.1, 1, 2, 3, 30, 1e4, 1e20, 3e38])
    half = df.astype(float) / 2
    expected = -reference.betaln(half, 0.5) - 0.5 * np.log(2 * half)
    with jax.cpu_engine(engine):
        given = jax.jit(lambda x: log_constant(x))(df)
    np.testing.assert_allclose(given, expected, rtol=3e-7)
    np.testing.assert_allclose(log_constant(df), expected, rtol=3e-7)
    assert np.isnan(log_constant(np.float32([0, -1, np.nan]))).all()


def test_slope_of_students_density_by_its_freedom() -> None:
    slope = jax.grad(lambda df: t.logpdf(np.float32(1.5), df))(np.float32(3))
    a, u = 1.5, 0.75
    expected = 0.5 * (reference.digamma(2) - reference.digamma(a) - 1 / 3 - np.log1p(u))
    np.testing.assert_allclose(slope, expected + 2 / 3 * u / (1 + u), rtol=2e-6)


def test_counts_of_no_failures() -> None:
    np.testing.assert_allclose(nbinom.logpmf(0, 4.0, 0.25), 4 * np.log(0.25), rtol=3e-7)
