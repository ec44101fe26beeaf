"""Edges of comparisons: NaN, signed zeros, total order, random keys."""

from __future__ import annotations

import numpy as np
import pytest

from morphax import lax
from tests.lax.engines import array, check_all_agree, pairs
from tests.lax.test_arithmetic import extremes

EDGES = (-np.inf, -1.0, -0.0, 0.0, 1.0, np.inf, np.nan, -np.nan)
COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge")
TOTAL_ORDER = (lax.eq_to_p, lax.lt_to_p, lax.le_to_p)


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16"])
def test_floats_at_edges(dtype: str) -> None:
    check_all_agree(COMPARISONS, *pairs(array(EDGES, dtype)))


@pytest.mark.parametrize("dtype", ["int4", "int8", "int64", "uint4", "uint8", "uint64", "bool"])
def test_integers_at_extremes(dtype: str) -> None:
    values = array([False, True], "bool") if dtype == "bool" else extremes(dtype)
    check_all_agree(COMPARISONS, *pairs(values))


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16", "int8"])
def test_total_order(dtype: str) -> None:
    values = extremes(dtype) if dtype == "int8" else array(EDGES, dtype)
    check_all_agree({str(p): p.bind for p in TOTAL_ORDER}, *pairs(values))


def test_total_order_of_floats() -> None:
    x = array([-np.nan, -np.inf, -1.0, -0.0, 0.0, 1.0, np.inf, np.nan], "float32")
    assert lax.lt_to_p.bind(x[:-1], x[1:]).to_host().all()
    assert lax.eq_to_p.bind(x, x).to_host().all()


def test_nan_differs_from_itself() -> None:
    nan = np.float32(np.nan)
    assert not lax.eq(nan, nan).to_host()
    assert lax.ne(nan, nan).to_host()


def test_order_of_complex_numbers_is_refused() -> None:
    with pytest.raises(TypeError, match=r"lax\.lt, operand 0[\s\S]*complex64"):
        lax.lt(np.complex64(1), np.complex64(2))


def test_result_is_strongly_typed() -> None:
    assert not lax.eq(1.0, 2.0).aval.weak_type
