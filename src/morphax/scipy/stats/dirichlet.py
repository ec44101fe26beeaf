"""The Dirichlet distribution of probabilities x₁, …, xₙ, with density ∏ᵢ xᵢ^(αᵢ − 1) / B(α).

B(α) = ∏ᵢ Γ(αᵢ) / Γ(Σᵢ αᵢ).  With A = Σᵢ αᵢ, and S and D as in `special/_deviances.py`, the
logarithm of the density is
S(A) + (n − 1) log A + A (Σᵢ xᵢ − 1) − Σᵢ (S(αᵢ) + D(αᵢ, A xᵢ) + log(A xᵢ / αᵢ)), where it does not
matter how A is rounded.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import lax
from ... import numpy as jnp
from ...control.custom.custom_jvp import custom_jvp
from ...engines.reference.replay import replayed
from ...errors import ShapeError
from ...numpy.half_precision import in_float32
from ...util.messages import message
from ..special._deviances import distances_from_product, gamma_deviance_at, log_ratio
from ..special._scaled_factorials import log_scaled_factorial, slope_of_factorial_p
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
    has_all = x.shape[0] == alpha.shape[0]
    if not has_all:
        x = jnp.concatenate([x, 1 - jnp.sum(x, 0, keepdims=True)])
    inside = jnp.all(x >= 0, 0) & (lax.abs(jnp.sum(x, 0) - 1) < _TOLERANCE)
    alpha = lax.expand_dims(alpha, tuple(range(1, x.ndim)))
    x, has_nan = jnp.where(inside, x, 1), jnp.isnan(jnp.sum(x, 0))
    # Of probabilities whose last one follows from the others, no rounding is in the sum.
    value = _log_density(x, alpha, _scaled_excess(x, alpha) if has_all else lax.full_like(x[0], 0))
    value = jnp.where(has_nan, np.nan, jnp.where(jnp.any(alpha == 0), -np.inf, value))
    return jnp.where(inside | has_nan, value, -np.inf)


def _scaled_excess(x: Any, alpha: Any) -> Any:
    """(Σᵢ xᵢ − 1) Σᵢ αᵢ, of which the sum of whole numbers has no rounding."""
    x, total = lax.stop_gradient((x, jnp.sum(alpha, 0, keepdims=True)))
    _, whole, rest = distances_from_product(lax.full_like(x, 0), total, x)
    return (jnp.sum(whole, 0) - total[0]) + jnp.sum(rest, 0)


@custom_jvp
def _log_density(x: Any, alpha: Any, scaled_excess: Any) -> Any:
    """The logarithm of the density, by deviances of the parameters from their sum times xᵢ."""
    total = jnp.sum(alpha, 0, keepdims=True)
    distance, _, _ = distances_from_product(alpha, total, x)
    terms = log_scaled_factorial(alpha) + gamma_deviance_at(alpha, total * x, distance)
    of_total = log_scaled_factorial(total) + (alpha.shape[0] - 1) * lax.log(total)
    return of_total[0] - jnp.sum(terms, 0) + scaled_excess


def _slope_by_alpha(x: Any, alpha: Any) -> Any:
    """log xᵢ + ψ(Σⱼ αⱼ) − ψ(αᵢ)."""
    total = jnp.sum(alpha, 0, keepdims=True)
    distance, _, _ = distances_from_product(*lax.stop_gradient((alpha, total, x)))
    slopes = [slope_of_factorial_p.bind(a) - 1 / a for a in (total, alpha)]
    return log_ratio(total * x, alpha, -distance) + (slopes[0] - slopes[1])


_log_density.defjvps(
    lambda t, out, x, alpha, _: jnp.sum(t * jnp.where(alpha == 1, 0, (alpha - 1) / x), 0),
    lambda t, out, x, alpha, _: jnp.sum(t * _slope_by_alpha(x, alpha), 0),
    # It follows from the others, whose rules hold for all.
    None,
)


@replayed(2)
@in_float32
def pdf(x: Any, alpha: Any) -> Any:
    """The density, 0 unless all xᵢ ≥ 0 and Σᵢ xᵢ = 1; see `logpdf`.

    Example:
        >>> import morphax.numpy as jnp
        >>> from morphax.scipy.stats import dirichlet
        >>> dirichlet.pdf(jnp.array([0.2, 0.3, 0.5]), jnp.ones(3))
        Array(2., dtype=float32)
    """
    return lax.exp(logpdf(*vectors("dirichlet.pdf", x, alpha)))
