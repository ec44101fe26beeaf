"""The exponential of matrices, by scaling and squaring, and its derivative.

exp A = (exp(A / 2ˢ))^(2ˢ), where s is such that the diagonal Padé approximant is exact to the
precision of the dtype: degree 13 for ‖A / 2ˢ‖₁ ≤ 5.37 in float64, degree 7 for ‖A / 2ˢ‖₁ ≤ 3.92
in narrower ones.

Reference: N. Higham, "The scaling and squaring method for the matrix exponential revisited", SIAM
Journal on Matrix Analysis and Applications 26 (2005), algorithm 2.3.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple, final

import numpy as np

from ... import dtypes, lax
from ... import numpy as jnp
from ...array import Array
from ...control.branches.branching import cond
from ...control.loops.loops import scan
from ...engines.reference.replay import replayed
from ...errors import ShapeError
from ...numpy.linalg.operands import inexact_arrays, square_matrices
from ...transforms.derivatives import jvp
from ...util.messages import message


@final
class _Approximant(NamedTuple):
    """The degree of an approximant, and the largest norm for which it is exact."""

    degree: int
    largest: float

    def coefficients(self) -> list[float]:
        """Of the numerator Σⱼ cⱼ xʲ; the denominator is Σⱼ cⱼ (−x)ʲ."""
        m = self.degree
        return [math.comb(m, j) / (math.comb(2 * m, j) * math.factorial(j)) for j in range(m + 1)]


_OF_DOUBLE = _Approximant(13, 5.371920351148152)
_OF_SINGLE = _Approximant(7, 3.925724783138660)


def expm(A: Any, *, upper_triangular: bool = False, max_squarings: int = 16) -> Any:
    """The exponential of matrices: Σ Aᵏ / k!.

    Args:
        A: matrices (..., n, n); integers become floating.
        upper_triangular: whether all of them are; then so is the result, exactly.
        max_squarings: the most squarings; a matrix that asks for more, of a norm beyond
            5.37 · 2¹⁶ (3.92 · 2¹⁶ in float32), becomes NaN.

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
    found, squarings, is_known = _scaled(x, max_squarings)
    found = _squared(found, squarings, max_squarings)
    # A factor, so that derivatives are NaN as well.
    found = found * jnp.where(is_known, dtypes.finfo(x.aval.dtype).dtype.type(1), np.nan)
    return jnp.triu(found) if upper_triangular else found


@replayed(1)
def _scaled(x: Any, max_squarings: int) -> tuple[Any, Any, Any]:
    """exp(x / 2ˢ), the numbers s, and whether that is all it takes."""
    dtype = dtypes.finfo(x.aval.dtype).dtype
    approximant = _OF_DOUBLE if dtype == np.float64 else _OF_SINGLE
    largest = approximant.largest
    norm = lax.stop_gradient(jnp.max(jnp.sum(jnp.abs(x), axis=-2), axis=-1))[..., None, None]
    # At least 1, for a search for infinities would take the logarithm of 0 for one.
    needed = lax.ceil(jnp.log2(jnp.maximum(norm / dtype.type(largest), 1)))
    squarings = jnp.clip(jnp.where(norm > largest, needed, 0), 0, max_squarings)
    found = _rational(x * jnp.exp2(-squarings), approximant)
    return found, squarings, (needed <= max_squarings) | (norm <= largest)


def _rational(x: Any, approximant: _Approximant) -> Any:
    """The approximant at x."""
    c = approximant.coefficients()
    identity = jnp.eye(x.aval.shape[-1], dtype=x.aval.dtype)
    x2 = x @ x
    x4 = x2 @ x2
    x6 = x4 @ x2
    odd = c[7] * x6 + c[5] * x4 + c[3] * x2 + c[1] * identity
    even = c[6] * x6 + c[4] * x4 + c[2] * x2 + c[0] * identity
    if approximant.degree > 7:
        odd = x6 @ (c[13] * x6 + c[11] * x4 + c[9] * x2) + odd
        even = x6 @ (c[12] * x6 + c[10] * x4 + c[8] * x2) + even
    odd = x @ odd
    return jnp.linalg.solve(even - odd, even + odd)


def _squared(x: Any, squarings: Any, max_squarings: int) -> Any:
    """Matrices, each squared as often as it asks for; no more steps than the last one asks for."""
    most = jnp.max(squarings)
    if isinstance(most, Array):
        for turn in range(int(most)):
            x = _square_open(x, squarings, turn)
        return x

    def step(x: Any, turn: Any) -> tuple[Any, None]:
        return cond(turn < most, _square_open, _as_it_is, x, squarings, turn), None

    return scan(step, x, jnp.arange(max_squarings, dtype=most.aval.dtype))[0]


@replayed(3)
def _square_open(x: Any, squarings: Any, turn: Any) -> Any:
    # What has been squared enough gives way to zeros: squared on it might overflow, and its
    # derivative would be NaN.
    is_open = turn < squarings
    factor = jnp.where(is_open, x, 0)
    return jnp.where(is_open, factor @ factor, x)


def _as_it_is(x: Any, squarings: Any, turn: Any) -> Any:
    return x


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
    a, e = inexact_arrays("scipy.linalg.expm_frechet", *map(jnp.asarray, (A, E)))
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
