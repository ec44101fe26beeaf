"""The Poisson distribution with mean `mu`: the number k of events.

Functions take arrays that broadcast against each other, and give an array of their shape and
promoted floating dtype; NaN where the mean is negative.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import lax
from ... import numpy as jnp
from ...control.custom.custom_jvp import custom_jvp
from ...engines.reference.replay import replayed
from ...numpy.half_precision import in_float32
from ..special._deviances import deviance, digamma_beyond_log, one_minus_ratio
from ..special._scaled_factorials import log_scaled_factorial
from ._arguments import arguments, counted, strong
from ._ends import exponential
from ._poisson_entropy import poisson_entropy_p


@replayed(3)
@in_float32
def logpmf(k: Any, mu: Any, loc: Any = 0) -> Any:
    """The logarithm of muᵏ exp(−mu) / k!, and −∞ unless k − `loc` is 0, 1, ….

    Example:
        >>> from morphax.scipy.stats import poisson
        >>> poisson.logpmf(0, 2.0)
        Array(-2., dtype=float32, weak_type=True)
    """
    count, inside, mu = counted("poisson.logpmf", k, loc, mu)
    value = jnp.where(inside, _log_probability(count, mu), -np.inf)
    return jnp.where(mu >= 0, value, np.nan)


@custom_jvp
def _log_probability(k: Any, mu: Any) -> Any:
    return -log_scaled_factorial(k) - deviance(k, mu)


_log_probability.defjvps(
    lambda t, out, k, mu: -t * digamma_beyond_log(k, mu, mu - k),
    lambda t, out, k, mu: -t * one_minus_ratio(k, mu),
)
_probability = exponential(
    logpmf, 3, {1: lambda k, mu, loc: jnp.where((mu == 0) & (k - loc == 1), 1, 0)}
)


@replayed(3)
@in_float32
def pmf(k: Any, mu: Any, loc: Any = 0) -> Any:
    """The probability muᵏ exp(−mu) / k!, and 0 unless k − `loc` is 0, 1, ….

    Example:
        >>> import morphax.numpy as jnp
        >>> from morphax.scipy.stats import poisson
        >>> poisson.pmf(jnp.arange(3), mu=1.0)
        Array([0.36787945, 0.36787945, 0.18393973], dtype=float32, weak_type=True)
    """
    return _probability(*arguments("poisson.pmf", k, mu, loc))


@replayed(3)
@in_float32
def cdf(k: Any, mu: Any, loc: Any = 0) -> Any:
    """The probability of at most k − `loc` events, Q(⌊k − loc⌋ + 1, mu).

    Example:
        >>> from morphax.scipy.stats import poisson
        >>> poisson.cdf(0, 2.0)
        Array(0.13533528, dtype=float32, weak_type=True)
    """
    k, mu, loc = arguments("poisson.cdf", k, mu, loc)
    count = lax.floor(k - loc)
    below = count < 0
    # Infinitely many are not exceeded, whatever is expected, ∞ too; Q(∞, ∞) has no limit.
    mean = jnp.where((count == np.inf) & (mu > 0), 0, mu)
    value = lax.igammac(jnp.where(below, 0, count) + 1, mean)
    return jnp.where(below & (mu >= 0), 0.0, value)


@replayed(2)
@in_float32
def entropy(mu: Any, loc: Any = 0) -> Any:
    """The entropy −Σ p(k) log p(k), in nats, whatever `loc`.

    Reference:
        Evans & Boersma, "The entropy of a Poisson distribution", SIAM Review 30 (1988).

    Example:
        >>> from morphax.scipy.stats import poisson
        >>> poisson.entropy(1.0)
        Array(1.3048422, dtype=float32)
    """
    mu, _ = arguments("poisson.entropy", mu, loc)
    return strong(poisson_entropy_p.bind(mu))
