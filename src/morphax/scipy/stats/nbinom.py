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
from .. import special
from ..special._log_beta import log_beta_of_positive
from ._arguments import arguments, counted


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
    # C(k + n − 1, n − 1) = 1 / ((k + n) B(k + 1, n)).
    total = count + n
    ways = -log_beta_of_positive(count + 1, n, total + 1) - lax.log(total)
    value = ways + special.xlogy(n, p) + special.xlog1py(count, -p)
    return jnp.where(inside, value, -np.inf)


@replayed(4)
@in_float32
def pmf(k: Any, n: Any, p: Any, loc: Any = 0) -> Any:
    """The probability C(k + n − 1, n − 1) pⁿ (1 − p)ᵏ, and 0 unless k is 0, 1, …."""
    return lax.exp(logpmf(*arguments("nbinom.pmf", k, n, p, loc)))
