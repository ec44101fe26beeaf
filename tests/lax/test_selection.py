"""Edges of selection: signed zeros, NaN, ties, indices out of range; error texts."""

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
from tests.lax.test_arithmetic import extremes

EDGES = (0.0, -0.0, 1.0, -1.0, np.nan, np.inf, -np.inf)
FLOATS = ("float32", "float64", "float16", "bfloat16")


@pytest.mark.parametrize("dtype", [*FLOATS, "int4", "int8", "uint64", "bool"])
def test_extrema_at_edges(dtype: str) -> None:
    values = extremes(dtype) if "int" in dtype else array(EDGES, dtype)
    check_all_agree(("max", "min"), *pairs(values))


def test_complex_extrema_at_edges() -> None:
    check_all_agree(("max", "min"), *pairs(complex_array(EDGES)))


def test_zeros_have_an_order_in_extrema() -> None:
    zero, negative = np.float32(0.0), np.float32(-0.0)
    assert not np.signbit(lax.max(negative, zero).to_host())
    assert np.signbit(lax.min(zero, negative).to_host())


@pytest.mark.parametrize("dtype", [*FLOATS, "int8", "bool", "complex64"])
def test_clamp_at_edges(dtype: str) -> None:
    values = extremes(dtype)[::2] if dtype == "int8" else array(EDGES, dtype)
    low, x, high = (a.ravel() for a in np.meshgrid(values, values, values, indexing="ij"))
    check_engines_agree(lax.clamp, low, x, high)


def test_upper_bound_wins() -> None:
    assert lax.clamp(3.0, 0.0, 2.0).to_host() == 2.0


def test_index_out_of_range_means_the_nearest_case() -> None:
    which = np.array([-100, -1, 0, 1, 2, 3, 100], np.int32)
    cases = [np.full(7, value, np.float32) for value in (10, 20, 30)]
    chosen = check_engines_agree(lax.select_n, which, *cases)
    assert chosen.tolist() == [10, 10, 10, 20, 30, 30, 30]


# Points, then the derivatives there with respect to each operand.
DERIVATIVES = [
    (lax.max, (1.0, 1.0), (0.5, 0.5)),
    (lax.max, (0.0, -0.0), (0.5, 0.5)),
    (lax.min, (1.0, 1.0), (0.5, 0.5)),
    (lax.min, (1.0, 2.0), (1.0, 0.0)),
    (lax.max, (np.nan, 2.0), (0.0, 0.0)),
    (lax.max, (np.inf, np.inf), (0.5, 0.5)),
    (lax.clamp, (0.0, 0.0, 1.0), (0.0, 0.0, 0.0)),
    (lax.clamp, (0.0, 1.0, 1.0), (0.0, 0.0, 0.0)),
    (lax.clamp, (0.0, 0.5, 1.0), (0.0, 1.0, 0.0)),
    (lax.clamp, (0.0, -1.0, 1.0), (1.0, 0.0, 0.0)),
    (lax.clamp, (0.0, 2.0, 1.0), (0.0, 0.0, 1.0)),
    (lax.clamp, (3.0, 0.0, 2.0), (0.0, 0.0, 0.0)),
]


@pytest.mark.parametrize(("function", "point", "expected"), DERIVATIVES)
def test_derivatives_at_ties_and_bounds(function: object, point: tuple, expected: tuple) -> None:
    x = tuple(np.float32(v) for v in point)
    for position, slope in enumerate(expected):
        direction = tuple(np.float32(i == position) for i in range(len(x)))
        assert float(jvp(function, x, direction)[1].to_host()) == slope


def test_no_case_is_refused() -> None:
    with pytest.raises(ValueError, match=r"lax\.select_n, argument cases[\s\S]*at least one"):
        lax.select_n(np.bool_(True))


def test_third_case_of_booleans_is_refused() -> None:
    x = np.zeros(2, np.float32)
    with pytest.raises(TypeError, match=r"lax\.select_n[\s\S]*at most two cases"):
        lax.select_n(np.zeros(2, bool), x, x, x)


def test_cases_of_two_dtypes_are_refused() -> None:
    with pytest.raises(TypeError, match=r"lax\.select_n[\s\S]*cases of one dtype"):
        lax.select(np.bool_(True), np.float32(1), np.int32(1))


def test_float_index_is_refused() -> None:
    x = np.zeros(2, np.float32)
    with pytest.raises(TypeError, match=r"lax\.select_n, operand 0[\s\S]*boolean or"):
        lax.select_n(x, x, x)


@pytest.mark.parametrize("shapes", [((2,), (3,), (3,)), ((3,), (3,), ()), ((3,), (), (3,))])
def test_shapes_of_selection_that_differ_are_refused(shapes: tuple) -> None:
    which, *cases = (np.zeros(shape, np.float32) for shape in shapes)
    with pytest.raises(TypeError, match=r"lax\.select_n[\s\S]*cases of one shape"):
        lax.select_n(which > 0, *cases)


def test_shapes_of_bounds_that_differ_are_refused() -> None:
    x = np.zeros(3, np.float32)
    with pytest.raises(TypeError, match=r"lax\.clamp[\s\S]*bounds of the shape of x"):
        lax.clamp(x, np.float32(1), x)
