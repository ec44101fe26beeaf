"""The functions of native code against their twins, NumPy's and SciPy's in double precision.

Special and elementary functions are rounded to float32 once, as their twins, so that they differ by
at most one unit in the last place, where a number lies half-way between two.  Exponentials, what is
made of them, and logarithms are computed in single precision.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from morphax import lax
from morphax import numpy as jnp
from morphax.engines.reference import fusion
from morphax.scipy.stats._tails import log_betainc_p, log_betaincc_p

pytestmark = pytest.mark.skipif(fusion.native is None, reason="native code is not there")

F32 = np.float32
POINTS = np.array(
    [
        *(0.0, -0.0, 1.0, -1.0, 2.0, 3.0, 4.0, 0.5, -0.5, 1.5, -1.5, -2.0, -3.0, -2.5, np.inf),
        *(-np.inf, np.nan, 1e-40, -1e-40, 3e30, -3e30, 1e-5, 7.999, 8.0, 8.001, 20.0, 99.0, 100.0),
        *(170.0, 1 + 1e-7, 2 - 1e-7, 1e10, -1e10, 100.5, -100.5, 33.0),
    ],
    F32,
)
PAIRS = [axis.ravel() for axis in np.meshgrid(POINTS, POINTS)]


def _exponentials(rng: np.random.Generator, low: float, high: float) -> Any:
    return np.exp(rng.uniform(low, high, 4000)).astype(F32)


def _of_one(rng: np.random.Generator) -> list[Any]:
    spread = _exponentials(rng, -80, 80)
    numbers = [rng.uniform(-20, 20, 4000), spread, -spread, rng.uniform(0.9, 2.1, 4000)]
    return [np.concatenate([POINTS, *numbers]).astype(F32)]


def _of_exponents(rng: np.random.Generator) -> list[Any]:
    """Of results of all sizes, subnormal and beyond, and next to 1."""
    ends = [88.72283, 88.72284, -87.33654, -87.33655, -103.97207, -103.97209, -104.0, -105.0, 90.0]
    spread = [rng.uniform(*ends, 4000) for ends in ((-110, 90), (-88, -86), (-1, 1), (88.6, 88.8))]
    small = _exponentials(rng, -90, 0)
    return [np.concatenate([POINTS, ends, *spread, small, -small]).astype(F32)]


def _of_orders(rng: np.random.Generator) -> list[Any]:
    orders = rng.integers(1, 12, 4000), rng.integers(0, 99, 4000)
    places = _exponentials(rng, -5, 5), _exponentials(rng, -1, 6)
    first, second = np.concatenate([PAIRS[0], *orders]), np.concatenate([PAIRS[1], *places])
    return [first.astype(F32), second.astype(F32)]


def _of_powers(rng: np.random.Generator) -> list[Any]:
    powers = rng.uniform(1, 5, 4000), _exponentials(rng, 0.01, 6), rng.integers(2, 9, 4000)
    places = _exponentials(rng, -5, 5), _exponentials(rng, -30, 30), rng.uniform(-9, 0, 4000)
    first, second = np.concatenate([PAIRS[0], *powers]), np.concatenate([PAIRS[1], *places])
    return [first.astype(F32), second.astype(F32)]


def _of_bases(rng: np.random.Generator) -> list[Any]:
    """Negative ones with whole exponents, and results of all sizes, subnormal and beyond."""
    bases = _exponentials(rng, -80, 80), rng.normal(size=4000), _exponentials(rng, -1e-3, 1e-3)
    exponents = rng.uniform(-2, 2, 4000), rng.integers(-99, 99, 4000), rng.normal(size=4000) * 1e5
    first, second = np.concatenate([PAIRS[0], *bases]), np.concatenate([PAIRS[1], *exponents])
    return [first.astype(F32), second.astype(F32)]


def _of_gamma_numbers(rng: np.random.Generator) -> list[Any]:
    return [np.concatenate([axis, _exponentials(rng, -6, 8)]).astype(F32) for axis in PAIRS]


def _of_beta_numbers(rng: np.random.Generator) -> list[Any]:
    """Parameters of all sizes; points, near the ends too, and many at the mean."""
    points = np.array([0, 1, -1, 0.01, 0.5, 1000, np.inf, np.nan, 1e-30, 1e6, 3], F32)
    special = np.meshgrid(points, points, np.array([0, 1, 0.3, -1, 2, np.nan, 1e-9], F32))
    a, b = (np.exp(rng.uniform(np.log(0.005), np.log(2000), 12_000)) for _ in range(2))
    x = [rng.random(4000), rng.random(4000) ** 9, (a / (a + b))[8000:]]
    numbers = zip(special, (a, b, np.concatenate(x)), strict=True)
    return [np.concatenate([s.ravel(), v]).astype(F32) for s, v in numbers]


OPERANDS: dict[str, Callable[[np.random.Generator], list[Any]]] = {
    "exp": _of_exponents,
    "logistic": _of_exponents,
    **dict.fromkeys(("exp2", "expm1", "sinh", "cosh", "tanh"), _of_exponents),
    **dict.fromkeys(("log", "log1p", "asinh", "acosh", "atanh"), _of_one),
    "bessel_i0e": _of_one,
    "bessel_i1e": _of_one,
    "erfc": _of_one,
    "lgamma": _of_one,
    "digamma": _of_one,
    "pow": _of_bases,
    "zeta": _of_powers,
    "polygamma": _of_orders,
    "igamma": _of_gamma_numbers,
    "igammac": _of_gamma_numbers,
    "betainc": _of_beta_numbers,
}
PRIMITIVES = {"betainc": "regularized_incomplete_beta_p"}
MOST_ULPS = {"logistic": 2, "tanh": 2, "cosh": 2}


@pytest.mark.parametrize("name", OPERANDS)
def test_numbers_are_those_of_the_twin(name: str) -> None:
    operands = OPERANDS[name](np.random.default_rng(0))
    result = np.asarray(getattr(lax, name)(*operands))
    with np.errstate(all="ignore"):
        primitive = getattr(lax, PRIMITIVES.get(name, f"{name}_p"))
        wide = primitive.evaluate(*[x.astype(np.float64) for x in operands])
        twin = np.asarray(wide).astype(F32)
    _check_ulps(result, twin, MOST_ULPS.get(name, 1))


@pytest.mark.parametrize("primitive", [log_betainc_p, log_betaincc_p], ids=lambda p: p.name)
def test_logarithms_of_tails_are_those_of_the_twin(primitive: Any) -> None:
    operands = _of_beta_numbers(np.random.default_rng(0))
    with np.errstate(all="ignore"):
        twin = primitive.evaluate(*operands)
    _check_ulps(np.asarray(primitive.bind(*map(jnp.asarray, operands))), twin, 1)


def _check_ulps(result: Any, twin: Any, most: int) -> None:
    """NaN, infinities, signs of zeros are the twin's, other numbers so many units off at most."""
    assert result.dtype == F32
    np.testing.assert_array_equal(np.isnan(result), np.isnan(twin))
    finite = np.isfinite(twin)
    np.testing.assert_array_equal(result[~finite], twin[~finite])
    distances = np.abs(result[finite].astype(np.float64) - twin[finite])
    ulps = distances / np.spacing(np.abs(twin[finite]))
    assert ulps.max() <= most
    zero = finite & (twin == 0)
    np.testing.assert_array_equal(np.signbit(result[zero]), np.signbit(twin[zero]))


