"""Density estimates: a normal distribution around each point of a sample.

Reference: D. W. Scott, Multivariate Density Estimation, 2nd ed., Wiley 2015; B. W. Silverman,
Density Estimation for Statistics and Data Analysis, Chapman & Hall 1986.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NoReturn, final

from ... import lax, random, tree
from ... import numpy as jnp
from ...errors import ShapeError
from ...util.messages import message
from .. import special
from ._arguments import vectors

_LOG_2PI = math.log(2 * math.pi)
_FIELDS = ("neff", "dataset", "weights", "covariance", "inv_cov")


@final
@tree.register_pytree_node_class
class gaussian_kde:
    """The density Σᵢ wᵢ N(x; xᵢ, C) of points xᵢ with weights wᵢ.

    C is the covariance of the sample times the square of a factor: with the effective number of
    points n = 1 / Σᵢ wᵢ² in d dimensions, n^(−1/(d + 4)) by Scott's rule.

    Args:
        dataset: points (d, n), or numbers (n,).
        bw_method: ``"scott"`` (the default), ``"silverman"``, the factor itself, or a function from
            the estimate to the factor.
        weights: of the points (n,), equal by default; they are divided by their sum.

    Raises:
        ShapeError: if there are fewer than two points, or the weights do not fit.
        ValueError: if `bw_method` is none of these.
        NotImplementedError: if the points are complex.

    Example:
        >>> import numpy as np
        >>> from morphax.scipy import stats
        >>> density = stats.gaussian_kde(np.array([-1.0, 0.0, 1.0]))
        >>> density(np.array([0.0])).round(4)
        Array([0.3182], dtype=float32)
    """

    neff: Any
    dataset: Any
    weights: Any
    covariance: Any
    inv_cov: Any

    def __init__(self, dataset: Any, bw_method: Any = None, weights: Any = None) -> None:
        (points,) = vectors("gaussian_kde", dataset)
        points = jnp.atleast_2d(points)
        if points.dtype.kind == "c":
            raise NotImplementedError(
                message(
                    "scipy.stats.gaussian_kde, argument dataset",
                    given=f"{points.aval}",
                    expected="real points",
                    fix="Put real and imaginary parts in two rows.",
                )
            )
        if points.ndim != 2 or points.size < 2:
            raise _shape_error("dataset", points, "points (d, n) or (n,), two at least")
        self.dataset = points
        if weights is None:
            share = jnp.full(points.shape[1:], 1 / points.shape[1], points.dtype)
        else:
            points, given = vectors("gaussian_kde", points, weights)
            if given.shape != points.shape[1:]:
                raise _shape_error("weights", given, f"shape {points.shape[1:]}")
            share = given / jnp.sum(given)
        self.weights = share
        self.neff = 1 / jnp.sum(lax.square(share))
        covariance = jnp.atleast_2d(jnp.cov(points, rowvar=True, bias=False, aweights=share))
        factor = self._factor("scott" if bw_method is None else bw_method)
        self.covariance = covariance * lax.square(factor)
        self.inv_cov = jnp.linalg.inv(covariance) / lax.square(factor)

    def _factor(self, method: Any) -> Any:
        if method == "scott":
            return self.neff ** (-1 / (self.d + 4))
        if method == "silverman":
            return (self.neff * (self.d + 2) / 4) ** (-1 / (self.d + 4))
        if not isinstance(method, str) and jnp.isscalar(method):
            return jnp.asarray(method, self.dataset.dtype)
        if callable(method):
            return jnp.asarray(method(self), self.dataset.dtype)
        raise ValueError(
            message(
                "scipy.stats.gaussian_kde, argument bw_method",
                given=f"{method!r}",
                expected="'scott', 'silverman', a number, or a function of the estimate",
                fix="Leave it out for Scott's rule.",
            )
        )

    def tree_flatten(self) -> tuple[Sequence[Any], None]:
        """The arrays of the estimate."""
        return [getattr(self, name) for name in _FIELDS], None

    @classmethod
    def tree_unflatten(cls, _: None, children: Sequence[Any]) -> gaussian_kde:
        """An estimate of these arrays."""
        made = object.__new__(cls)
        for name, value in zip(_FIELDS, children, strict=True):
            setattr(made, name, value)
        return made

    @property
    def d(self) -> int:
        """The number of dimensions."""
        return int(self.dataset.shape[0])

    @property
    def n(self) -> int:
        """The number of points."""
        return int(self.dataset.shape[1])

    def evaluate(self, points: Any) -> Any:
        """The density at `points` (d, m), or at one point (d,), or at numbers (m,) if d = 1."""
        exponents = self._exponents(self._places(points), self.covariance)
        # Nothing is beyond the largest number that the density itself is not.
        return jnp.sum(self.weights * lax.exp(exponents), 1)

    def __call__(self, points: Any) -> Any:
        """The density at `points`; see `evaluate`."""
        return self.evaluate(points)

    def pdf(self, x: Any) -> Any:
        """The density at `x`; see `evaluate`."""
        return self.evaluate(x)

    def logpdf(self, x: Any) -> Any:
        """The logarithm of the density at points (d, m)."""
        return self._log_mixture(self._places(x), self.covariance)

    def _places(self, x: Any) -> Any:
        (points,) = vectors("gaussian_kde", x)
        points = jnp.atleast_2d(points)
        if points.shape == (1, self.d) and self.d > 1:
            points = points.T
        if points.ndim != 2 or points.shape[0] != self.d:
            raise _shape_error("points", points, f"shape ({self.d}, m)")
        return points

    def _exponents(self, points: Any, covariance: Any) -> Any:
        """log N(x; xᵢ, covariance), a row for each of the points (d, m)."""
        factor = lax.linalg.cholesky(covariance)
        # A solution for many points takes LAPACK far longer than a product.
        unit = jnp.eye(self.d, dtype=factor.dtype)
        inverse = lax.linalg.triangular_solve(factor, unit, left_side=True, lower=True)
        centres, places = [inverse @ x for x in vectors("gaussian_kde", self.dataset, points)]
        distances = centres[:, None, :] - places[:, :, None]
        log_det = jnp.sum(lax.log(jnp.diagonal(factor)))
        return -0.5 * jnp.sum(lax.square(distances), 0) - (0.5 * self.d * _LOG_2PI + log_det)

    def _log_mixture(self, points: Any, covariance: Any) -> Any:
        """log Σᵢ wᵢ N(x; xᵢ, covariance) at points (d, m)."""
        return special.logsumexp(self._exponents(points, covariance), axis=1, b=self.weights)

    def integrate_gaussian(self, mean: Any, cov: Any) -> Any:
        """The integral of the density times that of a normal distribution."""
        mean, cov = vectors("gaussian_kde.integrate_gaussian", mean, cov)
        mean, cov = jnp.atleast_1d(jnp.squeeze(mean)), jnp.atleast_2d(cov)
        if mean.shape != (self.d,) or cov.shape != (self.d, self.d):
            raise _shape_error("mean and cov", cov, f"a mean ({self.d},), cov ({self.d}, {self.d})")
        return lax.exp(self._log_mixture(mean[:, None], self.covariance + cov))[0]

    def integrate_box_1d(self, low: Any, high: Any) -> Any:
        """The probability of an interval, for numbers."""
        if self.d != 1:
            raise ValueError(
                message(
                    "gaussian_kde.integrate_box_1d",
                    given=f"an estimate in {self.d} dimensions",
                    expected="one dimension",
                    fix="Estimate the density of one component.",
                )
            )
        low, high = vectors("gaussian_kde.integrate_box_1d", low, high)
        scale = lax.sqrt(self.covariance[0, 0])
        upper, lower = [special.ndtr((x - self.dataset[0]) / scale) for x in (high, low)]
        return jnp.sum(self.weights * (upper - lower))

    def integrate_kde(self, other: Any) -> Any:
        """The integral of the product of two densities."""
        if other.d != self.d:
            raise _shape_error("other", other.dataset, f"points in {self.d} dimensions")
        few, many = (self, other) if self.n < other.n else (other, self)
        log_values = many._log_mixture(few.dataset, few.covariance + many.covariance)
        return jnp.sum(few.weights * lax.exp(log_values))

    def resample(self, key: Any, shape: tuple[int, ...] = ()) -> Any:
        """Points (d, *shape), drawn from the distribution."""
        which, noise = random.split(key)
        chosen = random.choice(which, self.n, shape, p=self.weights)
        factor = lax.linalg.cholesky(self.covariance)
        steps = random.normal(noise, (*shape, self.d), self.dataset.dtype)
        return self.dataset[:, chosen] + jnp.tensordot(factor, jnp.moveaxis(steps, -1, 0), 1)

    def integrate_box(self, low_bounds: Any, high_bounds: Any, maxpts: Any = None) -> NoReturn:
        """Not defined, as in JAX; `integrate_box_1d` is."""
        raise NotImplementedError(
            message(
                "gaussian_kde.integrate_box",
                given="a box of any number of dimensions",
                expected="an interval",
                fix="Use integrate_box_1d.",
            )
        )

    def set_bandwidth(self, bw_method: Any = None) -> NoReturn:
        """Not defined, as in JAX: an estimate does not change."""
        raise NotImplementedError(
            message(
                "gaussian_kde.set_bandwidth",
                given="an estimate that exists",
                expected="one that is made",
                fix="Make another: gaussian_kde(dataset, bw_method).",
            )
        )


def _shape_error(what: str, x: Any, expected: str) -> ShapeError:
    return ShapeError(
        message(
            f"scipy.stats.gaussian_kde, argument {what}",
            given=f"{x.aval}",
            expected=expected,
            fix="Points are columns: transpose an array that has them in rows.",
        )
    )
