"""Distributions against SciPy: values at ordinary and special points, and their derivatives."""

from __future__ import annotations

import importlib
import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, final

import numpy as np
import pytest
from scipy import special
from scipy import stats as reference

import morphax as jax
from morphax.scipy import stats
from morphax.scipy.stats import (
    bernoulli,
    beta,
    cauchy,
    chi2,
    expon,
    gamma,
    gumbel_l,
    norm,
    pareto,
    poisson,
    truncnorm,
    uniform,
    vonmises,
    wrapcauchy,
)
from morphax.test_util import check_grads

SPECIAL = (0.0, -0.0, np.inf, -np.inf, np.nan)
PROBABILITIES = (1e-30, 1e-9, 0.02, 0.3, 0.5, 0.9, 0.9999)
NO_PROBABILITIES = (0.0, 1.0, -0.5, 1.5, np.nan)
OF_PROBABILITIES = ("ppf", "isf")
TOLERANCE = 1e-11


@final
@dataclass(frozen=True)
class Distribution:
    """The functions of one module, and where they are compared.

    Args:
        name: of the module, here and in SciPy.
        functions: names, separated by spaces.
        points: where the distribution is smooth.
        parameters: tuples of what follows the point, without `loc` and `scale`.
        more: further points: ends and outside of the support, far tails.
        places: of what follows then, `loc` and `scale` for most.
        unlike: points where SciPy says something else.
        held: positions of arguments of which distribution functions have no derivative.
    """

    name: str
    functions: str
    points: tuple[float, ...]
    parameters: tuple[tuple[float, ...], ...] = ((),)
    more: tuple[float, ...] = ()
    places: tuple[tuple[float, ...], ...] = ((0.0, 1.0), (-1.5, 0.7))
    unlike: tuple[float, ...] = ()
    held: tuple[int, ...] = ()


COUNTS = (-3.0, 0.3, 1.0, 2.0, 5.0, 6.0, 250.0)
LOC = ((0.0,), (2.0,))
CONTINUOUS = "logpdf pdf cdf logcdf sf logsf ppf"

