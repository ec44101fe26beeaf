"""The negative binomial distribution: failures k before n successes, which have probability p.

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
from ..special._deviances import binomial_deviance
from ..special._scaled_factorials import log_scaled_factorial
from ._arguments import arguments, counted, probability


@replayed(4)
@in_float32
def logpmf(k: Any, n: Any, p: Any, loc: Any = 0) -> Any:
    """The logarithm of C(k + n − 1, n − 1) pⁿ (1 − p)ᵏ, and −∞ unless k is 0, 1, ….

    Example:
        >>> from morphax.scipy.stats import nbinom
        >>> nbinom.logpmf(1, 1, 0.5)
        Array(-1.3862944, dtype=float32, weak_type=True)
    """
    count, inside, n, p = counted("nbinom.logpmf", k, loc, n, p)
    p = probability(p)
    # It is the probability of k failures among n + k trials, times n / (n + k).
    ways = log_scaled_factorial(n + count) - log_scaled_factorial(n) - log_scaled_factorial(count)
    value = ways - binomial_deviance(n, count, p)
    value = value - lax.log1p(jnp.where(count == 0, 0 * count, count / lax.abs(n)))
    return jnp.where(inside, value, -np.inf)


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
    return lax.exp(logpmf(*arguments("nbinom.pmf", k, n, p, loc)))
