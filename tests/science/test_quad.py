"""Integrals with closed forms, and their derivatives."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import morphax as jax
from morphax import enable_x64
from morphax import numpy as jnp
from morphax.config import override
from morphax.errors import ShapeError
from morphax.experimental import checkify
from morphax.science.integrate import quad

inf = np.inf


@pytest.fixture(autouse=True)
def _wide_dtypes() -> Iterator[None]:
    with enable_x64(True):
        yield


# The function, the limits, the integral.
INTEGRALS = [
    (jnp.exp, 1, 0, 1 - np.e),
    (lambda x: jnp.log(x) / jnp.sqrt(x), 0, 1, -4),
    (lambda x: 1 / jnp.sqrt((1 - x) * (1 + x)), -1, 1, np.pi),
    (lambda x: jnp.sin(100 * x), 0, 1, (1 - np.cos(100)) / 100),
    (lambda x: 1e-3 / (1e-6 + (x - 0.3) ** 2), 0, 1, np.arctan(700) + np.arctan(300)),
    (lambda x: 1 / (1 + x * x), -inf, inf, np.pi),
    (lambda x: jnp.exp(-x), inf, 0, -1),
    (jnp.exp, -inf, 2, np.exp(2)),
    (lambda x: jnp.exp(1j * x), 0, 1, (np.exp(1j) - 1) / 1j),
    (lambda x: 1 / x, 0, 0, 0),
]


@pytest.mark.parametrize(("f", "a", "b", "expected"), INTEGRALS)
def test_values(f: Callable[..., Any], a: float, b: float, expected: Any) -> None:
    found, error, info = quad(f, a, b, full_output=True)
    assert info.success
    assert abs(found - expected) <= error <= 2e-7
    assert info.neval <= 1200


@pytest.mark.parametrize(("f", "a", "b", "expected"), INTEGRALS)
def test_first_calls_without_a_program(
    f: Callable[..., Any], a: float, b: float, expected: Any
) -> None:
    with override(replay_first_calls=False):
        first, again = [
            quad(of, a, b, full_output=True) for of in (lambda x: f(x), jnp.vectorize(f))
        ]
    np.testing.assert_allclose(first[0], again[0], rtol=1e-12, atol=1e-14)
    assert first[2] == again[2]


def test_a_function_that_comes_again_gets_a_program() -> None:
    calls = []

    def counted(x: Any) -> Any:
        calls.append(None)
        return jnp.exp(-x * x)

    with override(replay_first_calls=False):
        values = [quad(counted, 0.0, 2.0)[0] for _ in range(3)]
        before = len(calls)
        values.append(quad(counted, 0.0, 2.0)[0])
    assert len(calls) <= before + 2, "only its type and what it holds are asked for"
    np.testing.assert_allclose(values, 0.8820813907624217, rtol=1e-14)


def test_single_precision() -> None:
    found, error = quad(lambda x: x**2 * jnp.exp(-x), np.float32(0), np.float32(inf))
    assert found.dtype == np.float32
    assert abs(found - 2) <= error < 1e-4
    with enable_x64(False):
        slope = jax.grad(lambda a: quad(lambda x: jnp.exp(-a * x * x), -inf, inf)[0])(1.0)
    np.testing.assert_allclose(slope, -np.sqrt(np.pi) / 2, 1e-5)


def test_derivatives_by_arguments_and_limits() -> None:
    def integral(a: Any, p: Any, b: Any) -> Any:
        return quad(lambda x, q: jnp.exp(-p * x) * x**q, a, b, args=(p,))[0]

    point = (0.2, 1.3, 2.0)
    compiled = jax.jit(integral)
    slopes = jax.jit(jax.grad(integral, (0, 1, 2)))
    found = slopes(*point)
    forward = jax.jvp(compiled, point, (1.0, 2.0, 3.0))[1]
    np.testing.assert_allclose(forward, np.dot(found, [1, 2, 3]), 1e-9)
    for i in range(3):
        ends = [compiled(*np.add(point, h * np.eye(3)[i])) for h in (1e-5, -1e-5)]
        np.testing.assert_allclose(found[i], (ends[0] - ends[1]) / 2e-5, 1e-8)
    second = jax.jit(jax.hessian(integral, 1))
    ends = [slopes(0.2, 1.3 + h, 2.0)[1] for h in (1e-5, -1e-5)]
    np.testing.assert_allclose(second(*point), (ends[0] - ends[1]) / 2e-5, 1e-7)


def test_derivatives_of_small_integrals_and_along_the_line() -> None:
    def bell(p: Any) -> Any:
        return 1e-12 * quad(lambda x: jnp.exp(-p * x * x), -inf, inf)[0]

    rates = jnp.array([1.0, 2.0])
    found = jax.jit(jax.vmap(jax.grad(bell)))(rates)
    np.testing.assert_allclose(found, -0.5e-12 * np.sqrt(np.pi) * rates**-1.5, 1e-7)


@pytest.mark.parametrize("limits", [(np.nan, 1.0), (0.0, np.nan), (np.nan, np.nan)])
@pytest.mark.parametrize("function", [lambda x: x**3, lambda x: jnp.exp(-x * x)])
def test_there_is_no_interval_with_an_end_that_is_nan(
    limits: tuple[float, float], function: Callable[[Any], Any]
) -> None:
    for run in (lambda f: f, jax.jit):
        value, _, info = run(lambda a, b: quad(function, a, b, full_output=True))(*limits)
        assert np.isnan(value)
        assert not info.success


def test_failures_are_said() -> None:
    value, error, info = quad(lambda x: 1 / x, 0.0, 1.0, full_output=True)
    assert (bool(info.success), int(info.status), int(info.last)) == (False, -2, 50)
    assert "limit" in info.message
    assert error > 1
    assert np.isfinite(value)
    assert np.isnan(quad(lambda x: 1 / x, 0.0, 1.0)[0])
    _, _, info = quad(lambda x: jnp.log(x - 0.5), 0.0, 1.0, full_output=True)
    assert int(info.status) == -3
    error, _ = checkify.checkify(lambda a: quad(lambda x: 1 / x, a, 1.0))(0.0)
    assert "quad failed with status -2" in error.get()


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: quad(None, 0, 1), TypeError, "quad"),
        (lambda: quad(jnp.sin, [0.0], 1), ShapeError, "argument a"),
        (lambda: quad(jnp.sin, 0, 1j), TypeError, "argument b"),
        (lambda: quad(lambda x: jnp.stack([x, x]), 0, 1), ShapeError, "result of func"),
        (lambda: quad(jnp.sin, 0, 1, args=3), TypeError, "args"),
        (lambda: quad(jnp.sin, 0, 1, limit=0), ValueError, "limit"),
        (lambda: quad(jnp.sin, 0, 1, epsrel=np.nan), ValueError, "epsrel"),
    ],
)
def test_bad_input(call: Callable[[], Any], error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        call()


@pytest.mark.sampled(2)
@pytest.mark.parametrize("end", [0.0, 1.0])
def test_derivatives_where_an_end_is_singular_and_stays(end: float) -> None:
    def integral(a: Any) -> Any:
        return quad(lambda x: a**2 / jnp.sqrt(abs(x - end)), 0.0, 1.0)[0]

    def slope(a: Any) -> Any:
        return jax.jvp(integral, (a,), (1.0,))[1]

    for first in (slope, jax.jit(slope), jax.grad(integral), jax.jacfwd(integral)):
        np.testing.assert_allclose(first(1.5), 6, 1e-7)
    for second in (jax.grad(slope), jax.jacfwd(slope), jax.hessian(integral)):
        np.testing.assert_allclose(second(1.5), 4, 1e-7)
    np.testing.assert_allclose(jax.vmap(slope)(jnp.array([1.0, 2.0])), [4, 8], 1e-7)
