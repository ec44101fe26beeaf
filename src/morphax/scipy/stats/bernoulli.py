"""The Bernoulli distribution: 1 with probability p, and 0 otherwise.

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
from .. import special
from ..special._deviances import binomial_slope
from ._arguments import arguments, counted, never, probability
from ._ends import exponential


@replayed(3)
@in_float32
def logpmf(k: Any, p: Any, loc: Any = 0) -> Any:
    """The logarithm of the probability of `k`: log p or log(1 − p), and −∞ unless k is 1 or 0.

    Example:
        >>> from morphax.scipy.stats import bernoulli
        >>> bernoulli.logpmf(1, 0.25)
        Array(-1.3862944, dtype=float32, weak_type=True)
    """
    count, inside, p = counted("bernoulli.logpmf", k, loc, p)
    p, inside = probability(p), inside & ~(count > 1)
    value = _log_probability(jnp.where(inside, count, 0), jnp.where(inside, p, 0.5))
    return jnp.where(inside, value, never(p))


@custom_jvp
def _log_probability(k: Any, p: Any) -> Any:
    return special.xlogy(k, p) + special.xlog1py(1 - k, -p)


_log_probability.defjvps(
    lambda t, out, k, p: t * (lax.log(p) - lax.log1p(-p)),
    lambda t, out, k, p: -t * binomial_slope(k, 1 - k, p),
)


def _limit(k: Any, p: Any, loc: Any) -> Any:
    """The slope by p where the probability is 0."""
    count = k - loc
    return jnp.where((count == 0) | (count == 1), 2 * count - 1, 0)


_probability = exponential(logpmf, 3, {1: _limit})


@replayed(3)
@in_float32
def pmf(k: Any, p: Any, loc: Any = 0) -> Any:
    """The probability of `k`: p or 1 − p, and 0 unless k is 1 or 0.

    Example:
        >>> import morphax.numpy as jnp
        >>> from morphax.scipy.stats import bernoulli
        >>> bernoulli.pmf(jnp.array([0, 1, 2]), p=0.25)
        Array([0.75, 0.25, 0.  ], dtype=float32)
    """
    return _probability(*arguments("bernoulli.pmf", k, p, loc))


@replayed(2)
@in_float32
def cdf(k: Any, p: Any) -> Any:
    """The probability of at most `k`: 0 below 0, 1 − p below 1, and 1 above.

    Example:
        >>> import morphax.numpy as jnp
        >>> from morphax.scipy.stats import bernoulli
        >>> bernoulli.cdf(jnp.array([-1, 0, 1]), p=0.25)
        Array([0.  , 0.75, 1.  ], dtype=float32)
    """
    k, p = arguments("bernoulli.cdf", k, p)
    p = probability(p)
    inside = jnp.where(k < 1, 1 - p, lax.full_like(p, 1))
    return jnp.where(jnp.isnan(k) | jnp.isnan(p), np.nan, jnp.where(k < 0, 0.0, inside))


@replayed(2)
@in_float32
def ppf(q: Any, p: Any) -> Any:
    """The quantile: 0 for q ≤ 1 − p, and 1 above; NaN unless 0 ≤ q ≤ 1.

    Example:
        >>> import morphax.numpy as jnp
        >>> from morphax.scipy.stats import bernoulli
        >>> bernoulli.ppf(jnp.array([0.5, 0.9]), p=0.25)
        Array([0., 1.], dtype=float32)
    """
    q, p = arguments("bernoulli.ppf", q, p)
    q, p = probability(q), probability(p)
    value = jnp.where(q <= 1 - p, lax.full_like(q, 0), lax.full_like(q, 1))
    return jnp.where(jnp.isnan(q) | jnp.isnan(p), np.nan, value)
