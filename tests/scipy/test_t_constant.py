"""Student's constant of float32: ends of the range, both engines, derivatives."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import mpmath as mp
import numpy as np
import pytest
from scipy import special as reference

import morphax as jax
from morphax.scipy.stats import nbinom, t
from morphax.scipy.stats._t_constant import log_constant

ENGINES = ("xla", "native")
PLACES = [0.0, 1e-10, 0.3, 1.0, -3.0, 30.0, 1e6, 1e15]
FREEDOMS = [0.01, 0.5, 3.0, 30.0, 1e3, 1e5, 1e8, 1e12, 1e20, 1e30]
LEAST = float(np.finfo(np.float32).tiny)


@pytest.mark.parametrize("engine", ENGINES)
def test_constant_of_student(engine: str) -> None:
    df = np.array([2 * LEAST, 1e-10, 0.1, 1, 2, 3, 30, 1e4, 1e20, 3e38], np.float32)
    half = df.astype(float) / 2
    expected = -reference.betaln(half, 0.5) - 0.5 * np.log(2 * half)
    with jax.cpu_engine(engine):
        given = jax.jit(lambda x: log_constant(x))(df)
    np.testing.assert_allclose(given, expected, rtol=3e-7)
    np.testing.assert_allclose(log_constant(df), expected, rtol=3e-7)
    assert np.isnan(log_constant(np.array([0, -1, np.nan], np.float32))).all()


def _slopes(x: Any, df: Any) -> tuple[Any, Any, Any]:
    """The slope by place, that by freedom, and the largest of what the latter is the sum of."""
    x, df = mp.mpf(float(x)), mp.mpf(float(df))
    share = x * x / (df + x * x)
    of_constant = (mp.digamma((df + 1) / 2) - mp.digamma(df / 2) - 1 / df) / 2
    parts = (mp.log(1 - share) + share) / 2, share / (2 * df), of_constant
    return -(df + 1) * x / (df + x * x), sum(parts), max(map(abs, parts))


@pytest.mark.parametrize("engine", ["eager", *ENGINES])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_slopes_of_students_density(dtype: Any, engine: str) -> None:
    """By large freedom the density is next to the normal one, and the slope to nothing."""
    unit = 4 * float(np.finfo(dtype).eps)
    with mp.workdps(80), jax.enable_x64(dtype == np.float64):
        x, df = map(np.ravel, np.meshgrid(np.array(PLACES, dtype), np.array(FREEDOMS, dtype)))
        slopes = jax.vmap(jax.grad(t.logpdf, (0, 1)))
        with nullcontext() if engine == "eager" else jax.cpu_engine(engine):
            found = (slopes if engine == "eager" else jax.jit(lambda *args: slopes(*args)))(x, df)
        for i in range(x.size):
            by_place, by_freedom, size = _slopes(x[i], df[i])
            assert abs(float(found[0][i]) - by_place) <= unit * abs(by_place) + 1e-37, (x[i], df[i])
            assert abs(float(found[1][i]) - by_freedom) <= unit * size + 1e-37, (x[i], df[i])


@pytest.mark.parametrize("df", [0.5, 3.0, 1e3, 1e6, 1e9])
def test_second_slopes_of_students_density(df: float) -> None:
    for x in (0.0, 0.25, 3.0, -30.0):
        hessian = jax.hessian(lambda p: t.logpdf(p[0], p[1]))(np.array([x, df], np.float32))
        total = df + x * x
        np.testing.assert_allclose(hessian[0, 0], -(df + 1) * (df - x * x) / total**2, rtol=1e-5)
        mixed = x * (1 - x * x) / total**2
        np.testing.assert_allclose(hessian[0, 1], mixed, rtol=1e-5)
        np.testing.assert_allclose(hessian[1, 0], mixed, rtol=1e-5)
        with mp.workdps(60):
            parts = mp.polygamma(1, (mp.mpf(df) + 1) / 2) - mp.polygamma(1, mp.mpf(df) / 2)
            constant = float(parts / 4 + 1 / (2 * mp.mpf(df) ** 2))
        rest = (x**4 - x * x * (2 + x * x / df)) / (2 * df * total**2)
        size = abs(constant) + (x**4 + x * x * (2 + x * x / df)) / (2 * df * total**2)
        np.testing.assert_allclose(hessian[1, 1], constant + rest, rtol=0, atol=3e-6 * size)


def test_counts_of_no_failures() -> None:
    np.testing.assert_allclose(nbinom.logpmf(0, 4.0, 0.25), 4 * np.log(0.25), rtol=3e-7)
