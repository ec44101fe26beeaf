"""Circular and hyperbolic functions, element by element."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import lax
from ..engines.reference.replay import replayed
from .operands import constant, promoted_inexact


@replayed(1)
def sin(x: Any, /) -> Any:
    """Sine of x in radians.

    Args:
        x: angles in radians, of any shape; integers become floating numbers.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.sin(jnp.array([0.0, jnp.pi / 2]))
        Array([0., 1.], dtype=float32)
    """
    return lax.sin(*promoted_inexact("sin", x))


@replayed(1)
def cos(x: Any, /) -> Any:
    """Cosine of x in radians.

    Args:
        x: angles in radians, of any shape; integers become floating numbers.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.cos(jnp.array([0.0, jnp.pi]))
        Array([ 1., -1.], dtype=float32)
    """
    return lax.cos(*promoted_inexact("cos", x))


@replayed(1)
def tan(x: Any, /) -> Any:
    """Tangent of x in radians.

    Args:
        x: angles in radians, of any shape; integers become floating numbers.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.tan(jnp.array([0.0, jnp.pi / 4]))
        Array([0., 1.], dtype=float32)
    """
    return lax.tan(*promoted_inexact("tan", x))


@replayed(1)
def arcsin(x: Any, /) -> Any:
    """Inverse sine, in radians.

    Args:
        x: numbers of any shape; NaN for real ones outside of [−1, 1].

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.arcsin(jnp.array([0.0, 1.0, 2.0]))
        Array([0.       , 1.5707964,       nan], dtype=float32)
    """
    return lax.asin(*promoted_inexact("arcsin", x))


@replayed(1)
def arccos(x: Any, /) -> Any:
    """Inverse cosine, in radians.

    Args:
        x: numbers of any shape; NaN for real ones outside of [−1, 1].

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.arccos(jnp.array([1.0, 0.0, 2.0]))
        Array([0.       , 1.5707964,       nan], dtype=float32)
    """
    return lax.acos(*promoted_inexact("arccos", x))


@replayed(1)
def arctan(x: Any, /) -> Any:
    """Inverse tangent, in radians.

    Args:
        x: numbers of any shape; the result lies in [−π/2, π/2].

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.arctan(jnp.array([0.0, jnp.inf]))
        Array([0.       , 1.5707964], dtype=float32)
    """
    return lax.atan(*promoted_inexact("arctan", x))


@replayed(1)
def sinh(x: Any, /) -> Any:
    """Hyperbolic sine.

    Args:
        x: numbers of any shape.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.sinh(jnp.array([0.0, 1.0]))
        Array([0.       , 1.1752012], dtype=float32)
    """
    return lax.sinh(*promoted_inexact("sinh", x))


@replayed(1)
def cosh(x: Any, /) -> Any:
    """Hyperbolic cosine.

    Args:
        x: numbers of any shape.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.cosh(jnp.array([0.0, 1.0])).round(4)
        Array([1.    , 1.5431], dtype=float32)
    """
    return lax.cosh(*promoted_inexact("cosh", x))


@replayed(1)
def tanh(x: Any, /) -> Any:
    """Hyperbolic tangent.

    Args:
        x: numbers of any shape; the result of real ones lies in [−1, 1].

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.tanh(jnp.array([0.0, 20.0]))
        Array([0., 1.], dtype=float32)
    """
    return lax.tanh(*promoted_inexact("tanh", x))


@replayed(1)
def arcsinh(x: Any, /) -> Any:
    """Inverse hyperbolic sine.

    Args:
        x: numbers of any shape.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.arcsinh(jnp.array([0.0, 1.0]))
        Array([0.       , 0.8813736], dtype=float32)
    """
    return lax.asinh(*promoted_inexact("arcsinh", x))


@replayed(1)
def arccosh(x: Any, /) -> Any:
    """Inverse hyperbolic cosine.

    Args:
        x: numbers of any shape; NaN for real ones below 1.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.arccosh(jnp.array([1.0, 2.0]))
        Array([0.      , 1.316958], dtype=float32)
    """
    return lax.acosh(*promoted_inexact("arccosh", x))


@replayed(1)
def arctanh(x: Any, /) -> Any:
    """Inverse hyperbolic tangent.

    Args:
        x: numbers of any shape; NaN for real ones outside of [−1, 1].

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.arctanh(jnp.array([0.0, 1.0]))
        Array([ 0., inf], dtype=float32)
    """
    return lax.atanh(*promoted_inexact("arctanh", x))


@replayed(2)
def arctan2(x1: Any, x2: Any, /) -> Any:
    """The angle of the point (x, y) = (x2, x1), in radians, in all four quadrants.

    Args:
        x1, x2: real numbers whose shapes broadcast, y and x.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.arctan2(jnp.array([1.0, -1.0]), jnp.array([-1.0, -1.0]))
        Array([ 2.3561945, -2.3561945], dtype=float32)
    """
    return lax.atan2(*promoted_inexact("arctan2", x1, x2))


@replayed(1)
def deg2rad(x: Any, /) -> Any:
    """From degrees to radians: π x / 180.

    Args:
        x: numbers of any shape.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.deg2rad(180.0)
        Array(3.1415927, dtype=float32, weak_type=True)
    """
    (x,) = promoted_inexact("deg2rad", x)
    return lax.mul(x, constant(x, np.pi / 180))


@replayed(1)
def rad2deg(x: Any, /) -> Any:
    """From radians to degrees: 180 x / π.

    Args:
        x: numbers of any shape.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.rad2deg(jnp.pi)
        Array(180., dtype=float32, weak_type=True)
    """
    (x,) = promoted_inexact("rad2deg", x)
    return lax.mul(x, constant(x, 180 / np.pi))


acos, acosh, asin, asinh = arccos, arccosh, arcsin, arcsinh
atan, atanh, atan2 = arctan, arctanh, arctan2
degrees, radians = rad2deg, deg2rad
