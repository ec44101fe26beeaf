"""Activation functions in closed form: values, derivatives and the ends of the range."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import morphax as jax
from morphax.test_util import check_grads

nn, jnp = jax.nn, jax.numpy
X = np.concatenate([np.linspace(-3, 3, 25) + 0.01, [-1e4, -1.0, 0.0, 1.0, 1e4]])
# Values and derivatives in float64.
KNOWN: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "squareplus": (
        lambda x: np.where(x < 0, 2 / (np.hypot(x, 2) - x), (x + np.hypot(x, 2)) / 2),
        lambda x: 2 / (np.hypot(x, 2) * (np.hypot(x, 2) - x)),
    ),
    "sparse_plus": (
        lambda x: np.where(x >= 1, x, np.clip(x + 1, 0, 2) ** 2 / 4),
        lambda x: np.clip(x + 1, 0, 2) / 2,
    ),
    "sparse_sigmoid": (
        lambda x: np.clip(x + 1, 0, 2) / 2,
        # At the kinks, the mean of the one-sided derivatives.
        lambda x: np.where(abs(x) < 1, 0.5, np.where(abs(x) == 1, 0.25, 0)),
    ),
}
LIMITS = {
    "gelu": [0, np.inf, 0, 1],
    "squareplus": [0, np.inf, 0, 1],
    "sparse_plus": [0, np.inf, 0, 1],
    "sparse_sigmoid": [0, 1, 0, 0],
}


@pytest.mark.parametrize("name", KNOWN)
def test_values_and_derivatives(name: str) -> None:
    f, (value, slope) = getattr(nn, name), KNOWN[name]
    x = X.astype(np.float32)
    exact = x.astype(np.float64)
    for run in (f, jax.jit(f)):
        np.testing.assert_allclose(run(x), value(exact), rtol=4e-7)
    far = exact < 5e3  # where the formula for the derivative itself is accurate
    slopes = np.asarray(jax.vmap(jax.grad(f))(x))
    np.testing.assert_allclose(slopes[far], slope(exact)[far], rtol=2e-6)
    with jax.enable_x64(True):
        check_grads(f, (np.array([-2.0, -0.3, 0.4, 1.7]),), order=2)


@pytest.mark.parametrize("name", LIMITS)
@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
def test_infinities(name: str, dtype: str) -> None:
    ends = jnp.array([-np.inf, np.inf], dtype)
    f = getattr(nn, name)
    values = [*np.asarray(f(ends), float), *np.asarray(jax.vmap(jax.grad(f))(ends), float)]
    assert values == LIMITS[name]
    assert np.isnan(f(np.float32(np.nan)))


def test_squareplus_between_its_limits() -> None:
    np.testing.assert_array_equal(nn.squareplus(jnp.array([-2.0, 3.0]), 0), [0, 3])
    np.testing.assert_allclose(nn.squareplus(np.float32(1e30)), 1e30, rtol=1e-6)
    np.testing.assert_allclose(nn.squareplus(1j), 0.8660254 + 0.5j, rtol=1e-6)
    np.testing.assert_allclose(jax.grad(nn.squareplus, 1)(1.0, 2.0), 0.14433756, rtol=1e-6)


@pytest.mark.parametrize("dtype", ["float8_e4m3fn", "float8_e5m2", "bfloat16", "float16"])
@pytest.mark.parametrize("function", [nn.squareplus, nn.log1mexp])
def test_limits_of_a_dtype_are_no_operands(function: Any, dtype: str) -> None:
    # Narrow floats do not promote implicitly: a limit that is a NumPy number would be refused.
    x = jnp.array([0.25, 1.5, 4.0], dtype)
    with jax.numpy_dtype_promotion("strict"):
        found = function(x)
    assert found.dtype == x.dtype
    wanted = np.asarray(function(x.astype(np.float32)))
    np.testing.assert_allclose(found.astype(np.float32), wanted, rtol=0.13, atol=0.02)


@pytest.mark.parametrize(
    ("dtype", "slope", "expected"),
    [
        ("int32", 2, "int32"),
        ("int8", np.int32([2, 3]), "int32"),
        ("bool", np.int8([2, 3]), "int8"),
        ("int32", 0.5, "float32"),
    ],
)
def test_leaky_relu_of_integers(dtype: str, slope: Any, expected: str) -> None:
    x = np.array([-2, 3]).astype(dtype)
    for run in (jax.nn.leaky_relu, jax.jit(jax.nn.leaky_relu)):
        found = run(x, slope)
        assert found.dtype == expected
        np.testing.assert_array_equal(found, np.where(x >= 0, x, slope * x))


@pytest.mark.parametrize("name", ["mish", "soft_sign"])
def test_truth_values_are_weak_numbers(name: str) -> None:
    out = getattr(jax.nn, name)(jax.numpy.array([True, False]))
    assert out.dtype == np.float32
    assert out.weak_type


def test_log1mexp() -> None:
    x = np.array([1e-30, 1e-5, 0.5, 0.69, 0.7, 3.0, 50.0], np.float32)
    exact = x.astype(np.float64)
    near, far = np.log(-np.expm1(-exact)), np.log1p(-np.exp(-np.maximum(exact, 0.5)))
    expected = np.where(exact < 0.7, near, far)
    for run in (nn.log1mexp, jax.jit(nn.log1mexp)):
        np.testing.assert_allclose(run(x), expected, rtol=4e-7)
    slopes = jax.vmap(jax.grad(nn.log1mexp))(x)
    np.testing.assert_allclose(slopes, 1 / np.expm1(exact), rtol=2e-6)
    assert nn.log1mexp(0.0) == -np.inf
    assert nn.log1mexp(np.inf) == 0
    assert np.isnan(nn.log1mexp(-1.0))
    first = jax.grad(nn.log1mexp)
    assert first(0.0) == np.inf
    assert first(200.0) == first(np.inf) == jax.grad(first)(200.0) == 0
    with jax.enable_x64(True):
        check_grads(nn.log1mexp, (np.array([0.3, 0.69, 2.0]),), order=2)


def test_algorithms_of_standardize() -> None:
    x = np.float32(1e4) + np.arange(4, dtype=np.float32)
    for algorithm in ("fast", "stable"):
        y = nn.standardize(x, algorithm=algorithm)
        np.testing.assert_allclose(y, (np.arange(4) - 1.5) / np.sqrt(1.25 + 1e-5), rtol=1e-6)
    with pytest.raises(ValueError, match="argument algorithm"):
        nn.standardize(x, algorithm="other")


def test_the_slope_of_gelu_where_the_cube_is_out_of_range() -> None:
    x = jnp.array([1e30, -1e30, 45.0, -45.0], np.float32)
    for run in (jax.vmap, lambda f: jax.jit(jax.vmap(f))):
        np.testing.assert_array_equal(run(jax.grad(nn.gelu))(x), [1, 0, 1, 0])


def test_the_slope_of_gelu_where_its_formula_changes() -> None:
    x = jnp.array([30.0, 40.0, np.inf, -30.0, -40.0, -np.inf, np.nan], np.float32)
    expected = [1, 1, 1, 0, 0, 0, np.nan]
    backwards = jax.vmap(jax.grad(nn.gelu))
    for slope in (backwards, lambda x: jax.jvp(nn.gelu, (x,), (jnp.ones_like(x),))[1]):
        for run in (slope, jax.jit(slope)):
            np.testing.assert_array_equal(run(x), expected)


# Of complex numbers: up to which each is its first piece, from where its last, and with slopes
# the three pieces.  The order is that of maxima, the real parts first.
_PIECES: dict[str, tuple[float, float, Any]] = {
    "relu6": (0, 6, lambda z: [(0, 0), (z, 1), (6, 0)]),
    "hard_sigmoid": (-3, 3, lambda z: [(0, 0), ((z + 3) / 6, 1 / 6), (1, 0)]),
    "hard_silu": (-3, 3, lambda z: [(0, 0), (z * (z + 3) / 6, (2 * z + 3) / 6), (z, 1)]),
    "sparse_plus": (-1, 1, lambda z: [(0, 0), ((z + 1) ** 2 / 4, (z + 1) / 2), (z, 1)]),
}
_PLANE = [1 + 1j, -2, 0.5j, -1j, 7, -4, 3 + 1j, 3 - 1j, 5j, -3 + 2j, -3 - 2j, 0.5 - 7j, -0.9 + 3j]


@pytest.mark.parametrize("name", _PIECES)
def test_pieces_of_complex_numbers(name: str) -> None:
    low, high, pieces = _PIECES[name]
    function = getattr(nn, name)

    def order(z: complex) -> tuple[float, float]:
        return z.real, z.imag

    def piece(z: complex) -> tuple[complex, complex]:
        return pieces(z)[(order(z) > (low, 0)) + (order(z) >= (high, 0))]

    expected = np.array([piece(complex(z)) for z in _PLANE], np.complex64).T
    x = jnp.array(_PLANE, np.complex64)

    def with_slope(x: Any) -> Any:
        return jax.jvp(function, (x,), (jnp.ones_like(x),))

    for run in (with_slope, jax.jit(with_slope)):
        np.testing.assert_allclose(np.stack(run(x)), expected, rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(function(x), expected[0], rtol=1e-6, atol=1e-7)


def test_log1mexp_of_complex_numbers() -> None:
    x = np.array([-2, -4, 1 + 1j, 3 - 1j, 0.1 - 0.2j, 5j, -3 + 2j], np.complex64)
    exact = x.astype(np.complex128)
    for run in (nn.log1mexp, jax.jit(nn.log1mexp)):
        np.testing.assert_allclose(run(x), np.log(1 - np.exp(-exact)), rtol=1e-6)


def test_second_derivatives_of_gelu_along_a_line_of_complex_numbers() -> None:
    # Where x is real, that of the real part is as if x were no complex number.
    line = jax.grad(jax.grad(lambda t: jnp.real(nn.gelu(jax.lax.complex(t, 0.0)))))
    np.testing.assert_allclose(line(0.7), jax.grad(jax.grad(nn.gelu))(0.7), rtol=1e-5)


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_gelu_of_complex_numbers_far_away(dtype: Any) -> None:
    # In which direction it is x, and in which 0, changes six times in a turn.
    with jax.enable_x64(dtype is np.complex128):
        for size in (3.0, 39.0, 41.0, 1e3, 9e7, 2e8, 1e20):
            x = (size * np.exp(1j * (np.arange(24) + 0.3) * np.pi / 12)).astype(dtype)
            exact = x.astype(np.clongdouble)
            half = np.sqrt(2 / np.pi) * (exact + 0.044715 * exact**3)
            part = 1 / (1 + np.exp(np.where(half.real < -300, 0, -2 * half)))
            expected = exact * np.where(half.real < -300, 0, part)
            for run in (nn.gelu, jax.jit(nn.gelu)):
                np.testing.assert_allclose(run(x), expected, rtol=2e-4, atol=1e-30)
            if size > 40:
                first = lambda x: jax.jvp(nn.gelu, (x,), (jnp.ones_like(x),))[1]  # noqa: E731
                second = jax.jvp(first, (x,), (jnp.ones_like(x),))[1]
                np.testing.assert_allclose(first(x), expected / exact, atol=1e-6)
                np.testing.assert_allclose(second, 0, atol=1e-6)
