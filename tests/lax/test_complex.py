"""Complex parts and conjugates: special values, gradients, errors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp
from morphax import lax, vjp
from tests.lax.engines import check_all_agree, check_engines_agree, complex_array

PARTS = (0.0, -0.0, 1.0, np.nan, np.inf, -np.inf)


def test_special_parts() -> None:
    check_all_agree(("real", "imag", "conj", "abs"), complex_array(PARTS))


def test_pairs_of_special_parts() -> None:
    x = np.array(PARTS, np.float32)
    check_engines_agree(lax.complex, x, x[::-1].copy())


def test_conjugate_of_real_is_complex() -> None:
    conjugate = check_engines_agree(lax.conj, np.array([1.0, -0.0], np.float32))
    assert conjugate.dtype == np.complex64


@pytest.mark.parametrize(("name", "gradient"), [("real", 1), ("imag", -1j), ("abs", 0.6 - 0.8j)])
def test_gradient_is_the_conjugate_of_the_steepest_ascent(name: str, gradient: complex) -> None:
    (result,) = vjp(getattr(lax, name), np.complex64(3 + 4j))[1](np.float32(1))
    np.testing.assert_allclose(result.to_host(), gradient, rtol=1e-6)


def test_results_do_not_share_memory_with_the_operand() -> None:
    z = np.array([1 + 2j], np.complex64)
    re = lax.real(z)
    z[0] = 0
    assert re.to_host()[0] == 1


def test_real_part_of_real_is_refused() -> None:
    with pytest.raises(TypeError, match=r"lax\.real, operand 0[\s\S]*complex"):
        lax.real(np.float32(1))


def test_complex_of_half_floats_is_refused() -> None:
    with pytest.raises(TypeError, match=r"lax\.complex, operand 0[\s\S]*float32 or float64"):
        lax.complex(np.float16(1), np.float16(1))


def test_circular_functions_on_the_imaginary_axis_are_hyperbolic_ones() -> None:
    """XLA multiplies 0 and what is out of range."""
    heights = np.array([0.0, -0.0, 2.0, -2.0, 1e30, -1e30, np.inf, -np.inf], np.float32)
    for zero in (0.0, -0.0):
        z = np.empty(len(heights), np.complex64)
        z.real, z.imag = zero, heights
        with jax.cpu_engine("xla"):
            sines, cosines = [np.asarray(jax.jit(f)(z)) for f in (lax.sin, lax.cos)]
        with np.errstate(over="ignore"):
            rising, even = np.sinh(heights), np.cosh(heights)
        np.testing.assert_array_equal(np.signbit(sines.real), np.signbit(zero))
        np.testing.assert_array_equal(sines.real, 0)
        np.testing.assert_allclose(sines.imag, rising, rtol=1e-6)
        np.testing.assert_array_equal(cosines.imag, 0)
        np.testing.assert_array_equal(
            np.signbit(cosines.imag), np.signbit(-zero * np.copysign(1, heights))
        )
        np.testing.assert_allclose(cosines.real, even, rtol=1e-6)


POINTS = [
    complex(x, y)
    for x in (0.0, -0.0, 1e-30, -1e-4, 0.3, -2.0, 20.0)
    for y in (0.0, 1e-30, -1e-4, 0.7, -3.0, 20.0)
]


@pytest.mark.parametrize("name", ["sin", "cos", "sinh", "cosh", "expm1", "exp2"])
def test_both_parts_have_their_digits(name: str) -> None:
    """XLA's sinh 10⁻⁴ has four digits; each part counts by itself, except for cancellation."""
    function, z = getattr(lax, name), np.array(POINTS, np.complex64)
    wide = z.astype(np.clongdouble)
    expected = (
        np.exp(wide * np.log(np.longdouble(2))) if name == "exp2" else getattr(np, name)(wide)
    )
    with jax.cpu_engine("xla"):
        compiled = np.asarray(jax.jit(function)(z))
    for value in (np.asarray(function(jnp.asarray(z))), compiled):
        np.testing.assert_allclose(value.real, expected.real.astype(float), rtol=4e-6, atol=1e-37)
        np.testing.assert_allclose(value.imag, expected.imag.astype(float), rtol=4e-6, atol=1e-37)


@pytest.mark.parametrize(
    ("z", "expected"), [(1e-30, 1e-30), (1e-4j, 5e-9 + 1e-4j), (1e-6 - 1e-3j, 1.5e-6 - 1e-3j)]
)
def test_logarithms_near_one_keep_their_small_parts(z: complex, expected: complex) -> None:
    for function in (lax.log1p, jax.jit(lax.log1p)):
        value = np.asarray(function(jnp.asarray([z], np.complex64)))
        np.testing.assert_allclose(value.real, expected.real, rtol=2e-6)
        np.testing.assert_allclose(value.imag, expected.imag, rtol=2e-6)


@pytest.mark.parametrize("function", [lax.exp2, lax.expm1])
def test_powers_far_out_stay_on_the_axis(function: Callable[..., Any]) -> None:
    z = jnp.asarray([complex(np.inf, 0.0), 1e30, complex(-np.inf, 1.0)], np.complex64)
    for value in map(np.asarray, (function(z), jax.jit(function)(z))):
        np.testing.assert_array_equal(value.real, [np.inf, np.inf, 0 - (function is lax.expm1)])
        np.testing.assert_array_equal(value.imag, 0)


@pytest.mark.parametrize("function", [lax.exp2, lax.expm1, lax.log1p, lax.sin])
def test_one_number_is_an_array_without_axes(function: Callable[..., Any]) -> None:
    z = jnp.asarray(0.1 - 0.2j, np.complex64)
    np.testing.assert_array_equal(function(z), function(z[None])[0])
