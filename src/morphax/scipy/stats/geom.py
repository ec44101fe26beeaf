"""The geometric distribution: the number k of trials up to the first success, of probability p.

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
from ._arguments import arguments, counted


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
    inside = inside & ~(count < 1)
    failures = jnp.where(inside, count - 1, 0)
    return jnp.where(inside, special.xlog1py(failures, -p) + lax.log(p), -np.inf)


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
    return lax.exp(logpmf(*arguments("geom.pmf", k, p, loc)))
