"""The beta-binomial distribution: `binom`, with p of the beta distribution of parameters a and b.

All functions take arrays that broadcast against each other, and give an array of their shape and
promoted floating dtype.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import lax
from ... import numpy as jnp
from ...engines.reference.replay import replayed
from ...numpy.half_precision import in_float32
from ..special._log_beta import log_beta_of_positive
from ._arguments import arguments, counted, log_binomial


@replayed(5)
@in_float32
def logpmf(k: Any, n: Any, a: Any, b: Any, loc: Any = 0) -> Any:
    """The logarithm of C(n, k) B(k + a, n − k + b) / B(a, b), and −∞ unless k is 0, 1, …, n.

    Example:
        >>> from morphax.scipy.stats import betabinom
        >>> betabinom.logpmf(0, 1, 1.0, 1.0)
        Array(-0.6931472, dtype=float32, weak_type=True)
    """
    count, inside, n, a, b = counted("betabinom.logpmf", k, loc, n, a, b)
    inside = inside & ~(count > n)
    k = jnp.where(inside, count, 0)
    value = log_binomial(n, k) + log_beta_of_positive(k + a, n - k + b, n + a + b)
    value = value - log_beta_of_positive(a, b, a + b)
    return jnp.where(inside, value, -np.inf)


@replayed(5)
@in_float32
def pmf(k: Any, n: Any, a: Any, b: Any, loc: Any = 0) -> Any:
    """The probability C(n, k) B(k + a, n − k + b) / B(a, b), and 0 unless k is 0, 1, …, n."""
    return lax.exp(logpmf(*arguments("betabinom.pmf", k, n, a, b, loc)))
