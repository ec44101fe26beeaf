"""Formulas that compiled programs have for float32 alone: correctly rounded, next to zeros too."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pytest

import morphax as jax
from morphax.scipy import special

ENGINES = ("xla", "native")
_AROUND = np.array([1, 1 - 2**-23, 1 + 2**-23, 1 - 2**-10, 1 + 2**-10])
_OF_CI = np.array([0.6165054856, 3.3841804226, 6.4270477445, 9.5292, 25.0956, 100.5, 1e4])

CASES: dict[str, tuple[Callable[..., Any], Callable[..., Any], np.ndarray[Any, Any]]] = {
    "expi": (
        special.expi,
        mpmath.ei,
        np.concatenate(
            [np.linspace(-80, 80, 641), 0.3725074107813666 * _AROUND, [-1, 12, 12.001, 1e-20]]
        ),
    ),
    "exp1": (special.exp1, mpmath.e1, np.concatenate([np.linspace(1e-3, 80, 600), [1e-20, 1.0]])),
    "sine_integral": (
        lambda x: special.sici(x)[0],
        mpmath.si,
        np.concatenate([np.linspace(-40, 40, 600), [1e3, 1e6, 1.1e6, 3e7]]),
    ),
    "cosine_integral": (
        lambda x: special.sici(x)[1],
        mpmath.ci,
        np.concatenate([np.linspace(1e-3, 60, 600), np.outer(_OF_CI, _AROUND).ravel(), [1e6, 3e7]]),
    ),
}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", CASES)
def test_results_are_rounded_once(name: str, engine: str) -> None:
    function, truth, numbers = CASES[name]
    x = numbers[numbers != 0].astype(np.float32)
    expected = np.array([float(truth(float(v))) for v in x])
    given = np.asarray(jax.jit(function, compiler_options={"jax_cpu_engine": engine})(x), float)
    unit = np.spacing(np.abs(expected).astype(np.float32)).astype(float)
    assert np.max(np.abs(given - expected) / unit) < 0.52


SLOPES: dict[str, Callable[[Any], Any]] = {
    "expi": lambda x: mpmath.exp(x) / x,
    "exp1": lambda x: -mpmath.exp(-x) / x,
    "sine_integral": lambda x: mpmath.sin(x) / x,
    "cosine_integral": lambda x: mpmath.cos(x) / x,
}


@pytest.mark.parametrize("engine", ["eager", *ENGINES])
@pytest.mark.parametrize("name", SLOPES)
def test_slopes(name: str, engine: str) -> None:
    function, _, numbers = CASES[name]
    x = numbers[numbers != 0].astype(np.float32)
    expected = np.array([float(SLOPES[name](mpmath.mpf(float(v)))) for v in x])
    slope = jax.vmap(jax.grad(function))
    if engine != "eager":
        slope = jax.jit(slope, compiler_options={"jax_cpu_engine": engine})
    np.testing.assert_allclose(np.asarray(slope(x), float), expected, rtol=6e-7)


@pytest.mark.parametrize("engine", ENGINES)
def test_limits(engine: str) -> None:
    x = np.array([0, -0.0, np.inf, -np.inf, np.nan, 200, -200], np.float32)
    options = {"jax_cpu_engine": engine}
    found = jax.jit(special.expi, compiler_options=options)(x)
    np.testing.assert_array_equal(found, [-np.inf, -np.inf, np.inf, 0, np.nan, np.inf, 0])
    found = jax.jit(special.exp1, compiler_options=options)(x)
    np.testing.assert_array_equal(found, [np.inf, np.inf, 0, np.nan, np.nan, 0, np.nan])
