"""The Dirichlet distribution of probabilities x₁, …, xₙ, with density ∏ᵢ xᵢ^(αᵢ − 1) / B(α).

B(α) = ∏ᵢ Γ(αᵢ) / Γ(Σᵢ αᵢ).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import lax
from ... import numpy as jnp
from ...engines.reference.replay import replayed
from ...errors import ShapeError
from ...numpy.half_precision import in_float32
from ...util.messages import message
from .. import special
from ._arguments import vectors

# How much the sum of the probabilities may differ from 1.
_TOLERANCE = 1e-6


@replayed(2)
@in_float32
def logpdf(x: Any, alpha: Any) -> Any:
    """The logarithm of the density, −∞ unless all xᵢ ≥ 0 and Σᵢ xᵢ = 1.

    Args:
        x: probabilities (n, ...), or all but the last of them (n − 1, ...).
        alpha: parameters (n,).

    Returns:
        Array (...), of the promoted floating dtype.

    Raises:
        ShapeError: if `alpha` is no vector, or not as long.

    Example:
        >>> import numpy as np
        >>> from morphax.scipy.stats import dirichlet
        >>> dirichlet.logpdf(np.array([0.5, 0.5]), np.array([1.0, 1.0]))
        Array(0., dtype=float32)
    """
    x, alpha = vectors("dirichlet.logpdf", x, alpha)
    if alpha.ndim != 1 or not x.ndim or x.shape[0] not in (alpha.shape[0], alpha.shape[0] - 1):
        raise ShapeError(
            message(
                "scipy.stats.dirichlet",
                given=f"x of shape {x.shape} and alpha of shape {alpha.shape}",
                expected="alpha a vector, and as many probabilities along the first axis of x",
                fix="Pass one parameter per probability; use jax.vmap for several distributions.",
            )
        )
    if x.shape[0] < alpha.shape[0]:
        x = jnp.concatenate([x, 1 - jnp.sum(x, 0, keepdims=True)])
    powers = lax.expand_dims(alpha, tuple(range(1, x.ndim))) - 1
    inside = jnp.all(x >= 0, 0) & (lax.abs(jnp.sum(x, 0) - 1) < _TOLERANCE)
    norm = jnp.sum(lax.lgamma(alpha)) - lax.lgamma(jnp.sum(alpha))
    value = jnp.sum(special.xlogy(powers, jnp.where(inside, x, 1)), 0) - norm
    has_nan = jnp.isnan(jnp.sum(x, 0))
    return jnp.where(inside | has_nan, jnp.where(has_nan, np.nan, value), -np.inf)


@replayed(2)
@in_float32
def pdf(x: Any, alpha: Any) -> Any:
    """The density, 0 unless all xᵢ ≥ 0 and Σᵢ xᵢ = 1; see `logpdf`."""
    return lax.exp(logpdf(*vectors("dirichlet.pdf", x, alpha)))
