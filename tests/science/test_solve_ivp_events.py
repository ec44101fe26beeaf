"""Events of initial value problems, against SciPy and closed forms."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import scipy.integrate

import morphax as jax
from morphax import enable_x64
from morphax import numpy as jnp
from morphax.errors import ShapeError
from morphax.science.integrate import solve_ivp

G = 9.81
FINE = {"rtol": 1e-8, "atol": 1e-8}


@pytest.fixture(autouse=True)
def _wide_dtypes() -> Iterator[None]:
    with enable_x64(True):
        yield


def thrown(t: Any, y: Any) -> Any:
    return jnp.stack([y[1], -G + 0 * y[0]])


def turning(t: Any, y: Any) -> Any:
    return jnp.stack([y[1], -y[0]])


def event(value: Callable[..., Any], terminal: int = 0, direction: float = 0) -> Any:
    """A function with the attributes of an event."""

    def function(t: Any, y: Any, *args: Any) -> Any:
        return value(t, y, *args)

    vars(function).update(terminal=terminal, direction=direction)
    return function


height = event(lambda t, y: y[0], terminal=True, direction=-1)
speed = event(lambda t, y: y[1])
CASES = {
    "a terminal event": (thrown, (0.0, 10.0), [1.0, 10.0], [height, speed], {}),
    "times": (thrown, (0, 10.0), [1.0, 10.0], height, {"t_eval": np.linspace(0, 10, 21)}),
    "none": (thrown, (0.0, 0.5), [1.0, 10.0], [height, speed], {}),
    "the third": (turning, (0.0, 20.0), [0.0, 1.0], event(lambda t, y: y[0], 3), {}),
    "backwards": (turning, (20.0, 0.0), [0.0, 1.0], event(lambda t, y: y[0], 2), {}),
    "one direction": (turning, (0.0, 20.0), [0.5, 1.0], event(lambda t, y: y[0], 0, 1), {}),
    "of the time": (turning, (0.0, 5.0), [0.5, 1.0], event(lambda t, y: t - 2, True), {}),
    "arguments": (
        lambda t, y, a: a * turning(t, y),
        (0.0, 5.0),
        [0.5, 1.0],
        event(lambda t, y, a: y[0] - a / 8, True, -1),
        {"args": (2.0,), "dense_output": True, "method": "DOP853"},
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_events_are_those_of_scipy(name: str) -> None:
    f, span, y0, events, options = CASES[name]
    options = FINE | options
    found = solve_ivp(f, span, y0, events=events, max_steps=300, **options)
    on_arrays = lambda t, y, *args: np.asarray(f(t, jnp.asarray(y), *args))  # noqa: E731
    expected = scipy.integrate.solve_ivp(on_arrays, span, y0, events=events, **options)
    assert found.status == expected.status
    assert found.message == expected.message
    np.testing.assert_allclose(found.t, expected.t, 1e-6)
    np.testing.assert_allclose(found.y, expected.y, 1e-6, 1e-6)
    for kind in ("t_events", "y_events"):
        pairs = zip(getattr(found, kind), getattr(expected, kind), strict=True)
        for mine, other in pairs:
            np.testing.assert_allclose(mine, np.reshape(other, mine.shape), 1e-7, 1e-7)
    if options.get("dense_output"):
        times = np.linspace(0, found.t[-1], 7)
        np.testing.assert_allclose(found.sol(times), expected.sol(times), 1e-6)
        assert np.isnan(found.sol(found.t[-1] + 0.1)).all()


def landing(speed: Any) -> Any:
    """When something that is thrown upwards from 1 comes down to 0."""
    y0 = jnp.stack([jnp.ones_like(speed), speed])
    found = solve_ivp(thrown, (0.0, 10.0), y0, events=height, max_steps=20, **FINE)
    return found.t_events[0][0]


def test_derivatives_of_times() -> None:
    v = jnp.float64(10.0)
    root = np.sqrt(v * v + 2 * G)
    np.testing.assert_allclose(landing(v), (v + root) / G, 1e-12)
    first, second = (1 + v / root) / G, 2 * G / root**3 / G
    for derivative in (jax.grad(landing), jax.jacfwd(landing)):
        np.testing.assert_allclose(derivative(v), first, 1e-10)
    np.testing.assert_allclose(jax.jit(jax.hessian(landing))(v), second, 1e-9)


def test_batches_and_compiled_programs_are_padded() -> None:
    speeds = jnp.array([5.0, 10.0])
    times = jax.vmap(landing)(speeds)
    np.testing.assert_allclose(times, [landing(v) for v in speeds], 1e-12)

    def run(v: Any) -> Any:
        return solve_ivp(thrown, (0.0, 9.0), [1.0, v], events=[height, speed], max_steps=20, **FINE)

    found, alone = jax.jit(run)(10.0), run(10.0)
    assert [x.shape for x in found.t_events] == [(20,), (20,)]
    assert found.y_events[0].shape == (20, 2)
    np.testing.assert_allclose(found.t_events[1][0], alone.t_events[1][0], 1e-12)
    assert np.isnan(found.t_events[1][1:]).all()
    assert found.status == 1
    np.testing.assert_allclose(found.t[-1], found.t_events[0][0])


def test_what_lies_behind_a_terminal_event_does_not_count() -> None:
    """y = 1 / (1 − t) has a pole at 1; y = 2 is reached at ½."""
    reached = event(lambda t, y: y[0] - 2, True)
    found = solve_ivp(lambda t, y: y**2, (0.0, 3.0), [1.0], events=reached, **FINE)
    assert found.success
    assert found.status == 1
    np.testing.assert_allclose(found.t[-1], 0.5, 1e-6)


@pytest.mark.parametrize(
    ("events", "options", "error", "text"),
    [
        (3, {}, TypeError, "not iterable"),
        ([3], {}, TypeError, "argument events"),
        (event(lambda t, y: y), {}, ShapeError, "argument events"),
        (event(lambda t, y: 1j * y[0]), {}, ShapeError, "argument events"),
        (event(lambda t, y: y[0], -1), {}, ValueError, "attribute terminal"),
        (height, {"gradient": "adjoint"}, ValueError, "argument events"),
    ],
)
def test_bad_input(events: Any, options: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        solve_ivp(thrown, (0.0, 1.0), [1.0, 1.0], events=events, max_steps=20, **options)
