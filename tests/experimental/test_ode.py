"""`odeint`: closed forms, derivatives, and values recorded from JAX 0.10.1."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp
from morphax.experimental.ode import odeint

T = jnp.linspace(0.0, 2.0, 5)


def decay(y: Any, t: Any, rate: Any) -> Any:
    return -rate * y


def at_end(rate: Any, y0: Any = 1.0) -> Any:
    return odeint(decay, y0, T, rate)[-1]


def test_exponential() -> None:
    np.testing.assert_allclose(odeint(decay, 1.0, T, 0.5), np.exp(-0.5 * T), rtol=1e-6)
    rows = odeint(decay, jnp.array([1.0, 2.0]), T, 0.5)
    np.testing.assert_allclose(rows, np.outer(np.exp(-0.5 * T), [1.0, 2.0]), rtol=1e-6)
    backwards = odeint(decay, 1.0, -T, 0.5)
    np.testing.assert_allclose(backwards, np.exp(0.5 * T), rtol=1e-6)


def test_trees_and_complex_numbers() -> None:
    swing = odeint(lambda y, t: {"x": y["v"], "v": -y["x"]}, {"x": 1.0, "v": 0.0}, T)
    np.testing.assert_allclose(swing["x"], np.cos(T), atol=2e-6)
    np.testing.assert_allclose(swing["v"], -np.sin(T), atol=2e-6)
    turning = odeint(lambda y, t: 1j * y, 1.0 + 0.0j, T)
    np.testing.assert_allclose(turning, np.exp(1j * np.asarray(T)), atol=2e-6)


def test_explicit_time_and_repeated_times() -> None:
    times = jnp.array([0.0, 0.0, 1.0, 1.0, 2.0])
    y = odeint(lambda y, t: 3 * t**2, 0.0, times)
    np.testing.assert_allclose(y, times**3, atol=1e-5)
    assert odeint(decay, 1.0, T[:1], 0.5).tolist() == [1.0]


def test_values_of_the_reference() -> None:
    def pendulum(y: Any, t: Any) -> Any:
        return jnp.stack([y[1], -0.25 * y[1] - 5 * jnp.sin(y[0])])

    y = odeint(pendulum, jnp.array([np.pi - 0.1, 0.0]), jnp.linspace(0, 10, 11))
    recorded = [2.7021081, 0.24675988, -1.8752311, 0.42144355, 1.1660491, -1.0519453]
    np.testing.assert_allclose(y[1:7, 0], recorded, rtol=5e-5)


def test_controls_of_the_step() -> None:
    loose = odeint(decay, 1.0, T, 0.5, rtol=1e-3, atol=1e-3)
    assert 1e-7 < abs(loose - np.exp(-0.5 * T)).max() < 2e-3
    np.testing.assert_allclose(odeint(decay, 1.0, T, 0.5, hmax=0.01), np.exp(-0.5 * T), rtol=1e-6)
    assert odeint(decay, 1.0, T, 0.5, mxstep=1).shape == (5,)
    assert np.isnan(odeint(lambda y, t: y * jnp.nan, 1.0, T)[1:]).all()


@pytest.mark.parametrize("wrap", [lambda f: f, jax.jit])
def test_gradients(wrap: Any) -> None:
    end = np.exp(-1.0)
    np.testing.assert_allclose(wrap(jax.grad(at_end, (0, 1)))(0.5, 1.0), (-2 * end, end), rtol=1e-5)
    of_times = wrap(jax.grad(lambda t: odeint(decay, 1.0, t, 0.5).sum()))(T)
    y = np.exp(-0.5 * T)
    np.testing.assert_allclose(
        of_times, np.concatenate([[0.5 * y[1:].sum()], -0.5 * y[1:]]), rtol=1e-5
    )
    captured = wrap(jax.grad(lambda a: odeint(lambda y, t: -a * y, 1.0, T)[-1]))(0.5)
    assert np.allclose(captured, -2 * end)


def test_second_derivative_batches_and_integers() -> None:
    assert np.allclose(jax.grad(jax.grad(at_end))(0.5), 4 * np.exp(-1.0), rtol=1e-5)
    rates = np.arange(3.0, dtype=np.float32)
    np.testing.assert_allclose(jax.vmap(at_end)(rates), np.exp(-2 * rates), rtol=1e-5)
    np.testing.assert_allclose(
        jax.vmap(jax.grad(at_end))(rates), -2 * np.exp(-2 * rates), rtol=1e-5
    )
    with_integer = jax.grad(lambda y: odeint(lambda y, t, n: -n * y, y, T, 2)[-1])
    assert np.allclose(with_integer(1.0), np.exp(-4.0), rtol=1e-5)


@pytest.mark.parametrize("wrap", [lambda f: f, jax.jit, jax.vmap])
def test_second_derivatives_of_what_decays_fast(wrap: Any) -> None:
    """dy/dt = −20 (y² − a²): on the way back errors grow by e⁴⁰ᵃ."""
    times = np.array([0, 0.02, 0.1, 1.0])

    def solved(y: Any, a: Any) -> Any:
        return odeint(lambda y, t, a: -20 * (y * y - a * a), y, times, a)[1:].sum()

    def exact(y: float, a: float) -> float:
        return float((a * np.tanh(20 * a * times[1:] + np.arctanh(y / a))).sum())

    h = 1e-3
    corners = [exact(0.6 + i * h, 1.3 + j * h) * i * j for i in (-1, 1) for j in (-1, 1)]
    mixed = sum(corners) / (4 * h * h)
    of_a = (exact(0.6, 1.3 + h) - 2 * exact(0.6, 1.3) + exact(0.6, 1.3 - h)) / h**2
    with jax.enable_x64(True):
        point = [np.array([x]) if wrap is jax.vmap else x for x in (0.6, 1.3)]
        found = [wrap(jax.grad(jax.grad(solved, i), 1))(*point) for i in (0, 1)]
    np.testing.assert_allclose(np.ravel(found), [mixed, of_a], rtol=1e-4)


def test_third_derivatives_and_fields_with_rules_of_their_own() -> None:
    @jax.custom_vjp
    def cube(y: Any) -> Any:
        return y**3

    cube.defvjp(lambda y: (y**3, y), lambda y, ct: (3 * y**2 * ct,))

    def at_one(y: Any) -> Any:
        return odeint(lambda y, t, n: -n * cube(y), y, np.array([0, 1.0]), 2)[-1]

    derivative = at_one
    with jax.enable_x64(True):
        # Of y = (1/y₀² + 4)^(−½).
        for value in (0.353553390593, 0.353553390593, -1.06066017178, 3.18198051534):
            np.testing.assert_allclose(derivative(0.5), value, rtol=1e-6)
            derivative = jax.grad(derivative)


def test_gradient_of_a_tree() -> None:
    def f(params: Any) -> Any:
        return odeint(
            lambda y, t, p: {"x": -p["k"] * y["x"]}, {"x": params["x0"]}, T, {"k": params["k"]}
        )["x"].sum()

    params = {"k": jnp.float32(0.5), "x0": jnp.array([1.0, 2.0])}
    decays = np.exp(-0.5 * T)
    slopes = jax.grad(f)(params)
    np.testing.assert_allclose(slopes["x0"], np.full(2, decays.sum()), rtol=1e-5)
    np.testing.assert_allclose(slopes["k"], -3 * (T * decays).sum(), rtol=1e-5)


def beside_another(f: Any) -> Any:
    """`f` as the first member of a batch, the second of which decays slowly."""

    def first(y: Any, t: Any, rate: Any) -> Any:
        batch = jax.vmap(f, (None, None, 0))(y, t, np.stack([rate, np.float32(1)]))
        return jax.tree.map(lambda x: x[0], batch)

    return first


@pytest.mark.parametrize("rate", [20.0, 1000.0, 5000.0])
@pytest.mark.parametrize("wrap", [lambda f: f, jax.jit, beside_another])
def test_gradients_of_what_decays_fast(rate: float, wrap: Any) -> None:
    """On the way back it grows, to more than there are numbers for."""
    times = np.float32([0, 1e-3, 1e-2, 0.1, 0.5, 1])

    def loss(y: Any, t: Any, rate: Any) -> Any:
        return (odeint(decay, y, t, rate) ** 2).sum()

    gradient = wrap(jax.grad(loss, (0, 1, 2)))
    squares = np.exp(-2 * rate * times.astype(float))
    of_times = -2 * rate * squares
    of_times[0] = -of_times[1:].sum()
    expected = 2 * squares.sum(), of_times, (-2 * times * squares).sum()
    found = gradient(np.float32(1), times, np.float32(rate))
    for x, y in zip(found, expected, strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-4, atol=1e-5 * max(1, abs(y).max()))


def lorenz(y: Any, t: Any) -> Any:
    a, b, c = y
    return jnp.stack([10 * (b - a), a * (28 - c) - b, a * b - 8 / 3 * c])


@pytest.mark.parametrize(
    ("end", "expected"),
    [
        (0.5, (-9.19520859, -7.37238056, 1.56894408)),
        (2.0, (-1.01003064, -0.78241452, -0.53931989)),
        (5.0, (-1.88383034, -1.54971319, 1.36629364)),
    ],
)
def test_gradients_of_what_is_lost_on_the_way_back(end: float, expected: tuple[float, ...]) -> None:
    """From the equation of the derivatives, by SciPy's DOP853 with tolerances of 1e-12.

    The volume between solutions shrinks by e¹⁴ in a unit of time.
    """
    with jax.enable_x64(True):
        found = jax.grad(lambda y: odeint(lorenz, y, jnp.array([0.0, end]))[-1].sum())(jnp.ones(3))
        np.testing.assert_allclose(found, expected, rtol=3e-6)


def test_gradients_where_no_way_leads_back() -> None:
    """A pole, too few steps, a stop: they end, and are those of the solution where there is one."""
    of_pole = jax.grad(lambda y: odeint(lambda y, t: y**2, y, T)[-1])(1.0)
    assert np.isnan(of_pole) or abs(of_pole) > 1e20
    few = jax.grad(lambda y: odeint(lambda y, t: -50 * y, y, T, mxstep=3)[-1])(1.0)
    assert np.isfinite(few)
    stops = jax.grad(lambda y: odeint(lambda y, t: jnp.where(t < 1, -y, 0.0), y, T).sum())(1.0)
    assert stops == pytest.approx(1 + np.exp(-0.5) + 3 * np.exp(-1), rel=1e-4)


ERRORS = [
    pytest.param(lambda: odeint(3, 1.0, T), TypeError, "a callable", id="function"),
    pytest.param(lambda: odeint(decay, 1, T, 0.5), TypeError, "argument y0", id="integer y0"),
    pytest.param(lambda: odeint(decay, "a", T, 0.5), TypeError, "argument y0", id="y0"),
    pytest.param(lambda: odeint(decay, 1.0, jnp.arange(3), 0.5), TypeError, "t", id="integer t"),
    pytest.param(lambda: odeint(decay, 1.0, 1.0, 0.5), ValueError, "argument t", id="scalar t"),
    pytest.param(lambda: odeint(decay, 1.0, T, "a"), TypeError, "argument args", id="args"),
    pytest.param(lambda: odeint(lambda y, t: (y, y), 1.0, T), TypeError, "func", id="structure"),
    pytest.param(lambda: odeint(lambda y, t: jnp.ones(3), 1.0, T), ValueError, "func", id="shape"),
]


@pytest.mark.parametrize(("call", "error", "text"), ERRORS)
def test_errors(call: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text) as caught:
        call()
    assert "fix:" in str(caught.value)


def test_times_of_another_precision_and_slopes_that_are_not_real() -> None:
    with jax.enable_x64(True):
        for y, t in ((np.float32, np.float64), (np.float64, np.float32)):
            start, times = jnp.ones(2, y), jnp.array([0, 0.5], t)
            found = odeint(lambda y, t: -y, start, times)
            assert found.dtype == y
            np.testing.assert_allclose(found[-1], np.exp(-0.5), 1e-6)
            slope = jax.grad(lambda y, times=times: odeint(lambda y, t: -y, y, times).sum())
            np.testing.assert_allclose(slope(start), 1 + np.exp(-0.5), 1e-6)
    with pytest.raises(TypeError, match=r"(?s)odeint, argument func.*given:.*real.*fix:"):
        odeint(lambda y, t: 1j * y, jnp.ones(2), jnp.array([0.0, 1.0]))
