"""The gamma and the beta density of float32: digits in units of operands, ends of the ranges."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats

import morphax as jax
from morphax.lax.elementwise.incomplete_beta import beta_density_p
from morphax.lax.elementwise.incomplete_gamma import gamma_density_p

ENGINES = ("xla", "native")
POINTS = (0.0, -0.0, 1e-30, 1e-6, 0.5, 1.0, 2.5, 30.0, 1e4, 1e20, np.inf, -1.0, np.nan)


def _compiled(primitive: Any, engine: str, *operands: Any) -> np.ndarray:
    with jax.cpu_engine(engine):
        return np.asarray(jax.jit(lambda *given: primitive.bind(*given))(*operands))


def _units(given: np.ndarray, density: Any, operands: list[np.ndarray]) -> np.ndarray:
    """Errors in what a rounding of the result and of each operand may change."""
    wide = [x.astype(float) for x in operands]
    with np.errstate(all="ignore"):
        truth = density(*wide)
        size = np.abs(truth)
        for i, x in enumerate(wide):
            near = [[*wide[:i], x * (1 + step), *wide[i + 1 :]] for step in (1e-6, -1e-6)]
            slope = np.abs(density(*near[0]) - density(*near[1])) / 2e-6
            size = size + np.where(np.isfinite(slope), slope, 0)
    info = np.finfo(np.float32)
    inside = (truth > float(info.tiny)) & (truth < float(info.max)) & (wide[-1] > float(info.tiny))
    unit = float(info.eps) * np.maximum(size, float(info.tiny))
    return np.where(inside, np.abs(given - truth) / unit, 0)


@pytest.mark.parametrize("engine", ENGINES)
def test_digits_of_the_gamma_density(engine: str) -> None:
    rng = np.random.default_rng(0)
    a = np.exp(rng.uniform(np.log(1e-3), np.log(1e6), 6000))
    near = np.maximum(stats.gamma.rvs(a[:3000], random_state=rng), 1e-30)
    x = np.concatenate([near, np.exp(rng.uniform(-20, 5, 3000))])
    operands = [v.astype(np.float32) for v in (a, x)]
    given = _compiled(gamma_density_p, engine, *operands)
    assert _units(given, lambda a, x: stats.gamma.pdf(x, a), operands).max() < 2


@pytest.mark.parametrize("engine", ENGINES)
def test_digits_of_the_beta_density(engine: str) -> None:
    rng = np.random.default_rng(0)
    a, b = np.exp(rng.uniform(np.log(1e-2), np.log(1e5), (2, 6000)))
    x = np.concatenate([stats.beta.rvs(a[:3000], b[:3000], random_state=rng), rng.random(3000)])
    operands = [v.astype(np.float32) for v in (a, b, np.clip(x, 1e-30, 1 - 1e-7))]
    given = _compiled(beta_density_p, engine, *operands)
    assert _units(given, lambda a, b, x: stats.beta.pdf(x, a, b), operands).max() < 2


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("primitive", [gamma_density_p, beta_density_p], ids=lambda p: p.name)
def test_ends_of_the_ranges(primitive: Any, engine: str) -> None:
    count = 3 if primitive is beta_density_p else 2
    grids = np.meshgrid(*[np.array(POINTS, np.float32)] * count)
    operands = [x.ravel() for x in grids]
    with np.errstate(all="ignore"):
        wide = primitive.evaluate(*[x.astype(float) for x in operands]).astype(np.float32)
    given = _compiled(primitive, engine, *operands)
    least = float(np.finfo(np.float32).tiny)
    is_known = (np.abs(wide) >= least) | (wide == 0) | np.isnan(wide)
    np.testing.assert_allclose(given[is_known], wide[is_known], rtol=1e-5, atol=least)
