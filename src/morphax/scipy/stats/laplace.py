"""The Laplace distribution, with density e^(−|z|) / (2 `scale`) for z = (x − `loc`) / `scale`.

All functions take arrays that broadcast against each other, and give an array of their shape and
promoted floating dtype.
"""

from __future__ import annotations

import math
from typing import Any

from ... import lax
from ... import numpy as jnp
from ...engines.reference.replay import replayed
from ...numpy.half_precision import in_float32
from ._arguments import arguments, placed, standardized
from ._ends import exponential


@replayed(3)
@in_float32
def logpdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of the density: −|z| − log(2 `scale`).

    Example:
        >>> from morphax.scipy.stats import laplace
        >>> laplace.logpdf(0.0)
        Array(-0.6931472, dtype=float32, weak_type=True)
    """
    distance, scale = placed("laplace.logpdf", x, loc, scale)
    return -lax.abs(distance / scale) - (lax.log(scale) + math.log(2))


_density = exponential(logpdf, 3)


@replayed(3)
@in_float32
def pdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The density e^(−|z|) / (2 `scale`).

    Example:
        >>> from morphax.scipy.stats import laplace
        >>> laplace.pdf(0.0, scale=2.0)
        Array(0.25, dtype=float32, weak_type=True)
    """
    return _density(*arguments("laplace.pdf", x, loc, scale))


@replayed(3)
@in_float32
def cdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The distribution function: eᶻ / 2 for z ≤ 0, and 1 − e⁻ᶻ / 2 above.

    Example:
        >>> from morphax.scipy.stats import laplace
        >>> laplace.cdf(0.0)
        Array(0.5, dtype=float32, weak_type=True)
    """
    z, _ = standardized("laplace.cdf", x, loc, scale)
    # Not by |z|, whose derivative at 0 is that of the other side.
    is_above = z > 0
    tail = 0.5 * lax.exp(jnp.where(is_above, -z, z))
    return jnp.where(is_above, 1 - tail, tail)
