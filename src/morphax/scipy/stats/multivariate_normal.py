"""The normal distribution of vectors, with mean μ and covariance matrix Σ.

For vectors of length n, its density is exp(−(x − μ)ᵀ Σ⁻¹ (x − μ) / 2) / √((2π)ⁿ det Σ).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ... import lax
from ... import numpy as jnp
from ...errors import ShapeError
from ...lax.elementwise.convert import convert
from ...util.messages import message
from ._arguments import vectors


def logpdf(x: Any, mean: Any, cov: Any, allow_singular: None = None) -> Any:
    """The logarithm of the density, by the Cholesky factors of the covariance.

    Args:
        x: vectors (..., n), or numbers where `mean` and `cov` are numbers too.
        mean: vectors (..., n), or a number for all components.
        cov: positive definite matrices (..., n, n), or a variance for all components; NaN is the
            result for others.
        allow_singular: must be `None`.

    Returns:
        Array (...), of the promoted floating dtype.

    Raises:
        NotImplementedError: if `allow_singular` is given.
        ShapeError: if the sizes do not fit.

    Example:
        >>> import numpy as np
        >>> from morphax.scipy.stats import multivariate_normal
        >>> multivariate_normal.logpdf(np.zeros(2), np.zeros(2), np.eye(2))
        Array(-1.837877, dtype=float32)
    """
    if allow_singular is not None:
        raise NotImplementedError(
            message(
                "scipy.stats.multivariate_normal.logpdf, argument allow_singular",
                given=f"{allow_singular!r}",
                expected="None: the covariance is positive definite",
                fix="Leave it out; add a small multiple of the unit matrix to a singular matrix.",
            )
        )
    x, mean, cov = _operands("logpdf", x, mean, cov)
    if not mean.ndim and not cov.ndim:
        return -0.5 * (lax.square(x - mean) / cov + math.log(2 * math.pi) + lax.log(cov))
    n = mean.shape[-1] if mean.ndim else cov.shape[-1]
    fits = not cov.ndim or (cov.ndim >= 2 and cov.shape[-2:] == (n, n))
    if not fits or (x.ndim and x.shape[-1] not in (1, n)):
        raise ShapeError(
            message(
                "scipy.stats.multivariate_normal.logpdf",
                given=f"x of shape {x.shape}, mean of shape {mean.shape}, cov of shape {cov.shape}",
                expected="x and mean (..., n), cov (..., n, n)",
                fix="Give the three the same n.",
            )
        )
    if not cov.ndim:
        squares = jnp.sum(lax.square(x - mean) / cov, -1)
        value = -0.5 * (squares + n * (math.log(2 * math.pi) + lax.log(cov)))
        # Sums are strong.
        return convert(value, value.aval.dtype, cov.aval.weak_type)
    factor = lax.linalg.cholesky(cov)
    distance = x - mean
    shape = lax.broadcast_shapes(distance.shape[:-1], cov.shape[:-2])
    distance = jnp.broadcast_to(distance, (*shape, n))
    if cov.ndim > 2:
        factors = jnp.broadcast_to(factor, (*shape, n, n))
        solved = lax.linalg.triangular_solve(factors, distance, left_side=True, lower=True)
    else:
        # One factor: all vectors are right-hand sides of it.
        rows = distance.reshape(-1, n)
        solved = lax.linalg.triangular_solve(factor, rows, lower=True, transpose_a=True)
        solved = solved.reshape(distance.shape)
    log_determinant = 2 * jnp.sum(lax.log(jnp.diagonal(factor, axis1=-2, axis2=-1)), -1)
    squares = jnp.sum(lax.square(solved), -1)
    return -0.5 * (squares + n * math.log(2 * math.pi) + log_determinant)


def pdf(x: Any, mean: Any, cov: Any) -> Any:
    """The density; see `logpdf`.

    Example:
        >>> import morphax.numpy as jnp
        >>> from morphax.scipy.stats import multivariate_normal
        >>> multivariate_normal.pdf(jnp.zeros(2), mean=jnp.zeros(2), cov=jnp.eye(2))
        Array(0.15915495, dtype=float32)
    """
    return lax.exp(logpdf(*_operands("pdf", x, mean, cov)))


def _operands(name: str, x: Any, mean: Any, cov: Any) -> list[Any]:
    where = f"multivariate_normal.{name}"
    return vectors(where, x, mean, cov, is_lasting=not np.ndim(cov))