DISTRIBUTIONS = (
    Distribution(
        "norm",
        "logpdf pdf cdf logcdf sf logsf ppf isf",
        points=(-3.0, -0.4, 0.3, 1.7, 5.0),
        more=(-40.0, 40.0, -1e10, 1e10),
    ),
    Distribution("uniform", "logpdf pdf cdf ppf", (0.1, 0.4, 0.99), more=(-1.0, 1.0, 2.0)),
    Distribution(
        "expon",
        CONTINUOUS,
        (0.2, 1.0, 7.0),
        more=(-1.0, 1e-20, 60.0, 1e9),
    ),
    Distribution("laplace", "logpdf pdf cdf", (-7.0, -0.3, 0.4, 9.0), more=(-400.0, 400.0)),
    Distribution(
        "logistic", "logpdf pdf cdf sf ppf isf", (-7.0, -0.3, 0.4, 9.0), more=(-700.0, 700.0)
    ),
    Distribution(
        "cauchy", "logpdf pdf cdf logcdf sf logsf ppf isf", (-7.0, -0.3, 0.4), more=(-1e30, 1e200)
    ),
    # SciPy takes the difference of two infinities.
    Distribution("gumbel_l", CONTINUOUS, (-3.0, 0.4, 2.0), more=(-30.0, 9.0), unlike=(np.inf,)),
    Distribution("gumbel_r", CONTINUOUS, (-2.0, 0.4, 3.0), more=(-9.0, 30.0), unlike=(-np.inf,)),
    Distribution(
        "pareto",
        CONTINUOUS,
        points=(1.2, 2.5, 30.0),
        parameters=((2.0,), (0.3,), (-1.0,), (0.0,)),
        more=(0.5, 1.0, 1.001, 1e30),
    ),
    Distribution(
        "truncnorm",
        "logpdf pdf cdf logcdf sf logsf",
        points=(-0.7, 0.1, 0.9),
        parameters=((-1.0, 1.5), (-1.0, np.inf), (-20.0, -8.0), (6.0, 9.0)),
        more=(-9.0, -8.0, 6.5, 8.9),
    ),
    Distribution(
        "vonmises", "logpdf pdf", (-3.0, 0.2, 1.5), ((2.0,), (500.0,)), more=(9.0,), places=((),)
    ),
    Distribution(
        "wrapcauchy",
        "logpdf pdf",
        (0.2, 1.5, 6.0),
        ((0.5,), (0.99,)),
        more=(-1.0, 7.0),
        places=((),),
    ),
    Distribution(
        "gamma",
        "logpdf pdf cdf logcdf sf logsf",
        points=(0.2, 1.5, 7.0),
        parameters=((2.5,), (0.3,), (1.0,), (0.0,)),
        more=(-3.0, 1e-9, 30.0),
        unlike=(np.inf,),
    ),
    Distribution(
        "chi2",
        "logpdf pdf cdf logcdf sf logsf",
        points=(0.2, 1.5, 7.0),
        parameters=((5.0,), (0.6,), (2.0,), (-1.0,)),
        more=(-3.0, 1e-9, 60.0),
        unlike=(np.inf,),
    ),
    Distribution(
        "beta",
        "logpdf pdf cdf logcdf sf logsf",
        points=(0.1, 0.5, 0.9),
        parameters=((2.5, 1.5), (0.5, 0.5), (1.0, 1.0), (30.0, 8.0), (0.0, 1.0)),
        more=(-3.0, 1.0, 2.0, -1.5, -0.8),
        held=(1, 2),
    ),
    Distribution(
        "gennorm",
        "logpdf pdf cdf",
        (-2.0, -0.3, 0.5, 4.0),
        ((1.5,), (0.5,), (1e-10,), (-1.0,)),
        (9.0,),
        ((),),
    ),
    Distribution(
        "poisson",
        "logpmf pmf cdf",
        (),
        ((2.5,), (0.0,), (90.0,), (-1.0,)),
        COUNTS,
        LOC,
        unlike=(np.inf,),
    ),
    Distribution("bernoulli", "logpmf pmf", (), ((0.3,), (1.0,)), COUNTS, LOC),
    # The least value is 0, not −1.
    Distribution("bernoulli", "cdf ppf", (), ((0.3,), (0.9,)), COUNTS, ((),), unlike=(0.0,)),
    Distribution("binom", "logpmf pmf", (), ((5, 0.3), (1000, 0.5), (3, 1.0)), COUNTS, LOC),
    Distribution("betabinom", "logpmf pmf", (), ((5, 1.0, 2.0), (300, 0.1, 7.0)), COUNTS, LOC),
    Distribution("geom", "logpmf pmf", (), ((0.3,), (1.0,)), COUNTS, LOC),
    Distribution("nbinom", "logpmf pmf", (), ((5, 0.3), (0.5, 0.9)), COUNTS, LOC, unlike=(np.inf,)),
    Distribution("t", "logpdf pdf", (-3.0, 0.1, 2.5), ((2.5,), (1.0,), (300.0,)), (-1e9, 1e9)),
)
FUNCTIONS = [
    pytest.param(d, name, id=f"{d.name}.{name}")
    for d in DISTRIBUTIONS
    for name in d.functions.split()
]

SMOOTH = [p for p in FUNCTIONS if p.values[0].points]


def _functions(case: Distribution, name: str) -> tuple[Callable[..., Any], Callable[..., Any]]:
    ours = importlib.import_module(f"morphax.scipy.stats.{case.name}")
    return getattr(ours, name), getattr(getattr(reference, case.name), name)


