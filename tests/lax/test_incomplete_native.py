"""The incomplete gamma functions of native code against the formulas that it is made from."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest

from morphax.lax.elementwise import incomplete_gamma_formulas as formulas
from morphax.lax.ground.formulas import HostNotation
from morphax.util.compiled import part

native: Any = part("incomplete_gamma")
pytestmark = pytest.mark.skipif(native is None, reason="native code is not there")

FORMULAS = {
    "igamma": formulas.lower,
    "igammac": formulas.upper,
    "igamma_grad_a": formulas.slope_of_lower,
    "random_gamma_grad": formulas.slope_of_sample,
    "gamma_density": formulas.density_of_gamma,
    "gamma_density_over_igamma": functools.partial(formulas.density_over_tail, upper=False),
    "gamma_density_over_igammac": functools.partial(formulas.density_over_tail, upper=True),
    "log_igamma": functools.partial(formulas.log_of_tail, upper=False),
    "log_igammac": functools.partial(formulas.log_of_tail, upper=True),
}
POINTS = (
    *(0.0, -0.0, 1e-300, 1e-30, 1e-8, 0.1, 0.5, 1.0, 1.1, 2.0, 9.9, 10.0, 10.1, 29.9, 30.0, 31.0),
    *(100.0, 1e4, 1e10, 1e100, np.inf, -1.0, -np.inf, np.nan),
)


def _operands() -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """All pairs of special points, and numbers that go each of the ways."""
    rng = np.random.default_rng(0)
    pairs = [axis.ravel() for axis in np.meshgrid(POINTS, POINTS)]
    apart = np.exp(rng.uniform(-10, 8, (2, 3000)))
    a = np.exp(rng.uniform(2, 8, 3000))
    near = a, a * rng.uniform(0.5, 1.6, 3000)
    first, second = (np.concatenate(columns) for columns in zip(pairs, apart, near, strict=True))
    return first, second


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", FORMULAS)
def test_native_code_computes_the_formula(name: str, dtype: Any) -> None:
    with np.errstate(all="ignore"):
        a, x = (v.astype(dtype) for v in _operands())
        wide = FORMULAS[name](HostNotation(), a.astype(np.float64), x.astype(np.float64))
        expected = np.asarray(wide).astype(dtype)
    out = np.empty(a.size, dtype)
    getattr(native, name)(a, x, out)
    # The relative error of e⁻ᶻ is z times that of z, and that is 700 where numbers end.
    tolerance = 2e-7 if dtype == np.float32 else 4e-13
    np.testing.assert_allclose(out, expected, tolerance, float(np.finfo(dtype).tiny))


def test_arrays_of_other_sizes_are_refused() -> None:
    with pytest.raises(ValueError, match="different sizes"):
        native.igamma(np.ones(2), np.ones(3), np.empty(3))


def test_tails_of_tiny_parameters_have_a_logarithm() -> None:
    # Q(a, x) = a E₁(x) (1 + O(a)), and E₁(2) = 0.04890051070806112.
    out = np.empty(1)
    native.log_igammac(np.full(1, 1e-300), np.full(1, 2.0), out)
    np.testing.assert_allclose(out, np.log(1e-300) + np.log(0.04890051070806112), 1e-14)


@pytest.mark.parametrize("a", [1e-30, 0.3, 1.0, 9.9, 10.0, 99.0, 101.0])
def test_densities_of_one_parameter(a: float) -> None:
    # The largest of the points is none of float32.
    points = [x for x in POINTS if not 1e38 < x < np.inf]
    x = np.concatenate([points, np.exp(np.linspace(-20, 6, 3000))]).astype(np.float32)
    same = np.full(x.size, a, np.float32)
    with np.errstate(all="ignore"):
        wide = formulas.density_of_gamma(HostNotation(), *[np.float64(v) for v in (same, x)])
        expected = np.asarray(wide).astype(np.float32)
    out = np.empty(x.size, np.float32)
    native.gamma_density(same, x, out)
    np.testing.assert_allclose(out, expected, 1.3e-7, float(np.finfo(np.float32).tiny))


def _near_zero() -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Numbers x < 1.1 of parameters of all sizes below 30."""
    rng = np.random.default_rng(1)
    a = np.concatenate([np.exp(rng.uniform(-80, 0, 2000)), rng.uniform(0, 30, 2000)])
    x = np.concatenate([np.exp(rng.uniform(-80, 0, 1000)), rng.uniform(0, 1.1, 3000)])
    return a.astype(np.float32), rng.permutation(x).astype(np.float32)


_NEAR_ZERO = (
    "igamma",
    "igammac",
    "log_igamma",
    "log_igammac",
    "igamma_grad_a",
    "random_gamma_grad",
)


@pytest.mark.parametrize("name", _NEAR_ZERO)
def test_numbers_near_zero_have_all_digits(name: str) -> None:
    a, x = _near_zero()
    with np.errstate(all="ignore"):
        exact = FORMULAS[name](HostNotation(), a.astype(np.float64), x.astype(np.float64))
    out = np.empty(a.size, np.float32)
    getattr(native, name)(a, x, out)
    is_in_range = np.abs(exact) < np.finfo(np.float32).max  # of the slopes of tiny parameters
    np.testing.assert_array_equal(out[~is_in_range], np.asarray(exact, np.float32)[~is_in_range])
    rounded = np.asarray(exact)[is_in_range].astype(np.float32)
    unit = np.abs(np.spacing(rounded)).astype(np.float64)
    assert np.max(np.abs(out - np.asarray(exact))[is_in_range] / unit) < 0.6


@pytest.mark.parametrize("name", ["igamma", "log_igammac", "igamma_grad_a", "random_gamma_grad"])
def test_no_bit_depends_on_neighbours(name: str) -> None:
    a, x = _near_zero()
    a[::3] *= 20
    x[::7] *= 50
    function, out = getattr(native, name), np.empty(a.size, np.float32)
    function(a, x, out)
    for first in (0, 1, 33):
        for step in (1, 2, 5):
            chosen = slice(first, None, step)
            part = np.empty(out[chosen].size, np.float32)
            function(np.ascontiguousarray(a[chosen]), np.ascontiguousarray(x[chosen]), part)
            np.testing.assert_array_equal(part, out[chosen])
