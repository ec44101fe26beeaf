"""Edges of rounding: halves, signed zeros, infinities, NaN; error texts."""

from __future__ import annotations

import numpy as np
import pytest

from morphax import lax
from tests.lax.engines import array, check_all_agree

EDGES = (
    0.0, -0.0, 0.2, -0.2, 0.5, -0.5, 1.5, -1.5, 2.5, -2.5, 0.49999997, 8388609.0, 1e30,
    np.nan, np.inf, -np.inf,
)  # fmt: skip
ROUNDINGS = {
    "floor": lax.floor,
    "ceil": lax.ceil,
    "away_from_zero": lax.round,
    "even": lambda x: lax.round(x, lax.RoundingMethod.TO_NEAREST_EVEN),
    "is_finite": lax.is_finite,
}


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16"])
def test_edges(dtype: str) -> None:
    check_all_agree(ROUNDINGS, array(EDGES, dtype))


def test_method_may_be_its_number() -> None:
    assert lax.round(np.float32(2.5), 1).to_host() == 2


def test_unknown_method_is_refused() -> None:
    with pytest.raises(
        ValueError, match=r"lax\.round, argument rounding_method[\s\S]*7[\s\S]*EVEN"
    ):
        lax.round(np.float32(2.5), 7)


def test_integers_are_refused() -> None:
    with pytest.raises(TypeError, match=r"lax\.floor, operand 0[\s\S]*int32"):
        lax.floor(np.int32(1))
