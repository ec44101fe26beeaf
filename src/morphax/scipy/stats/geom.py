"""The geometric distribution: the number k of trials up to the first success, of probability p.

All functions take arrays that broadcast against each other, and give an array of their shape and
promoted floating dtype.
"""

from __future__ import annotations

from typing import Any

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
    """The logarithm of p (1 − p)^(k − 1), and −∞ unless k is 1, 2, ….

    Example:
        >>> from morphax.scipy.stats import geom
        >>> geom.logpmf(1, 0.5)
        Array(-0.6931472, dtype=float32, weak_type=True)
    """
    count, inside, p = counted("geom.logpmf", k, loc, p)
    p, inside = probability(p), inside & ~(count < 1)
    value = _log_probability(jnp.where(inside, count - 1, 0), jnp.where(inside, p, 0.5))
    return jnp.where(inside, value, never(p))


@custom_jvp
def _log_probability(failures: Any, p: Any) -> Any:
    return special.xlog1py(failures, -p) + lax.log(p)


_log_probability.defjvps(
    lambda t, out, failures, p: t * lax.log1p(-p),
    lambda t, out, failures, p: -t * binomial_slope(lax.full_like(p, 1), failures, p),
)


def _limit(k: Any, p: Any, loc: Any) -> Any:
    """The slope by p where the probability is 0."""
    count = k - loc
    at_zero = (p == 0) & (count >= 1) & (count == lax.floor(count))
    return jnp.where(at_zero, 1, jnp.where((p == 1) & (count == 2), -1, 0))


_probability = exponential(logpmf, 3, {1: _limit})


@replayed(3)
@in_float32
def pmf(k: Any, p: Any, loc: Any = 0) -> Any:
    """The probability p (1 − p)^(k − 1), and 0 unless k is 1, 2, ….

    Example:
        >>> import morphax.numpy as jnp
        >>> from morphax.scipy.stats import geom
        >>> geom.pmf(jnp.arange(4), p=0.5)
        Array([0.   , 0.5  , 0.25 , 0.125], dtype=float32)
    """
    return _probability(*arguments("geom.pmf", k, p, loc))
