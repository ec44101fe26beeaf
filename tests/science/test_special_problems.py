"""Problems without a solution, with NaN in them, or without numbers: results say so, none hangs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp
from morphax.experimental.sparse.linalg import spsolve
from morphax.science import integrate, interpolate, linalg, ndimage, optimize, signal

NONE, ONES, NAN = np.zeros(0), np.ones(3), np.full(3, np.nan)
PLACES = np.array([0, 1, 2]), np.array([0, 1, 2, 3])

UNKNOWN: dict[str, Callable[[], Any]] = {
    "toeplitz, singular": lambda: linalg.solve_toeplitz(np.zeros(3), ONES),
    "toeplitz, singular corner": lambda: linalg.solve_toeplitz(np.array([0.0, 1, 0]), ONES),
    "banded, NaN": lambda: linalg.solve_banded((0, 0), NAN[None], ONES),
    "banded, indefinite": lambda: linalg.solveh_banded(-np.ones((1, 3)), ONES),
    "pencil, indefinite": lambda: linalg.eigh(np.eye(2), -np.eye(2))[0],
    "banded eigenvalues of NaN": lambda: linalg.eigvals_banded(NAN[None]),
    "sparse, singular": lambda: spsolve(np.zeros(3), *PLACES, ONES),
    "sparse, NaN": lambda: spsolve(NAN, *PLACES, ONES),
    "quad, NaN": lambda: integrate.quad(lambda x: x * np.nan, 0.0, 1.0)[0],
    "quad, a pole": lambda: integrate.quad(lambda x: 1 / x, 0.0, 1.0)[0],
    "quad, to infinity": lambda: integrate.quad(jnp.exp, 0.0, np.inf)[0],
    "brentq, NaN": lambda: optimize.brentq(lambda x: x * np.nan, -1.0, 1.0),
    "brentq, too few steps": lambda: optimize.brentq(lambda x: x**3 - 0.1, -1.0, 2.0, maxiter=1),
    "brentq, no change of sign": lambda: jax.jit(
        lambda a: optimize.brentq(lambda x: x - a, 0.0, 1.0)
    )(5.0),
    "spline of NaN": lambda: interpolate.CubicSpline([0.0, 1, 2], [1.0, np.nan, 3])(0.5),
    "spline at NaN": lambda: interpolate.CubicSpline([0.0, 1, 2], [1.0, 2, 3])(np.nan),
    "spline beyond": lambda: interpolate.PchipInterpolator([0.0, 1], [1.0, 2], extrapolate=False)(
        2.0
    ),
    "places that are NaN": lambda: ndimage.shift(ONES, np.nan, order=1, mode="nearest"),
}


@pytest.mark.parametrize("name", UNKNOWN)
def test_what_is_not_known_is_nan(name: str) -> None:
    assert np.isnan(np.asarray(UNKNOWN[name]())).any()


EMPTY: dict[str, tuple[Callable[[], Any], tuple[int, ...]]] = {
    "solve_toeplitz": (lambda: linalg.solve_toeplitz(NONE, NONE), (0,)),
    "solve_banded": (lambda: linalg.solve_banded((0, 0), np.ones((1, 0)), NONE), (0,)),
    "eigvals_banded": (lambda: linalg.eigvals_banded(np.zeros((1, 0))), (0,)),
    "spsolve": (lambda: spsolve(NONE, np.zeros(0, int), np.zeros(1, int), NONE), (0,)),
    "lfilter": (lambda: signal.lfilter([1.0], [1.0], NONE), (0,)),
    "find_peaks": (lambda: signal.find_peaks(NONE)[0], (0,)),
    "savgol_filter": (lambda: signal.savgol_filter(np.zeros((0, 5)), 3, 1), (0, 5)),
    "gaussian_filter": (lambda: ndimage.gaussian_filter(np.ones((0, 3)), 1.0), (0, 3)),
    "CubicSpline": (lambda: interpolate.CubicSpline([0.0, 1], [1.0, 2])(NONE), (0,)),
}


@pytest.mark.parametrize("name", EMPTY)
def test_nothing_makes_nothing(name: str) -> None:
    call, shape = EMPTY[name]
    assert call().shape == shape


FAILURES: dict[str, tuple[Callable[[], Any], int]] = {
    "root, no root": (lambda: optimize.root(lambda x: x * 0 + 1, jnp.ones(2)), -2),
    "root, NaN": (lambda: optimize.root(lambda x: x * np.nan, jnp.ones(2)), -3),
    "least_squares, NaN": (lambda: optimize.least_squares(lambda x: x * np.nan, ONES), -3),
    "minimize, NaN": (lambda: optimize.minimize(lambda x: jnp.sum(x * np.nan), ONES), -3),
    "minimize, begins at NaN": (lambda: optimize.minimize(lambda x: jnp.sum(x**2), NAN), -3),
    "minimize, no minimum": (lambda: optimize.minimize(jnp.sum, ONES), -2),
    "solve_ivp, NaN": (lambda: integrate.solve_ivp(lambda t, y: y * np.nan, (0.0, 1.0), ONES), -3),
    "solve_ivp, a pole": (lambda: integrate.solve_ivp(lambda t, y: y * y, (0.0, 5.0), ONES), -1),
}


@pytest.mark.parametrize("name", FAILURES)
def test_failures_have_a_status(name: str) -> None:
    call, status = FAILURES[name]
    result = call()
    assert (bool(result.success), int(result.status)) == (False, status)
    assert result.message


def test_equations_that_depend_on_each_other_have_a_solution() -> None:
    found = optimize.least_squares(lambda x: jnp.stack([x[0] + x[1] - 1] * 3), np.zeros(2))
    assert found.success
    np.testing.assert_allclose(found.x.sum(), 1, rtol=1e-5)
