"""The exponential of matrices, by scaling and squaring, and its derivative.

exp A = (exp(A / 2ˢ))^(2ˢ), where s is such that the Padé approximant of degree 13 is exact to
double precision: ‖A / 2ˢ‖₁ ≤ 5.37.

Reference: N. Higham, "The scaling and squaring method for the matrix exponential revisited", SIAM
Journal on Matrix Analysis and Applications 26 (2005), algorithm 2.3.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ... import lax
from ... import numpy as jnp
from ...engines.reference.replay import replayed
from ...errors import ShapeError
from ...numpy.linalg.operands import inexact_arrays, square_matrices
from ...transforms.derivatives import jvp
from ...util.messages import message

_LARGEST = 5.371920351148152
_DEGREE = 13
# Σⱼ cⱼ xʲ is the numerator of the approximant, and Σⱼ cⱼ (−x)ʲ its denominator; c₀ = 1.
_COEFFICIENTS = [
    math.comb(_DEGREE, j) / (math.comb(2 * _DEGREE, j) * math.factorial(j))
    for j in range(_DEGREE + 1)
]


@replayed(1)
def expm(A: Any, *, upper_triangular: bool = False, max_squarings: int = 16) -> Any:
    """The exponential of matrices: Σ Aᵏ / k!.

    Args:
        A: matrices (..., n, n); integers become floating.
        upper_triangular: whether all of them are; then so is the result, exactly.
        max_squarings: the most squarings; a matrix that asks for more, of a norm beyond
            5.37 · 2¹⁶, becomes NaN.

    Returns:
        Matrices (..., n, n).

    Raises:
        ShapeError: if the matrices are not square.

    Example:
        >>> import morphax as jax, morphax.numpy as jnp
        >>> jax.scipy.linalg.expm(jnp.array([[0.0, 2.0], [0.0, 0.0]]))
        Array([[1., 2.],
               [0., 1.]], dtype=float32)
    """
    x = square_matrices("scipy.linalg.expm", A)
    if not x.aval.size:
        return x
    dtype = np.finfo(x.aval.dtype).dtype
    norm = lax.stop_gradient(jnp.max(jnp.sum(jnp.abs(x), axis=-2), axis=-1))
    needed = lax.ceil(jnp.log2(norm / dtype.type(_LARGEST)))
    squarings = jnp.clip(jnp.where(norm > _LARGEST, needed, 0), 0, max_squarings)
    x = x * jnp.exp2(-squarings)[..., None, None]
    found = _approximant(x)
    for turn in range(max_squarings):
        # What has been squared enough gives way to zeros: squared on it might overflow, and its
        # derivative would be NaN.
        is_open = (turn < squarings)[..., None, None]
        factor = jnp.where(is_open, found, 0)
        found = jnp.where(is_open, factor @ factor, found)
    is_known = (needed <= max_squarings) | (norm <= _LARGEST)
    found = jnp.where(is_known[..., None, None], found, np.nan)
    return jnp.triu(found) if upper_triangular else found


def _approximant(x: Any) -> Any:
    """The diagonal Padé approximant of the exponential, of degree 13."""
    identity = jnp.eye(x.aval.shape[-1], dtype=x.aval.dtype)
    x2 = x @ x
    x4 = x2 @ x2
    x6 = x4 @ x2
    c = _COEFFICIENTS
    odd = x6 @ (c[13] * x6 + c[11] * x4 + c[9] * x2)
    odd = x @ (odd + c[7] * x6 + c[5] * x4 + c[3] * x2 + c[1] * identity)
    even = x6 @ (c[12] * x6 + c[10] * x4 + c[8] * x2)
    even = even + c[6] * x6 + c[4] * x4 + c[2] * x2 + c[0] * identity
    return jnp.linalg.solve(even - odd, even + odd)


@replayed(2)
def expm_frechet(A: Any, E: Any, *, method: str | None = None, compute_expm: bool = True) -> Any:
    """The derivative of the exponential at A in the direction E.

    Args:
        A: matrices (..., n, n).
        E: directions, of the same shape.
        method: without meaning: there is one method, the derivative of `expm`.
        compute_expm: whether the exponential is returned too.

    Returns:
        `(exp A, derivative)`, or the derivative.

    Raises:
        ShapeError: if the matrices are not square, or of different shapes.

    Example:
        >>> import morphax as jax, morphax.numpy as jnp
        >>> jax.scipy.linalg.expm_frechet(jnp.zeros((1, 1)), jnp.ones((1, 1)), compute_expm=False)
        Array([[1.]], dtype=float32)
    """
    a, e = inexact_arrays("scipy.linalg.expm_frechet", A, E)
    if a.aval.shape != e.aval.shape:
        raise ShapeError(
            message(
                "scipy.linalg.expm_frechet",
                given=f"{a.aval} and {e.aval}",
                expected="matrices and directions of one shape",
                fix="Broadcast one of them first.",
            )
        )
    primal, tangent = jvp(expm, (a,), (e,))
    return (primal, tangent) if compute_expm else tangent
