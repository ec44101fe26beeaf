"""Windows: weights that let a signal fade out at both ends before it is transformed.

They are symmetric, of M points, and computed in float64 whatever the dtype of the result is: their
ends are small differences of large terms.

Reference: F. J. Harris, "On the use of windows for harmonic analysis with the discrete Fourier
transform", Proceedings of the IEEE 66 (1978).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import dtypes, lax
from ..errors import ShapeError
from ..util.messages import message
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
    return _window("bartlett", np.bartlett, M)


def blackman(M: int) -> Any:
    """``0.42 − 0.5 cos(2πn / (M − 1)) + 0.08 cos(4πn / (M − 1))``; see `bartlett`.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.blackman(5).round(2)
        Array([-0.  ,  0.34,  1.  ,  0.34, -0.  ], dtype=float32)
    """
    return _window("blackman", np.blackman, M)


def hamming(M: int) -> Any:
    """``0.54 − 0.46 cos(2πn / (M − 1))``; see `bartlett`.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.hamming(5)
        Array([0.08, 0.54, 1.  , 0.54, 0.08], dtype=float32)
    """
    return _window("hamming", np.hamming, M)


def hanning(M: int) -> Any:
    """The Hann window ``0.5 − 0.5 cos(2πn / (M − 1))``; see `bartlett`.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.hanning(5)
        Array([0. , 0.5, 1. , 0.5, 0. ], dtype=float32)
    """
    return _window("hanning", np.hanning, M)


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
        return _on_device(np.ones(count))
    half = (count - 1) / 2
    along = np.sqrt(1 - ((np.arange(count) - half) / half) ** 2)
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
    beta, root, rest = promoted_inexact("kaiser", beta, _on_device(along), _on_device(1 - along))
    size = lax.mul(beta, lax.sign(beta))
    fading = lax.exp(lax.neg(lax.mul(size, rest)))
    return lax.mul(fading, lax.div(lax.bessel_i0e(lax.mul(beta, root)), lax.bessel_i0e(beta)))


def _window(name: str, of_numpy: Any, count: Any) -> Any:
    return _on_device(of_numpy(_points(name, count)))


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


def _on_device(values: np.ndarray[Any, Any]) -> Any:
    """Numbers on the host as an array of the default floating dtype."""
    return lax.convert_element_type(values, float)
