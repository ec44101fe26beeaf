"""The multinomial distribution: how often each of several results comes up in n trials."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import lax
from ... import numpy as jnp
from ...engines.reference.replay import replayed
from ...numpy.half_precision import in_float32
from .. import special
from ._arguments import vectors


@replayed(3)
@in_float32
def logpmf(x: Any, n: Any, p: Any) -> Any:
    """The logarithm of n! ∏ᵢ pᵢ^xᵢ / xᵢ!, −∞ unless the xᵢ are counts with sum n.

    Args:
        x: counts (..., k).
        n: number of trials (...).
        p: probabilities (..., k).

    Returns:
        Array (...), of the promoted floating dtype.

    Example:
        >>> import numpy as np
        >>> from morphax.scipy.stats import multinomial
        >>> multinomial.logpmf(np.array([1, 1]), 2, np.array([0.5, 0.5]))
        Array(-0.6931472, dtype=float32)
    """
    x, n, p = vectors("multinomial.logpmf", x, n, p)
    counted = jnp.all((x >= 0) & (x == lax.floor(x)), -1) & (jnp.sum(x, -1) == n)
    safe = jnp.where(jnp.expand_dims(counted, -1), x, 0)
    ways = lax.lgamma(n + 1) - jnp.sum(lax.lgamma(safe + 1), -1)
    value = ways + jnp.sum(special.xlogy(safe, p), -1)
    has_nan = jnp.isnan(jnp.sum(x, -1) + n)
    return jnp.where(has_nan, np.nan, jnp.where(counted, value, -np.inf))


@replayed(3)
@in_float32
def pmf(x: Any, n: Any, p: Any) -> Any:
    """The probability n! ∏ᵢ pᵢ^xᵢ / xᵢ!, 0 unless the xᵢ are counts with sum n; see `logpmf`."""
    return lax.exp(logpmf(*vectors("multinomial.pmf", x, n, p)))
