"""Edges of bit operations: shifts by the width and more, narrow integers."""

from __future__ import annotations

import numpy as np
import pytest

from morphax import lax
from tests.lax.engines import array, check_all_agree, check_engines_agree, pairs
from tests.lax.test_arithmetic import INTEGERS, extremes

LOGICAL = ("bitwise_and", "bitwise_or", "bitwise_xor")
SHIFTS = ("shift_left", "shift_right_arithmetic", "shift_right_logical")


@pytest.mark.parametrize("dtype", INTEGERS)
def test_extremes(dtype: str) -> None:
    check_all_agree((*SHIFTS, *LOGICAL), *pairs(extremes(dtype)))
    check_engines_agree(lax.bitwise_not, extremes(dtype))


@pytest.mark.parametrize(
    ("name", "dtype", "x", "expected"),
    [
        ("shift_left", "int8", -56, [-56, -112, 0, 0, 0, 0]),
        ("shift_right_arithmetic", "int8", -56, [-56, -28, -1, -1, -1, -1]),
        ("shift_right_arithmetic", "uint8", 200, [200, 228, 255, 255, 255, 255]),
        ("shift_right_logical", "int8", -56, [-56, 100, 1, 0, 0, 0]),
    ],
)
def test_far_shifts(name: str, dtype: str, x: int, expected: list[int]) -> None:
    places = np.array([0, 1, 7, 8, 100, -1]).astype(dtype)
    shifted = getattr(lax, name)(np.full(6, x, dtype), places).to_host()
    np.testing.assert_array_equal(shifted, np.array(expected).astype(dtype))


def test_floats_are_refused() -> None:
    with pytest.raises(TypeError, match=r"lax\.and, operand 0[\s\S]*float32"):
        lax.bitwise_and(np.float32(1), np.float32(1))


def test_shifts_of_booleans_are_refused() -> None:
    with pytest.raises(TypeError, match=r"lax\.shift_left, operand 0[\s\S]*bool"):
        lax.shift_left(array([True], "bool"), array([True], "bool"))
