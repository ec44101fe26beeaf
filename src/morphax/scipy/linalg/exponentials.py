"""The exponential of matrices, by scaling and squaring, and its derivative.

exp A = (exp(A / 2ˢ))^(2ˢ), where s is such that the diagonal Padé approximant is exact to the
precision of the dtype: degree 13 for ‖A / 2ˢ‖₁ ≤ 5.37 in float64, degree 7 for ‖A / 2ˢ‖₁ ≤ 3.92
in narrower ones.

Reference: N. Higham, "The scaling and squaring method for the matrix exponential revisited", SIAM
Journal on Matrix Analysis and Applications 26 (2005), algorithm 2.3.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple, final

import numpy as np

from ... import dtypes, lax
from ... import numpy as jnp
from ...array import Array
from ...control.branches.branching import cond
from ...control.loops.scans import scan
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
_MOST_SQUARINGS = 16


def expm(A: Any, *, upper_triangular: bool = False, max_squarings: int = _MOST_SQUARINGS) -> Any:
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
    scaled, squarings, most = _scaled(A, max_squarings)
    if not scaled.aval.size:
        return scaled
    ways = _squared, _square_of_one
    (found,) = _repeated(ways, (scaled,), squarings, most, max_squarings)
    return jnp.triu(found) if upper_triangular else found


@replayed(1)
def _scaled(A: Any, max_squarings: int) -> tuple[Any, Any, Any]:
    """exp(A / 2ˢ), the numbers s, and the largest of them; NaN where they are not enough."""
    x = square_matrices("scipy.linalg.expm", A)
    dtype = dtypes.finfo(x.aval.dtype).dtype
    if not x.aval.size:
        none = jnp.zeros((), dtype)
        return x, none, none
    approximant = _OF_DOUBLE if dtype == np.float64 else _OF_SINGLE
    largest = approximant.largest
    norm = lax.stop_gradient(jnp.max(jnp.sum(jnp.abs(x), axis=-2), axis=-1))[..., None, None]
    # At least 1, for a search for infinities would take the logarithm of 0 for one.
    needed = lax.ceil(jnp.log2(jnp.maximum(norm / dtype.type(largest), 1)))
    squarings = jnp.clip(jnp.where(norm > largest, needed, 0), 0, max_squarings)
    found = _rational(x * jnp.exp2(-squarings), approximant)
    # A factor, so that derivatives are NaN as well.
    is_known = (needed <= max_squarings) | (norm <= largest)
    return found * jnp.where(is_known, dtype.type(1), np.nan), squarings, jnp.max(squarings)


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


def _repeated(
    ways: tuple[Callable[..., tuple[Any, ...]], Callable[..., tuple[Any, ...]]],
    found: tuple[Any, ...],
    squarings: Any,
    most: Any,
    max_squarings: int,
) -> tuple[Any, ...]:
    """Matrices, each squared as often as it asks for; no more steps than the last one asks for.

    The ways to square are that of a stack, (*found, squarings, turn), and that of one matrix, which
    asks for every step.
    """
    square, square_of_one = ways
    if isinstance(most, Array):
        is_one = squarings.aval.size == 1
        for turn in range(int(most)):
            found = square_of_one(*found) if is_one else square(*found, squarings, turn)
        return found

    def step(found: tuple[Any, ...], turn: Any) -> tuple[tuple[Any, ...], None]:
        return cond(turn < most, square, _as_it_is, *found, squarings, turn), None

    return scan(step, found, jnp.arange(max_squarings, dtype=most.aval.dtype))[0]


@replayed(3)
def _squared(x: Any, squarings: Any, turn: Any) -> tuple[Any, ...]:
    # What has been squared enough gives way to zeros: squared on it might overflow, and its
    # derivative would be NaN.
    is_open = turn < squarings
    factor = jnp.where(is_open, x, 0)
    return (jnp.where(is_open, factor @ factor, x),)


@replayed(1)
def _square_of_one(x: Any) -> tuple[Any, ...]:
    return (x @ x,)


def _as_it_is(*found_squarings_turn: Any) -> tuple[Any, ...]:
    return found_squarings_turn[:-2]


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
    scaled, change, squarings, most = _scaled_with_change(A, E)
    found = scaled, change
    if scaled.aval.size:
        ways = _squared_with_change, _square_of_one_with_change
        found = _repeated(ways, found, squarings, most, _MOST_SQUARINGS)
    return found if compute_expm else found[1]


@replayed(2)
def _scaled_with_change(A: Any, E: Any) -> tuple[Any, ...]:
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
    (scaled, squarings, most), (change, _, _) = jvp(
        lambda x: _scaled(x, _MOST_SQUARINGS), (a,), (e,)
    )
    return scaled, change, squarings, most


@replayed(4)
def _squared_with_change(x: Any, change: Any, squarings: Any, turn: Any) -> tuple[Any, ...]:
    (found,), (changed,) = jvp(lambda x: _squared(x, squarings, turn), (x,), (change,))
    return found, changed


@replayed(2)
def _square_of_one_with_change(x: Any, change: Any) -> tuple[Any, ...]:
    return x @ x, x @ change + change @ x
