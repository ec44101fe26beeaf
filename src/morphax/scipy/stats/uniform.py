"""The uniform distribution on the interval from `loc` to `loc` + `scale`.

With z = (x − `loc`) / `scale`, its density is 1 / `scale` for 0 ≤ z ≤ 1.  All functions take arrays
that broadcast against each other, and give an array of their shape and promoted floating dtype.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import lax
from ... import numpy as jnp
from ...engines.reference.replay import replayed
from ...numpy.half_precision import in_float32
from ._arguments import arguments, positive, probability, standardized, strong


@replayed(3)
@in_float32
def logpdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of the density: −log(`scale`) inside, −∞ outside.

    Example:
        >>> from morphax.scipy.stats import uniform
        >>> uniform.logpdf(0.5, 0.0, 2.0)
        Array(-0.6931472, dtype=float32, weak_type=True)
    """
    z, scale = standardized("uniform.logpdf", x, loc, scale)
    return jnp.where((z < 0) | (z > 1), -np.inf, -lax.log(scale) + 0 * z)


@replayed(3)
@in_float32
def pdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The density: 1 / `scale` inside, 0 outside.

    Example:
        >>> from morphax.scipy.stats import uniform
        >>> uniform.pdf(3.0, loc=2.0, scale=4.0)
        Array(0.25, dtype=float32, weak_type=True)
    """
    z, scale = standardized("uniform.pdf", x, loc, scale)
    return jnp.where((z < 0) | (z > 1), 0.0, 1 / scale + 0 * z)


@replayed(3)
@in_float32
def cdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The distribution function: z, but at least 0 and at most 1.

    Example:
        >>> from morphax.scipy.stats import uniform
        >>> uniform.cdf(3.0, loc=2.0, scale=4.0)
        Array(0.25, dtype=float32)
    """
    z, _ = standardized("uniform.cdf", x, loc, scale)
    return strong(jnp.where(z < 0, 0.0, jnp.where(z > 1, 1.0, z)))


@replayed(3)
@in_float32
def ppf(q: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The quantile `loc` + `scale` · q, the inverse of `cdf`: NaN unless 0 ≤ q ≤ 1.

    Example:
        >>> from morphax.scipy.stats import uniform
        >>> uniform.ppf(0.25, loc=2.0, scale=4.0)
        Array(3., dtype=float32, weak_type=True)
    """
    q, loc, scale = arguments("uniform.ppf", q, loc, scale)
    scale = positive(scale)
    return loc + scale * probability(q)
