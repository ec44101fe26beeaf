"""Distributions of vectors, density estimates, ranks: against SciPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats as reference

import morphax as jax
import morphax.numpy as jnp
from morphax.errors import ShapeError
from morphax.lax.ground.formulas import HostNotation
from morphax.scipy import stats
from morphax.scipy.stats._poisson_entropy import poisson_entropy_p, poisson_entropy_slope_p
from morphax.test_util import check_grads

ALPHA = np.array([1.0, 2.0, 3.0])
MEAN = np.array([1.0, 2.0])
COV = np.array([[2.0, 0.5], [0.5, 1.0]])
TABLE = np.array([[3, 1, 1, 2], [2, 2, 1, 5]])


def close(given: Any, expected: Any) -> None:
    np.testing.assert_allclose(given, expected, 1e-11, 1e-14)


@pytest.mark.parametrize(
    "x", [[0.2, 0.3, 0.5], [0.2, 0.3], [0.0, 0.5, 0.5], [[0.2, 0.1], [0.3, 0.1], [0.5, 0.8]]]
)
def test_dirichlet(x: Any) -> None:
    with jax.enable_x64(True):
        close(stats.dirichlet.logpdf(np.array(x), ALPHA), reference.dirichlet.logpdf(x, ALPHA))
        close(stats.dirichlet.pdf(np.array(x), ALPHA), reference.dirichlet.pdf(x, ALPHA))


def test_outside_of_the_simplex() -> None:
    assert stats.dirichlet.logpdf(np.array([0.3, 0.5, 0.5]), ALPHA) == -np.inf
    assert stats.dirichlet.logpdf(np.array([-0.3, 0.8, 0.5]), ALPHA) == -np.inf
    assert np.isnan(stats.dirichlet.logpdf(np.array([np.nan, 0.8, 0.5]), ALPHA))
    with pytest.raises(ShapeError, match="as many probabilities"):
        stats.dirichlet.logpdf(np.ones(2), np.ones((3, 2)))


@pytest.mark.parametrize("counts", [[1, 2, 0], [1, 2, 1], [0, 0, 3], [[1, 2, 0], [3, 0, 0]]])
def test_multinomial(counts: Any) -> None:
    x, p = np.array(counts), np.array([0.2, 0.3, 0.5])
    with jax.enable_x64(True):
        close(stats.multinomial.logpmf(x, 3, p), reference.multinomial.logpmf(x, 3, p))
        close(stats.multinomial.pmf(x, 3, p), reference.multinomial.pmf(x, 3, p))


def test_no_counts() -> None:
    p = np.array([0.2, 0.8])
    assert stats.multinomial.logpmf(np.array([0.5, 0.5]), 1, p) == -np.inf
    assert stats.multinomial.logpmf(np.array([-1, 2]), 1, p) == -np.inf
    assert np.isnan(stats.multinomial.logpmf(np.array([np.nan, 1.0]), 1, p))


@pytest.mark.parametrize("shape", [(2,), (5, 2), (3, 1, 2)])
def test_multivariate_normal(shape: tuple[int, ...]) -> None:
    x = np.random.default_rng(0).normal(size=shape)
    with jax.enable_x64(True):
        for run in (stats.multivariate_normal.logpdf, jax.jit(stats.multivariate_normal.logpdf)):
            given = run(x, MEAN, COV)
            expected = reference.multivariate_normal.logpdf(x, MEAN, COV)
            close(given, np.asarray(expected).reshape(shape[:-1]))
        check_grads(stats.multivariate_normal.logpdf, (x, MEAN, COV), order=2, atol=1e-4, rtol=1e-4)


def test_many_normal_distributions() -> None:
    x, covs = np.ones((4, 1, 2)), np.stack([COV, 2 * COV, np.eye(2)])
    with jax.enable_x64(True):
        given = stats.multivariate_normal.logpdf(x, MEAN, covs)
        expected = [reference.multivariate_normal.logpdf(np.ones(2), MEAN, c) for c in covs]
        close(given, np.broadcast_to(expected, (4, 3)))
        close(
            stats.multivariate_normal.logpdf(MEAN, np.zeros(2), 2.0),
            reference.multivariate_normal.logpdf(MEAN, np.zeros(2), 2 * np.eye(2)),
        )
        close(stats.multivariate_normal.pdf(0.0, 1.0, 2.0), reference.norm.pdf(0, 1, np.sqrt(2)))


def test_covariances_that_are_none() -> None:
    assert np.isnan(stats.multivariate_normal.logpdf(MEAN, MEAN, np.ones((2, 2))))
    with pytest.raises(ShapeError, match=r"given: .*\(3,\)"):
        stats.multivariate_normal.logpdf(np.ones(3), MEAN, COV)
    with pytest.raises(NotImplementedError, match="allow_singular"):
        stats.multivariate_normal.logpdf(MEAN, MEAN, COV, allow_singular=True)


@pytest.mark.parametrize("method", ["average", "min", "max", "dense", "ordinal"])
@pytest.mark.parametrize("axis", [None, 0, 1, -1])
def test_ranks(method: str, axis: int | None) -> None:
    expected = reference.rankdata(TABLE, method, axis=axis)
    for run in (stats.rankdata, jax.jit(stats.rankdata, static_argnames=("method", "axis"))):
        given = run(TABLE, method, axis=axis)
        np.testing.assert_array_equal(given, expected.ravel() if axis is None else expected)


def test_ranks_at_the_edges() -> None:
    assert np.isnan(stats.rankdata(np.array([1.0, np.nan, 0.0]))).all()
    assert stats.rankdata(np.array([])).shape == (0,)
    with pytest.raises(ValueError, match="argument method"):
        stats.rankdata(TABLE, "foo")
    with pytest.raises(NotImplementedError, match="nan_policy"):
        stats.rankdata(TABLE, nan_policy="omit")


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "int8", "complex64"])
def test_ranks_are_exact_whatever_the_values_are(dtype: str) -> None:
    ranks = stats.rankdata(jnp.zeros(4001, dtype), "ordinal")
    assert ranks.dtype == np.float32
    np.testing.assert_array_equal(ranks, np.arange(1, 4002))
    with jax.enable_x64(True):
        assert stats.rankdata(jnp.zeros(3, dtype)).dtype == np.float64
        assert stats.mode(jnp.zeros(3, dtype)).count.dtype == np.int64


@pytest.mark.parametrize("axis", [None, 0, 1])
@pytest.mark.parametrize("keepdims", [False, True])
def test_modes(axis: int | None, keepdims: bool) -> None:
    given = stats.mode(TABLE, axis, keepdims=keepdims)
    expected = reference.mode(TABLE, axis, keepdims=keepdims)
    np.testing.assert_array_equal(given.mode, expected.mode)
    np.testing.assert_array_equal(given.count, expected.count)


def test_modes_at_the_edges() -> None:
    found = stats.mode(np.array([np.nan, 1.0, np.nan]))
    assert np.isnan(found.mode)
    assert found.count == 2
    one = stats.mode(np.float32(3), keepdims=True)
    assert (one.mode.item(), one.count.item(), one.mode.shape) == (3, 1, (1,))
    empty = stats.mode(np.zeros((0, 3)))
    assert np.isnan(empty.mode).all()
    assert (empty.count == 0).all()


@pytest.mark.parametrize("axis", [None, 0, 1])
def test_standard_errors(axis: int | None) -> None:
    x = np.where(TABLE == 5, np.nan, TABLE)
    with jax.enable_x64(True):
        close(stats.sem(TABLE, axis, ddof=0), reference.sem(TABLE, axis, ddof=0))
        close(stats.sem(x, axis), reference.sem(x, axis))
        if axis != 0:
            close(stats.sem(x, axis, 0, "omit"), reference.sem(x, axis, 0, nan_policy="omit"))
    with pytest.raises(ValueError, match="nan_policy"):
        stats.sem(TABLE, nan_policy="foo")


@pytest.mark.parametrize("method", [None, "silverman", 0.4, lambda estimate: 0.5])
@pytest.mark.parametrize("weighted", [False, True])
def test_density_estimates(method: Any, weighted: bool) -> None:
    rng = np.random.default_rng(0)
    data, points = rng.normal(size=(2, 30)), rng.normal(size=(2, 5))
    weights = np.arange(1.0, 31.0) if weighted else None
    with jax.enable_x64(True):
        ours = stats.gaussian_kde(data, method, weights)
        theirs = reference.gaussian_kde(data, method, weights)
        close(ours.covariance, theirs.covariance)
        close(ours.inv_cov, theirs.inv_cov)
        close(ours(points), theirs(points))
        close(jax.jit(lambda density, x: density.logpdf(x))(ours, points), theirs.logpdf(points))
        close(ours.integrate_gaussian(MEAN, COV), theirs.integrate_gaussian(MEAN, COV))
        close(ours.integrate_kde(ours), theirs.integrate_kde(theirs))
        line = stats.gaussian_kde(data[0], method, weights)
        expected = reference.gaussian_kde(data[0], method, weights).integrate_box_1d(0, 1)
        close(line.integrate_box_1d(0, 1), expected)
        drawn = ours.resample(jax.random.key(0), (400,))
        assert drawn.shape == (2, 400)
        assert np.abs(np.cov(drawn) - np.cov(data, aweights=weights)).max() < 0.5


def test_densities_that_cannot_be_estimated() -> None:
    for data in (np.ones((2, 3, 4)), np.ones(1)):
        with pytest.raises(ShapeError, match="two at least"):
            stats.gaussian_kde(data)
    with pytest.raises(ShapeError, match="weights"):
        stats.gaussian_kde(np.ones((2, 5)), weights=np.ones(3))
    with pytest.raises(ValueError, match="bw_method"):
        stats.gaussian_kde(np.ones((2, 5)), "foo")
    plane = stats.gaussian_kde(np.random.default_rng(0).normal(size=(2, 9)))
    with pytest.raises(ValueError, match="one dimension"):
        plane.integrate_box_1d(0, 1)
    for refused in (plane.set_bandwidth, lambda: plane.integrate_box(0, 1)):
        with pytest.raises(NotImplementedError):
            refused()


def test_rows_without_values_have_no_ranks() -> None:
    for shape, axis in (((0, 3), 0), ((3, 0), 1), ((2, 0, 3), 1)):
        assert stats.rankdata(np.zeros(shape), axis=axis).shape == shape


@pytest.mark.parametrize("sloped", [False, True])
def test_few_entropies_are_those_of_the_sum_term_by_term(sloped: bool) -> None:
    """All terms at once, for float32 in eager mode, against the formula of programs."""
    rng = np.random.default_rng(0)
    means = np.concatenate(
        [10 ** rng.uniform(-30, 3, 300), rng.uniform(0, 1000, 300), np.arange(1, 1000, 7)]
    )
    means = means[means < 1000]
    primitive = poisson_entropy_slope_p if sloped else poisson_entropy_p
    for part in np.array_split(means, 40):
        truth = type(primitive).formula(HostNotation(), part)
        np.testing.assert_allclose(type(primitive).of_narrow(part), truth, rtol=1e-9, atol=1e-15)
    special = np.array([0.0, -0.0, -1.0, np.nan, np.inf, 1000.0, 1e-45], np.float32)
    for x in special:
        truth = np.float32(type(primitive).formula(HostNotation(), np.float64(x)))
        np.testing.assert_array_equal(primitive.evaluate(np.array([x])), [truth])
