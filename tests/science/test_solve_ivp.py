"""Initial value problems, against SciPy and finite differences."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import scipy.integrate

import morphax as jax
from morphax import enable_x64
from morphax import numpy as jnp
from morphax.errors import ShapeError
from morphax.experimental import checkify
from morphax.science.integrate import solve_ivp


@pytest.fixture(autouse=True)
def _wide_dtypes() -> Iterator[None]:
    with enable_x64(True):
        yield


def predators(t: Any, y: Any) -> Any:
    return jnp.stack([y[0] * (1.5 - y[1]), y[1] * (y[0] - 3)])


def pendulum(t: Any, y: Any) -> Any:
    return jnp.stack([y[1], -9.81 * jnp.sin(y[0]) + jnp.cos(3 * t)])


def van_der_pol(t: Any, y: Any) -> Any:
    return jnp.stack([y[1], 1000 * (1 - y[0] ** 2) * y[1] - y[0]])


def robertson(t: Any, y: Any) -> Any:
    slow, fast, last = 0.04 * y[0], 1e4 * y[1] * y[2], 3e7 * y[1] ** 2
    return jnp.stack([fast - slow, slow - fast - last, last])


def on_arrays(f: Callable[..., Any]) -> Callable[..., Any]:
    compiled = jax.jit(f)
    return lambda t, y: np.asarray(compiled(t, y))


# The problem, its interval and start, the method, rtol and atol.
PROBLEMS = [
    (predators, (0.0, 4.0), [10.0, 5.0], "RK45", 1e-9, 1e-9),
    (predators, (0.0, 1.0), [10.0, 5.0], "RK23", 1e-6, 1e-6),
    (predators, (0.0, 4.0), [10.0, 5.0], "DOP853", 1e-10, 1e-10),
    (van_der_pol, (0.0, 2000.0), [2.0, 0.0], "Radau", 1e-7, 1e-9),
    (robertson, (0.0, 1e8), [1.0, 0.0, 0.0], "Radau", 1e-7, 1e-12),
]


@pytest.mark.parametrize(("f", "span", "y0", "method", "rtol", "atol"), PROBLEMS)
def test_values(f: Any, span: Any, y0: Any, method: str, rtol: float, atol: float) -> None:
    times = np.linspace(*span, 6)
    options = {"method": method, "t_eval": times, "rtol": rtol, "atol": atol}
    found = solve_ivp(f, span, y0, **options)
    finer = {**options, "method": "LSODA", "rtol": 1e-12, "atol": atol * 1e-3}
    expected = scipy.integrate.solve_ivp(on_arrays(f), span, y0, **finer)
    assert found.success
    assert found.nfev < 20_000
    np.testing.assert_allclose(found.y, expected.y, 2e3 * rtol, 2e2 * atol)


@pytest.mark.parametrize("method", ["RK45", "RK23", "DOP853"])
def test_steps_are_those_of_scipy(method: str) -> None:
    span, y0 = (0.0, 3.0), [1.0, 0.5]
    found = solve_ivp(pendulum, span, y0, method, max_step=0.2, first_step=0.01)
    expected = scipy.integrate.solve_ivp(
        on_arrays(pendulum), span, y0, method, max_step=0.2, first_step=0.01
    )
    np.testing.assert_allclose(found.t, expected.t, 1e-10)
    np.testing.assert_allclose(found.y, expected.y, 1e-9)
    extension = 3 * found.nsteps if method == "DOP853" else 0
    assert found.nfev == expected.nfev + 1 + extension
    assert found.nsteps == len(expected.t) - 1


def test_dense_output_and_complex_numbers() -> None:
    found = solve_ivp(lambda t, y: 1j * y, (0, 3), [1 + 0j], rtol=1e-9, dense_output=True)
    times = np.linspace(0, 3, 12).reshape(3, 4)
    np.testing.assert_allclose(found.sol(times)[0], np.exp(1j * times), 1e-5)
    assert np.isnan(found.sol(3.1)).all()
    assert found.sol(0.5).shape == (1,)
    backwards = solve_ivp(lambda t, y: -y, (3, 0), [1.0], rtol=1e-9, dense_output=True)
    np.testing.assert_allclose(backwards.sol(times)[0], np.exp(3 - times), 1e-6)


def test_single_precision() -> None:
    y0 = np.float32([1.0, 0.0])
    found = solve_ivp(lambda t, y: jnp.stack([y[1], -y[0]]), (0, 3), y0, "Radau", rtol=1e-5)
    assert found.y.dtype == found.t.dtype == np.float32
    np.testing.assert_allclose(found.y[0, -1], np.cos(3), atol=1e-4)


def test_vmap_is_a_loop() -> None:
    def end(rate: Any, method: str) -> Any:
        return solve_ivp(lambda t, y: -rate * y * y, (0, 2), [1.0, 2.0], method)

    rates = jnp.array([0.1, 3.0, 40.0])
    alone = jax.jit(functools.partial(end, method="Radau"))
    batch = jax.jit(jax.vmap(functools.partial(end, method="Radau")))(rates)
    assert batch.y.shape == (3, 2, 4097)
    for i, rate in enumerate(rates):
        expected = alone(rate)
        assert batch.nsteps[i] == expected.nsteps
        np.testing.assert_allclose(batch.y[i], expected.y, 1e-9)
    assert batch.message == [expected.message] * 3


def driven(t: Any, y: Any, a: Any) -> Any:
    return jnp.stack([y[1], -a["w"] * jnp.sin(y[0]) + jnp.sin(a["n"] * t)])


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("method", "gradient"), [("RK23", "adjoint"), ("Radau", "direct"), ("DOP853", "direct")]
)
def test_derivatives(method: str, gradient: str) -> None:
    def ends(y0: Any, w: Any, begin: Any, end: Any) -> Any:
        times = jnp.stack([end / 2, end])
        found = solve_ivp(
            driven,
            (begin, end),
            y0,
            method,
            times,
            args=({"w": w, "n": 2},),
            rtol=1e-8,
            atol=1e-8,
            gradient=gradient,
        )
        return jnp.sum(jnp.sin(found.y) * jnp.array([1.0, 2.0]))

    point = (jnp.array([1.0, 0.2]), 2.0, 0.1, 1.5)
    compiled = jax.jit(ends)
    found = jax.jit(jax.grad(ends, (0, 1, 2, 3)))(*point)
    forward = jax.jvp(lambda w: compiled(point[0], w, *point[2:]), (2.0,), (1.0,))[1]
    np.testing.assert_allclose(forward, found[1], 1e-6)
    for i in range(4):
        direction = jnp.array([0.3, -1.0]) if i == 0 else 1.0

        def moved(h: float, i: int = i, direction: Any = direction) -> Any:
            return compiled(*point[:i], point[i] + h * direction, *point[i + 1 :])

        expected = (moved(1e-4) - moved(-1e-4)) / 2e-4
        np.testing.assert_allclose(jnp.sum(found[i] * direction), expected, 1e-5, 1e-6)


@pytest.mark.parametrize("gradient", ["direct", "adjoint"])
def test_derivatives_by_the_end_and_by_captured_values(gradient: str) -> None:
    def end(t: Any, rate: Any) -> Any:
        found = solve_ivp(
            lambda t, y: -rate * y, (0.0, t), [1.0], "RK23", rtol=1e-7, gradient=gradient
        )
        return found.y[0, -1]

    found = jax.jit(jax.grad(end, (0, 1)))(2.0, 0.7)
    np.testing.assert_allclose(found, [-0.7 * np.exp(-1.4), -2 * np.exp(-1.4)], 1e-5)
    if gradient == "direct":
        second = jax.jit(jax.hessian(end, 1))(2.0, 0.7)
        np.testing.assert_allclose(second, 4 * np.exp(-1.4), 1e-4)


def test_derivatives_pass_steps_that_were_rejected_for_overflow() -> None:
    def end(rate: Any) -> Any:
        found = solve_ivp(
            lambda t, y: -jnp.exp(rate * y), (0, 1), [3.0], "RK23", [1.0], first_step=1.0
        )
        return found.y[0, 0]

    # exp(-rate y) grows by rate t.
    expected = -jnp.log(jnp.exp(-9.0) + 3) / 3
    values, slopes = jax.jit(jax.vmap(jax.value_and_grad(end)))(jnp.array([1.0, 3.0]))
    np.testing.assert_allclose(values[1], expected, 1e-2)
    assert jnp.isfinite(slopes).all()


def test_sensitivity_of_a_stiff_problem() -> None:
    def end(rate: Any) -> Any:
        def field(t: Any, y: Any) -> Any:
            return jnp.stack([-1e5 * (y[0] - jnp.cos(rate * t)), y[0]])

        found = solve_ivp(
            field, (0, 1), [1.0, 0.0], "Radau", [1.0], rtol=1e-7, atol=1e-9, gradient="adjoint"
        )
        return found.y[1, 0]

    expected = np.cos(2.0) / 2 - np.sin(2.0) / 4
    found = jax.jit(jax.grad(end))(2.0)
    np.testing.assert_allclose(found, expected, 2e-4)


@pytest.mark.parametrize("t_eval", [None, np.linspace(0.0, 2.0, 5)], ids=["steps", "times"])
@pytest.mark.parametrize("method", ["RK45", "Radau"])
def test_gradients_are_machine_code(method: str, t_eval: Any) -> None:
    """XLA takes seconds to compile them, and half a second to run those of all steps."""

    @jax.jit
    def total(y0: Any) -> Any:
        return solve_ivp(pendulum, (0.0, 2.0), y0, method, t_eval, rtol=1e-6).y[:, -1].sum()

    y0, h = np.array([1.0, 0.5]), 1e-4
    gradient = jax.jit(jax.grad(total)).lower(y0).compile()
    assert gradient.as_text("engine").startswith("engine native")
    differences = [(total(y0 + d) - total(y0 - d)) / (2 * h) for d in h * np.eye(2)]
    np.testing.assert_allclose(gradient(y0), differences, rtol=1e-3)


def test_failures_are_said() -> None:
    explosion = solve_ivp(lambda t, y: y**2, (0, 2), [1.0], t_eval=[0.5, 1.5])
    assert (bool(explosion.success), int(explosion.status)) == (False, -1)
    assert "spacing" in explosion.message
    np.testing.assert_allclose(explosion.y, [[2.0, np.nan]], 1e-2)
    many = solve_ivp(lambda t, y: jnp.cos(100 * t) * y, (0, 100), [1.0], max_steps=10)
    assert (int(many.status), int(many.nsteps), many.y.shape) == (-2, 10, (1, 11))
    late = solve_ivp(lambda t, y: jnp.log(1 - t) * y, (0, 2), [1.0], "Radau")
    assert int(late.status) == -3
    assert 0.9 < late.t[-1] <= 1.0
    start = solve_ivp(lambda t, y: y / t, (0, 2), [1.0])
    assert (int(start.status), start.y.shape) == (-3, (1, 1))
    padded = jax.jit(lambda: solve_ivp(lambda t, y: y**2, (0, 2), [1.0], max_steps=200).y)()
    assert np.isnan(padded[0, -1])
    unordered = jax.jit(lambda t: solve_ivp(lambda t, y: -y, (0, 2), [1.0], t_eval=t))
    found = unordered(jnp.array([1.0, 0.5]))
    assert int(found.status) == -4
    assert np.isnan(found.y).all()


def test_failures_are_errors_under_checkify() -> None:
    run = checkify.checkify(lambda y0: solve_ivp(lambda t, y: y**2, (0, 2), y0).y)
    error, _ = jax.jit(run)(jnp.array([1.0]))
    assert "solve_ivp failed with status -1" in error.get()
    error, _ = jax.jit(run)(jnp.array([0.1]))
    assert error.get() is None


def decay(t: Any, y: Any) -> Any:
    return -y


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: solve_ivp(3, (0, 1), [1.0]), TypeError, "solve_ivp"),
        (lambda: solve_ivp(decay, (0, 1, 2), [1.0]), ValueError, "t_span"),
        (lambda: solve_ivp(decay, (0, [1.0, 2.0]), [1.0]), ValueError, "t_span"),
        (lambda: solve_ivp(decay, (0, 1), [[1.0]]), ShapeError, "y0"),
        (lambda: solve_ivp(decay, (0, 1), []), ShapeError, "y0"),
        (lambda: solve_ivp(decay, (0, 1), [1j], "Radau"), TypeError, "y0"),
        (lambda: solve_ivp(decay, (0, 1), [1.0], "LSODA"), ValueError, "method"),
        (lambda: solve_ivp(decay, (0, 1), [1.0], t_eval=[2.0]), ValueError, "t_eval"),
        (lambda: solve_ivp(decay, (0, 1), [1.0], t_eval=0.5), ValueError, "t_eval"),
        (lambda: solve_ivp(decay, (0, 1), [1.0], rtol=-1), ValueError, "rtol"),
        (lambda: solve_ivp(decay, (0, 1), [1.0], atol=[1.0, 2.0]), ValueError, "atol"),
        (lambda: solve_ivp(decay, (0, 1), [1.0], first_step=0), ValueError, "first_step"),
        (lambda: solve_ivp(decay, (0, 1), [1.0], max_steps=1.5), TypeError, "max_steps"),
        (lambda: solve_ivp(decay, (0, 1), [1.0], args=1.0), TypeError, "args"),
        (lambda: solve_ivp(decay, (0, 1), [1.0], gradient="x"), ValueError, "gradient"),
        (
            lambda: solve_ivp(decay, (0, 1), [1.0], dense_output=True, gradient="adjoint"),
            ValueError,
            "dense_output",
        ),
        (lambda: solve_ivp(lambda t, y: y[0], (0, 1), [1.0]), ShapeError, "result of fun"),
        (lambda: solve_ivp(lambda t, y: 1j * y, (0, 1), [1.0]), TypeError, "result of fun"),
    ],
)
def test_bad_input(call: Callable[[], Any], error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text) as caught:
        call()
    assert all(part in str(caught.value) for part in ("given:", "expected:", "fix:"))
