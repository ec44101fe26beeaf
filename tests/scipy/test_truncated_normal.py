"""The normal distribution of an interval: digits where that is short or far out, and its ends."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import mpmath
import numpy as np
import pytest

import morphax as jax
from morphax.scipy.stats import truncnorm

NUMBERS = 60
ENGINES = ("eager", "xla", "native")
# In units of the last place of numbers of at least 1.
MOST_UNITS = 12


def _mass(a: Any, b: Any) -> Any:
    """Φ(b) − Φ(a), in the tail where Φ is small."""
    a, b = mpmath.mpf(float(a)), mpmath.mpf(float(b))
    if a > 0:
        a, b = -b, -a
    return (mpmath.erfc(-b / mpmath.sqrt(2)) - mpmath.erfc(-a / mpmath.sqrt(2))) / 2


def _density(x: Any) -> Any:
    return mpmath.exp(-(mpmath.mpf(float(x)) ** 2) / 2) / mpmath.sqrt(2 * mpmath.pi)


TRUTHS = {
    "logpdf": lambda x, a, b: mpmath.log(_density(x) / _mass(a, b)),
    "logcdf": lambda x, a, b: mpmath.log(_mass(a, x) / _mass(a, b)),
    "logsf": lambda x, a, b: mpmath.log(_mass(x, b) / _mass(a, b)),
}


def _intervals(dtype: Any) -> np.ndarray:
    """Rows x, a, b: as long as 1e-3 or 50, about 0 or far out, some without an end."""
    rng = np.random.default_rng(3)
    a = rng.normal(size=NUMBERS) * rng.choice([0.01, 1, 5, 30], NUMBERS)
    length = np.abs(rng.normal(size=NUMBERS)) * rng.choice([1e-3, 0.1, 1, 10, 50], NUMBERS)
    x, b = a + length * rng.random(NUMBERS), a + length
    a[rng.random(NUMBERS) < 0.1] = -np.inf
    b[rng.random(NUMBERS) < 0.1] = np.inf
    rows = np.array([x, a, b]).astype(dtype)
    return rows[:, (rows[1] < rows[0]) & (rows[0] < rows[2])]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", TRUTHS)
def test_digits(name: str, dtype: Any) -> None:
    rows = _intervals(dtype)
    with mpmath.workdps(60):
        expected = [TRUTHS[name](*row) for row in rows.T]
    scale = np.maximum(np.abs(np.array(expected, float)), 1) * np.finfo(dtype).eps
    function: Any = getattr(truncnorm, name)
    with jax.enable_x64(True):
        for engine in ENGINES:
            run = function
            if engine != "eager":
                run = jax.jit(function, compiler_options={"jax_cpu_engine": engine})
            found = np.asarray(run(*rows), np.float64)
            distance = [float(x - y) for x, y in zip(found, expected, strict=True)]
            assert np.max(np.abs(distance) / scale) < MOST_UNITS


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_slopes_are_densities(dtype: Any) -> None:
    rows = _intervals(dtype)
    with mpmath.workdps(60):
        expected = [(_density(x) / _mass(a, x), _density(b) / _mass(a, b)) for x, a, b in rows.T]
    slopes = jax.vmap(jax.grad(truncnorm.logcdf, (0, 2)))
    with jax.enable_x64(True):
        of_x, of_b = slopes(*rows)
    for slope, sign, each in ((of_x, 1, 0), (of_b, -1, 1)):
        with mpmath.workdps(60):
            logarithms = np.array([float(abs(mpmath.log(row[each]))) for row in expected])
            logarithms[np.isinf(logarithms)] = 0
        wanted = sign * np.array([float(row[each]) for row in expected])
        # Of an exponent, digits are of its size.
        most = 8 * np.finfo(dtype).eps * (1 + logarithms) * np.abs(wanted)
        assert (np.abs(np.asarray(slope) - wanted) <= most + np.finfo(dtype).tiny).all()


INTERVALS: list[tuple[float, float]] = [
    *[(-np.inf, np.inf), (-1.0, np.inf), (-np.inf, 2.0), (0.0, 1.0), (-1.0, 0.0), (-1.0, 1.0)],
    *[(3.0, np.inf), (-np.inf, -3.0), (40.0, 41.0), (-1e-3, 1e-3), (0.0, np.inf)],
]


def _special_points() -> Iterator[tuple[float, float, float]]:
    for (a, b), x in itertools.product(INTERVALS, (-np.inf, np.inf, 0.0, -1.0, 1.0, 3.5, 40.5)):
        yield x, a, b


@pytest.mark.parametrize("name", ["logpdf", "pdf", "cdf", "logcdf", "sf", "logsf"])
def test_slopes_at_ends_are_numbers(name: str) -> None:
    slope = jax.vmap(jax.grad(getattr(truncnorm, name), (0, 1, 2)))
    points = np.array([*_special_points()]).T
    # Of logarithms, some limits are infinite where the point is an end.
    may_grow = name.startswith("log") & (points[0] == points[1:]).any(axis=0)
    with jax.enable_x64(True):
        for part in slope(*points):
            assert (np.isfinite(part) | may_grow & ~np.isnan(part)).all()
