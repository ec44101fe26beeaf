"""Edges of bit counts and high products."""

from __future__ import annotations

import numpy as np
import pytest

from morphax import dtypes, lax
from tests.lax.engines import array, check_all_agree, check_engines_agree, pairs
from tests.lax.test_arithmetic import INTEGERS, extremes


@pytest.mark.parametrize("dtype", INTEGERS)
def test_counts_at_extremes(dtype: str) -> None:
    check_all_agree(("population_count", "clz"), extremes(dtype))


def test_counts_of_four_bits() -> None:
    x = array([0, 1, 3, 7, -1, -8], "int4")
    assert lax.clz(x).to_host().astype(int).tolist() == [4, 3, 2, 1, 0, 0]
    assert lax.population_count(x).to_host().astype(int).tolist() == [0, 1, 2, 3, 4, 1]


@pytest.mark.parametrize("dtype", INTEGERS)
def test_high_products_at_extremes(dtype: str) -> None:
    x, y = pairs(extremes(dtype))
    high = check_engines_agree(lax.mulhi, x, y)
    bits = dtypes.itemsize_bits(dtype)
    truth = [(int(a) * int(b)) >> bits for a, b in zip(x, y, strict=True)]
    assert [int(h) for h in high] == truth


def test_floats_are_refused() -> None:
    with pytest.raises(TypeError, match=r"lax\.clz, operand 0[\s\S]*float32"):
        lax.clz(np.float32(1))
