"""The binomial distribution: the number k of successes in n trials, of probability p each.

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
    """The logarithm of C(n, k) pᵏ (1 − p)ⁿ⁻ᵏ, and −∞ unless k is 0, 1, …, n.

    Example:
        >>> from morphax.scipy.stats import binom
        >>> binom.logpmf(1, 2, 0.5)
        Array(-0.6931472, dtype=float32, weak_type=True)
    """
    count, inside, n, p = counted("binom.logpmf", k, loc, n, p)
    p = probability(p)
    inside = inside & ~(count > n)
    k = jnp.where(inside, count, 0)
    ways = log_scaled_factorial(n) - log_scaled_factorial(k) - log_scaled_factorial(n - k)
    value = ways - binomial_deviance(k, n - k, p)
    return jnp.where(inside, value, -np.inf)


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
    return lax.exp(logpmf(*arguments("binom.pmf", k, n, p, loc)))
