"""Minima within bounds, against SciPy."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import scipy.optimize

import morphax as jax
from morphax import enable_x64
from morphax import numpy as jnp
from morphax.errors import ShapeError
from morphax.science.optimize import least_squares, minimize

inf = np.inf


@pytest.fixture(autouse=True)
def _wide_dtypes() -> Iterator[None]:
    with enable_x64(True):
        yield


def rosenbrock(x: Any) -> Any:
    return jnp.stack([10 * (x[1] - x[0] ** 2), 1 - x[0]])


def powell_singular(x: Any) -> Any:
    return jnp.stack(
        [
            x[0] + 10 * x[1],
            5**0.5 * (x[2] - x[3]),
            (x[1] - 2 * x[2]) ** 2,
            10**0.5 * (x[0] - x[3]) ** 2,
        ]
    )


def freudenstein_roth(x: Any) -> Any:
    return jnp.stack(
        [
            -13 + x[0] + ((5 - x[1]) * x[1] - 2) * x[1],
            -29 + x[0] + ((x[1] + 1) * x[1] - 14) * x[1],
        ]
    )


def bard(x: Any) -> Any:
    y = np.array(
        [0.14, 0.18, 0.22, 0.25, 0.29, 0.32, 0.35, 0.39, 0.37, 0.58, 0.73, 0.96, 1.34, 2.10, 4.39]
    )
    u = np.arange(1, 16.0)
    v, w = 16 - u, np.minimum(u, 16 - u)
    return y - (x[0] + u / (v * x[1] + w * x[2]))


def beale(x: Any) -> Any:
    i = np.arange(1, 4)
    return np.array([1.5, 2.25, 2.625]) - x[0] * (1 - x[1] ** i)


# Moré, Garbow & Hillstrom, "Testing unconstrained optimization software", ACM TOMS 7 (1981).
PROBLEMS = [
    (rosenbrock, [-1.2, 1.0], (-inf, inf)),
    (rosenbrock, [-1.2, 1.0], ([-2.0, -2.0], [0.5, 2.0])),
    (powell_singular, [3.0, -1.0, 0.0, 1.0], (-inf, inf)),
    (freudenstein_roth, [0.5, -2.0], (-inf, inf)),
    (bard, [1.0, 1.0, 1.0], (-inf, inf)),
    (beale, [1.0, 1.0], ([0.0, 0.0], [2.5, 1.0])),
]


@pytest.mark.parametrize(("f", "x0", "bounds"), PROBLEMS)
def test_least_squares(f: Callable[[Any], Any], x0: Any, bounds: Any) -> None:
    found = least_squares(f, x0, bounds=bounds)
    expected = scipy.optimize.least_squares(lambda x: np.asarray(f(x)), x0, bounds=bounds)
    assert found.success
    assert found.nfev < 50
    np.testing.assert_allclose(found.cost, expected.cost, 1e-6, 1e-11)
    np.testing.assert_array_equal(found.active_mask, expected.active_mask)


def sum_of_squares(f: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda x: jnp.sum(f(x) ** 2)


def chained_rosenbrock(x: Any) -> Any:
    return jnp.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def clipped(x0: Any, bounds: Any) -> Any:
    rows = bounds or [(None, None)] * len(x0)
    low, high = np.array([[-inf if a is None else a, inf if b is None else b] for a, b in rows]).T
    return np.clip(x0, low, high)


@pytest.mark.parametrize(
    ("f", "x0", "bounds"),
    [
        (sum_of_squares(freudenstein_roth), [0.5, -2.0], None),
        (chained_rosenbrock, np.linspace(-2, 2, 10), [(-3, 0.5)] * 5 + [(None, None)] * 5),
        (jnp.sum, [0.5, 0.5], [(0, 1), (0.25, 0.25)]),
    ],
)
def test_minimize(f: Callable[[Any], Any], x0: Any, bounds: Any) -> None:
    both = jax.jit(jax.value_and_grad(f))
    found = minimize(f, x0, bounds=bounds)
    expected = scipy.optimize.minimize(
        lambda x: [np.asarray(v) for v in both(jnp.asarray(x))],
        clipped(x0, bounds),
        jac=True,
        method="L-BFGS-B",
        bounds=bounds,
    )
    assert found.success
    assert found.nfev <= 1.3 * expected.nfev + 3
    np.testing.assert_allclose(found.fun, expected.fun, 1e-6, 1e-7)


def test_single_precision_and_vmap() -> None:
    def nearest(a: Any) -> Any:
        found = minimize(lambda x: jnp.sum((x - a) ** 4 + (x - a) ** 2), [0.0], bounds=[(-1, 1)])
        fitted = least_squares(lambda x: (x - a) ** 3 + x - a, [0.0], bounds=(-1, 1))
        return found.x[0], fitted.x[0], found.success & fitted.success

    with enable_x64(False):
        x, y, success = jax.jit(jax.vmap(nearest))(jnp.array([0.5, -3.0, 0.0]))
    assert x.dtype == y.dtype == np.float32
    assert success.all()
    np.testing.assert_allclose(x, [0.5, -1, 0], atol=1e-4)
    np.testing.assert_allclose(y, [0.5, -1, 0], atol=1e-4)


def test_derivatives_are_those_of_the_implicit_function() -> None:
    def objective(x: Any, a: Any) -> Any:
        return a * (x[1] - x[0] ** 2) ** 2 + (1 - x[0]) ** 2 + (x[1] ** 2 + (x[2] - a) ** 2) / 10

    def residuals(x: Any, a: Any) -> Any:
        root, tenth = jnp.sqrt(a), 0.1**0.5
        return jnp.stack([root * (x[1] - x[0] ** 2), 1 - x[0], tenth * x[1], tenth * (x[2] - a)])

    def by_gradient(a: Any, high: Any) -> Any:
        options = {"gtol": 1e-10, "ftol": 0.0}
        bounds = [(None, None), (None, None), (None, high)]
        return minimize(objective, [-1.0, 1.0, 0.0], (a,), bounds=bounds, options=options).x

    def by_residuals(a: Any, high: Any) -> Any:
        bounds = (-inf, jnp.stack([inf, inf, high]))
        tolerances = {"ftol": 1e-15, "xtol": 1e-15, "gtol": 1e-12}
        return least_squares(residuals, [-1.0, 1.0, 0.0], bounds=bounds, args=(a,), **tolerances).x

    for solve in (by_gradient, by_residuals):
        values = jax.jit(solve)
        expected = (values(3 + 1e-4, 0.5) - values(3 - 1e-4, 0.5)) / 2e-4
        found = jax.jit(jax.jacrev(solve, (0, 1)))(3.0, 0.5)
        np.testing.assert_allclose(found[0], expected, 1e-5, 1e-8)
        np.testing.assert_allclose(found[1], [0, 0, 1], atol=1e-12)


@pytest.mark.parametrize("minimum", [minimize, least_squares])
def test_an_empty_box_has_no_minimum_in_a_program(minimum: Callable[..., Any]) -> None:
    def found(low: Any, high: Any) -> Any:
        pairs = [(low[i], high[i]) for i in range(2)]
        bounds = pairs if minimum is minimize else (low, high)
        square = minimum is minimize
        return minimum(
            lambda x: jnp.sum((x - 3) ** 2) if square else x - 3, jnp.zeros(2), bounds=bounds
        )

    result = jax.jit(found)(jnp.array([1.0, -1.0]), jnp.array([-1.0, 1.0]))
    assert not result.success
    assert np.isnan(result.x[0])


def test_failures_are_said() -> None:
    few = minimize(chained_rosenbrock, [-1.2, 1.0], options={"maxiter": 3})
    assert (int(few.status), int(few.nit)) == (-1, 3)
    assert "limit" in few.message
    assert int(least_squares(lambda x: jnp.log(x), [-1.0]).status) == -3
    few = least_squares(rosenbrock, [-1.2, 1.0], max_nfev=4)
    assert (int(few.status), int(few.nfev)) == (-1, 4)
    crossed = jax.jit(lambda low: least_squares(rosenbrock, [1.0, 1.0], bounds=(low, 0.0)))(1.0)
    assert int(crossed.status) == -4


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: minimize(jnp.sum, [[1.0]]), ShapeError, "x0"),
        (lambda: minimize(jnp.sum, [1j]), TypeError, "x0"),
        (lambda: minimize(jnp.sin, [1.0]), ShapeError, "result of fun"),
        (lambda: minimize(jnp.sum, [1.0], tol=np.nan), ValueError, "ftol"),
        (lambda: minimize(jnp.sum, [1.0], options={"gtol": np.nan}), ValueError, "gtol"),
        (lambda: least_squares(jnp.sin, [2.0], xtol=np.nan), ValueError, "xtol"),
        (lambda: minimize(jnp.sum, [1.0], method="BFGS"), ValueError, "method"),
        (lambda: minimize(jnp.sum, [1.0], bounds=[(0, 1), (0, 1)]), ShapeError, "bounds"),
        (lambda: minimize(jnp.sum, [1.0], bounds=[0.0]), ShapeError, "bounds"),
        (lambda: minimize(jnp.sum, [1.0], bounds=[(1, 0)]), ValueError, "bounds"),
        (lambda: minimize(jnp.sum, [1.0], options={"gtoll": 1}), TypeError, "options"),
        (lambda: least_squares(jnp.sin, [2.0], bounds=(0.0, 1.0)), ValueError, "x0"),
        (lambda: least_squares(jnp.sin, [2.0], bounds=(0.0, 1.0, 2.0)), ShapeError, "bounds"),
        (lambda: least_squares(jnp.sin, [2.0], jac="3-point"), ValueError, "jac"),
        (lambda: least_squares(lambda x: x[None], [2.0]), ShapeError, "result of fun"),
    ],
)
def test_bad_input(call: Callable[[], Any], error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        call()
