"""The wrapped Cauchy distribution of angles: (1 − c²) / (2π (1 + c² − 2c cos x)) on [0, 2π].

All functions take arrays that broadcast against each other, and give an array of their shape and
promoted floating dtype; NaN unless 0 ≤ c < 1.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ... import lax
from ... import numpy as jnp
from ...engines.reference.replay import replayed
from ...numpy.half_precision import in_float32
from ._arguments import arguments, never


@replayed(2)
@in_float32
def logpdf(x: Any, c: Any) -> Any:
    """The logarithm of the density, −∞ outside [0, 2π].

    Example:
        >>> from morphax.scipy.stats import wrapcauchy
        >>> wrapcauchy.logpdf(1.0, 0.0)
        Array(-1.837877, dtype=float32, weak_type=True)
    """
    x, c = arguments("wrapcauchy.logpdf", x, c)
    c = jnp.where((c >= 0) & (c < 1), c, np.nan)
    outside = (x < 0) | (x > 2 * math.pi)
    angle = jnp.where(outside, 0, x)
    # 1 + c² − 2c cos x, as a sum of squares.
    spread = lax.square(1 - c) + 4 * c * lax.square(lax.sin(0.5 * angle))
    # 1 − c² as a product: next to c = 1 the square is rounded by more than is left.
    value = lax.log((1 - c) * (1 + c) / spread) - math.log(2 * math.pi)
    return jnp.where(outside, never(c), value)


@replayed(2)
@in_float32
def pdf(x: Any, c: Any) -> Any:
    """The density, 0 outside [0, 2π].

    Example:
        >>> from morphax.scipy.stats import wrapcauchy
        >>> wrapcauchy.pdf(0.0, c=0.5)
        Array(0.47746485, dtype=float32, weak_type=True)
    """
    return lax.exp(logpdf(*arguments("wrapcauchy.pdf", x, c)))