@pytest.mark.parametrize(("case", "name"), FUNCTIONS)
def test_values(case: Distribution, name: str) -> None:
    function, truth = _functions(case, name)
    own = (*case.points, *case.more, *SPECIAL)
    x = np.array((*PROBABILITIES, *NO_PROBABILITIES) if name in OF_PROBABILITIES else own)
    x = x[~np.isin(x, case.unlike)]
    tiny = 1e-15 if name.startswith("log") else 1e-300
    with jax.enable_x64(True):
        for place, shape in itertools.product(case.places, case.parameters):
            with np.errstate(all="ignore"):
                expected = truth(x, *shape, *place)
            for run in (function, jax.jit(function)):
                given = np.asarray(run(x, *shape, *place))
                np.testing.assert_allclose(given, expected, TOLERANCE, tiny, err_msg=f"{shape}")


@pytest.mark.parametrize(("case", "name"), SMOOTH)
def test_derivatives(case: Distribution, name: str) -> None:
    function, _ = _functions(case, name)
    place = case.places[-1]
    loc, scale = place or (0.0, 1.0)
    points = PROBABILITIES[2:6] if name in OF_PROBABILITIES else loc + scale * np.array(case.points)
    arguments = [np.array(points), *case.parameters[0], *place]
    held = () if name in ("logpdf", "pdf") else case.held
    free = [i for i in range(len(arguments)) if i not in held]

    def of_free(*values: Any) -> Any:
        given = dict(zip(free, values, strict=True))
        return function(*[given.get(i, x) for i, x in enumerate(arguments)])

    order = 2 if name == "logpdf" else 1
    with jax.enable_x64(True):
        check_grads(of_free, [arguments[i] for i in free], order=order, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize(("case", "name"), FUNCTIONS)
def test_broadcasts_and_promotes(case: Distribution, name: str) -> None:
    function, _ = _functions(case, name)
    shape = case.parameters[0]
    column = np.full((2, 1), 0.5, np.float32)
    result = function(column, *shape, *[np.zeros(3, np.float32)] * bool(case.places[0]))
    assert result.shape == ((2, 3) if case.places[0] else (2, 1))
    assert result.dtype == np.float32
    batched = jax.vmap(lambda x: function(x, *shape))(column)
    np.testing.assert_allclose(batched, function(column, *shape), 1e-6)


@pytest.mark.parametrize(("case", "name"), FUNCTIONS)
def test_lists_are_refused(case: Distribution, name: str) -> None:
    function, _ = _functions(case, name)
    with pytest.raises(TypeError, match=f"{case.name}.{name}"):
        function([0.5], *case.parameters[0])


def test_log_tails_that_underflow() -> None:
    with jax.enable_x64(True):
        for a, x in ((1.0, 800.0), (0.5, 2e4), (300.0, 5e3), (2e5, 2.4e5), (5e3, 9e3)):
            # DLMF 8.8.2 with the next parameter: Q(a + 1) = Q(a) + xᵃ e⁻ˣ / Γ(a + 1).
            following, own = gamma.logsf(x, a + 1), gamma.logsf(x, a)
            step = a * np.log(x) - x - special.gammaln(a + 1)
            np.testing.assert_allclose(np.exp(own - following) + np.exp(step - following), 1, 1e-9)
        np.testing.assert_allclose(gamma.logcdf(1e-200, 2.0), -400 * np.log(10) - np.log(2), 1e-14)
        # I_x(a, 1) = xᵃ.
        np.testing.assert_allclose(beta.logcdf(1e-9, 200.0, 1.0), -1800 * np.log(10), 1e-13)
        np.testing.assert_allclose(beta.logsf(1 - 2.0**-30, 1.0, 60.0), -1800 * np.log(2), 1e-13)
        np.testing.assert_allclose(chi2.logsf(3000.0, 2.0), -1500.0, 1e-14)
        for function, args in (
            (gamma.logsf, (800.0, 1.5)),
            (gamma.logcdf, (0.5, 450.5)),
            (gamma.logsf, (2.4e5, 2e5)),
        ):
            check_grads(function, args, order=1, rtol=1e-4)


def test_entropy_of_poisson() -> None:
    means = np.array([1e-6, 0.3, 5.0, 90.0, 999.0, 1001.0])
    with jax.enable_x64(True):
        expected = []
        for mean in means:
            k = np.arange(2000.0)
            logs = reference.poisson.logpmf(k, mean)
            expected.append(-np.sum(np.exp(logs) * logs))
        np.testing.assert_allclose(poisson.entropy(means), expected, 1e-11)
        np.testing.assert_array_equal(poisson.entropy(np.array([0.0, -1.0])), [0, np.nan])
        # Where SciPy's sum no longer converges.
        large = 0.5 * np.log(2e6 * np.pi * np.e) - 1 / 12e6
        np.testing.assert_allclose(poisson.entropy(1e6), large, 1e-13)
        check_grads(poisson.entropy, (np.array([0.3, 5.0, 1001.0]),), order=1)


PARETO = (pareto.logpdf, pareto.pdf, pareto.logcdf, pareto.cdf, pareto.logsf, pareto.sf)
WRAPPED = (wrapcauchy.logpdf, wrapcauchy.pdf)


def test_parameters_out_of_range_give_nan() -> None:
    numbers = [
        expon.sf(2.0, 0.0, -1.0),
        gumbel_l.cdf(0.3, 0.0, 0.0),
        cauchy.ppf(0.2, 0.0, -1.0),
        uniform.ppf(0.2, 0.0, -1.0),
        truncnorm.cdf(2.0, 1.0, 0.5),
        truncnorm.logpdf(0.7, 1.0, 0.5),
        vonmises.logpdf(0.5, -1.0),
        *[f(0.3, 0.0, -1.0) for f in (norm.cdf, norm.sf, norm.logcdf, norm.logsf)],
        *[f(0.3, 0.0, -1.0) for f in (norm.ppf, norm.isf)],
        *[f(x, b) for f in PARETO for x in (0.5, 2.0) for b in (-1.0, 0.0, np.nan)],
        pareto.ppf(0.5, -1.0),
        *[f(x, c) for f in WRAPPED for x in (-1.0, 0.0, 1.0) for c in (-0.5, 1.0, 1.5, np.nan)],
        *[stats.binom.logpmf(k, -1, 0.5) for k in (-1, 0, 1)],
        *[stats.nbinom.logpmf(k, -1, 0.5) for k in (-1, 0, 1)],
        *[stats.binom.logpmf(2, 5, p) for p in (-0.1, 1.1, np.inf, -np.inf)],
        *[stats.nbinom.logpmf(2, 5, p) for p in (-0.1, 1.1, np.inf, -np.inf)],
        *[stats.betabinom.logpmf(2, *wrong) for wrong in ((-1, 1, 1), (5, 0, 1), (5, 1, -2))],
    ]
    assert np.isnan(numbers).all()
    for name, shape in (("bernoulli", ()), ("geom", ()), ("binom", (5,)), ("nbinom", (5,))):
        for function in ("logpmf", "pmf"):
            run = jax.vmap(getattr(getattr(stats, name), function), (0, *[None] * len(shape), None))
            # Counts, and what is none.
            counts = np.array([0, 1, 7, 0.5, -1, np.inf])
            for p in (-0.1, 1.1, np.inf, -np.inf, np.nan):
                assert np.isnan(run(counts, *shape, p)).all()
    # As in JAX, where programs go to the limit of no deviation.
    assert norm.cdf(1.0, 0.0, 0.0) == 1


def test_wrapped_cauchy_next_to_one_angle() -> None:
    with jax.enable_x64(True):
        for rest in (1e-3, 1e-9, 1e-15):
            c = 1 - rest
            peak = (1 + c) / (2 * np.pi * (1 - c))
            for run in (wrapcauchy.pdf, jax.jit(wrapcauchy.pdf)):
                np.testing.assert_allclose(run(0.0, c), peak, 1e-13)


def test_cauchy_far_out_beside_a_small_scale() -> None:
    with jax.enable_x64(True):
        for run in (cauchy.pdf, jax.jit(cauchy.pdf)):
            x = np.array([1.0, -2.0, 1e3, np.inf])
            np.testing.assert_allclose(run(x, 0.0, 1e-290), 1e-290 / np.pi / x**2, 1e-14)


def test_pareto_of_quotients_beyond_the_range() -> None:
    with jax.enable_x64(True):
        for run in (pareto.logpdf, jax.jit(pareto.logpdf)):
            for b, scale in ((1e-300, 1e30), (1e300, 1e-30)):
                truth = np.log(b) - np.log(scale)
                np.testing.assert_allclose(run(scale, b, 0, scale), truth, 1e-14)


def test_quantiles_at_minus_zero() -> None:
    assert cauchy.ppf(-0.0) == -np.inf
    assert cauchy.isf(-0.0) == np.inf


@pytest.mark.parametrize(
    ("name", "function", "shape", "slope"),
    [
        ("cauchy", "logcdf", (), 2 / np.pi),
        ("cauchy", "logsf", (), -2 / np.pi),
        ("laplace", "cdf", (), 0.5),
        ("gennorm", "cdf", (1.0,), 0.5),
        ("gennorm", "cdf", (2.0,), 1 / np.sqrt(np.pi)),
        ("logistic", "cdf", (), 0.25),
        ("norm", "logcdf", (), np.sqrt(2 / np.pi)),
    ],
)
@pytest.mark.parametrize("zero", [0.0, -0.0])
def test_slopes_at_the_centre(
    name: str, function: str, shape: tuple[float, ...], slope: float, zero: float
) -> None:
    distribution = getattr(getattr(stats, name), function)
    for slope_of in (jax.grad, jax.jacfwd):
        np.testing.assert_allclose(slope_of(distribution)(zero, *shape), slope, 1e-6)


_TAILS = ("cdf", "logcdf", "sf", "logsf")


@pytest.mark.parametrize(
    ("distribution", "names", "x", "shape"),
    [
        (stats.expon, ("pdf", "cdf", "sf", "logsf"), -200.0, ()),
        (stats.gumbel_r, ("pdf", "cdf", "sf", "logsf"), -200.0, ()),
        (stats.gumbel_l, ("pdf", "cdf", "sf", "logcdf"), 200.0, ()),
        # At the ends of their ranges slopes are infinite.
        (stats.gamma, _TAILS, -1.0, (0.5,)),
        (stats.chi2, _TAILS, -1.0, (1.0,)),
        (stats.beta, _TAILS, -1.0, (0.5, 0.5)),
        (stats.beta, _TAILS, 2.0, (0.5, 0.5)),
        (stats.pareto, _TAILS, 0.5, (0.5,)),
    ],
)
def test_slopes_where_functions_are_constant(
    distribution: Any, names: tuple[str, ...], x: float, shape: tuple[float, ...]
) -> None:
    # e²⁰⁰ leaves the range of float32.
    arguments = (x, *shape, 0.0, 1.0)
    of = (0, len(arguments) - 2, len(arguments) - 1)
    for name in names:
        for slope_of in (jax.grad, jax.jacfwd):
            for run in (lambda f: f, jax.jit):
                slopes = run(slope_of(getattr(distribution, name), of))(*arguments)
                assert [float(slope) for slope in slopes] == [0, 0, 0], name


def test_tails_at_the_ends_of_ranges() -> None:
    tiny, inf = 1e-10, np.inf
    for run in (lambda f: f, jax.jit):
        # I_x(a, b) of parameters next to 0, and distributions that are at one end.
        beta = run(stats.beta.cdf)(np.array([tiny, tiny, 1e-6]), tiny, np.array([7.3, 2.0, 1.0]))
        np.testing.assert_allclose(beta, 1, 1e-6)
        found = run(stats.beta.logcdf)(
            np.array([-1, 0.5, 0.5, 2.0]), *np.array([[3, inf, 3, inf], [inf, 3, inf, 3]])
        )
        np.testing.assert_array_equal(found, [-inf, -inf, 0, 0])
        for gumbel, end in ((stats.gumbel_l, inf), (stats.gumbel_r, -inf)):
            assert run(gumbel.logpdf)(end) == -inf
            assert run(gumbel.pdf)(end) == 0
        x, b = np.float32([-1e30, 1e30]), np.float32([1, inf])
        np.testing.assert_array_equal(run(stats.truncnorm.cdf)(x, -inf, b), [0, 1])
        # Where |x|ᵝ underflows.
        found = run(stats.gennorm.cdf)(np.float32(0.5), 1000.0)
        np.testing.assert_allclose(found, 0.7501441, 1e-6)


def test_all_of_a_distribution_lies_below_infinity() -> None:
    inf = np.inf
    shapes, below = np.array([0.5, 2.0, inf, np.nan, -1.0]), np.array([1, 1, 1, np.nan, np.nan])
    ends = {"cdf": below, "sf": 1 - below, "logcdf": below - 1, "logsf": -inf * below}
    for run in (lambda f: f, jax.jit):
        for distribution in (stats.gamma, stats.chi2):
            for name, end in ends.items():
                function = getattr(distribution, name)
                np.testing.assert_array_equal(run(function)(inf, shapes), end)
                np.testing.assert_array_equal(run(function)(inf, shapes, 0.0, 2.0), end)
        np.testing.assert_array_equal(run(stats.poisson.cdf)(inf, shapes), below)
        slopes = run(jax.grad(lambda a: stats.chi2.cdf(inf, a).sum()))(shapes[:3])
        np.testing.assert_array_equal(slopes, [0, 0, 0])


def test_slopes_of_the_binomial_density_without_trials() -> None:
    p = np.float32([0, 0.3, 1])
    none = np.zeros_like(p)
    with np.errstate(divide="ignore"):
        by_count, by_trials = np.log(p) - np.log1p(-p), np.log1p(-p)
    for run in (lambda f: f, jax.jit):
        slopes = run(jax.grad(lambda *a: stats.binom.logpmf(*a).sum(), (0, 1, 2)))(none, none, p)
        for slope, expected in zip(slopes, (by_count, by_trials, none), strict=True):
            np.testing.assert_allclose(slope, expected, 1e-6, 1e-7)


def test_a_result_made_of_one_weak_argument_takes_the_type_of_all() -> None:
    strong = np.array([0.25, 0.5, 0.75], np.float32)
    for function in (bernoulli.cdf, bernoulli.ppf):
        for transformed in (function, jax.jit(function)):
            assert not transformed(strong, 0.5).weak_type
            assert not transformed(0.5, strong).weak_type
            assert transformed(0.5, 0.5).weak_type


IS_WEAK_OF_INTEGERS: dict[Callable[..., Any], bool] = {
    **dict.fromkeys(
        (bernoulli.cdf, bernoulli.pmf, beta.cdf, cauchy.ppf, chi2.sf, gamma.pdf), False
    ),
    **dict.fromkeys((stats.geom.pmf, norm.pdf, stats.pareto.sf, poisson.cdf, stats.t.pdf), False),
    **dict.fromkeys(
        (jax.scipy.special.rel_entr, jax.scipy.special.kl_div, jax.numpy.heaviside), False
    ),
    **dict.fromkeys((stats.binom.pmf, expon.pdf, gamma.sf, stats.gennorm.cdf, gumbel_l.pdf), True),
    **dict.fromkeys((poisson.pmf, uniform.pdf, vonmises.pdf, stats.wrapcauchy.pdf), True),
    **dict.fromkeys((stats.logistic.cdf, stats.pareto.logcdf), True),
}


@pytest.mark.parametrize("function", IS_WEAK_OF_INTEGERS)
def test_results_of_integers_beside_numbers_are_weak_where_those_of_jax_are(function: Any) -> None:
    count = {beta.cdf: 2, stats.binom.pmf: 2}.get(function, 1)
    integers, weak = np.arange(3), jax.lax.full((3,), 0.5)
    for transformed in (function, jax.jit(function)):
        for x in (integers, weak):
            assert transformed(x, *[0.5] * count).weak_type is IS_WEAK_OF_INTEGERS[function]
        assert transformed(1, *[0.5] * count).weak_type
        # Constants beside a scalar are weak.
        assert transformed(0.5, *[integers + 1] * count).weak_type


def test_results_made_of_cases_or_of_a_sum_are_not_weak() -> None:
    for function in (stats.uniform.cdf, stats.poisson.entropy):
        for transformed in (function, jax.jit(function)):
            assert not transformed(0.5).weak_type
    vector = jax.lax.full((2,), 0.5)
    for transformed in (stats.gumbel_r.sf, jax.jit(stats.gumbel_r.sf)):
        assert not transformed(vector).weak_type
        assert transformed(0.5).weak_type
    assert stats.gumbel_l.cdf(vector).weak_type


def test_densities_of_vectors_beside_a_variance_are_weak_where_all_is() -> None:
    vector = jax.lax.full((2,), 0.5)
    for function in (stats.multivariate_normal.logpdf, stats.multivariate_normal.pdf):
        for transformed in (function, jax.jit(function)):
            assert transformed(vector, vector, 2.0).weak_type
            assert transformed(0.5, np.arange(2), 2).weak_type
            assert not transformed(vector, np.float32([0, 1]), 2.0).weak_type


def test_complex_arguments_are_refused_where_there_are_cases() -> None:
    z = np.complex64([0.25 + 0.5j, 0.5])
    for function in (
        stats.expon.pdf,
        stats.gumbel_l.ppf,
        stats.gumbel_r.cdf,
        stats.laplace.logpdf,
        stats.uniform.pdf,
        lambda x: stats.bernoulli.cdf(x, 0.5),
        lambda x: stats.pareto.logsf(x, 2.0),
        lambda x: stats.wrapcauchy.pdf(x, 0.5),
    ):
        for run in (function, jax.jit(function)):
            with pytest.raises(TypeError, match=r"arguments that combine to complex64"):
                run(z)
    density = np.exp(-z * z / 2) / np.sqrt(2 * np.pi)
    np.testing.assert_allclose(stats.norm.pdf(z), density, 1e-6)


def test_slopes_of_the_negative_binomial_density_without_successes() -> None:
    p = np.float32([0, 0.3, 1])
    none = np.zeros_like(p)
    with np.errstate(divide="ignore"):
        expected = np.log(p)
    for run in (lambda f: f, jax.jit):
        slope = run(jax.grad(lambda n: stats.nbinom.logpmf(none, n, p).sum()))(none)
        np.testing.assert_allclose(slope, expected, 1e-6)


def test_students_density_of_infinite_freedom_is_the_normal_one() -> None:
    x = np.float32([0, 1, -40, np.inf, np.nan])
    for run in (lambda f: f, jax.jit):
        found = run(lambda x, df: stats.t.logpdf(x, df, 0.5, 2.0))(x, np.full_like(x, np.inf))
        np.testing.assert_allclose(found, stats.norm.logpdf(x, 0.5, 2.0), 1e-6)
    # Where nothing but numbers of Python is given, too.
    assert jax.grad(stats.t.logpdf, 1)(1.0, np.inf) == 0
    assert jax.grad(stats.t.logpdf, 1)(1.0, 2.0) != 0


def test_students_density_where_squares_are_out_of_range() -> None:
    x, df = np.float32(1e30), np.float32([0.5, 3.0, 30.0])
    expected = reference.t.logpdf(1e30, df.astype(float))
    np.testing.assert_allclose(stats.t.logpdf(x, df), expected, rtol=1e-6)
    slopes = jax.vmap(jax.grad(stats.t.logpdf), (None, 0))(x, df)
    np.testing.assert_allclose(slopes, -(df + 1) / x, rtol=1e-6)


@pytest.mark.parametrize(
    ("name", "parameters", "x", "slope"),
    [
        ("gamma.logcdf", (1e3,), 500.0, 1.0019881492038545),
        ("gamma.logcdf", (1e3,), 900.0, 0.11975771079868702),
        ("gamma.logcdf", (1e4,), 5e3, 1.0001998801517142),
        ("gamma.logsf", (1e3,), 900.0, -6.589127026346295e-05),
        ("gamma.logsf", (1e3,), 1500.0, -0.33531384914987844),
        ("gamma.logcdf", (2.0,), 0.0, np.inf),
        ("gamma.logsf", (2.0,), 0.0, 0.0),
        ("gamma.logsf", (2.0,), np.inf, -1.0),
        ("beta.logcdf", (1e3, 1e3), 0.4000000059604645, 843.0972913552442),
        ("beta.logsf", (1e4, 1e3), 0.8999999761581421, -0.7427138530184261),
        ("beta.logsf", (2.0, 0.5), 0.9990000128746033, -499.67299290445214),
        ("beta.logcdf", (2.0, 3.0), 0.0, np.inf),
        ("beta.logsf", (2.0, 3.0), 0.0, 0.0),
        ("beta.logsf", (2.0, 3.0), 1.0, -np.inf),
    ],
)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_slopes_of_logarithms_of_tails(
    dtype: str, name: str, parameters: tuple[float, ...], x: float, slope: float
) -> None:
    tolerance = 2e-7 if dtype == "float32" else 1e-14
    family, function = name.split(".")
    with jax.enable_x64(dtype == "float64"):
        move = jax.grad(getattr(getattr(stats, family), function))
        for run in (move, jax.jit(move)):
            found = run(*np.array([x, *parameters], dtype))
            np.testing.assert_allclose(found, slope, rtol=tolerance)
        if dtype == "float64" and np.isfinite(slope * x) and slope:
            step = (x if x > 1 else min(x, 1 - x)) / 4096
            below, above = (float(move(at, *parameters)) for at in (x - step, x + step))
            curvature = jax.grad(move)(x, *parameters)
            np.testing.assert_allclose(curvature, (above - below) / (2 * step), rtol=1e-4)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_survival_where_one_less_x_has_no_digits_of_x(dtype: Any) -> None:
    x = np.array([0, 1e-35, 7e-15, 1e-3, 0.3, 0.5, 0.7, 1 - 2**-20, 1], dtype)[:, None]
    a, b = np.array([[0.0137, 0.5, 2], [156, 0.01, 40]], dtype)
    with jax.enable_x64(True):
        np.testing.assert_allclose(
            stats.beta.sf(x, a, b),
            reference.beta.sf(*np.float64([x + 0 * a, a + 0 * x, b + 0 * x])),
            200 * np.finfo(dtype).eps,
            1e-37,
        )


def test_slopes_of_tails_by_the_shape_at_the_ends_of_the_range() -> None:
    a = np.array([0.003, 0.5, 1, 2, 50])
    ends = {"logcdf": (-np.inf, 0), "logsf": (0, np.inf), "cdf": (0, 0), "sf": (0, 0)}
    for name, expected in ends.items():
        for x, slope in zip((0.0, np.inf), expected, strict=True):
            found = jax.vmap(jax.grad(getattr(stats.gamma, name), 1), (None, 0))(x, a)
            np.testing.assert_array_equal(found, np.full(5, slope))
