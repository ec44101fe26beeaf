"""Edges of transcendental functions: poles, branch points, infinities, NaN, signed zeros."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import special

from morphax import cpu_engine, enable_x64, grad, jit, jvp, lax
from morphax import numpy as jnp
from morphax.lax.elementwise.inverse_erfc import erfc_inv_p
from tests.lax.engines import (
    array,
    check_all_agree,
    check_engines_agree,
    complex_array,
    pairs,
)

# No result is subnormal: XLA flushes those to zero on the CPU, NumPy does not.
EDGES = (
    0.0, -0.0, 1, -1, 0.5, -0.5, 2, -2, 3, -2.5, 9, -10, 80, -80, 1e3, -1e3, 1e-3, 1e4,
    np.nan, np.inf, -np.inf,
)  # fmt: skip
TOLERANCE = {"float32": 1e-5, "float64": 1e-13, "float16": 2e-3, "bfloat16": 2e-2}
FAMILIES = (
    ("exp", "exp2", "expm1", "log", "log2", "log1p", "logistic"),
    ("sin", "cos", "tan", "asin", "acos", "atan"),
    ("sinh", "cosh", "tanh", "asinh", "acosh", "atanh"),
    ("erf", "erfc", "erf_inv", "digamma", "bessel_i0e", "bessel_i1e"),
)


@pytest.mark.parametrize("names", FAMILIES, ids="-".join)
@pytest.mark.parametrize("dtype", TOLERANCE)
def test_edges(names: tuple[str, ...], dtype: str) -> None:
    check_all_agree(names, array(EDGES, dtype), rtol=TOLERANCE[dtype])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_inverse_of_erfc_to_its_ends(dtype: str) -> None:
    tails = (1e-30, 1e-10, 0.499, 0.501, 1.499, 1.501, 1.75, 2, -0.5, 2.5)
    x = array((*EDGES, *tails), dtype)
    x = np.append(x, np.finfo(dtype).tiny)
    value = check_engines_agree(erfc_inv_p.bind, x, rtol=3e-7 if dtype == "float32" else 1e-14)
    np.testing.assert_array_equal(value[[0, 1]], np.inf)


def test_powers_of_two_have_whole_logarithms() -> None:
    exponents = np.arange(-1022, 1024)
    with enable_x64(True):
        np.testing.assert_array_equal(lax.log2(2.0**exponents), exponents)
        np.testing.assert_allclose(jit(lax.log2)(2.0**exponents), exponents, rtol=3e-16)


def test_one_minus_square_keeps_its_digits() -> None:
    x = np.float32([1 - 2**-24, -1 + 2**-24, 1e-6])
    for given in (lax.one_minus_square(x), jit(lax.one_minus_square)(x)):
        np.testing.assert_allclose(given, 1 - x.astype("f8") ** 2, rtol=2e-7)
    slope = jvp(lambda x: jvp(lax.one_minus_square, (x,), (1.0,))[1], (1e-9,), (1.0,))
    assert slope == (np.float32(-2e-9), -2)


def test_polynomials() -> None:
    assert lax.polynomial(3.0, [1.0, 5.0, 2.0]) == 34
    np.testing.assert_array_equal(lax.polynomial(np.float32([np.inf, 1]), [2.0]), [2, 2])
    np.testing.assert_array_equal(lax.polynomial(2.0, [np.float32([1, 2]), 1.0]), [3, 4])
    assert lax.polynomial(np.ones((2, 1)), [np.ones((1, 3))]).shape == (2, 3)
    assert lax.polynomial(3.0, [1.5, 1.0]) == 4.5
    with pytest.raises(ValueError, match="rank of x"):
        lax.polynomial(np.ones((2, 3)), [np.ones(3)])
    with pytest.raises(ValueError, match="unroll"):
        lax.polynomial(2.0, [1.0], unroll=-1)


@pytest.mark.parametrize("dtype", TOLERANCE)
def test_lgamma_at_edges(dtype: str) -> None:
    # At its zero 1, XLA's result of float64 is rounding error alone.
    x = array([v for v in EDGES if v != 1 or dtype != "float64"], dtype)
    check_engines_agree(lax.lgamma, x, rtol=TOLERANCE[dtype])


@pytest.mark.parametrize("engine", ["xla", "native"])
def test_lgamma_of_float32_has_its_digits(engine: str) -> None:
    rng = np.random.default_rng(0)
    regions = (
        *(rng.uniform(low, high, 2000) for low, high in ((1e-3, 0.5), (0.5, 3), (3, 40))),
        *(zero + 10 ** rng.uniform(-6, -1, 500) for zero in (1, 2)),
        10 ** rng.uniform(-37, 36, 2000),
        rng.uniform(-4.5, -4.1, 500),
    )
    x = np.concatenate(regions).astype("f4")
    truth = special.gammaln(x.astype("f8"))
    with cpu_engine(engine):
        given = np.asarray(jit(lambda x: lax.lgamma(x))(x))
        zeros = np.asarray(jit(lambda x: lax.lgamma(x))(np.float32([1, 2])))
    units = np.abs(given - truth) / np.spacing(np.abs(truth).astype("f4"))
    assert units.max() < 3
    assert not zeros.any()
    assert not np.signbit(zeros).any()


# XLA takes the side of 0 on branch cuts where NumPy heeds the sign of −0.
@pytest.mark.parametrize("names", FAMILIES[:3], ids="-".join)
def test_complex_numbers_on_the_axes(names: tuple[str, ...]) -> None:
    values = complex_array((0.0, -0.0, 0.5, -0.5, 2.3, -2.3))
    check_all_agree(names, values, rtol=1e-5, zeros=False)


@pytest.mark.parametrize("dtype", TOLERANCE)
def test_atan2_at_edges(dtype: str) -> None:
    values = array((0.0, -0.0, 1, -1, 2.5, np.nan, np.inf, -np.inf), dtype)
    check_engines_agree(lax.atan2, *pairs(values), rtol=TOLERANCE[dtype])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_zeta_and_polygamma_at_edges(dtype: str) -> None:
    values = array((0.0, -0.0, 1, -1, 0.5, -0.5, 2, -2, 2.5, 3, np.nan, np.inf, -np.inf), dtype)
    check_all_agree(("zeta", "polygamma"), *pairs(values), rtol=TOLERANCE[dtype])


def test_zeta_and_polygamma_far_below_zero() -> None:
    x = np.array([-9.7, -170.25, -2.75, -1e-8])
    with enable_x64(True):
        for run in (lambda f: f, jit):
            for m in (1.0, 2.0, 5.0):
                found = run(lax.polygamma)(np.full(4, m), x)
                np.testing.assert_allclose(found, special.polygamma(int(m), x), 1e-11)
            slope = run(grad(lax.digamma))(-1e8 - 0.25)
            np.testing.assert_allclose(slope, 2 * np.pi**2, 1e-6)


# Function, point, derivative.
DERIVATIVES = [
    (lax.log, 0.0, np.inf),
    (lax.log1p, -1.0, np.inf),
    (lax.asin, 1.0, np.inf),
    (lax.acos, 1.0, -np.inf),
    (lax.acosh, 1.0, np.inf),
    (lax.atanh, 1.0, np.inf),
    (lax.atan, np.inf, 0.0),
    (lax.asinh, np.inf, 0.0),
    (lax.tanh, np.inf, 0.0),
    (lax.logistic, -np.inf, 0.0),
    (lax.erf, np.inf, 0.0),
    (lax.erf_inv, 1.0, np.inf),
    (lax.bessel_i0e, 0.0, 0.0),
    (lax.bessel_i1e, 0.0, 0.5),
    (lax.floor, 0.5, 0.0),
]


@pytest.mark.parametrize(("function", "point", "slope"), DERIVATIVES)
def test_derivatives_at_edges(function: object, point: float, slope: float) -> None:
    tangent = jvp(function, (np.float32(point),), (np.float32(1),))[1]
    assert float(tangent.to_host()) == slope


def test_missing_derivative_says_why() -> None:
    x = np.float32(2)
    with pytest.raises(TypeError, match=r"whole number"):
        jvp(lambda m: lax.polygamma(m, x), (x,), (x,))


def test_zeta_and_polygamma_far_out_in_float32() -> None:
    x, q = [np.float32(v) for v in ([1e6, 1e6, 1e10, 2, 1e6], [0.9, 2, 100, 1e30, 1])]
    orders, points = [np.float32(v) for v in ([1, 3, 50, 2], [1e20, 1e10, 23, 1e-5])]
    derivatives = [float(special.polygamma(int(m), z)) for m, z in zip(orders, points, strict=True)]
    for run in (lambda f: f, jit):
        np.testing.assert_allclose(run(lax.zeta)(x, q), [np.inf, 0, 0, 1e-30, 1], 1e-6)
        np.testing.assert_allclose(run(lax.polygamma)(orders, points), derivatives, 1e-6)


@pytest.mark.parametrize("name", ["exp", "sin", "tanh"])
def test_integers_are_refused(name: str) -> None:
    with pytest.raises(TypeError, match=rf"lax\.{name}, operand 0[\s\S]*int32[\s\S]*floating"):
        getattr(lax, name)(np.int32(1))


def test_special_functions_of_complex_numbers_are_refused() -> None:
    with pytest.raises(TypeError, match=r"lax\.erf, operand 0[\s\S]*complex64"):
        lax.erf(np.complex64(1))


def test_digits_where_one_plus_x_is_about_a_half() -> None:
    x = np.linspace(-0.43, -0.39, 200)
    with enable_x64(True):
        np.testing.assert_allclose(jit(lax.log1p)(x), np.log1p(x), 1e-15)
        np.testing.assert_allclose(jit(lax.atanh)(x), np.arctanh(x), 1e-15)


ENGINES = [{"jax_cpu_engine": engine} for engine in ("native", "xla")]
WAYS = (grad, *(lambda f, n, e=e: jit(grad(f, n), compiler_options=e) for e in ENGINES))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("way", range(len(WAYS)))
def test_slopes_where_squares_are_out_of_range(way: int, dtype: str) -> None:
    far = {"float32": 1e30, "float64": 1e300}[dtype]
    tolerance = 8 * np.finfo(dtype).eps

    def check(function: Any, at: tuple[float, ...], slopes: tuple[float, ...]) -> None:
        found = WAYS[way](function, tuple(range(len(at))))(*np.array(at, dtype))
        np.testing.assert_allclose(found, np.array(slopes, dtype), rtol=tolerance)

    with enable_x64(dtype == "float64"):
        for x in (far, -far):
            check(lax.asinh, (x,), (1 / far,))
        check(lax.acosh, (far,), (1 / far,))
        for size in (far, 1 / far):
            check(lax.atan2, (size, size), (0.5 / size, -0.5 / size))
            check(lax.atan2, (0, size), (1 / size, 0))
            check(lax.atan2, (-size, 0), (0, 1 / size))
            check(lax.div, (size, size), (1 / size, -1 / size))
            check(jnp.hypot, (size, -size), (0.5**0.5, -(0.5**0.5)))
        check(lax.atan2, (0.5, far), (1 / far, 0))
        for logs in (jnp.logaddexp, jnp.logaddexp2):
            check(logs, (far, far), (0.5, 0.5))
        check(jnp.hypot, (0.5**40 * far, far), (0.5**40, 1))


@pytest.mark.parametrize("engine", [None, "native", "xla"])
def test_slopes_of_complex_inverses_far_out(engine: str | None) -> None:
    far = np.complex64(1e30 + 1e30j)
    for function, factor in ((lax.asin, 1j), (lax.acos, -1j), (lax.asinh, 1)):

        def move(z: Any, function: Any = function) -> Any:
            return jvp(function, (z,), (np.complex64(1),))[1]

        run = jit(move, compiler_options={"jax_cpu_engine": engine}) if engine else move
        np.testing.assert_allclose(run(far), factor / complex(far), rtol=1e-6)


@pytest.mark.parametrize("way", range(len(WAYS)))
def test_slopes_keep_their_digits(way: int) -> None:
    for x in (-20.0, -80.0):
        np.testing.assert_allclose(WAYS[way](lax.expm1, 0)(np.float32(x)), np.exp(x), rtol=1e-6)
    curvature = WAYS[way](grad(lax.tanh), 0)(np.float32(1e-8))
    np.testing.assert_allclose(curvature, -2e-8, rtol=1e-6)
