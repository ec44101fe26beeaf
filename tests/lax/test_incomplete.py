"""Edges of the incomplete gamma and beta functions, on both engines, and their accuracy."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import special

from morphax import grad, jit, lax
from morphax.config import enable_x64
from morphax.lax.elementwise.incomplete_beta import beta_density_p
from morphax.lax.elementwise.incomplete_gamma import gamma_density_p
from tests.lax.engines import check_all_agree, pairs

EDGES = (0.0, -0.0, 1, -1, 0.5, 2, 20, 1e-12, 1e4, 1e10, np.nan, np.inf, -np.inf)
OF_GAMMA = {
    "igamma": lax.igamma,
    "igammac": lax.igammac,
    "igamma_grad_a": lax.igamma_grad_a,
    "random_gamma_grad": lax.random_gamma_grad,
    "gamma_density": gamma_density_p.bind,
}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_functions_of_gamma_numbers_at_edges(dtype: str) -> None:
    a, x = pairs(np.array(EDGES, dtype))
    rtol = {"float32": 2e-7, "float64": 1e-12}[dtype]
    # All narrow dtypes are computed in float64.
    names = OF_GAMMA if dtype == "float64" else ("igammac",)
    functions = {name: OF_GAMMA[name] for name in names}
    results = check_all_agree(functions, a, x, rtol=rtol, zeros=False)
    outside = np.isnan(a) | np.isnan(x) | (a < 0) | (x < 0)
    for name, value in results.items():
        assert np.isnan(value[outside]).all(), name
    upper = results["igammac"]
    undefined = outside | ((a == 0) & (x == 0)) | (np.isinf(a) & np.isinf(x))
    np.testing.assert_array_equal(np.isnan(upper), undefined)
    np.testing.assert_array_equal(upper[(a > 0) & (x == 0)], 1)
    np.testing.assert_array_equal(upper[(a == 0) & (x > 0)], 0)
    if "igamma" in results:
        np.testing.assert_array_equal(np.isnan(results["igamma"]), undefined)
        np.testing.assert_array_equal(results["igamma"][(a > 0) & (x == 0)], 0)


def test_parameters_next_to_the_largest_number() -> None:
    largest = np.finfo(np.float64).max
    a, x = pairs(np.array([1e10, 1e308, largest / 2, largest]))
    functions = {"igamma": lax.igamma, "igammac": lax.igammac}
    results = check_all_agree(functions, a, x, rtol=1e-12, zeros=False)
    far = a != x
    np.testing.assert_array_equal(results["igamma"][far], (x > a)[far])
    np.testing.assert_array_equal(results["igammac"][far], (x < a)[far])


# By mpmath: a, x, P and Q.  SciPy ends its series too early.
BELOW_LARGE_MEANS = np.array(
    [
        (1000000.0, 994000.0, 9.178900262302024e-10, 0.99999999908211),
        (10000000.0, 9980000.0, 1.2364070637223816e-10, 0.9999999998763593),
        (100000000.0, 99960000.0, 3.160437711619915e-05, 0.9999683956228838),
        (54947288.0, 54883068.0, 2.2200643762172086e-18, 1.0),
    ]
)


def test_tails_below_large_means() -> None:
    a, x, below, above = BELOW_LARGE_MEANS.T
    with enable_x64(True):
        for run in (lax.igamma, jit(lax.igamma)):
            np.testing.assert_allclose(run(a, x), below, 1e-13)
        for run in (lax.igammac, jit(lax.igammac)):
            np.testing.assert_allclose(run(a, x), above, 1e-13)
    # The first three rows are numbers of float32 too.
    single = np.float32(a[:3]), np.float32(x[:3])
    np.testing.assert_allclose(lax.igamma(*single), below[:3], 2e-7)


def test_the_incomplete_beta_function_at_edges() -> None:
    shapes = (0.0, 1, -1, 0.5, 2, 1e5, np.inf, np.nan)
    points = (0.0, -0.0, 0.25, 1, 1.5, -0.5, np.nan, np.inf)
    grid = np.meshgrid(shapes, shapes, points, indexing="ij")
    a, b, x = [np.ascontiguousarray(v).ravel() for v in grid]
    functions = {"betainc": lax.betainc, "density": beta_density_p.bind}
    value = check_all_agree(functions, a, b, x, rtol=1e-12, zeros=False)["betainc"]
    assert value[(a == 0) & (b == 1) & (x == 0.25)] == 1
    assert value[(a == np.inf) & (b == 1) & (x == 0.25)] == 0
    assert np.isnan(value[(a == 0) & (b == 0)]).all()


def test_compiled_values_keep_their_digits_in_the_tails() -> None:
    rng = np.random.default_rng(0)
    a = 10 ** rng.uniform(-5, 4, 500)
    x = a * np.exp(rng.normal(0, 1, 500))
    b = 10 ** rng.uniform(-3, 4, 500)
    with enable_x64(True):
        lower, upper = jit(lambda a, x: (lax.igamma(a, x), lax.igammac(a, x)))(a, x)
        beta = jit(lax.betainc)(a, b, a / (a + b) * 0.9)
    for given, truth in (
        (lower, special.gammainc(a, x)),
        (upper, special.gammaincc(a, x)),
        (beta, special.betainc(a, b, a / (a + b) * 0.9)),
    ):
        represented = truth > 1e-290
        # SciPy itself loses that much.
        np.testing.assert_allclose(given[represented], truth[represented], rtol=2e-11)


def test_a_beta_distribution_too_narrow_for_the_compiled_sum_is_nan() -> None:
    with enable_x64(True):
        assert np.isnan(jit(lax.betainc)(1e14, 1e14, 0.5))
        assert lax.betainc(1e14, 1e14, 0.5) == 0.5


def test_densities_are_finite_where_logarithms_are_not() -> None:
    assert grad(lax.igamma, 1)(1.0, 0.0) == 1
    assert grad(lax.igamma, 1)(0.5, 0.0) == np.inf
    assert grad(lax.betainc, 2)(1.0, 3.0, 0.0) == 3


@pytest.mark.parametrize(
    ("function", "arguments", "position"),
    [(lax.betainc, (2.0, 3.0, 0.5), 0), (lax.igamma_grad_a, (2.0, 1.0), 0)],
)
def test_missing_derivatives_say_why(function: object, arguments: object, position: int) -> None:
    with pytest.raises(TypeError, match="no closed form"):
        grad(function, position)(*arguments)
