"""The beta-binomial distribution: `binom`, with p of the beta distribution of parameters a and b.

Its probabilities are computed by a deviance (`special/_deviances.py`), that of the table of k, a,
n − k and b.  All functions take arrays that broadcast against each other, and give an array of
their shape and promoted floating dtype.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import lax
from ... import numpy as jnp
from ...control.custom.custom_jvp import custom_jvp
from ...engines.reference.replay import replayed
from ...numpy.half_precision import in_float32
from ..special._deviances import table_deviance
from ..special._digamma_difference import digamma_difference_p
from ..special._scaled_factorials import log_scaled_factorial
from ._arguments import arguments, counted
from ._ends import exponential


@replayed(5)
@in_float32
def logpmf(k: Any, n: Any, a: Any, b: Any, loc: Any = 0) -> Any:
    """The logarithm of C(n, k) B(k + a, n − k + b) / B(a, b), and −∞ unless k is 0, 1, …, n.

    It is NaN unless a and b are positive, and n is not negative.

    Example:
        >>> from morphax.scipy.stats import betabinom
        >>> betabinom.logpmf(0, 1, 1.0, 1.0).round(5)
        Array(-0.69315, dtype=float32, weak_type=True)
    """
    count, inside, n, a, b = counted("betabinom.logpmf", k, loc, n, a, b)
    inside = inside & ~(count > n)
    k = jnp.where(inside, count, 0)
    value = jnp.where(inside, _log_probability(k, n, a, b), -np.inf)
    return jnp.where((n >= 0) & (a > 0) & (b > 0), value, np.nan)


@custom_jvp
def _log_probability(k: Any, n: Any, a: Any, b: Any) -> Any:
    rest, total = n - k, a + b
    value = log_scaled_factorial(n) + log_scaled_factorial(total) - log_scaled_factorial(n + total)
    for x, y in ((k, a), (rest, b)):
        value = value + log_scaled_factorial(x + y)
        value = value - (log_scaled_factorial(x) + log_scaled_factorial(y))
    # In this order: the product of the quotients below 1 may be less than the least number.
    ratio = a / (k + a) * ((n + total) / total) * (b / (rest + b))
    return value + lax.log(ratio) - table_deviance(k, a, rest, b)


def _rise(x: Any, steps: Any) -> Any:
    """ψ(x + steps) − ψ(x)."""
    return digamma_difference_p.bind(*jnp.broadcast_arrays(x, steps))


def _slope_by_count(k: Any, a: Any) -> Any:
    return lax.digamma(k + a) - lax.digamma(k + 1)


_log_probability.defjvps(
    lambda t, out, k, n, a, b: t * (_slope_by_count(k, a) - _slope_by_count(n - k, b)),
    lambda t, out, k, n, a, b: t * (_slope_by_count(n - k, b) - _slope_by_count(n, a + b)),
    lambda t, out, k, n, a, b: t * (_rise(a, k) - _rise(a + b, n)),
    lambda t, out, k, n, a, b: t * (_rise(b, n - k) - _rise(a + b, n)),
)
_probability = exponential(logpmf, 5)


@replayed(5)
@in_float32
def pmf(k: Any, n: Any, a: Any, b: Any, loc: Any = 0) -> Any:
    """The probability C(n, k) B(k + a, n − k + b) / B(a, b), and 0 unless k is 0, 1, …, n.

    Example:
        >>> import morphax.numpy as jnp
        >>> from morphax.scipy.stats import betabinom
        >>> betabinom.pmf(jnp.arange(4), n=3, a=1.0, b=1.0).round(5)
        Array([0.25, 0.25, 0.25, 0.25], dtype=float32)
    """
    return _probability(*arguments("betabinom.pmf", k, n, a, b, loc))
