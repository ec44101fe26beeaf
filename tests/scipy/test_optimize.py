"""Minima of functions, against SciPy."""

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
from morphax.scipy.optimize import minimize


def rosenbrock(x: Any) -> Any:
    return jnp.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def himmelblau(p: Any) -> Any:
    return (p[0] ** 2 + p[1] - 11) ** 2 + (p[0] + p[1] ** 2 - 7) ** 2


def easom(p: Any) -> Any:
    return -jnp.cos(p[0]) * jnp.cos(p[1]) * jnp.exp(-jnp.sum((p - np.pi) ** 2))


def barrier(x: Any) -> Any:
    """NaN for negative numbers."""
    return jnp.sum(x - jnp.log(x))


@pytest.fixture(autouse=True)
def _wide_dtypes() -> Iterator[None]:
    with enable_x64(True):
        yield


@pytest.mark.parametrize(
    ("fun", "x0"),
    [
        (rosenbrock, np.zeros(2)),
        (rosenbrock, np.linspace(-2, 2, 5)),
        (himmelblau, np.ones(2)),
        (easom, np.full(2, 2.5)),
        (barrier, np.full(3, 0.1)),
    ],
)
def test_minima(fun: Callable[[Any], Any], x0: Any) -> None:
    fun, slopes = jax.jit(fun), jax.jit(jax.grad(fun))
    expected = scipy.optimize.minimize(
        lambda x: float(fun(x)), x0, jac=lambda x: np.asarray(slopes(x)), method="BFGS"
    )
    found = minimize(fun, x0, method="BFGS")
    assert found.success
    assert found.status == 0
    np.testing.assert_allclose(found.x, expected.x, 1e-5)
    np.testing.assert_allclose(found.fun, fun(found.x), 1e-12, 1e-12)
    np.testing.assert_allclose(found.jac, slopes(found.x), 1e-8, 1e-12)
    assert found.nfev == found.njev <= 1.5 * expected.nfev


def test_minima_of_transformed_functions() -> None:
    def place(a: Any) -> Any:
        return minimize(lambda x, a: jnp.sum((x - a) ** 2), jnp.zeros(2), (a,), method="bfgs").x

    expected = np.repeat(np.arange(3.0), 2).reshape(3, 2)
    np.testing.assert_allclose(jax.vmap(place)(np.arange(3.0)), expected, atol=1e-6)
    np.testing.assert_allclose(jax.jit(place)(2.0), [2, 2], atol=1e-6)


@pytest.mark.parametrize(
    ("fun", "x0", "status"),
    [
        (lambda x: -jnp.sum(x), np.ones(2), 3),
        (lambda x: jnp.sum(abs(x)), np.array([1.0, -2.0]), 3),
        (lambda x: jnp.sum(x) * np.nan, np.ones(2), -1),
        (lambda x: jnp.sum(x**2), np.zeros(2), 0),
        (lambda x: jnp.sum(x**2), np.ones(0), 0),
        (lambda x: jnp.sum(x**2), np.array([1, 2]), 0),
    ],
)
def test_how_a_search_ends(fun: Callable[[Any], Any], x0: Any, status: int) -> None:
    found = minimize(fun, x0, method="BFGS")
    assert found.status == status
    assert found.success == (status == 0)


def test_options() -> None:
    found = minimize(rosenbrock, np.zeros(2), method="BFGS", options={"maxiter": 3})
    assert (found.status, found.nit) == (1, 3)
    start = np.zeros(2)
    loose, tight = (minimize(rosenbrock, start, method="BFGS", tol=tol) for tol in (1e-1, 1e-9))
    assert loose.nit < tight.nit
    assert abs(tight.jac).max() <= 1e-9
    options = {"gtol": 1e-3, "norm": 2, "line_search_maxiter": 10}
    assert minimize(rosenbrock, start, method="BFGS", options=options).success


def test_what_is_refused() -> None:
    x = np.ones(2)
    with pytest.raises(ValueError, match="argument method"):
        minimize(rosenbrock, x, method="Newton")
    with pytest.raises(TypeError, match="argument args"):
        minimize(rosenbrock, x, 1.0, method="BFGS")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="'ftol'"):
        minimize(rosenbrock, x, method="BFGS", options={"ftol": 1.0})
    with pytest.raises(TypeError, match="real numbers"):
        minimize(rosenbrock, x * 1j, method="BFGS")
    for x0 in (np.ones((2, 2)), np.ones(())):
        with pytest.raises(ShapeError, match="argument x0"):
            minimize(rosenbrock, x0, method="BFGS")
