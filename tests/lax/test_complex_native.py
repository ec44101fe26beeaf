"""The functions of complex64 of native code: their digits, and their twins at special points."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from morphax import lax
from morphax import numpy as jnp
from morphax.engines.reference import fusion

pytestmark = pytest.mark.skipif(fusion.native is None, reason="native code is not there")

C64 = np.complex64
LOG_2 = np.log(np.longdouble(2))
# In extended precision; near ones of small results lose what float32 does not see.
EXPECTED: dict[str, Callable[[Any], Any]] = {
    "exp": np.exp,
    "exp2": lambda z: np.exp(z * LOG_2),
    "expm1": lambda z: np.exp(z) - 1,
    "log": np.log,
    "log2": lambda z: np.log(z) / LOG_2,
    "log1p": lambda z: np.log(1 + z),
    "logistic": lambda z: 1 / (1 + np.exp(-z)),
    "sin": np.sin,
    "cos": np.cos,
    "tan": np.tan,
    "sinh": np.sinh,
    "cosh": np.cosh,
    "tanh": np.tanh,
    "asin": np.arcsin,
    "acos": np.arccos,
    "atan": np.arctan,
    "asinh": np.arcsinh,
    "acosh": np.arccosh,
    "atanh": np.arctanh,
    "sqrt": np.sqrt,
    "sign": lambda z: z / np.abs(z),
}
ENDS = (
    *(0.0, -0.0, 1.0, -1.0, 0.3, 1e-40, 100.0, -100.0, 800.0, -800.0, 2e5, 3e38, -3e38),
    *(np.inf, -np.inf, np.nan),
)


def _numbers() -> Any:
    """Numbers of all sizes, on the unit circle, and next to where a part vanishes."""
    rng = np.random.default_rng(0)
    sizes = np.exp(rng.uniform(-6, 4.4, (2, 1000))) * rng.choice([-1, 1], (2, 1000))
    angles, quarters = rng.uniform(-np.pi, np.pi, 500), rng.integers(-9, 9, 500) * (np.pi / 2)
    small = rng.normal(size=500) * 1e-3
    x = [rng.normal(size=1000), sizes[0], np.cos(angles), small, quarters]
    y = [rng.normal(size=1000), sizes[1], np.sin(angles), quarters, small]
    z = np.empty(3500, C64)
    z.real, z.imag = np.concatenate(x), np.concatenate(y)
    return z


def _distances(given: Any, expected: Any) -> Any:
    """In units of the last place of each expected number."""
    rounded = expected.astype(np.float32)
    spacing = np.spacing(np.maximum(np.abs(rounded), np.finfo(np.float32).tiny))
    return np.where(rounded == given, 0, np.abs(given - expected) / spacing)


@pytest.mark.parametrize("name", EXPECTED)
def test_both_parts_have_all_digits(name: str) -> None:
    z = _numbers()
    with np.errstate(all="ignore"):
        expected = EXPECTED[name](z.astype(np.clongdouble))
        result = np.asarray(getattr(lax, name)(z))
        assert result.dtype == C64
        for part in ("real", "imag"):
            distances = _distances(getattr(result, part), getattr(expected, part))
            assert distances.max() < 0.52


def _pairs() -> Any:
    x, y = np.meshgrid(np.array(ENDS, np.float32), np.array(ENDS, np.float32))
    z = np.empty(x.size, C64)
    z.real, z.imag = x.ravel(), y.ravel()
    return z


def _check_twins(result: Any, twin: Any) -> None:
    for part in ("real", "imag"):
        given, expected = getattr(result, part), getattr(twin, part)
        np.testing.assert_array_equal(np.isnan(given), np.isnan(expected))
        np.testing.assert_allclose(given, expected, rtol=2e-6, atol=1e-37)
        exact = ~np.isfinite(expected) & ~np.isnan(expected) | (expected == 0) & (given == 0)
        np.testing.assert_array_equal(np.signbit(given)[exact], np.signbit(expected)[exact])


@pytest.mark.parametrize("name", EXPECTED)
def test_special_points_are_those_of_the_twin(name: str) -> None:
    z = _pairs()
    with np.errstate(all="ignore"):
        twin = np.asarray(getattr(lax, f"{name}_p").evaluate(z.astype(complex))).astype(C64)
    _check_twins(np.asarray(getattr(lax, name)(z)), twin)


def test_quotients() -> None:
    rng = np.random.default_rng(0)
    x, y = _numbers(), rng.permutation(_numbers())
    expected = x.astype(np.clongdouble) / y.astype(np.clongdouble)
    result = np.asarray(lax.div(x, y))
    for part in ("real", "imag"):
        assert _distances(getattr(result, part), getattr(expected, part)).max() < 0.52
    x, y = [axis.ravel() for axis in np.meshgrid(_pairs(), _pairs())]
    with np.errstate(all="ignore"):
        twin = np.asarray(lax.div_p.evaluate(x.astype(complex), y.astype(complex))).astype(C64)
    _check_twins(np.asarray(lax.div(x, y)), twin)


def test_powers() -> None:
    rng = np.random.default_rng(0)
    x, y = _numbers(), (rng.normal(size=(2, 3500)) * 4).astype(np.float32)
    exponents = (y[0] + 1j * y[1]).astype(C64)
    wide = np.exp(exponents.astype(np.clongdouble) * np.log(x.astype(np.clongdouble)))
    result = np.asarray(lax.pow(x, exponents))
    for part in ("real", "imag"):
        assert _distances(getattr(result, part), getattr(wide, part)).max() < 0.52
    for base, exponent, expected in (
        *((np.inf, 1, np.inf), (0, 0, 1), (0, 2, 0), (2, 0, 1), (0, 1j, np.nan), (0, -1, np.nan)),
        *((np.inf, 0, 1), (-1, 0.5, 1j), (2, 3, 8), (1j, 2, -1), (1j, -3, 1j), (1 + 1j, 40, 2**20)),
    ):
        value = lax.pow(C64(base), C64(exponent))
        np.testing.assert_allclose(value, C64(expected), atol=1e-7)


@pytest.mark.parametrize("size", [1, 700, 300_001])
def test_parts_are_read_in_chains(size: int) -> None:
    z = np.resize(_pairs(), size)
    for _ in range(3):
        np.testing.assert_array_equal(jnp.isfinite(jnp.asarray(z)), np.isfinite(z))
        for part in (lax.real, lax.imag):
            expected = getattr(z, part.__name__)
            result = np.asarray(part(jnp.asarray(z)))
            np.testing.assert_array_equal(result.view(np.uint32), expected.copy().view(np.uint32))


@pytest.mark.parametrize("name", ["exp", "log", "tan"])
def test_numbers_depend_on_no_place(name: str) -> None:
    function, z = getattr(lax, name), _numbers()
    whole = np.asarray(function(z))
    for first, last in ((0, 1), (1, 4), (3, 20), (5, 1000), (7, 2990), (2000, 3001)):
        np.testing.assert_array_equal(function(z[first:last]), whole[first:last])
