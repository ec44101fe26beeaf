"""Exponentials and logarithms of float64 of native code against extended precision."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import morphax as jax
from morphax import lax
from morphax.engines.reference import fusion

pytestmark = [
    pytest.mark.skipif(fusion.native is None, reason="native code is not there"),
    pytest.mark.skipif(np.finfo(np.longdouble).nmant < 63, reason="long double is no longer"),
]

# With so many units in the last place, by which results may be off.
EXPECTED: dict[str, tuple[Callable[[Any], Any], float]] = {
    "exp": (np.exp, 0.8),
    "exp2": (np.exp2, 0.85),
    "expm1": (np.expm1, 1),
    "sinh": (np.sinh, 1.7),
    "cosh": (np.cosh, 1.2),
    "tanh": (np.tanh, 1.5),
    "logistic": (lambda x: np.exp(np.minimum(x, 0)) / (1 + np.exp(-np.abs(x))), 2.4),
    "log1p": (np.log1p, 0.95),
    "asinh": (np.arcsinh, 1.1),
    "acosh": (np.arccosh, 2),
    "atanh": (np.arctanh, 1.5),
}
SPECIAL = np.array(
    [
        *(0.0, -0.0, np.inf, -np.inf, np.nan, 5e-324, -5e-324, 1e-310, 1e-300, -1e-20, 1.0, -1.0),
        *(709.782712893384, 709.7827128933841, 710.4758600739439, 710.475860073944, 711.0, 1e308),
        *(-708.3964185322641, -708.3964185322642, -744.4400719213812, -745.1332191019411),
        *(-745.1332191019412, -746.0, -1e308, 1023.0, 1024.0, -1022.0, -1023.0, -1074.0, -1075.0),
        *(-1076.0, 0.55, 0.5499999999999999, 0.34657359027997264, 36.7, -37.5, 19.999, 20.001),
        *(2.0**60, 2.0**60 + 256, -(2.0**63), 2.0**1023, 1.7976931348623157e308, 2.0**-26, 2.0**53),
        *(1 + 2.0**-52, 1 - 2.0**-53, 2.0**-53 - 1, 2.0**-52 - 1, 0.41421356237309503, 0.25),
    ]
)


@pytest.fixture(autouse=True)
def _wide_dtypes() -> Iterator[None]:
    with jax.enable_x64(True):
        yield


def _numbers() -> Any:
    """Of all sizes, and many where results are small, ordinary, subnormal or next to the end."""
    rng = np.random.default_rng(0)
    ranges = ((-1, 1), (-10, 10), (-0.01, 0.01), (-750, 712), (-1080, 1030), (708, 711), (1, 1.1))
    spread = np.exp(rng.uniform(-700, 7, 4000)) * rng.choice([-1, 1], 4000)
    bits = rng.integers(0, 1 << 64, 4000, np.uint64).view(np.float64)
    return np.concatenate([SPECIAL, spread, bits, *[rng.uniform(*ends, 4000) for ends in ranges]])


@pytest.mark.parametrize("name", EXPECTED)
def test_numbers_have_all_digits(name: str) -> None:
    expected, most = EXPECTED[name]
    x = _numbers()
    with np.errstate(all="ignore"):
        truth = expected(x.astype(np.longdouble))
        rounded = truth.astype(np.float64)
        result = np.asarray(getattr(lax, name)(x))
        distances = np.abs(result - truth) / np.spacing(np.abs(rounded))
    assert result.dtype == np.float64
    is_number = np.isfinite(rounded)
    np.testing.assert_array_equal(result[~is_number], rounded[~is_number])
    assert distances[is_number].max() <= most
    np.testing.assert_array_equal(
        np.signbit(result[rounded == 0]), np.signbit(rounded[rounded == 0])
    )


@pytest.mark.parametrize("name", EXPECTED)
def test_numbers_depend_on_no_place(name: str) -> None:
    function, x = getattr(lax, name), _numbers()[:3001]
    whole = np.asarray(function(x))
    for first, last in ((0, 1), (1, 4), (3, 20), (5, 1000), (7, 2990), (2000, 3001)):
        np.testing.assert_array_equal(function(x[first:last]), whole[first:last])
