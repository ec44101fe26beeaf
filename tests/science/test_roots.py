"""Roots of functions and of systems, against SciPy."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import scipy.optimize

import morphax as jax
from morphax import enable_x64
from morphax import numpy as jnp
from morphax.config import override
from morphax.errors import ShapeError
from morphax.experimental import checkify
from morphax.science.optimize import brentq, root


@pytest.fixture(autouse=True)
def _wide_dtypes() -> Iterator[None]:
    with enable_x64(True):
        yield


@pytest.mark.parametrize(
    ("f", "a", "b"),
    [
        (lambda x: jnp.cos(x) - x, 0, 1),
        (lambda x: x**3 - 2 * x - 5, 3, 2),
        (lambda x: jnp.exp(x) - 2, -5, 10),
        (lambda x: jnp.arctan(x) - 0.3, -1e3, 2e3),
        (lambda x: jnp.sign(x - 0.3), 0, 1),
        (lambda x: x - 1, 1, 5),
    ],
)
def test_brentq(f: Callable[[Any], Any], a: float, b: float) -> None:
    found, info = brentq(f, a, b, full_output=True)
    expected, about = scipy.optimize.brentq(lambda x: float(f(x)), a, b, full_output=True)
    np.testing.assert_allclose(found, expected, 1e-10, 1e-11)
    assert info.converged
    assert info.function_calls == about.function_calls


@pytest.mark.parametrize(
    "f", [lambda x: jnp.cos(x) - x, lambda x: (x - 0.3) ** 9, lambda x: 1 / (x - 0.3)]
)
def test_brentq_by_single_operations(f: Callable[[Any], Any]) -> None:
    programs = brentq(f, 0.0, 2.0, full_output=True)
    with override(replay_first_calls=False):
        given = brentq(f, 0.0, 2.0, full_output=True)
    assert given[1].status == programs[1].status
    np.testing.assert_allclose(given[0], programs[0], rtol=1e-9)


def test_derivatives_where_steps_run_one_by_one() -> None:
    with override(replay_first_calls=False):
        slope = jax.grad(lambda a: brentq(lambda x: x**3 - a, 0.0, 5.0))(8.0)
    np.testing.assert_allclose(slope, 1 / 12, 1e-9)


def test_derivatives_of_brentq() -> None:
    def cube_root(a: Any) -> Any:
        return brentq(lambda x: x**3 - a, 0.0, 5.0)

    a = jnp.array([2.0, 8.0])
    np.testing.assert_allclose(jax.vmap(jax.grad(cube_root))(a), a ** (-2 / 3) / 3, 1e-9)
    second = jax.jit(jax.grad(jax.grad(cube_root)))(2.0)
    np.testing.assert_allclose(second, -2 / 9 * 2.0 ** (-5 / 3), 1e-9)
    np.testing.assert_allclose(jax.jacfwd(cube_root)(8.0), 1 / 12, 1e-9)
    assert brentq(lambda x: x**3 - 2, np.float32(0), np.float32(5)).dtype == np.float32


def test_brentq_says_what_failed() -> None:
    with pytest.raises(ValueError, match="different signs"):
        brentq(lambda x: x * x + 1, -1.0, 1.0)
    x, info = jax.vmap(lambda a: brentq(lambda x: x - a, 0.0, 1.0, full_output=True))(
        jnp.array([0.2, 3.0])
    )
    np.testing.assert_allclose(x, [0.2, np.nan])
    assert info.success.tolist() == [True, False]
    assert "same sign" in info.message[1]
    for f, status in ((jnp.log, -3), (lambda x: 1 / (x - 0.5), -4)):
        assert brentq(f, -1.0, 2.0, full_output=True)[1].status == status
    _, info = brentq(lambda x: x**3 - 2, 0.0, 5.0, maxiter=3, full_output=True)
    assert (int(info.status), int(info.iterations)) == (-1, 3)
    error, _ = checkify.checkify(jax.jit(lambda a: brentq(lambda x: x - a, 0.0, 1.0)))(3.0)
    assert "brentq failed with status -2" in error.get()


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


def powell_badly_scaled(x: Any) -> Any:
    return jnp.stack([1e4 * x[0] * x[1] - 1, jnp.exp(-x[0]) + jnp.exp(-x[1]) - 1.0001])


def helical_valley(x: Any) -> Any:
    turn = jnp.arctan2(x[1], x[0]) / (2 * np.pi)
    return jnp.stack([10 * (x[2] - 10 * turn), 10 * (jnp.hypot(x[0], x[1]) - 1), x[2]])


def tridiagonal(x: Any) -> Any:
    before, after = jnp.pad(x[:-1], (1, 0)), jnp.pad(x[1:], (0, 1))
    return (3 - 2 * x) * x - before - 2 * after + 1


def almost_linear(x: Any) -> Any:
    return (x + jnp.sum(x) - x.size - 1).at[-1].set(jnp.prod(x) - 1)


# Moré, Garbow & Hillstrom, "Testing unconstrained optimization software", ACM TOMS 7 (1981).
@pytest.mark.parametrize(
    ("f", "x0", "tolerance"),
    [
        (rosenbrock, [-1.2, 1.0], 0),
        (powell_singular, [3.0, -1.0, 0.0, 1.0], 1e-28),
        (powell_badly_scaled, [0.0, 1.0], 1e-12),
        (helical_valley, [-1.0, 0.01, 0.0], 1e-12),
        (tridiagonal, -np.ones(10), 1e-12),
        (almost_linear, np.full(10, 0.5), 1e-12),
    ],
)
def test_root(f: Callable[[Any], Any], x0: Any, tolerance: float) -> None:
    found = root(f, x0)
    assert found.success
    assert found.nfev < 60
    np.testing.assert_allclose(found.fun, 0, atol=tolerance)
    np.testing.assert_allclose(f(found.x), found.fun, atol=tolerance)


def test_root_agrees_with_scipy() -> None:
    expected = scipy.optimize.root(lambda x: np.asarray(tridiagonal(jnp.asarray(x))), -np.ones(4))
    for options in ({}, {"jac": jax.jacfwd(tridiagonal), "tol": 1e-10}):
        found = jax.jit(lambda x, o=options: root(tridiagonal, x, **o))(-np.ones(4))
        np.testing.assert_allclose(found.x, expected.x, 1e-9)
    with enable_x64(False):
        found = root(tridiagonal, -np.ones(4, np.float32))
    assert found.success
    assert found.x.dtype == np.float32
    np.testing.assert_allclose(found.x, expected.x, 1e-5)


def test_derivatives_of_root() -> None:
    def crossing(a: Any) -> Any:
        def system(x: Any, b: Any) -> Any:
            return jnp.stack([a * x[0] ** 2 - x[1], x[0] + x[1] - b])

        return root(system, [0.5, 0.5], (2.0,)).x

    a = jnp.array([1.0, 2.0])
    x = (jnp.sqrt(1 + 8 * a) - 1) / (2 * a)
    slope = -(x**2) / (2 * a * x + 1)
    found = jax.jit(jax.vmap(jax.jacrev(crossing)))(a)
    np.testing.assert_allclose(found, jnp.stack([slope, -slope], 1), 1e-9)
    np.testing.assert_allclose(jax.jacfwd(crossing)(2.0), found[1], 1e-9)


def test_root_says_what_failed() -> None:
    nowhere = root(lambda x: x**2 + 1, [1.0])
    assert (bool(nowhere.success), int(nowhere.status)) == (False, -2)
    assert "progress" in nowhere.message
    assert int(root(lambda x: jnp.log(x), [-1.0]).status) == -3
    assert int(root(rosenbrock, [-1.2, 1.0], options={"maxiter": 2}).status) == -1
    error, _ = checkify.checkify(lambda x: root(lambda x: x**2 + 1, x))([1.0])
    assert "root failed with status -2" in error.get()


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: brentq(jnp.sin, [1.0], 2.0), ShapeError, "brentq"),
        (lambda: brentq(lambda x: jnp.stack([x, x]), 1.0, 2.0), ShapeError, "result of f"),
        (lambda: brentq(2, 1.0, 2.0), TypeError, "brentq"),
        (lambda: brentq(jnp.sin, 1.0, 4.0, xtol=-1.0), ValueError, "xtol"),
        (lambda: brentq(jnp.sin, 1.0, 4.0, rtol=np.nan), ValueError, "rtol"),
        (lambda: root(rosenbrock, [1.0, 2.0], tol=np.nan), ValueError, "xtol"),
        (lambda: root(rosenbrock, [[1.0, 2.0]]), ShapeError, "x0"),
        (lambda: root(rosenbrock, [1j, 2.0]), TypeError, "x0"),
        (lambda: root(lambda x: x[:1], [1.0, 2.0]), ShapeError, "result of fun"),
        (lambda: root(rosenbrock, [1.0, 2.0], method="lm"), ValueError, "method"),
        (lambda: root(rosenbrock, [1.0, 2.0], options={"a": 1}), TypeError, "options"),
        (lambda: root(rosenbrock, [1.0, 2.0], jac=lambda x: x), ShapeError, "result of jac"),
    ],
)
def test_bad_input(call: Callable[[], Any], error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        call()
