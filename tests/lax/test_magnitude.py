"""Edges of magnitude, sign and neighbours."""

from __future__ import annotations

import numpy as np
import pytest

from morphax import jvp, lax
from tests.lax.engines import (
    array,
    check_all_agree,
    check_engines_agree,
    complex_array,
    pairs,
)
from tests.lax.test_arithmetic import INTEGERS, extremes

EDGES = (0.0, -0.0, 1.0, -1.0, 2.5, np.nan, np.inf, -np.inf)
FLOATS = ("float32", "float64", "float16", "bfloat16")


@pytest.mark.parametrize("dtype", FLOATS)
def test_floats_at_edges(dtype: str) -> None:
    check_all_agree(("abs", "sign", "neg"), array(EDGES, dtype))


@pytest.mark.parametrize("dtype", INTEGERS)
def test_integers_at_extremes(dtype: str) -> None:
    names = ("sign", "abs", "neg") if dtype.startswith("int") else ("sign", "neg")
    check_all_agree(names, extremes(dtype))


def test_complex_sign_at_edges() -> None:
    check_engines_agree(lax.sign, complex_array(EDGES), rtol=1e-6)


@pytest.mark.parametrize("dtype", FLOATS)
def test_neighbours_at_edges(dtype: str) -> None:
    check_engines_agree(lax.nextafter, *pairs(array(EDGES, dtype)))


@pytest.mark.parametrize(("x", "slope"), [(0.0, 1), (-0.0, 1), (2.0, 1), (-2.0, -1)])
def test_derivative_of_abs(x: float, slope: float) -> None:
    assert jvp(lax.abs, (np.float32(x),), (np.float32(1),))[1].to_host() == slope


def test_derivative_of_complex_abs_at_zero_is_zero() -> None:
    assert jvp(lax.abs, (np.complex64(0),), (np.complex64(1 + 1j),))[1].to_host() == 0


def test_neighbours_have_no_derivative() -> None:
    x = np.float32(1)
    with pytest.raises(TypeError, match=r"nextafter[\s\S]*depends on the dtype"):
        jvp(lax.nextafter, (x, x), (x, x))


def test_abs_of_unsigned_is_refused() -> None:
    with pytest.raises(TypeError, match=r"lax\.abs, operand 0[\s\S]*uint8"):
        lax.abs(np.uint8(1))
