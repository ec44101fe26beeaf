"""The multinomial distribution: how often each of several results comes up in n trials."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import lax
from ... import numpy as jnp
from ...control.custom.custom_jvp import custom_jvp
from ...engines.reference.replay import replayed
from ...numpy.half_precision import in_float32
from ..special._deviances import deviance_at, distances_from_product
from ..special._scaled_factorials import log_scaled_factorial
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
    value = _log_probability(jnp.where(jnp.expand_dims(counted, -1), x, 0), n, p)
    has_nan = jnp.isnan(jnp.sum(x, -1) + n)
    return jnp.where(has_nan, np.nan, jnp.where(counted, value, -np.inf))


@custom_jvp
def _log_probability(x: Any, n: Any, p: Any) -> Any:
    """log(n! ∏ᵢ pᵢ^xᵢ / xᵢ!), by deviances of the counts from n pᵢ.

    They hold n pᵢ − xᵢ, whose sum is n (Σ pᵢ − 1): next to nothing, though each may be large.
    """
    distance, whole, rest = distances_from_product(x, jnp.expand_dims(n, -1), p)
    terms = log_scaled_factorial(x) + deviance_at(x, x + distance, distance)
    return log_scaled_factorial(n) - jnp.sum(terms, -1) + (jnp.sum(whole, -1) + jnp.sum(rest, -1))


_log_probability.defjvps(
    lambda t, out, x, n, p: jnp.sum(t * (lax.log(p) - lax.digamma(x + 1)), -1),
    lambda t, out, x, n, p: t * lax.digamma(n + 1),
    lambda t, out, x, n, p: jnp.sum(t * x / p, -1),
)


@replayed(3)
@in_float32
def pmf(x: Any, n: Any, p: Any) -> Any:
    """The probability n! ∏ᵢ pᵢ^xᵢ / xᵢ!, 0 unless the xᵢ are counts with sum n; see `logpmf`.

    Example:
        >>> import morphax.numpy as jnp
        >>> from morphax.scipy.stats import multinomial
        >>> multinomial.pmf(jnp.array([1, 1]), n=2, p=jnp.array([0.5, 0.5]))
        Array(0.5, dtype=float32)
    """
    return lax.exp(logpmf(*vectors("multinomial.pmf", x, n, p)))
