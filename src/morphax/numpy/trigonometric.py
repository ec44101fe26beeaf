"""Circular and hyperbolic functions, element by element."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import lax
from ..engines.reference.replay import replayed
from .operands import constant, promoted_inexact


def sin(x: Any, /) -> Any:
    """Sine of x in radians."""
    return lax.sin(*promoted_inexact("sin", x))


def cos(x: Any, /) -> Any:
    """Cosine of x in radians."""
    return lax.cos(*promoted_inexact("cos", x))


def tan(x: Any, /) -> Any:
    """Tangent of x in radians."""
    return lax.tan(*promoted_inexact("tan", x))


def arcsin(x: Any, /) -> Any:
    """Inverse sine, in radians."""
    return lax.asin(*promoted_inexact("arcsin", x))


def arccos(x: Any, /) -> Any:
    """Inverse cosine, in radians."""
    return lax.acos(*promoted_inexact("arccos", x))


def arctan(x: Any, /) -> Any:
    """Inverse tangent, in radians."""
    return lax.atan(*promoted_inexact("arctan", x))


def sinh(x: Any, /) -> Any:
    """Hyperbolic sine."""
    return lax.sinh(*promoted_inexact("sinh", x))


def cosh(x: Any, /) -> Any:
    """Hyperbolic cosine."""
    return lax.cosh(*promoted_inexact("cosh", x))


def tanh(x: Any, /) -> Any:
    """Hyperbolic tangent."""
    return lax.tanh(*promoted_inexact("tanh", x))


def arcsinh(x: Any, /) -> Any:
    """Inverse hyperbolic sine."""
    return lax.asinh(*promoted_inexact("arcsinh", x))


def arccosh(x: Any, /) -> Any:
    """Inverse hyperbolic cosine."""
    return lax.acosh(*promoted_inexact("arccosh", x))


def arctanh(x: Any, /) -> Any:
    """Inverse hyperbolic tangent."""
    return lax.atanh(*promoted_inexact("arctanh", x))


@replayed(2)
def arctan2(x1: Any, x2: Any, /) -> Any:
    """The angle of the point (x, y) = (x2, x1), in radians, in all four quadrants."""
    return lax.atan2(*promoted_inexact("arctan2", x1, x2))


@replayed(1)
def deg2rad(x: Any, /) -> Any:
    """From degrees to radians: π x / 180."""
    (x,) = promoted_inexact("deg2rad", x)
    return lax.mul(x, constant(x, np.pi / 180))


@replayed(1)
def rad2deg(x: Any, /) -> Any:
    """From radians to degrees: 180 x / π."""
    (x,) = promoted_inexact("rad2deg", x)
    return lax.mul(x, constant(x, 180 / np.pi))


acos, acosh, asin, asinh = arccos, arccosh, arcsin, arcsinh
atan, atanh, atan2 = arctan, arctanh, arctan2
degrees, radians = rad2deg, deg2rad
