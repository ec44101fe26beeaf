"""Windows: weights that let a signal fade out at both ends before it is transformed.

They are symmetric, of M points: the first half is computed, in float64 whatever the dtype of the
result is, and the second one is the same backwards.  Those of cosines are polynomials in
s = sin²(πn / (M − 1)), whose terms are positive: their ends are small differences of cosines.

Reference: F. J. Harris, "On the use of windows for harmonic analysis with the discrete Fourier
transform", Proceedings of the IEEE 66 (1978).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .. import dtypes, lax
from ..errors import ShapeError
from ..util.messages import message
from ..util.threads import shared
from .axes import whole_number
from .operands import as_array, promoted_inexact


def bartlett(M: int) -> Any:
    """The triangle ``1 − |2n / (M − 1) − 1|``, n = 0, …, M − 1.

    Args:
        M: the number of points, known while tracing.

    Returns:
        Array (M,), floating.  One point is 1.

    Raises:
        ShapeError: if `M` is negative.
        ValueError: if it is no whole number.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.bartlett(5)
        Array([0. , 0.5, 1. , 0.5, 0. ], dtype=float32)
    """
    return _window("bartlett", lambda x: 2 * x, M)


def blackman(M: int) -> Any:
    """``0.42 − 0.5 cos(2πn / (M − 1)) + 0.08 cos(4πn / (M − 1))``; see `bartlett`.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.blackman(5).round(2)
        Array([0.  , 0.34, 1.  , 0.34, 0.  ], dtype=float32)
    """

    def rising(x: Any) -> Any:
        s = _raised_sine(x)
        return s * (0.36 + 0.64 * s)

    return _window("blackman", rising, M)


def hamming(M: int) -> Any:
    """``0.54 − 0.46 cos(2πn / (M − 1))``; see `bartlett`.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.hamming(5)
        Array([0.08, 0.54, 1.  , 0.54, 0.08], dtype=float32)
    """
    return _window("hamming", lambda x: 0.08 + 0.92 * _raised_sine(x), M)


def hanning(M: int) -> Any:
    """The Hann window ``0.5 − 0.5 cos(2πn / (M − 1))``; see `bartlett`.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.hanning(5)
        Array([0. , 0.5, 1. , 0.5, 0. ], dtype=float32)
    """
    return _window("hanning", _raised_sine, M)


def kaiser(M: int, beta: Any) -> Any:
    """``I₀(β √(1 − (2n / (M − 1) − 1)²)) / I₀(β)``, with the modified Bessel function I₀.

    The quotient is exact for large β too, where I₀ itself overflows.

    Args:
        M: the number of points, known while tracing.
        beta: array (...), real, that can be broadcast against (M,): 0 gives a rectangle, and the
            larger it is, the faster the window fades out.

    Returns:
        Array (..., M), floating.  One point is 1.

    Raises:
        ShapeError: if `M` is negative.
        TypeError: if `beta` is no array or number.
        ValueError: if `M` is no whole number, or `beta` is complex.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.kaiser(5, 2.0).round(3)
        Array([0.439, 0.835, 1.   , 0.835, 0.439], dtype=float32)
    """
    count = _points("kaiser", M)
    if count < 2:
        return _whole(np.ones(count), count)
    x = _first_half(count)
    # √(1 − (1 − 2x)²) and what is missing from 1, without differences where these are small.
    along = 2 * np.sqrt(x * (1 - x))
    missing = (1 - 2 * x) ** 2 / (1 + along)
    beta = as_array("kaiser", beta)
    if dtypes.issubdtype(beta.aval.dtype, np.complexfloating):
        raise ValueError(
            message(
                "jnp.kaiser, argument beta",
                given=f"{beta.aval}",
                expected="real numbers",
                fix="Take the real part.",
            )
        )
    # Of I₀(x) = exp |x| · i0e(x), the exponentials are divided on paper.  As the product of β and
    # its sign, |β| has the derivative 0 at 0, like the quotient.
    beta, root, rest = promoted_inexact(
        "kaiser", beta, _whole(along, count), _whole(missing, count)
    )
    size = lax.mul(beta, lax.sign(beta))
    fading = lax.exp(lax.neg(lax.mul(size, rest)))
    return lax.mul(fading, lax.div(lax.bessel_i0e(lax.mul(beta, root)), lax.bessel_i0e(beta)))


def _window(name: str, rising: Callable[[Any], Any], M: Any) -> Any:
    """A window whose first half is this function of n / (M − 1)."""
    count = _points(name, M)
    if count < 2:
        return _whole(np.ones(count), count)
    return _whole(rising(_first_half(count)), count)


def _first_half(count: int) -> Any:
    """n / (M − 1) up to the middle."""
    return np.arange((count + 1) // 2) / (count - 1)


def _raised_sine(x: Any) -> Any:
    angle = np.pi * x
    sine = shared(np.sin, [angle])(angle)
    return sine * sine


def _points(name: str, count: Any) -> int:
    where = f"jnp.{name}, argument M"
    number = whole_number(where, count)
    if number < 0:
        raise ShapeError(
            message(
                where,
                given=f"{number}",
                expected="a number of points that is not negative",
                fix="Compute the number anew.",
            )
        )
    return number


def _whole(half: Any, count: int) -> Any:
    """The window of so many points with this first half, of the default floating dtype."""
    numbers = half.astype(dtypes.canonicalize_dtype(float))
    return lax.convert_element_type(np.concatenate([numbers, numbers[: count // 2][::-1]]), float)
