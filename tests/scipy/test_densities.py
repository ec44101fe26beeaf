"""Densities made of Γ keep their digits where the parameters are small and where they are large."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import mpmath
import numpy as np
import pytest

import morphax as jax
from morphax.scipy import special, stats
from morphax.scipy.special import _deviances, _scaled_factorials
from morphax.scipy.special._deviances import deviance_p, distance_from_product_p, excess_p
from morphax.scipy.special._scaled_factorials import log_scaled_factorial_p

NUMBERS = 40
ENGINES = ("xla", "native")
_log_gamma: Callable[[Any], Any] = mpmath.loggamma


def _log_gamma_density(x: Any, a: Any) -> Any:
    return (a - 1) * mpmath.log(x) - x - _log_gamma(a)


def _log_beta_density(x: Any, a: Any, b: Any) -> Any:
    powers = (a - 1) * mpmath.log(x) + (b - 1) * mpmath.log(1 - x)
    return powers + _log_gamma(a + b) - _log_gamma(a) - _log_gamma(b)


def _log_poisson(k: Any, mu: Any) -> Any:
    return k * mpmath.log(mu) - mu - _log_gamma(k + 1)


def _log_binom(k: Any, n: Any, p: Any) -> Any:
    ways = _log_gamma(n + 1) - _log_gamma(k + 1) - _log_gamma(n - k + 1)
    return ways + k * mpmath.log(p) + (n - k) * mpmath.log(1 - p)


def _log_nbinom(k: Any, n: Any, p: Any) -> Any:
    ways = _log_gamma(n + k) - _log_gamma(k + 1) - _log_gamma(n)
    return ways + n * mpmath.log(p) + k * mpmath.log(1 - p)


def _log_betabinom(k: Any, n: Any, a: Any, b: Any) -> Any:
    def log_beta(a: Any, b: Any) -> Any:
        return _log_gamma(a) + _log_gamma(b) - _log_gamma(a + b)

    ways = _log_gamma(n + 1) - _log_gamma(k + 1) - _log_gamma(n - k + 1)
    return ways + log_beta(k + a, n - k + b) - log_beta(a, b)


def _log_t(x: Any, df: Any) -> Any:
    constant = _log_gamma((df + 1) / 2) - _log_gamma(df / 2) - mpmath.log(df * mpmath.pi) / 2
    return constant - (df + 1) / 2 * mpmath.log1p(x * x / df)


def _operands(name: str) -> list[np.ndarray]:
    rng = np.random.default_rng(7)
    a, b = 10 ** rng.uniform(-3, 6, (2, NUMBERS))
    n, p = np.floor(10 ** rng.uniform(0, 6, NUMBERS)) + 1, rng.uniform(0.01, 0.99, NUMBERS)
    x, u = np.maximum(rng.gamma(a), 1e-15), np.clip(rng.beta(a, b), 1e-15, 1 - 1e-6)
    return {
        "gamma": [x, a],
        "chi2": [x, a],
        "beta": [u, a, b],
        "poisson": [rng.poisson(a).astype(float), a],
        "binom": [rng.binomial(n.astype(int), p).astype(float), n, p],
        "betabinom": [rng.binomial(n.astype(int), rng.beta(a, b)).astype(float), n, a, b],
        "nbinom": [rng.negative_binomial(n, p).astype(float), n, p],
        "t": [rng.normal(size=NUMBERS), a],
    }[name]


TRUTHS: dict[str, Callable[..., Any]] = {
    "gamma": _log_gamma_density,
    "chi2": lambda x, df: _log_gamma_density(x / 2, df / 2) - mpmath.log(2),
    "beta": _log_beta_density,
    "poisson": _log_poisson,
    "binom": _log_binom,
    "betabinom": _log_betabinom,
    "nbinom": _log_nbinom,
    "t": _log_t,
}
COUNTS = ("poisson", "binom", "betabinom", "nbinom")
# Of a sum of nine scaled factorials, each as large as 8, roundings of this size are left.
ROUNDINGS = {"betabinom": 2.0}
TOLERANCES = {np.float32: 4e-6, np.float64: 4e-13}


def _truths(truth: Callable[..., Any], operands: Sequence[np.ndarray]) -> list[Any]:
    with mpmath.workdps(60):
        return [truth(*map(mpmath.mpf, map(float, x))) for x in zip(*operands, strict=True)]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("dtype", TOLERANCES)
@pytest.mark.parametrize("name", TRUTHS)
def test_digits(name: str, dtype: Any) -> None:
    operands = [x.astype(dtype) for x in _operands(name)]
    logarithms = _truths(TRUTHS[name], operands)
    kind = "pmf" if name in COUNTS else "pdf"
    module = getattr(stats, name)
    density, logarithm = getattr(module, kind), getattr(module, f"log{kind}")
    expected = np.array([float(mpmath.exp(x)) for x in logarithms])
    assert np.sum((expected > 1e-20) & (expected < 1e20)) > NUMBERS // 2
    with jax.enable_x64(True):
        for engine in ("eager", *ENGINES):
            runs: list[Any] = [density, logarithm]
            if engine != "eager":
                options = {"jax_cpu_engine": engine}
                runs = [jax.jit(run, compiler_options=options) for run in runs]
            values, logs = [np.asarray(run(*operands), np.float64) for run in runs]
            common = (expected > 1e-20) & (expected < 1e20)
            np.testing.assert_allclose(values[common], expected[common], TOLERANCES[dtype])
            scale = np.maximum(1, np.abs(np.array(logarithms, np.float64)))
            distance = np.array([float(x - y) for x, y in zip(logs, logarithms, strict=True)])
            assert np.max(np.abs(distance) / scale) < TOLERANCES[dtype] / 4 * ROUNDINGS.get(name, 1)


@pytest.mark.parametrize("dtype", TOLERANCES)
@pytest.mark.parametrize(
    ("name", "place"),
    [
        *(("gamma", 0), ("gamma", 1), ("beta", 0), ("beta", 1), ("beta", 2), ("poisson", 1)),
        *(("binom", 2), ("nbinom", 2), ("t", 0)),
    ],
)
def test_digits_of_derivatives(name: str, place: int, dtype: Any) -> None:
    operands = [x.astype(dtype) for x in _operands(name)]
    kind = "logpmf" if name in COUNTS else "logpdf"
    function: Any = getattr(getattr(stats, name), kind)
    with jax.enable_x64(True):
        for order in (1, 2):

            def truth(*x: Any, order: int = order) -> Any:
                along = lambda y: TRUTHS[name](*x[:place], y, *x[place + 1 :])  # noqa: E731
                return mpmath.diff(along, x[place], order, h=x[place] * mpmath.mpf(10) ** -20)

            function = jax.grad(function, place)
            expected = np.array(_truths(truth, operands), np.float64)
            given = np.asarray(jax.jit(jax.vmap(function))(*operands), np.float64)
            np.testing.assert_allclose(given, expected, 20 * TOLERANCES[dtype], 1e-30)


@pytest.mark.parametrize("dtype", TOLERANCES)
def test_digits_of_slopes_of_betabinom(dtype: Any) -> None:
    k, n, a, b = operands = [x.astype(dtype) for x in _operands("betabinom")]
    rise = lambda a, k: mpmath.digamma(a + k) - mpmath.digamma(a)  # noqa: E731
    truths = _truths(lambda k, n, a, b: rise(a, k) - rise(a + b, n), operands)
    terms = _truths(lambda k, n, a, b: rise(a, k) + rise(a + b, n), operands)
    expected, sizes = [np.array(x, np.float64) for x in (truths, terms)]
    with jax.enable_x64(True):
        given = jax.vmap(jax.grad(stats.betabinom.logpmf, 2))(k, n, a, b)
        turned = jax.vmap(jax.grad(stats.betabinom.logpmf, 3))(n - k, n, b, a)
    for slopes in (given, turned):
        error = np.abs(np.asarray(slopes, np.float64) - expected)
        assert np.all(error <= TOLERANCES[dtype] * sizes)


def _dirichlet(x: Sequence[Any], alpha: Sequence[Any]) -> tuple[Any, list[Any], Any]:
    """The logarithm of the density, its slopes by the parameters, the curvature by the first."""
    total, pairs = mpmath.fsum(alpha), list(zip(x, alpha, strict=True))
    powers = mpmath.fsum([(a - 1) * mpmath.log(v) - _log_gamma(a) for v, a in pairs])
    of_total = mpmath.digamma(total)
    slopes = [mpmath.log(v) + of_total - mpmath.digamma(a) for v, a in pairs]
    curvature = mpmath.polygamma(1, total) - mpmath.polygamma(1, alpha[0])
    return powers + _log_gamma(total), slopes, curvature


@pytest.mark.parametrize("dtype", TOLERANCES)
@pytest.mark.parametrize("size", [0.3, 30.0, 1e3, 1e6])
@pytest.mark.parametrize("has_all", [True, False])
def test_digits_of_dirichlet(size: float, has_all: bool, dtype: Any) -> None:
    rng = np.random.default_rng(int(size))
    alpha = (size * np.exp(rng.uniform(-1, 1, 6))).astype(dtype)
    x = rng.dirichlet(alpha, 9).T.astype(dtype)
    x = x if has_all else x[:-1]
    with mpmath.workdps(60):
        points = [[mpmath.mpf(float(v)) for v in point] for point in x.T]
        points = [p if has_all else [*p, 1 - mpmath.fsum(p)] for p in points]
        truths = [_dirichlet(point, [mpmath.mpf(float(a)) for a in alpha]) for point in points]
    expected, slopes = [np.array([t[i] for t in truths], np.float64) for i in (0, 1)]
    tolerance, eps, total = TOLERANCES[dtype], float(np.finfo(dtype).eps), float(np.sum(alpha))
    # The last probability is 1 less a sum that is rounded; float64 rounds Σ x too.
    rounding = (total if dtype == np.float64 else 0) if has_all else 20 * total**0.5
    # And so is the sum of the parameters.
    slack = tolerance * np.max(np.abs(slopes)) + eps * (1 if has_all else 10)
    density: Any = stats.dirichlet.logpdf
    with jax.enable_x64(True):
        programs = [jax.jit(density, compiler_options={"jax_cpu_engine": e}) for e in ENGINES]
        for run in (density, *programs):
            close = partial(np.testing.assert_allclose, rtol=tolerance)
            close(run(x, alpha), expected, atol=tolerance + rounding * eps)
        by_alpha = jax.vmap(jax.grad(density, 1), (1, None))(x, alpha)
        np.testing.assert_allclose(by_alpha, slopes, 0, slack)
        second = jax.hessian(density, 1)(x[:, 0], alpha)[0, 0]
        np.testing.assert_allclose(second, float(truths[0][2]), 20 * tolerance)


POINTS = np.array([0.0, 1e-300, 1e-40, 1e-20, 0.3, 1.0, 2.5, 1e4, 1e10, 1e25, 1e38, np.inf, np.nan])
PLACES = np.array([0.0, 1e-30, 0.25, 0.5, 1.0, -0.5, 1.5, np.nan])


# By mpmath, with 700 digits.
LEAST_PARAMETERS: dict[Any, list[tuple[tuple[float, ...], float]]] = {
    stats.gamma.logpdf: [
        ((1e30, 1e-300), -1e30),
        ((10.0, 1e-300), -703.0781129912077),
        ((1e-160, 1e-300), -322.3619130191664),
    ],
    stats.beta.logpdf: [
        ((0.5, 3.0, 1e-300), -691.4686750787737),
        ((1e-10, 10.0, 1e-300), -898.0081862675778),
        ((0.5, 1e10, 1e-300), -6931472494.988687),
    ],
    stats.beta.cdf: [
        ((0.5, 1e-300, 1e10), 1.0),
        ((0.3, 1e10, 1e-300), 0.0),
        ((1e-10, 1e-30, 1e8), 1.0),
        ((3e-9, 3.0, 1e9), 0.57680992055347),
        ((3e-7, 30.0, 1e8), 0.5242836567092412),
        ((3.9e-20, 3.0, 1e20), 0.7468748973702161),
        ((1e-300, 0.5, 1e300), 0.8427007929497149),
    ],
    stats.beta.sf: [
        ((0.5, 1e-300, 1.0), 6.931471805599453e-301),
        ((0.3, 1e10, 1e-300), 1.0),
        ((3.9e-20, 3.0, 1e20), 0.25312510262978394),
        ((1.5e-30, 0.5, 1e30), 0.0832645166635504),
        ((1e-300, 0.5, 1e300), 0.1572992070502851),
    ],
    stats.beta.logcdf: [((0.9, 3.0, 1e-305), -702.2908711907808)],
    stats.beta.logsf: [
        ((0.5, 1e-300, 1e10), -6931472518.707685),
        ((1.5e-30, 0.5, 1e30), -2.48573279098608),
    ],
}


@pytest.mark.parametrize("dtype", TOLERANCES)
@pytest.mark.parametrize("powers", [0, 1])
def test_deviances_are_those_of_the_twin(powers: int, dtype: Any) -> None:
    rng = np.random.default_rng(0)
    x = np.concatenate([np.repeat(POINTS, POINTS.size), np.exp(rng.uniform(-9, 9, 4000))])
    y = np.concatenate([np.tile(POINTS, POINTS.size), x[-4000:] * rng.uniform(0.1, 3, 4000)])
    with jax.enable_x64(True), np.errstate(all="ignore"):
        x, y = x.astype(dtype), y.astype(dtype)
        distance = y - x
        given = np.asarray(deviance_p.bind(x, y, distance, powers=powers))
        wide = [v.astype(np.float64) for v in (x, y, distance)]
        twin = np.asarray(deviance_p.evaluate(*wide, powers=powers)).astype(dtype)
        # A logarithm alone is not to be of 0.
        is_known = (powers == 0) | (x > 0)
    eps = np.finfo(dtype).eps
    np.testing.assert_allclose(given[is_known], twin[is_known], 16 * eps, 4 * eps)


@pytest.mark.parametrize("engine", ["eager", "xla", "native"])
def test_functions_of_least_parameters(engine: str) -> None:
    """The quotient of parameter and number is below the least of all, or its inverse above."""
    for function, rows in LEAST_PARAMETERS.items():
        points, expected = zip(*rows, strict=True)
        run = function
        if engine != "eager":
            run = jax.jit(run, compiler_options={"jax_cpu_engine": engine})
        with jax.enable_x64(True):
            np.testing.assert_allclose(run(*np.array(points).T), expected, 1e-13)


@pytest.mark.parametrize("dtype", TOLERANCES)
def test_scaled_factorials_are_those_of_the_twin(dtype: Any) -> None:
    x = np.concatenate([POINTS, -POINTS, np.exp(np.random.default_rng(0).uniform(-9, 30, 4000))])
    with jax.enable_x64(True), np.errstate(all="ignore"):
        x = x.astype(dtype)
        given = np.asarray(log_scaled_factorial_p.bind(x))
        twin = log_scaled_factorial_p.evaluate(x.astype(np.float64)).astype(dtype)
    np.testing.assert_allclose(given, twin, 8 * np.finfo(dtype).eps, 1e-37)


@pytest.mark.parametrize("dtype", TOLERANCES)
def test_products_are_those_of_the_twin(dtype: Any) -> None:
    rng = np.random.default_rng(0)
    with jax.enable_x64(True), np.errstate(all="ignore"):
        a, b = np.exp(rng.uniform(-9, 9, (2, 999))).astype(dtype)
        x = np.concatenate([(a / (a + b))[:-8], PLACES]).astype(dtype)
        np.testing.assert_array_equal(excess_p.bind(a, b, x), excess_p.evaluate(a, b, x))
        for part in ("full", "whole", "broken"):
            given = distance_from_product_p.bind(a, b, x, part=part)
            twin = distance_from_product_p.evaluate(a, b, x, part=part)
            np.testing.assert_array_equal(given, twin)


def test_divergences_next_to_their_zeros() -> None:
    with jax.enable_x64(True):
        p = np.exp(np.random.default_rng(0).uniform(-9, 9, 300))
        q = p * (1 + np.random.default_rng(1).normal(size=300) * 1e-6)
        pairs = [p, q]
        divergence = _truths(lambda p, q: p * mpmath.log(p / q) - p + q, pairs)
        entropy = _truths(lambda p, q: p * mpmath.log(p / q), pairs)
        for run in (lambda f: f, jax.jit):
            given = run(special.kl_div)(p, q), run(special.rel_entr)(p, q)
            np.testing.assert_allclose(given[0], np.array(divergence, float), 1e-14)
            np.testing.assert_allclose(given[1], np.array(entropy, float), 1e-14)


@pytest.mark.parametrize("dtype", TOLERANCES)
@pytest.mark.parametrize(
    ("name", "zero"), [("lgamma", 1.0), ("lgamma", 2.0), ("digamma", 1.4616321449683622)]
)
def test_log_gamma_next_to_zeros(name: str, zero: float, dtype: Any) -> None:
    truth = {"lgamma": _log_gamma, "digamma": mpmath.digamma}[name]
    distances = 10.0 ** np.linspace(-15, -0.01, 100)
    with jax.enable_x64(True):
        x = np.concatenate([zero - distances, zero + distances, zero + 50 * distances, [1e-9]])
        x = x.astype(dtype)
        expected = np.array(_truths(truth, [x]), float)
        function = getattr(jax.lax, name)
        # Next to the root of ψ eager float32 has half of the bits that are left there.
        eager = (64 if (name, dtype) == ("digamma", np.float32) else 8) * np.finfo(dtype).eps
        np.testing.assert_allclose(np.asarray(function(x), float), expected, eager)
        for engine in ENGINES:
            run = jax.jit(function, compiler_options={"jax_cpu_engine": engine})
            tolerance = 8 * np.finfo(dtype).eps
            np.testing.assert_allclose(np.asarray(run(x), float), expected, tolerance)


def test_digamma_of_single_has_all_digits() -> None:
    x = np.concatenate([np.linspace(-30.3, 40, 3000), np.geomspace(1e-30, 1e30, 1000)])
    x = np.concatenate([x, -0.5 - np.arange(9) + 1e-3, [9.9999, 10.0, 10.0001]]).astype(np.float32)
    expected = np.array(_truths(mpmath.digamma, [x]), float)
    for engine in ENGINES:
        run = jax.jit(jax.lax.digamma, compiler_options={"jax_cpu_engine": engine})
        np.testing.assert_allclose(np.asarray(run(x), float), expected, 1.01 * 2.0**-24)


def test_log_odds_next_to_their_zero() -> None:
    with jax.enable_x64(True):
        x = 0.5 + np.random.default_rng(0).normal(size=200) * 10.0 ** np.linspace(-15, -1, 200)
        for dtype in TOLERANCES:
            numbers = x.astype(dtype)
            expected = np.array(_truths(lambda x: mpmath.log(x / (1 - x)), [numbers]), float)
            for run in (special.logit, jax.jit(special.logit)):
                given = np.asarray(run(numbers), np.float64)
                np.testing.assert_allclose(given, expected, 4 * np.finfo(dtype).eps)


def test_slopes_of_scaled_factorials() -> None:
    x = np.concatenate([10 ** np.random.default_rng(0).uniform(-3, 8, 100), [9.999, 10.0, 1.0]])
    with jax.enable_x64(True):
        for primitive, truth in (
            (
                _scaled_factorials.slope_of_factorial_p,
                lambda x: mpmath.psi(0, x + 1) - mpmath.log(x),
            ),
            (_scaled_factorials.curvature_of_factorial_p, lambda x: mpmath.psi(1, x + 1) - 1 / x),
        ):
            expected = np.array(_truths(truth, [x]), float)
            for run in (primitive.bind, jax.jit(primitive.bind)):
                np.testing.assert_allclose(run(x), expected, 1e-13)


def test_operands_of_other_shapes() -> None:
    a, b = np.float32(3), np.arange(1, 4, dtype=np.float32)
    x = np.full((2, 1), 0.3, np.float32)
    for function in (_deviances.binomial_deviance, _deviances.beta_deviance):
        whole = function(*np.broadcast_arrays(a, b, x))
        np.testing.assert_array_equal(function(a, b, x), whole)
        for place in range(3):
            slope = jax.jacfwd(function, place)(a, b, x)
            assert slope.shape == (2, 3, *np.shape((a, b, x)[place]))


_digamma: Callable[[Any], Any] = mpmath.digamma
SLOPES_BY_COUNTS: dict[str, Callable[..., Any]] = {
    "poisson": lambda k, mu: mpmath.log(mu) - _digamma(k + 1),
    "binom": lambda k, n, p: _digamma(n - k + 1) - _digamma(k + 1) + mpmath.log(p / (1 - p)),
    "nbinom": lambda k, n, p: _digamma(n + k) - _digamma(k + 1) + mpmath.log(1 - p),
}


@pytest.mark.parametrize("dtype", TOLERANCES)
@pytest.mark.parametrize("name", SLOPES_BY_COUNTS)
def test_slopes_by_counts_are_finite_at_the_least_and_the_greatest(name: str, dtype: Any) -> None:
    operands = [x.astype(dtype) for x in _operands(name)]
    operands[0][::4] = 0
    if name == "binom":
        operands[0][1::4] = operands[1][1::4]
        operands[1][::8] = 0
    function = getattr(stats, name).logpmf
    truth = SLOPES_BY_COUNTS[name]

    def slopes(k: Any, *parameters: Any) -> Any:
        slope, back = jax.vjp(lambda k: jax.grad(lambda x: function(x, *parameters).sum())(k), k)
        return slope, back(jax.numpy.ones_like(k))[0]

    def curvature(k: Any, *parameters: Any) -> Any:
        return mpmath.diff(lambda x: truth(x, *parameters), k)

    with jax.enable_x64(True):
        for run in (slopes, jax.jit(slopes)):
            for found, expected in zip(run(*operands), (truth, curvature), strict=True):
                wanted = np.array(_truths(expected, operands), np.float64)
                np.testing.assert_allclose(found, wanted, 20 * TOLERANCES[dtype], 1e-30)


INF = np.inf
# Of densities at an end: the arguments, and the slopes by all of them but `loc`.
SLOPES_AT_ENDS: dict[Any, list[tuple[tuple[float, ...], tuple[float, ...]]]] = {
    stats.gamma.pdf: [
        ((0.0, 3.0, 0.0, 2.0), (0, 0, 0)),
        ((0.0, 2.0, 0.0, 2.0), (0.25, 0, 0)),
        ((1.0, 1.5, 1.0, 2.0), (INF, 0, 0)),
        ((0.0, 1.0, 0.0, 2.0), (-0.25, -INF, -0.25)),
        ((-0.0, 1.0, 0.0, 2.0), (-0.25, -INF, -0.25)),
        ((0.0, 0.5, 0.0, 2.0), (-INF, -INF, -INF)),
        ((-1.0, 1.5, 0.0, 2.0), (0, 0, 0)),
        ((INF, 1.5, 0.0, 2.0), (0, 0, 0)),
        ((-INF, 1.5, 0.0, 2.0), (0, 0, 0)),
        ((1.0, -1.5, 0.0, 2.0), (np.nan, np.nan, np.nan)),
    ],
    stats.chi2.pdf: [
        ((0.0, 4.0, 0.0, 1.0), (0.25, 0, 0)),
        ((0.0, 2.0, 0.0, 1.0), (-0.25, -INF, -0.5)),
    ],
    stats.beta.pdf: [
        ((0.0, 2.0, 3.0, 0.0, 2.0), (3, 0, 0, 0)),
        ((2.0, 3.0, 2.0, 0.0, 2.0), (-3, 0, 0, 3)),
        ((0.0, 1.5, 1.0, 0.0, 1.0), (INF, 0, 0, 0)),
        ((1.0, 2.5, 1.5, 0.0, 1.0), (-INF, 0, 0, INF)),
        ((0.0, 3.0, 3.0, 0.0, 1.0), (0, 0, 0, 0)),
        ((1.0, 2.0, 1.0, 0.0, 1.0), (2, 1, -INF, -4)),
        ((1.0, 1.0, 1.0, 0.0, 1.0), (0, 1, -INF, -1)),
        ((0.0, 0.5, 0.5, 0.0, 1.0), (-INF, -INF, INF, -INF)),
        ((1.5, 0.5, 0.5, 0.0, 1.0), (0, 0, 0, 0)),
        ((-0.5, 0.5, 0.5, 0.0, 1.0), (0, 0, 0, 0)),
    ],
    stats.beta.logpdf: [((1.0, 1.0, 1.0, 0.0, 1.0), (0, 1, -INF, -1))],
}


@pytest.mark.parametrize("engine", ["eager", *ENGINES])
@pytest.mark.parametrize("function", SLOPES_AT_ENDS)
def test_slopes_at_the_ends(function: Any, engine: str) -> None:
    def slopes(*arguments: Any) -> Any:
        for i, x in enumerate(arguments):
            # Each by itself: infinite slopes times tangents of 0 are no numbers.
            along = lambda y: function(*arguments[:i], y, *arguments[i + 1 :])  # noqa: B023, E731
            one = jax.numpy.ones_like(x)
            yield jax.jvp(along, (x,), (one,))[1], jax.vjp(along, x)[1](one)[0]

    run: Any = lambda *arguments: list(slopes(*arguments))  # noqa: E731
    if engine != "eager":
        run = jax.jit(run, compiler_options={"jax_cpu_engine": engine})
    given, expected = (
        np.array(x, np.float32).T for x in zip(*SLOPES_AT_ENDS[function], strict=True)
    )
    wanted = [*expected[:-1], -expected[0], expected[-1]]
    for found, slope in zip(run(*given), wanted, strict=True):
        np.testing.assert_allclose(found, [slope, slope], 2e-6, 2e-7)


@pytest.mark.parametrize("engine", ENGINES)
def test_the_beta_density_far_from_all_mass_is_zero(engine: str) -> None:
    """Before a factor of 10³⁰ even e⁻¹⁵⁰ is much."""
    points = [(1.0, 1e30, 0.5), (0.5, 1e30, 0.1), (1e30, 2.0, 0.1), (3.0, 1e30, 1e-20)]
    slope = jax.vmap(jax.grad(special.betainc, 2))
    run = jax.jit(slope, compiler_options={"jax_cpu_engine": engine})
    np.testing.assert_array_equal(run(*np.array(points, np.float32).T), 0)
