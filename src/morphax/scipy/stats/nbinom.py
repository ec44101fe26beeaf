"""The negative binomial distribution: failures k before n successes, which have probability p.

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
    score,
)
from ..special._scaled_factorials import log_scaled_factorial, slope_of_factorial_p
from ._arguments import arguments, counted, never, probability
from ._ends import exponential


@replayed(4)
@in_float32
def logpmf(k: Any, n: Any, p: Any, loc: Any = 0) -> Any:
    """The logarithm of C(k + n − 1, n − 1) pⁿ (1 − p)ᵏ, and −∞ unless k is 0, 1, ….

    It is NaN where n is negative.

    Example:
        >>> from morphax.scipy.stats import nbinom
        >>> nbinom.logpmf(1, 1, 0.5)
        Array(-1.3862944, dtype=float32, weak_type=True)
    """
    count, inside, n, p = counted("nbinom.logpmf", k, loc, n, p)
    p = jnp.where(n < 0, np.nan, probability(p))
    return jnp.where(inside, _log_probability(count, n, jnp.where(inside, p, 0.5)), never(p))


@custom_jvp
def _log_probability(k: Any, n: Any, p: Any) -> Any:
    """The logarithm of the probability of k failures among n + k trials, times n / (n + k)."""
    ways = log_scaled_factorial(n + k) - log_scaled_factorial(n) - log_scaled_factorial(k)
    value = ways - binomial_deviance(n, k, p)
    return value - lax.log1p(jnp.where(k == 0, 0 * k, k / lax.abs(n)))


def _slope_by_count(t: Any, out: Any, k: Any, n: Any, p: Any) -> Any:
    total = n + k
    of_count = digamma_beyond_log(k, total * (1 - p), -binomial_excess(n, k, p))
    return t * (slope_of_factorial_p.bind(total) - 1 / total - of_count)


def _slope_by_successes(t: Any, out: Any, k: Any, n: Any, p: Any) -> Any:
    rise = slope_of_factorial_p.bind(n + k) - slope_of_factorial_p.bind(n)
    # Of no failures the probability is pⁿ, also for n = 0.
    return t * jnp.where(k == 0, lax.log(p), rise - score(n, k, p) + k / (n + k) / n)


_log_probability.defjvps(
    _slope_by_count,
    _slope_by_successes,
    lambda t, out, k, n, p: -t * binomial_slope(n, k, p),
)


def _limit(k: Any, n: Any, p: Any, loc: Any) -> Any:
    """The slope by p where the probability is 0: that of C pⁿ at 0, and of n (1 − p) at 1."""
    count = k - loc
    at_zero = (p == 0) & (count >= 0) & (count == lax.floor(count)) & (count < np.inf)
    slope = jnp.where(n < 1, np.inf, jnp.where(n == 1, 1, 0))
    return jnp.where(at_zero, slope, jnp.where((p == 1) & (count == 1), -n, 0))


_probability = exponential(logpmf, 4, {2: _limit})


@replayed(4)
@in_float32
def pmf(k: Any, n: Any, p: Any, loc: Any = 0) -> Any:
    """The probability C(k + n − 1, n − 1) pⁿ (1 − p)ᵏ, and 0 unless k is 0, 1, ….

    Example:
        >>> import morphax.numpy as jnp
        >>> from morphax.scipy.stats import nbinom
        >>> nbinom.pmf(jnp.arange(3), n=1, p=0.5)
        Array([0.5  , 0.25 , 0.125], dtype=float32)
    """
    return _probability(*arguments("nbinom.pmf", k, n, p, loc))
