"""Edges of powers and roots: zeros, infinities, whole exponents; derivatives there; errors."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest

from morphax import jit, jvp, lax, make_jaxpr, vjp
from tests.lax.engines import (
    array,
    check_all_agree,
    check_engines_agree,
    complex_array,
    pairs,
)
from tests.lax.test_arithmetic import INTEGERS, extremes

EDGES = (0.0, -0.0, 1, -1, 0.5, -0.5, 2, 3, -2.5, 100, np.nan, np.inf, -np.inf)
TOLERANCE = {"float32": 3e-6, "float64": 1e-14, "float16": 2e-3, "bfloat16": 2e-2}


@pytest.mark.parametrize("dtype", TOLERANCE)
def test_pow_at_edges(dtype: str) -> None:
    check_engines_agree(lax.pow, *pairs(array(EDGES, dtype)), rtol=TOLERANCE[dtype])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("exponent", EDGES)
def test_pow_of_a_scalar_at_edges(exponent: float, dtype: str) -> None:
    x, y = array(EDGES, dtype), array([exponent], dtype)
    check_engines_agree(lax.pow, x, y.reshape(()), rtol=TOLERANCE[dtype])
    check_engines_agree(lax.pow, x[1:2], y, rtol=TOLERANCE[dtype])
    check_engines_agree(lax.pow, x[:0], y.reshape(()), rtol=TOLERANCE[dtype])


@pytest.mark.parametrize("dtype", TOLERANCE)
def test_roots_at_edges(dtype: str) -> None:
    names = ("sqrt", "rsqrt", "cbrt", "reciprocal", "square")
    check_all_agree(names, array(EDGES, dtype), rtol=TOLERANCE[dtype])


def whole_powers(*exponents: int) -> dict[str, object]:
    return {f"x**{y}": partial(lax.integer_pow, y=y) for y in exponents}


def test_integer_pow_at_edges() -> None:
    exponents = (0, 1, 2, 3, 7, 31, -1, -2, -7)
    check_all_agree(whole_powers(*exponents), array(EDGES, "float32"), rtol=1e-5)


@pytest.mark.parametrize("dtype", INTEGERS)
def test_integer_pow_wraps_around(dtype: str) -> None:
    check_all_agree(whole_powers(0, 1, 2, 5, 64), extremes(dtype))


def test_complex_roots_on_the_cut() -> None:
    names = ("sqrt", "reciprocal", "rsqrt")
    check_all_agree(names, complex_array((0.0, -0.0, 1.0, -1.0)), rtol=1e-6, zeros=False)


def test_complex_powers_of_zero() -> None:
    exponents = np.array([0, 1, 2.5, -1, 1j, 1 + 1j], np.complex64)
    check_engines_agree(lax.pow, np.zeros(6, np.complex64), exponents)


# Function, point, derivative.
DERIVATIVES = [
    (lax.sqrt, 0.0, np.inf),
    (lax.rsqrt, 0.0, -np.inf),
    (lax.cbrt, 0.0, np.inf),
    (lax.reciprocal, 0.0, -np.inf),
    (lambda x: lax.integer_pow(x, 0), np.nan, 0.0),
    (lambda x: lax.integer_pow(x, 1), 0.0, 1.0),
    (lambda x: lax.pow(x, 0), 0.0, 0.0),
    (lambda x: lax.pow(x, 1), 0.0, 1.0),
    (lambda x: lax.pow(x, 2), 0.0, 0.0),
    (lambda x: lax.pow(x, 0.0), 0.0, 0.0),
    (lambda x: lax.pow(x, 1.0), 0.0, 1.0),
    (lambda x: lax.pow(0.0, x), 2.0, 0.0),
    (lambda x: lax.pow(0.0, x), 0.0, 0.0),
    (lambda x: lax.pow(0.0, x), -1.0, np.nan),
]


@pytest.mark.parametrize(("function", "point", "slope"), DERIVATIVES)
def test_derivatives_at_edges(function: object, point: float, slope: float) -> None:
    x, one = np.float32(point), np.float32(1)
    np.testing.assert_equal(float(jvp(function, (x,), (one,))[1].to_host()), slope)
    np.testing.assert_equal(float(vjp(function, x)[1](one)[0].to_host()), slope)


@pytest.mark.parametrize(("y", "expected"), [(0, 0), (1, 0), (2, 2), (3, 0)])
def test_second_derivative_of_whole_powers_at_zero(y: int, expected: float) -> None:
    x, one = np.float32(0), np.float32(1)

    def slope(x: object) -> object:
        return jvp(lambda x: lax.pow(x, y), (x,), (one,))[1]

    assert jvp(slope, (x,), (one,))[1].to_host() == expected


def test_whole_exponent_keeps_its_dtype() -> None:
    (eqn,) = make_jaxpr(lambda x: lax.pow(x, 2))(np.zeros(3, np.float32)).eqns
    assert eqn.invars[1].aval.dtype == np.int32


def test_negative_power_of_integers_is_refused() -> None:
    with pytest.raises(TypeError, match=r"lax\.integer_pow[\s\S]*y=-2[\s\S]*y ≥ 0 for integers"):
        lax.integer_pow(np.int32(2), -2)


def test_fractional_exponent_of_integer_pow_is_refused() -> None:
    with pytest.raises(TypeError, match="integer"):
        lax.integer_pow(np.float32(2), 0.5)


def test_integer_base_is_refused() -> None:
    with pytest.raises(TypeError, match=r"lax\.pow, operand 0[\s\S]*int32"):
        lax.pow(np.int32(2), np.int32(2))


def test_exponent_of_another_float_is_refused() -> None:
    with pytest.raises(TypeError, match=r"lax\.pow, argument y[\s\S]*float16[\s\S]*float32"):
        lax.pow(np.float32(2), np.float16(2))


@pytest.mark.parametrize("call", [lax.cbrt, jit(lax.cbrt)], ids=["eager", "compiled"])
def test_the_cube_root_of_a_cube_is_exact(call: Any) -> None:
    roots = np.arange(-255.0, 256.0)
    np.testing.assert_array_equal(call((roots**3).astype(np.float32)), roots)
