"""Circular functions."""

from __future__ import annotations

from typing import Any, final

import numpy as np

from .arithmetic import mul, neg
from .families import Elementwise
from .kinds import INEXACT


@final
class Sin(Elementwise):
    """sin x, element by element."""

    name = "sin"
    accepts = INEXACT
    numpy = np.sin
    stablehlo = "stablehlo.sine"

    def d_x(self, t: Any, x: Any, out: Any, **params: Any) -> Any:
        return mul(t, cos(x))


@final
class Cos(Elementwise):
    """cos x, element by element."""

    name = "cos"
    accepts = INEXACT
    numpy = np.cos
    stablehlo = "stablehlo.cosine"

    def d_x(self, t: Any, x: Any, out: Any, **params: Any) -> Any:
        return neg(mul(t, sin(x)))


sin_p = Sin()
cos_p = Cos()


def sin(x: Any, accuracy: Any = None) -> Any:
    """Sine of `x` in radians, element by element.

    Args:
        x: array (...) of floating or complex dtype.
        accuracy: accepted for compatibility; the engine's best is always used.

    Returns:
        Array (...) of the dtype of `x`.

    Raises:
        TypeError: `x` is boolean or integer.

    Example:
        >>> import morphax as jax
        >>> jax.lax.sin(0.0)
        Array(0., dtype=float32, weak_type=True)
    """
    return sin_p.bind(x)


def cos(x: Any, accuracy: Any = None) -> Any:
    """Cosine of `x` in radians, element by element."""
    return cos_p.bind(x)
