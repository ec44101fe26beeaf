"""Complex parts and conjugates: special values, gradients, errors."""

from __future__ import annotations

import numpy as np
import pytest

import morphax as jax
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
