"""The binomial distribution: the number k of successes in n trials, of probability p each.

All functions take arrays that broadcast against each other, and give an array of their shape and
promoted floating dtype.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import lax
from ... import numpy as jnp
from ...control.custom.custom_jvp import custom_jvp
from ...engines.reference.replay import replayed
from ...numpy.half_precision import in_float32
from ..special._deviances import (
    binomial_deviance,
    binomial_excess,
    binomial_slope,
    digamma_beyond_log,
)
from ..special._scaled_factorials import log_scaled_factorial, slope_of_factorial_p
from ._arguments import arguments, counted, never, probability
from ._ends import exponential


@replayed(4)
@in_float32
def logpmf(k: Any, n: Any, p: Any, loc: Any = 0) -> Any:
    """The logarithm of C(n, k) pᵏ (1 − p)ⁿ⁻ᵏ, and −∞ unless k is 0, 1, …, n.

    It is NaN where n is negative.

    Example:
        >>> from morphax.scipy.stats import binom
        >>> binom.logpmf(1, 2, 0.5)
        Array(-0.6931472, dtype=float32, weak_type=True)
    """
    count, inside, n, p = counted("binom.logpmf", k, loc, n, p)
    p = jnp.where(n < 0, np.nan, probability(p))
    inside = inside & ~(count > n)
    k = jnp.where(inside, count, 0)
    return jnp.where(inside, _log_probability(k, n, jnp.where(inside, p, 0.5)), never(p))


@custom_jvp
def _log_probability(k: Any, n: Any, p: Any) -> Any:
    ways = log_scaled_factorial(n) - log_scaled_factorial(k) - log_scaled_factorial(n - k)
    return ways - binomial_deviance(k, n - k, p)


def _some(n: Any) -> Any:
    """n, or 1 where there are no trials: log n, which all parts of a slope have, cancels."""
    return jnp.where(n == 0, 1, n)


def _score(k: Any, n: Any, p: Any) -> Any:
    """ψ(k + 1) − log np."""
    return digamma_beyond_log(k, _some(n) * p, binomial_excess(k, n - k, p))


def _score_of_rest(k: Any, n: Any, p: Any) -> Any:
    """ψ(n − k + 1) − log n(1 − p)."""
    return digamma_beyond_log(n - k, _some(n) * (1 - p), -binomial_excess(k, n - k, p))


def _score_of_all(n: Any) -> Any:
    """ψ(n + 1) − log n."""
    none = lax.digamma(jnp.where(n == 0, n, 0) + 1)
    return jnp.where(n == 0, none, slope_of_factorial_p.bind(_some(n)))


_log_probability.defjvps(
    lambda t, out, k, n, p: t * (_score_of_rest(k, n, p) - _score(k, n, p)),
    lambda t, out, k, n, p: t * (_score_of_all(n) - _score_of_rest(k, n, p)),
    lambda t, out, k, n, p: -t * binomial_slope(k, n - k, p),
)


def _limit(k: Any, n: Any, p: Any, loc: Any) -> Any:
    """The slope by p where the probability is 0."""
    count = k - loc
    at_zero, at_one = (p == 0) & (count == 1), (p == 1) & (count == n - 1)
    return jnp.where(at_zero & (n >= 1), n, 0) - jnp.where(at_one & (n >= 1), n, 0)


_probability = exponential(logpmf, 4, {2: _limit})


@replayed(4)
@in_float32
def pmf(k: Any, n: Any, p: Any, loc: Any = 0) -> Any:
    """The probability C(n, k) pᵏ (1 − p)ⁿ⁻ᵏ, and 0 unless k is 0, 1, …, n.

    Example:
        >>> import morphax.numpy as jnp
        >>> from morphax.scipy.stats import binom
        >>> binom.pmf(jnp.arange(3), n=2, p=0.5)
        Array([0.25, 0.5 , 0.25], dtype=float32, weak_type=True)
    """
    return _probability(*arguments("binom.pmf", k, n, p, loc))