@pytest.mark.parametrize("name", ["exp", "logistic", "erfc", "log1p", "tanh"])
def test_numbers_depend_on_no_place(name: str) -> None:
    function = getattr(lax, name)
    x = np.random.default_rng(0).normal(size=3001).astype(F32)
    whole = np.asarray(function(x))
    for first, last in ((0, 1), (1, 4), (3, 20), (5, 1000), (7, 2990), (2000, 3001)):
        np.testing.assert_array_equal(function(x[first:last]), whole[first:last])


@pytest.mark.parametrize("name", ["zeta", "igammac", "pow"])
def test_a_scalar_stands_for_all_elements(name: str) -> None:
    function = getattr(lax, name)
    for size in (1, 5, 700):
        x = np.linspace(1.5, 9, size, dtype=F32)
        np.testing.assert_array_equal(function(x, F32(2)), function(x, np.full_like(x, 2)))
        np.testing.assert_array_equal(function(F32(2), x), function(np.full_like(x, 2), x))


@pytest.mark.parametrize("exponent_bits", [1, 2, 5, 8, 11])
@pytest.mark.parametrize("mantissa_bits", [0, 1, 7, 22, 23, 30])
def test_formats(exponent_bits: int, mantissa_bits: int) -> None:
    words = np.random.default_rng(0).integers(0, 2**32, 4000).astype(np.uint32)
    x = np.concatenate([POINTS, words.view(F32)])
    widths = {"exponent_bits": exponent_bits, "mantissa_bits": mantissa_bits}
    result = np.asarray(lax.reduce_precision(x, **widths)).view(np.uint32)
    np.testing.assert_array_equal(
        result, lax.reduce_precision_p.evaluate(x, **widths).view(np.uint32)
    )


def test_remainders_are_exact() -> None:
    """Quotients near integers, of all sizes, on both sides of what double precision holds."""
    rng = np.random.default_rng(0)
    words = rng.integers(0, 2**32, (2, 20000)).astype(np.uint32).view(F32)
    y = (rng.integers(1, 2**24, 20000) * F32(0.25)).astype(F32)
    near = [(y * rng.integers(1, 2**k, 20000)).astype(F32) for k in (4, 20, 27, 30)]
    near = [np.nextafter(x, F32(rest)) for x in near for rest in (0, np.inf)] + near
    firsts, seconds = [PAIRS[0], words[0], *near], [PAIRS[1], words[1], *[y] * len(near)]
    first, second = np.concatenate(firsts), np.concatenate(seconds)
    first = np.where(rng.random(first.size) < 0.5, first, -first)
    avals = [lax.rem(F32(1), F32(1)).aval.update(shape=first.shape)] * 2
    computed = fusion.single_operation("rem_float32", avals)
    assert computed is not None
    result = computed(first, second)
    with np.errstate(all="ignore"):
        twin = np.fmod(first, second)
    is_nan = np.isnan(twin)
    np.testing.assert_array_equal(np.isnan(result), is_nan)
    np.testing.assert_array_equal(result[~is_nan].view(np.uint32), twin[~is_nan].view(np.uint32))
