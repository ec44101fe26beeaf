"""The von Mises distribution of angles, with density e^(κ cos x) / (2π I₀(κ)).

All functions take arrays that broadcast against each other, and give an array of their shape and
promoted floating dtype.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ... import lax
from ... import numpy as jnp
from ...control.custom.custom_jvp import custom_jvp
from ...engines.reference.replay import replayed
from ...numpy.half_precision import in_float32
from ._arguments import arguments


@replayed(2)
@in_float32
def logpdf(x: Any, kappa: Any) -> Any:
    """The logarithm of the density.

    Example:
        >>> from morphax.scipy.stats import vonmises
        >>> vonmises.logpdf(0.0, 0.0)
        Array(-1.837877, dtype=float32, weak_type=True)
    """
    x, kappa = arguments("vonmises.logpdf", x, kappa)
    kappa = jnp.where(kappa >= 0, kappa, np.nan)
    # κ (cos x − 1) = −2 κ sin²(x/2), and e⁻ᵏ I₀(κ), overflow nowhere.
    exponent = -2 * kappa * lax.square(lax.sin(0.5 * x))
    return exponent - (math.log(2 * math.pi) + _log_scaled_bessel(kappa))


@custom_jvp
def _log_scaled_bessel(kappa: Any) -> Any:
    """log(e⁻ᵏ I₀(κ)) for κ ≥ 0, of which the slope at 0 is −1; that of `bessel_i0e` there is 0."""
    return lax.log(lax.bessel_i0e(kappa))


_log_scaled_bessel.defjvps(
    lambda t, out, kappa: t * (lax.bessel_i1e(kappa) / lax.bessel_i0e(kappa) - 1)
)


@replayed(2)
@in_float32
def pdf(x: Any, kappa: Any) -> Any:
    """The density.

    Example:
        >>> from morphax.scipy.stats import vonmises
        >>> vonmises.pdf(1.0, kappa=0.0)
        Array(0.15915495, dtype=float32, weak_type=True)
    """
    return lax.exp(logpdf(*arguments("vonmises.pdf", x, kappa)))
